"""The quasi-identifier classes of each domain (paper section IV-B, Table II), and what makes a cluster."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

from discreet.domains import SHARED as SHARED_LABELS

Rule = Literal["identifying", "paper"]
RULES: tuple[Rule, ...] = get_args(Rule)

SHARED: tuple[str, ...] = tuple(SHARED_LABELS.values())


def is_cluster(qi: Collection[str], rule: Rule = "identifying") -> bool:
    """Whether attributes of these classes, bound to one person, make a cluster.

    `paper`: any two of the domain's classes. `identifying`: two of the shared ones; facts of the domain only narrow.
    """
    counted = qi if rule == "paper" else [c for c in qi if c in SHARED]
    return len(counted) >= 2
