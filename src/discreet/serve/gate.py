"""The gate: the one function that every door calls. It judges answers and says what the door does with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from discreet.core.errors import NotFoundError
from discreet.core.files import clean
from discreet.core.records import Answer, Code
from discreet.guard.conversation import Told, Turn
from discreet.guard.decide import Judgement
from discreet.guard.text.provenance import request_of
from discreet.serve.conversations import Conversations, Memories, Remembered
from discreet.serve.fair import length_of, units_of
from discreet.serve.keys import Caller
from discreet.serve.limits import Rate, RefusedError
from discreet.serve.outcome import CODES, Act, Outcome, Redacted, redacted, worst_of
from discreet.serve.settings import Settings
from discreet.serve.shadow import EVENT, facts_of, labels_of
from discreet.serve.telemetry import Telemetry
from discreet.serve.workers import Workers

if TYPE_CHECKING:
    from discreet.serve.queue.records import CallerTicket, TicketState
    from discreet.serve.queue.tickets import Queue

T = TypeVar("T")
POLL_S = 0.25
TELL_S = 60.0
"""Seconds beyond a hold in which the caller must have the id of its ticket, or nobody awaits it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked for a decision, of which guard, through which door, and whom the request names."""

    caller: Caller
    guard: str
    door: str
    request: str
    conversation: str | None = None
    user: str | None = None


class Gate:
    """Judges by the workers, opens tickets in the queue, counts and logs what it decides."""

    def __init__(self, settings: Settings, workers: Workers, queue: Queue | None = None,
                 telemetry: Telemetry | None = None) -> None:
        self.settings, self.workers, self.queue = settings, workers, queue
        self.telemetry = telemetry or Telemetry()
        self.conversations, self.withheld = Conversations(settings), Memories(settings)
        self.rate = Rate(settings.limits.per_minute)
        self._ending: set[asyncio.Task[None]] = set()

    async def decide(self, caller: Caller, guard: str, answers: Sequence[Answer], *,
                     payload: Mapping[str, Any] | None = None, redactable: Mapping[str, Any] | None = None, door: str,
                     conversation: str | None = None, user: str | None = None) -> Outcome:
        """What to do with answers that go out together: the worst of them decides. Never raises for what they hold.

        Observing, the action is "pass" whatever `would` says. Enforcing, a flag is blocked, or becomes a ticket where
        flags are reviewed; an abstention becomes a ticket where there is a queue and a `payload`, the JSON that the
        caller receives if it is released, and is blocked otherwise. An answer that could not be judged is "failed":
        neither passed nor blocked for what it says. So is nothing at all, and what is over the limits. With the id of a
        `conversation` of this caller what its earlier answers told counts too; RefusedError where it cannot. A safe
        answer that restates one which was withheld from the caller, the conversation or the `user` is an abstention.
        Where the policy redacts, what may go out instead of the texts in `redactable` comes first.
        """
        asked = Asked(caller, guard, door, uuid4().hex, conversation, user)
        self.rate.add(caller.id, sum(map(units_of, answers)) - 1)  # One was counted when the request came.
        if conversation is None:
            return await self._decide(asked, answers, payload, redactable, None)
        async with self.conversations.turn((caller.owner, guard, conversation)) as remembered:
            return await self._decide(asked, answers, payload, redactable, remembered)

    async def _decide(self, asked: Asked, answers: Sequence[Answer], payload: Mapping[str, Any] | None,
                      redactable: Mapping[str, Any] | None, remembered: Remembered | None) -> Outcome:
        started = time.perf_counter()
        caller, guard = asked.caller, asked.guard
        with self.telemetry.tracing.span("discreet.decide", guard=guard, door=asked.door, request=asked.request,
                                         answers=len(answers)) as span:
            judgements, turns = await self._judged(asked, answers, remembered)
            code, worst = worst_of(judgements)
            would: Act = "pass" if code == "ok" else "failed" if code == "privacy/not_judged" else "block"
            ticket = None
            observes = self.settings.mode_of(guard) == "observe"
            other: Redacted | None = None
            if redactable is not None and code in CODES and not observes and self.workers.redacts(guard):
                other, told = await self._redacted(asked, answers, judgements, redactable, remembered)
                if other is not None:
                    would, turns = "redact", told
            reviewed = would == "block" and (code == "privacy/undecided" or self.settings.reviews_flags(guard))
            # One that could not be judged at all is nothing that a reviewer may release in part.
            if reviewed and payload is not None and self.queue is not None and (
                    all(one.verdict.action != "failed" for one in judgements)):
                if observes:
                    would = "pending"
                else:
                    ticket = await self._open(caller, guard, code, answers, judgements, worst, payload)
                    would = "block" if ticket is None else "pending"
            policy = worst.verdict.policy if worst is not None else guard
            outcome = Outcome("pass" if observes else would, code, judgements, ticket, would, policy, other)
            if remembered is not None and turns:
                # One that waits for a reviewer may go out, and is remembered as if it had.
                remembered.told = turns[-1].shown if outcome.action in ("pass", "redact", "pending") else turns[0].held
            self._count(asked, outcome, observes, time.perf_counter() - started)
            if observes and would != "pass":
                of = None if worst is None else answers[judgements.index(worst)]
                await self._would_withhold(asked, outcome, of, worst)
            if span is not None:
                span.set_attributes({"discreet.action": outcome.action, "discreet.code": code})
        return outcome

    async def _judged(self, asked: Asked, answers: Sequence[Answer], remembered: Remembered | None
                      ) -> tuple[tuple[Judgement, ...], list[Turn]]:
        """The judgements on answers that go out together, with what was told and withheld before, and the turns."""
        turns = [] if remembered is None else await self._turns(asked, answers, remembered.told)
        alone = tuple(one.judgement for one in turns) if remembered is not None else tuple(
            await asyncio.gather(*(self._judge(asked, one) for one in answers)))
        return await self._restated(asked, answers, alone), turns

    async def _redacted(self, asked: Asked, answers: Sequence[Answer], judgements: Sequence[Judgement],
                        redactable: Mapping[str, Any], remembered: Remembered | None
                        ) -> tuple[Redacted | None, list[Turn]]:
        """What goes out instead, if that is safe with what was told and withheld before too; and its turns."""
        other = await redacted(self.workers, asked.guard, asked.caller.id, answers, judgements, redactable)
        if other is None:
            return None, []
        again, turns = await self._judged(asked, other.answers, remembered)
        return (other if worst_of(again)[0] == "ok" else None), turns

    def unjudged(self, caller: Caller, guard: str, door: str, *, withheld: bool = False) -> None:
        """Count an answer that passes without any text to judge, or one that is `withheld` for the tool it calls."""
        outcome = (Outcome("block", "privacy/undecided", (), None, "block", guard) if withheld else
                   Outcome("pass", "ok", (), None, "pass", guard))
        self._count(Asked(caller, guard, door, uuid4().hex), outcome, False, 0.0)

    async def tell_of_nobody(self, caller: Caller, guard: str, texts: Sequence[Answer]) -> bool:
        """Whether texts are safe and nothing of what is found in them counts; nothing is decided or remembered."""
        found = await asyncio.gather(*(self._judge(Asked(caller, guard, "", ""), one) for one in texts))
        return worst_of(found)[0] == "ok" and not any(one.counts for judged in found for one in judged.findings)

    async def _restated(self, asked: Asked, answers: Sequence[Answer], alone: Sequence[Judgement]
                        ) -> tuple[Judgement, ...]:
        """The judgements with what was withheld before."""
        judgements = await self.withheld.judge(asked.caller.owner, asked.guard, answers, alone,
                                               conversation=asked.conversation, user=asked.user)
        if restated := sum(one is not other for one, other in zip(alone, judgements, strict=True)):
            self.telemetry.metrics.restated.labels(asked.guard).inc(restated)
        return judgements

    async def appeal(self, caller: Caller, guard: str, answers: Sequence[Answer],
                     payload: Mapping[str, Any]) -> Outcome:
        """Judge answers alone, and put what is not safe into the review queue: the caller says that the flag is wrong.

        "pending" with a ticket, whether the guard enforces or observes; "pass" where there is no flag, "failed" where
        there is no judgement. RefusedError: 404 without a queue, 503 where it cannot be reached.
        """
        if self.queue is None:
            raise RefusedError(404, "no_queue", "there is no review queue here; see docs/serve.md")
        asked = Asked(caller, guard, "appeals", uuid4().hex)
        self.rate.add(caller.id, sum(map(units_of, answers)) - 1)
        judgements = tuple(await asyncio.gather(*(self._judge(asked, one) for one in answers)))
        code, worst = worst_of(judgements)
        if code in ("ok", "privacy/not_judged"):
            action: Act = "pass" if code == "ok" else "failed"
            return Outcome(action, code, judgements, would=action)
        ticket = await self._open(caller, guard, code, answers, judgements, worst, payload, appeal=True)
        if ticket is None:
            raise RefusedError(503, "queue", "the review queue cannot be reached; come again", {"Retry-After": "5"})
        self.telemetry.metrics.appeals.labels(guard, code).inc()
        self.telemetry.event("appeal", {"request": asked.request, "caller": caller.id, "guard": guard, "code": code,
                                        "ticket": ticket})
        return Outcome("pending", code, judgements, ticket, "pending")

    async def _would_withhold(self, asked: Asked, outcome: Outcome, answer: Answer | None, worst: Judgement | None
                              ) -> None:
        """Count and write down why enforcing would withhold what goes out together: the judgement that decides."""
        facts = None if answer is None or worst is None else await asyncio.to_thread(facts_of, answer, worst)
        self.telemetry.metrics.hold(asked.guard, outcome.policy, outcome.code, outcome.would, *labels_of(facts))
        if facts is None:  # There was nothing to judge.
            return
        self.telemetry.event(EVENT, {"request": asked.request, "caller": asked.caller.id, "guard": asked.guard,
                                     "door": asked.door, **facts})

    async def _turns(self, asked: Asked, answers: Sequence[Answer], told: Told) -> list[Turn]:
        """Answers that go out together, each with what those before it tell."""
        turns: list[Turn] = []
        for one in answers:
            if (failed := self._too_long(asked.guard, one)) is not None:
                turns.append(Turn(failed, told, told))
            else:
                with self.telemetry.timed(asked.guard):
                    turns.append(await self.workers.judge_turn(asked.guard, one, told, self.conversations.expires_s,
                                                               asked.caller.id))
            told = turns[-1].shown
        return turns

    def _too_long(self, guard: str, answer: Answer) -> Judgement | None:
        if (length := length_of(answer)) <= self.settings.limits.text_chars:
            return None
        return self.workers.failed(guard, answer.id, f"{length:,} characters are over the limit of "
                                   f"{self.settings.limits.text_chars:,}")

    async def _judge(self, asked: Asked, answer: Answer) -> Judgement:
        if (failed := self._too_long(asked.guard, answer)) is not None:
            return failed
        with self.telemetry.timed(asked.guard):
            return await self.workers.judge(asked.guard, answer, asked.caller.id)

    async def _open(self, caller: Caller, guard: str, code: Code, answers: Sequence[Answer],
                    judgements: Sequence[Judgement], worst: Judgement | None,
                    payload: Mapping[str, Any], *, appeal: bool = False) -> str | None:
        """The id of a new ticket; None where the queue cannot be reached, and the answer is blocked."""
        findings = [{"answer": number, **asdict(one)} for number, judgement in enumerate(judgements)
                    for one in judgement.findings]
        try:
            assert self.queue is not None
            assert worst is not None
            own = await asyncio.to_thread(lambda: request_of(answers[0]).of("user"))
            return await self.queue.aside(
                self.queue.open, caller=caller.id, mark=caller.mark, guard=guard, code=code,
                policy=worst.verdict.policy, texts=[one.answer for one in answers], question=question_of(answers[0]),
                tell_s=self.settings.hold_s + TELL_S,
                user_words=clean("\n\n".join(own)),
                verdict=worst.verdict.to_json(where=True) | {"logit": worst.evidence and worst.evidence.logit},
                findings=findings, payload=payload, appeal=appeal)
        except Exception as error:
            # Whatever the database or the disk says, the answer does not pass, and the service goes on.
            self.queue_failed("open", error)
            return None

    async def told(self, ticket: str, *, gone: bool = False) -> None:
        """The caller is about to get the id of its ticket; or it is `gone`, and nobody awaits the ticket."""
        assert self.queue is not None
        try:
            if gone:
                await self.queue.aside(self.queue.end, ticket, "caller_gone")
            else:
                await self.queue.aside(self.queue.told, ticket)
        except Exception as error:
            self.queue_failed("told", error)

    def unawaited(self, ticket: str) -> None:
        """End a ticket whose caller has gone, without anybody who waits for that."""
        work = asyncio.get_running_loop().create_task(self.told(ticket, gone=True))
        self._ending.add(work)
        work.add_done_callback(self._ending.discard)

    def queue_failed(self, operation: str, error: Exception) -> None:
        """Count and log a call of the queue that failed, without its message, which may quote what was stored."""
        self.telemetry.metrics.queue_errors.labels(operation).inc()
        self.telemetry.event("queue_error", {"operation": operation, "kind": type(error).__name__})

    def _count(self, asked: Asked, outcome: Outcome, observes: bool, seconds: float) -> None:
        metrics = self.telemetry.metrics
        metrics.decisions.labels(asked.guard, asked.door, outcome.action, outcome.code).inc()
        metrics.key_decisions.labels(asked.caller.id, asked.guard, outcome.action).inc()
        if observes:
            metrics.observed.labels(asked.guard, outcome.policy).inc()
        self.telemetry.event("decision", {
            "request": asked.request, "caller": asked.caller.id, "guard": asked.guard, "door": asked.door,
            "action": outcome.action, "code": outcome.code, "would": outcome.would, "observes": observes,
            "policy": outcome.policy, "ticket": outcome.ticket, "n": len(outcome.judgements),
            "changes": outcome.redacted.changes if outcome.redacted is not None else 0,
            "ms": round(seconds * 1000, 1)})

    def route(self, caller: Caller, model: str | None, path: str | None) -> str:
        """Which guard judges: that of the path, of the caller's key, of the model's name, or the default.

        Only guards of the key are used. Raises RefusedError: 404 for an unknown one, or none at all; 403 for one that
        is not the key's.
        """
        guards = self.settings.guards
        mine = [name for name in guards if caller.may_use(name)]
        if path is not None and path not in guards:  # Guards may be called after customers: only its own are named.
            raise RefusedError(404, "unknown_guard", "there is no guard of that name; expected one of the key's: "
                               f"{', '.join(mine) or 'none'}")
        if path is not None and path not in mine:
            raise RefusedError(403, "forbidden", f"the key may not use the guard {path!r}; expected one of its own: "
                               f"{', '.join(mine) or 'none'}")
        if not mine:
            raise RefusedError(403, "forbidden", "the key may use no guard that is served; expected a key that was "
                               "made with --guard, or a default_guard")
        if path is not None or len(mine) == 1:
            return path or mine[0]
        fits = [name for name in mine if model is not None
                and any(fnmatchcase(model, pattern) for pattern in guards[name].models)]
        if self.settings.default in mine:
            fits.append(str(self.settings.default))
        if not fits:
            raise RefusedError(404, "unknown_guard", "no guard of the key judges this model, and there is no "
                               f"default_guard; name one of {', '.join(mine)} in the path")
        return fits[0]

    async def ticket(self, id: str, caller: Caller, wait_s: float = 0) -> TicketState:  # noqa: A002
        """The state of a caller's own ticket, as soon as it is no longer pending or `wait_s` are over.

        Raises RefusedError: 404 for a ticket that is not there or is another's, 503 where the queue cannot be reached.
        """
        until = time.monotonic() + wait_s
        while True:
            state = await self._asked("state", lambda queue: queue.state(id, caller.id, caller.mark))
            left = until - time.monotonic()
            if state.status != "pending" or left <= 0:
                return state
            await asyncio.sleep(min(POLL_S, left))

    async def own_tickets(self, caller: Caller, before: float | None, limit: int) -> list[CallerTicket]:
        """The tickets of a key, the newest first. RefusedError as `ticket`."""
        return await self._asked("list", lambda queue: queue.of_caller(caller.id, caller.mark, before=before,
                                                                       limit=limit))

    async def audit(self, caller: Caller, after: int, limit: int) -> list[dict[str, Any]]:
        """Rows of the audit of the key's guards, after a number. RefusedError as `ticket`."""
        return await self._asked("audit", lambda queue: queue.audited(after, limit, caller.guards))

    async def _asked(self, operation: str, work: Callable[[Queue], T]) -> T:
        """What the queue says. RefusedError: 404 where there is none, or no such ticket, 503 where it is away."""
        if self.queue is None:
            raise RefusedError(404, "unknown_ticket", "there is no review queue here; see docs/serve.md")
        try:
            return await self.queue.aside(work, self.queue)
        except NotFoundError:
            raise RefusedError(404, "unknown_ticket", "there is no such ticket of this key") from None
        except Exception as error:
            self.queue_failed(operation, error)
            raise RefusedError(503, "queue", "the review queue cannot be reached; come again", {"Retry-After": "5"}
                               ) from None


def not_judged(code: str = "privacy/not_judged", what: str = "the answer") -> RefusedError:
    """503: the guard could not judge."""
    return RefusedError(503, code, f"the guard could not judge {what}; come again", {"Retry-After": "5"})


def question_of(answer: Answer) -> str | None:
    """What a reviewer reads as the question: the words that were declared, else the last user message."""
    asked = [turn.text for turn in answer.conversation if turn.role == "user" and turn.origin is None]
    said = answer.user_words or answer.question or (asked[-1] if asked else None)
    return said and clean(said)
