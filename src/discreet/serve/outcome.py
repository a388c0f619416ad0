"""What the gate decides of answers that go out together, and what goes out in place of those that enforcing would
withhold, where the policy says `on_flag: redact`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from discreet.core.records import Answer, Code
from discreet.guard.decide import Judgement
from discreet.guard.redaction.redact import Redaction
from discreet.serve.queue.records import edited_payload
from discreet.serve.workers import Workers

CODES: frozenset[Code] = frozenset({"privacy/direct", "privacy/contextual", "privacy/undecided"})
"""Why answers are withheld that may be redacted; a quote, or what could not be judged, may not."""
RESTATED = ("restated", "over_turns", "unsure_over_turns")
"""Causes in what was withheld or told before: no change of this answer alone can be judged to be enough."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """Answers that were redacted, the payload with their texts, and how many changes that took."""

    answers: tuple[Answer, ...] = field(repr=False)
    payload: Mapping[str, Any] = field(repr=False)
    changes: int


async def redacted(workers: Workers, guard: str, owner: str, answers: Sequence[Answer],
                   judgements: Sequence[Judgement], payload: Mapping[str, Any]) -> Redacted | None:
    """Each answer that is not safe redacted by itself; None where one of them must be withheld.

    What comes out was judged alone, by stricter thresholds, and not yet with what was said or withheld before.
    """
    held = [one for one, judgement in zip(answers, judgements, strict=True) if judgement.verdict.action != "safe"]
    causes = {one.verdict.cause.cause for one in judgements if one.verdict.cause is not None}
    if not causes.isdisjoint(RESTATED):
        return None
    found = await asyncio.gather(*(workers.redact(guard, one, owner) for one in held))
    texts: dict[str, Redaction] = {answer.id: one for answer, one in zip(held, found, strict=True) if one is not None}
    if len(texts) < len(held) or any(one.text is None for one in texts.values()):
        return None
    after = tuple(replace(one, answer=str(texts[one.id].text)) if one.id in texts else one for one in answers)
    changed = edited_payload(dict(payload), tuple(one.answer for one in answers), tuple(one.answer for one in after))
    if changed is None:
        return None
    return Redacted(after, changed, sum(len(one.changes) for one in texts.values()))


Act = Literal["pass", "redact", "block", "pending", "failed"]
WORST: tuple[Code, ...] = ("privacy/direct", "privacy/contextual", "privacy/verbatim", "privacy/not_judged",
                           "privacy/undecided", "ok")
"""The code of several answers is the first of these that one of them has."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a door does, and what the caller may know; judgements, in the order of the answers, are the operator's.

    `would` is what enforce would do: it equals `action` unless the guard observes. `policy` is the label of the policy.
    `redacted` goes out instead of the answers where the action is "redact".
    """

    action: Act
    code: Code
    judgements: tuple[Judgement, ...]
    ticket: str | None = None
    would: Act = "pass"
    policy: str = ""
    redacted: Redacted | None = None


def worst_of(judgements: Sequence[Judgement]) -> tuple[Code, Judgement | None]:
    """The code that decides, and the judgement that gave it; nothing at all was not judged."""
    if not judgements:
        return "privacy/not_judged", None
    worst = min(judgements, key=lambda one: WORST.index(one.verdict.code))
    return worst.verdict.code, worst


def details(outcome: Outcome) -> list[dict[str, Any]]:
    """What the operator may see of each judgement: the verdict with δ, score and evidence spans, and all findings."""
    return [{**one.verdict.to_json(), "findings": [asdict(finding) for finding in one.findings]}
            for one in outcome.judgements]
