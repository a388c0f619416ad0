"""The records at the decision boundary, for an auditor who may read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.audit.membership.attacker_view import selector_p
from discreet.audit.membership.evaluation_sets import sides_of
from discreet.scores.table import IN, OUT, ScoreTable


def edge_records(table: ScoreTable, texts: Mapping[str, str], *, each: int = 3) -> list[dict[str, Any]]:
    """The `each` least likely members and non-members of every label, by the selection models, with their texts.

    `{id, side, label, p, text}`, of the first target; empty without a selection model that may select. Records without
    text are passed over.
    """
    targets = table.of_role("target")
    # Which records are set aside does not matter here: the draw is of no consequence.
    p = selector_p(table, sides_of(table, targets[0], np.random.default_rng(0))) if targets else None
    if p is None:
        return []
    known = np.isfinite(p) & np.array([name in texts for name in table.examples.id], dtype=np.bool_)
    found = []
    for label in np.unique(table.examples.label):
        for side, word in ((IN, "member"), (OUT, "non-member")):
            rows = np.flatnonzero(known & (table.examples.label == label) & (table.member[targets[0]] == side))
            least = rows[np.argsort(p[rows], kind="stable")][:each]
            found += [{"id": str(table.examples.id[row]), "side": word, "label": int(label), "p": float(p[row]),
                       "text": texts[table.examples.id[row]]} for row in least]
    return found
