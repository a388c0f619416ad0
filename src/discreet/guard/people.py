"""What a policy's `fewer_than` makes of counts of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from discreet.core.records import Evidence
from discreet.guard.policy import Policy
from discreet.guard.reading import EvidenceScore, Finding

if TYPE_CHECKING:
    from discreet.population.people import Measured

ByPeople = Literal["flag", "pass", "abstain"]


def told_of(findings: Sequence[Finding], evidence: Sequence[Evidence]) -> tuple[Finding, ...]:
    """Findings, and what the rules count though no finding lists it, as said of the person of the nearest finding."""
    held = [f for f in findings if f.layer == "contextual" and f.subject not in ("cohort", "nobody")]
    more = [e for e in evidence if not any(f.type == e.type and f.start < e.end and e.start < f.end for f in findings)]
    return (*findings, *(
        replace(min(held, key=lambda f: abs(f.start - e.start)), type=e.type, start=e.start, end=e.end, counts=True)
        for e in more if held))


def decided_by_people(people: Sequence[Measured], policy: Policy, found: EvidenceScore,
                      joined: Measured | None = None) -> tuple[ByPeople | None, str]:
    """What the counts decide under `fewer_than`, and why; None where they do not.

    Flag where for somebody the upper end of the 95% interval is below it; pass where for everybody the lower end is not
    and nothing that is said was left out of the count; else abstain. What is left out makes the count an upper bound,
    whose lower end is no promise. Where no cluster is told, an answer is not held for what cannot be counted. `joined`
    is the count if several people of the answer were one: where that is short, readers who part them wrongly would let
    a cluster pass.
    """
    fewest = policy.fewer_than
    if fewest is None or not people:
        return None, ""
    for one in people:
        if one.count.estimate is not None and one.count.interval95[1] < fewest:
            return "flag", f"fewer than {fewest:,}: {one.people().sentence()}"
    first = people[0].people().sentence()
    short = any(one.count.estimate is None or one.count.interval95[0] < fewest for one in people)
    partly = next((one for one in people if one.upper_bound), None)
    if not short and partly is None and not found.inferred:
        if joined is None or joined.count.estimate is None or joined.count.interval95[0] >= fewest:
            return "pass", f"not fewer than {fewest:,}: {first}"
        return "abstain", f"not fewer than {fewest:,} unless it is one person of whom all is said: {first}"
    if not found.cluster:
        return None, ""
    if short:
        worst = min(people, key=lambda one: (one.count.estimate is not None, one.count.interval95[0]))
        return "abstain", f"fewer than {fewest:,} or not: {worst.people().sentence()}"
    if partly is None:
        return "abstain", f"{first}, but more can be inferred than was counted: {', '.join(found.inferred)}"
    left = (*partly.dropped, *partly.unknown, *partly.description.widened)
    classes = ", ".join(dict.fromkeys(said.kind for said in left)) or "what the text contradicts"
    return "abstain", f"{partly.people().sentence()}, not counted or only in part: {classes}"
