from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.serve.queue.conftest import SAFE, TEXT, Clock, put

from discreet.core.errors import ConflictError, NotFoundError, UsageError
from discreet.serve.queue import audit
from discreet.serve.queue.records import edited_payload
from discreet.serve.queue.tickets import Queue

Make = Callable[..., Queue]
EDITED = {"index": 0, "finish_reason": "stop", "logprobs": None,
          "message": {"role": "assistant", "content": "A lawyer.", "refusal": None}}


def actions(queue: Queue, ticket: str, reviewer: str = "ann") -> list[str]:
    return [one.action for one in queue.read(ticket, reviewer).actions]


def test_a_released_answer_reaches_its_caller_after_the_undo_window(queue: Queue, clock: Clock) -> None:
    ticket = put(queue)
    assert queue.state(ticket, "clinic").status == "pending"
    view = queue.read(ticket, "ann")
    assert view.texts == (TEXT,)
    assert view.question == "Who is it?"
    assert TEXT not in repr(view)
    version = queue.decide(ticket, "ann", action="release", code="too_many_fit", version=view.row.version)
    assert queue.state(ticket, "clinic").payload is None
    clock.now += 9.9
    assert queue.state(ticket, "clinic").status == "pending"
    clock.now += .2
    state = queue.state(ticket, "clinic")
    assert (state.status, state.version) == ("released", version + 1)
    assert state.payload == {"choices": [{"message": {"content": TEXT}, "logprobs": {"content": [TEXT[:5]]}}]}
    assert TEXT not in repr(state)
    clock.now += queue.expires_s
    state = queue.state(ticket, "clinic")
    assert (state.status, state.payload) == ("released", None)


def test_a_blocked_answer_is_erased(queue: Queue, clock: Clock) -> None:
    ticket = put(queue)
    queue.decide(ticket, "ann", action="block", code="singles_out", version=1)
    clock.now += 11
    assert queue.sweep() == {"expired": 0, "released": 0, "blocked": 1, "erased": 0, "keys": 0}
    assert queue.state(ticket, "clinic").status == "blocked"
    with pytest.raises(ConflictError, match="blocked and erased"):
        queue.read(ticket, "ann")


@pytest.mark.parametrize("swept", [True, False])
def test_an_expired_ticket_stays_expired(queue: Queue, clock: Clock, swept: bool) -> None:
    ticket = put(queue)
    clock.now += queue.expires_s
    if swept:
        assert queue.sweep()["expired"] == 1
    assert queue.state(ticket, "clinic").status == "expired"
    clock.now -= 2 * queue.expires_s
    state = queue.state(ticket, "clinic")
    assert (state.status, state.payload) == ("expired", None)
    with pytest.raises(ConflictError):
        queue.decide(ticket, "ann", action="release", code="consent", version=state.version)


def test_a_decision_that_nobody_carried_out_in_time_is_expired(queue: Queue, clock: Clock) -> None:
    ticket = put(queue)
    queue.decide(ticket, "ann", action="release", code="consent", version=1)
    clock.now += 10 + queue.expires_s
    assert queue.sweep()["expired"] == 1
    assert queue.state(ticket, "clinic").status == "expired"


def test_another_callers_ticket_is_not_there(queue: Queue) -> None:
    ticket = put(queue)
    for who, which in (("bank", ticket), ("clinic", "f" * 32)):
        with pytest.raises(NotFoundError, match="there is no ticket"):
            queue.state(which, who)


def test_a_stale_version_is_a_conflict(queue: Queue) -> None:
    ticket = put(queue)
    version = queue.reserve(ticket, "ann", 1)
    for write in (lambda: queue.reserve(ticket, "ann", 1), lambda: queue.leave(ticket, "ann", 1),
                  lambda: queue.decide(ticket, "ann", action="block", code="other", version=1),
                  lambda: queue.heartbeat(ticket, "ann", 1), lambda: queue.undo(ticket, "ann", 1)):
        with pytest.raises(ConflictError, match="meanwhile"):
            write()
    assert queue.decide(ticket, "ann", action="block", code="other", version=version) == version + 1


def test_a_reservation_keeps_others_out_until_it_ends(queue: Queue, clock: Clock) -> None:
    ticket = put(queue)
    version = queue.reserve(ticket, "ann", 1)
    assert actions(queue, ticket, "bob") == []
    assert actions(queue, ticket) == ["release", "release_edited", "block", "leave"]
    for write in (queue.reserve, queue.heartbeat, queue.leave):
        with pytest.raises(ConflictError, match="another reviewer"):
            write(ticket, "bob", version)
    with pytest.raises(ConflictError, match="reserved"):
        queue.decide(ticket, "bob", action="block", code="other", version=version)
    clock.now += 200
    assert queue.heartbeat(ticket, "ann", version) == clock.now + 300
    clock.now += 200
    assert queue.tickets()[0].reserved_by == "ann"
    with pytest.raises(ConflictError):
        queue.reserve(ticket, "bob", version)
    clock.now += 101
    version = queue.reserve(ticket, "bob", version)
    version = queue.leave(ticket, "bob", version)
    assert queue.tickets()[0].reserved_by is None
    with pytest.raises(ConflictError, match="nothing to leave"):
        queue.leave(ticket, "bob", version)


def test_undo_takes_a_decision_back_before_it_is_final(queue: Queue, clock: Clock) -> None:
    ticket = put(queue)
    version = queue.decide(ticket, "ann", action="release", code="consent", version=1)
    assert actions(queue, ticket) == ["undo"]
    with pytest.raises(ConflictError, match="only the reviewer who decided"):
        queue.undo(ticket, "bob", version)
    version = queue.undo(ticket, "ann", version)
    clock.now += 20
    assert queue.state(ticket, "clinic").status == "pending"
    version = queue.decide(ticket, "bob", action="block", code="sensitive", version=version)
    clock.now += 10
    with pytest.raises(ConflictError):
        queue.undo(ticket, "bob", version)
    assert queue.state(ticket, "clinic").status == "blocked"


def test_an_edited_answer_says_the_edited_text_and_nothing_else(queue: Queue, clock: Clock) -> None:
    ticket = put(queue)
    queue.decide(ticket, "ann", action="release_edited", code="generalised", text="A lawyer.", verdict=SAFE, version=1)
    clock.now += 11
    assert queue.state(ticket, "clinic").payload == {"choices": [EDITED]}


@pytest.mark.parametrize(("payload", "texts", "edited", "made"), [
    ({"texts": ["a", "b"]}, ("a", "b"), ("x", "b"), {"texts": ["x", "b"]}),
    ({"deep": [{"said": "a"}, 1, None], "id": "i"}, ("a",), ("x",), {"deep": [{"said": "x"}, 1, None], "id": "i"}),
    ({"said": "a and more"}, ("a",), ("x",), None),
    ({"choices": [{"message": {"content": "a", "reasoning": "r", "tool_calls": [{}]}, "finish_reason": "tool_calls"},
                  {"message": {"content": "b", "reasoning": "r"}, "index": 1}], "id": "i"}, ("r\n\na", "r\n\nb"),
     ("A lawyer.", "r\n\nb"), {"choices": [EDITED, {"message": {"content": "b", "reasoning": "r"}, "index": 1}],
                                "id": "i"}),
])
def test_edited_payloads(payload: dict[str, object], texts: tuple[str, ...], edited: tuple[str, ...],
                         made: object) -> None:
    assert edited_payload(payload, texts, edited) == made


@pytest.mark.parametrize(("text", "verdict", "said"), [
    ("A lawyer.", None, "without a verdict"), ("A lawyer.", {"action": "flag"}, "flagged"),
    ("A lawyer.", {"action": "failed"}, "not judged"), (["a", "b"], SAFE, "2 edited texts"),
    (None, SAFE, "without a text"),
])
def test_an_edited_text_that_was_not_judged_is_not_released(queue: Queue, text: object, verdict: object,
                                                            said: str) -> None:
    ticket = put(queue)
    with pytest.raises(UsageError, match=said) as caught:
        queue.decide(ticket, "ann", action="release_edited", code="removed", text=text, verdict=verdict,  # type: ignore[arg-type]
                     version=1)
    assert "lawyer" not in str(caught.value)
    assert queue.state(ticket, "clinic").version == 1


def test_codes_are_those_that_the_server_declares(queue: Queue) -> None:
    ticket = put(queue)
    for action, code in (("release", "sensitive"), ("block", "consent"), ("burn", "other")):
        with pytest.raises(UsageError, match="expected one of release: nobody_described"):
            queue.decide(ticket, "ann", action=action, code=code, version=1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="with a text"):
        queue.decide(ticket, "ann", action="release", code="consent", text="other", version=1)


def test_with_a_second_reviewer_a_release_takes_two(make: Make, clock: Clock) -> None:
    queue = make(second_reviewer=True)
    ticket = put(queue)
    version = queue.decide(ticket, "ann", action="release_edited", code="removed", text="A lawyer.", verdict=SAFE,
                           version=1)
    clock.now += 60
    assert queue.state(ticket, "clinic").status == "pending"
    assert actions(queue, ticket) == ["block", "undo", "reserve"]
    with pytest.raises(ConflictError, match="another person"):
        queue.decide(ticket, "ann", action="release", code="consent", version=version)
    assert queue.read(ticket, "bob").edited == ("A lawyer.",)
    queue.decide(ticket, "bob", action="release", code="too_many_fit", version=version)
    clock.now += 11
    assert queue.state(ticket, "clinic").payload == {"choices": [EDITED]}

    withdrawn = put(queue)
    version = queue.decide(withdrawn, "ann", action="release", code="consent", version=1)
    version = queue.undo(withdrawn, "ann", version)
    assert queue.decide(withdrawn, "bob", action="release", code="consent", version=version) == version + 1
    assert queue.tickets()[0].first_by == "bob"
    queue.decide(withdrawn, "ann", action="block", code="other", version=version + 1)
    clock.now += 11
    assert queue.state(withdrawn, "clinic").status == "blocked"


def test_a_blind_recheck_asks_another_reviewer(make: Make, clock: Clock) -> None:
    queue = make(recheck=1.0)
    ticket = put(queue)
    queue.decide(ticket, "ann", action="block", code="singles_out", version=1)
    clock.now += 11
    queue.sweep()
    row, = queue.tickets(status="recheck")
    assert (row.status, row.decision, row.decided_by) == ("recheck", None, None)
    assert actions(queue, ticket) == []
    view = queue.read(ticket, "bob")
    assert [one.action for one in view.actions] == ["release", "block"]
    assert view.texts == (TEXT,)
    queue.decide(ticket, "bob", action="release", code="consent", version=view.row.version)
    assert queue.state(ticket, "clinic").status == "blocked"
    assert queue.tickets(status="recheck") == []
    with pytest.raises(ConflictError, match="erased"):
        queue.read(ticket, "bob")


def test_lists_go_by_deadline(queue: Queue, clock: Clock) -> None:
    made = []
    for code in ("privacy/undecided", "privacy/contextual") * 3:
        made.append(put(queue, code=code))
        clock.now += 1
    assert [row.id for row in queue.tickets()] == made
    first = queue.tickets(limit=4)
    assert [row.id for row in first] == made[:4]
    assert queue.tickets(guards=["law"]) == []
    assert TEXT not in repr(first)


def test_of_many_who_decide_at_once_one_does(queue: Queue) -> None:
    ticket = put(queue)

    def decide(who: int) -> bool:
        try:
            queue.decide(ticket, f"r{who}", action="release", code="consent", version=1)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(decide, range(16))) == 1
    assert queue.row(ticket)["version"] == 2
    assert audit.verify(queue.database, queue.audit_key).wrong is None


@pytest.mark.parametrize("options", [{"expires_s": 0}, {"undo_s": -1}, {"reserve_s": 0}, {"recheck": 2},
                                     {"key_period_s": 0}, {"url": "sqlite://"}, {"url": "mysql://a/b"}, {"url": "q"}])
def test_settings_that_cannot_be_are_refused(make: Make, options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="expected"):
        make(**options)
