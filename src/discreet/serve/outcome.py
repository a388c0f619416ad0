"""What the gate decides of answers that go out together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from discreet.core.records import Code
from discreet.guard.decide import Judgement
from discreet.serve.redacting import Redacted

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
