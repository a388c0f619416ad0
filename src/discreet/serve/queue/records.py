"""What the queue says of a ticket: to its caller, in a list, and to a reviewer who reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["pending", "released", "blocked", "expired"]
Decision = Literal["release", "release_edited", "block"]

CODES: dict[str, tuple[str, ...]] = {
    "release": ("nobody_described", "too_many_fit", "public_person", "asker_already_knows", "consent", "other"),
    "release_edited": ("removed", "generalised", "other"),
    "block": ("names_a_person", "singles_out", "sensitive", "cannot_tell", "other"),
}
"""Why a reviewer decides so; the only words that a decision carries."""


@dataclass(frozen=True, slots=True)
class TicketState:
    """What a caller reads of its ticket; `payload` only while it is released and not erased.

    `deadline` is until when a pending ticket may be decided, in seconds since 1970. A decision in its undo window is
    still "pending". Every write makes `version` larger.
    """

    id: str
    status: Status
    version: int
    deadline: float
    payload: dict[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CallerTicket:
    """A ticket in the list of its caller: no text and no payload. Times are in seconds since 1970."""

    id: str
    status: Status
    guard: str
    code: str
    opened: float
    deadline: float


@dataclass(frozen=True, slots=True)
class TicketRow:
    """A ticket in a list: no text, question, verdict or payload. Times are in seconds since 1970.

    `status` is "decided" in the undo window, which ends at `final_at`, and "recheck" where a second, blind decision is
    asked for: then nothing here says what the first one was. `ended` says why nobody awaits an expired one, `appeal`
    that the caller calls the flag wrong.
    """

    id: str
    status: Literal["pending", "decided", "released", "blocked", "expired", "recheck"]
    version: int
    guard: str
    code: str
    policy: str
    caller: str
    opened: float
    deadline: float
    reserved_by: str | None
    reserved_until: float | None
    first_by: str | None
    decided_by: str | None
    decision: Decision | None
    final_at: float | None
    ended: str | None
    appeal: bool


@dataclass(frozen=True, slots=True)
class Allowed:
    """Something that a reviewer may do with a ticket now, and the reason codes that it takes (none for undo etc.)."""

    action: Literal["release", "release_edited", "block", "reserve", "leave", "undo"]
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TicketView:
    """A ticket as a reviewer reads it.

    `texts` are those that were judged; `user_words` is what of the request are the user's own words; `edited` what a
    first reviewer proposes to release instead. `verdict` and `findings` are the guard's; spans are of `texts`.
    """

    row: TicketRow
    actions: tuple[Allowed, ...]
    texts: tuple[str, ...] = field(repr=False)
    question: str | None = field(repr=False)
    user_words: str = field(repr=False)
    verdict: Mapping[str, Any] = field(repr=False)
    findings: tuple[Mapping[str, Any], ...] = field(repr=False)
    edited: tuple[str, ...] | None = field(default=None, repr=False)


def edited_payload(payload: dict[str, Any], texts: tuple[str, ...], edited: tuple[str, ...]) -> dict[str, Any] | None:
    """The payload with each text replaced by its edited form; None where a text has no place in it.

    Of a chat completion, whose texts are those of its choices, an edited choice says the edited text and nothing else:
    no reasoning, call, annotation or token probability of the original. In any other payload a text is replaced
    wherever it stands as a whole value.
    """
    choices = payload.get("choices")
    if isinstance(choices, list) and len(choices) == len(texts) and all(
            isinstance(one, dict) and isinstance(one.get("message"), dict) for one in choices):
        return {**payload, "choices": [
            choice if new == old else {
                "index": choice.get("index", number), "finish_reason": "stop", "logprobs": None,
                "message": {"role": "assistant", "content": new, "refusal": None}}
            for number, (choice, old, new) in enumerate(zip(choices, texts, edited, strict=True))]}
    by_text = dict(zip(texts, edited, strict=True))
    met: set[str] = set()

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            met.update({value} & by_text.keys())
            return by_text.get(value, value)
        if isinstance(value, list):
            return [changed(one) for one in value]
        if isinstance(value, dict):
            return {key: changed(one) for key, one in value.items()}
        return value

    made: dict[str, Any] = changed(payload)
    return made if met == set(by_text) else None
