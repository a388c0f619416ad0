"""The eight quasi-identifier classes of each domain (paper section IV-B, Table II), and what makes a cluster."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

from discreet.core.errors import UsageError
from discreet.core.records import DOMAINS
from discreet.text.evidence.mentions import DOMAIN_CLASSES

Rule = Literal["identifying", "paper"]
RULES: tuple[Rule, ...] = get_args(Rule)

SHARED: tuple[str, ...] = ("AGE", "OCCUPATION", "LOCATION", "AFFILIATION", "FAMILY")
SPECIFIC: dict[str, tuple[str, str, str]] = {
    "medical": ("CONDITION", "TREATMENT", "VISIT_PATTERN"),
    "finance": ("ASSET_CLASS", "INCOME_BAND", "TRANSACTIONS"),
    "law": ("MATTER_TYPE", "PROCEDURAL_ROLE", "CASE_DISPOSITION"),
}
# What `discreet.text.evidence.extract` calls the same classes.
EVIDENCE_KIND: dict[str, str] = {
    "AGE": "age", "OCCUPATION": "occupation", "LOCATION": "place", "AFFILIATION": "affiliation", "FAMILY": "family",
    **{qi: kind for domain in DOMAINS for qi, kind in zip(SPECIFIC[domain], DOMAIN_CLASSES[domain], strict=True)},
}


def classes(domain: str) -> tuple[str, ...]:
    """The eight classes of a domain, the shared ones first. Raises UsageError for an unknown domain."""
    if domain not in SPECIFIC:
        raise UsageError(f"unknown domain {domain!r}: expected one of {', '.join(DOMAINS)}")
    return (*SHARED, *SPECIFIC[domain])


def is_cluster(qi: Collection[str], rule: Rule = "identifying") -> bool:
    """Whether attributes of these classes, bound to one person, make a cluster.

    `paper`: any two of the eight. `identifying`: two of the shared classes; facts of the domain only narrow.
    """
    counted = qi if rule == "paper" else [c for c in qi if c in SHARED]
    return len(counted) >= 2
