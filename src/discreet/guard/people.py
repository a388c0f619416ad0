"""What a policy's `fewer_than` makes of counts of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from discreet.guard.policy import Policy
from discreet.guard.reading import EvidenceScore

if TYPE_CHECKING:
    from discreet.population.people import Measured

ByPeople = Literal["flag", "pass", "abstain"]


def decided_by_people(people: Sequence[Measured], policy: Policy, found: EvidenceScore) -> tuple[ByPeople | None, str]:
    """What the counts decide under `fewer_than`, and why; None where they do not.

    Flag where for somebody the upper end of the 95% interval is below it; pass where for everybody the lower end is not
    and nothing that is said was left out of the count; else abstain. What is left out makes the count an upper bound,
    whose lower end is no promise. Where no cluster is told, an answer is not held for what cannot be counted.
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
        return "pass", f"not fewer than {fewest:,}: {first}"
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
