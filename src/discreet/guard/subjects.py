"""The rule that takes a contextual flag back: whose attributes they are is decided by evidence, never by tone.

An embedding sees that a text speaks of a person, not whose record that is. So a contextual flag does not stand

1. where the policy counts nobody's attributes (a clinician who reads about their own patient), or
2. where evidence finds attributes of the classes that the policy counts, every one of them belongs to the asker, a
   cohort or a public person, and the policy counts none of these.

Where evidence finds nothing at all, or anything of a third person, a speaker or somebody that it cannot name, the
flag stands. Direct identifiers are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable

from discreet.guard.policy import Policy
from discreet.records import Subject
from discreet.text.mentions import Attribute

SETTLED: frozenset[Subject] = frozenset({"asker", "cohort", "public"})
"""Subjects that explain a person's voice without a leak."""


def taken_back(attributes: Iterable[Attribute], policy: Policy) -> str | None:
    """Why a contextual flag does not stand, or None where it does."""
    if not policy.subjects:
        return "the policy counts nobody's attributes"
    found = {a.subject for a in attributes if a.kind in policy.counted}
    if found and found <= SETTLED - set(policy.subjects):
        return f"every attribute belongs to the {', '.join(sorted(found))}: told back or public, no leak"
    return None
