"""The rule that takes a contextual flag back: whose attributes they are is decided by evidence, never by tone.

An embedding sees that a text speaks of a person, not whose record that is. So a contextual flag does not stand

1. where the policy counts nobody's attributes (a clinician who reads about their own patient), or
2. where evidence finds as many distinct attributes of the classes that the policy counts as make a cluster, every one
   of them belongs to the asker or to a public person (or speaks of a cohort), and the policy counts none of these.

Where evidence finds fewer, or anything of a third person, a speaker or somebody that it cannot name, the flag stands:
what is said of a cohort, or one thing that is told back, does not explain the rest. Direct identifiers are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.core.records import Subject
from discreet.guard.policy import Policy
from discreet.text.evidence.mentions import Attribute

EXPLAINS: frozenset[Subject] = frozenset({"asker", "public"})
"""Subjects that explain a person's voice without a leak."""
IMPERSONAL: frozenset[Subject] = frozenset({"cohort"})
"""Subjects that neither explain it nor speak against it."""


def taken_back(attributes: Iterable[Attribute], policy: Policy) -> str | None:
    """Why a contextual flag does not stand, or None where it does."""
    if not policy.subjects:
        return "the policy counts nobody's attributes"
    found = {(a.kind, a.value, a.subject) for a in attributes if a.kind in policy.counted}
    subjects = {subject for _, _, subject in found}
    settled = subjects & EXPLAINS
    spared = subjects <= (EXPLAINS | IMPERSONAL) - set(policy.subjects)
    if spared and len({(kind, value) for kind, value, subject in found if subject in settled}) >= policy.cluster:
        return f"every attribute belongs to the {', '.join(sorted(settled))}: told back or public, no leak"
    return None
