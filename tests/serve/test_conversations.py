from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.serve.conftest import BREAKS, LITIGATOR, Service, Start

from discreet.guard.conversation import Told
from discreet.serve.conversations import Conversations
from discreet.serve.limits import RefusedError
from discreet.serve.settings import GuardSettings, Settings

AGE, JOB = "The patient is 52 years old.", "She works as a litigator."


def settings(**more: Any) -> Settings:
    return Settings(guards={"medical": GuardSettings(domain="medical")}, no_auth=True, **more)


def test_what_a_conversation_told_counts_and_is_nobody_elses(start: Start) -> None:
    service = start()

    def said(text: str, conversation: str | None, role: str = "caller") -> str:
        return str(service.ask("/v1/check", {"text": text, "conversation_id": conversation}, role).json()["code"])

    assert [said(AGE, "a"), said(JOB, None), said(JOB, "b"), said(AGE, "c")] == ["ok"] * 4
    assert said(JOB, "a", "operator") == "ok"  # Another key.
    assert [said(JOB, "a"), said(JOB, "a")] == ["privacy/contextual"] * 2
    assert service.ask("/v1/check", {"text": AGE, "conversation_id": ""}).status_code == 422


def test_several_answers_that_go_out_together_are_one_turn(start: Start) -> None:
    service = start()
    found = service.ask("/v1/check", {"text": [AGE, JOB], "conversation_id": "a"}).json()
    assert found["code"] == "privacy/contextual"
    # Nothing went out.
    assert service.ask("/v1/check", {"text": JOB, "conversation_id": "a"}).json()["code"] == "ok"


def test_observed_answers_went_out_and_broken_ones_did_not(start: Start) -> None:
    service = start(mode="observe")
    for text, code in ((AGE, "ok"), (JOB, "privacy/contextual"), (JOB, "ok"), (BREAKS, "privacy/not_judged")):
        found = service.ask("/v1/check", {"text": text, "conversation_id": "a"}).json()
        assert (found["action"], found["code"]) == ("pass", code)


AGAIN = "She asks what fifty-two litigators ask where Omaha lies."
"""Three of the four facts of LITIGATOR, and all of SHORT; safe by itself."""
SHORT = "The patient is a 52-year-old litigator from Omaha."


def held(service: Service, text: str, role: str = "caller", **named: Any) -> bool:
    """Whether a text is withheld; `named` says of which conversation or user."""
    return bool(service.ask("/v1/check", {"text": text, **named}, role).json()["code"] != "ok")


@pytest.mark.parametrize(("given", "facts", "whole"), [
    ({}, True, True), ({"enabled": False}, False, False), ({"facts": 4}, False, False),
    ({"expires_s": 1e-9}, False, False)])
@pytest.mark.parametrize("name", ["conversation_id", "user"])
def test_single_facts_count_for_whom_the_request_names_and_whole_answers_for_the_key(
        start: Start, given: dict[str, Any], facts: bool, whole: bool, name: str) -> None:
    service = start(withheld=given)
    assert [held(service, AGAIN, **{name: "a"}), held(service, LITIGATOR, **{name: "b"})] == [False, True]
    assert [held(service, AGAIN, **{name: one}) for one in ("b", "c")] == [facts, False]
    assert [held(service, AGAIN), held(service, AGAIN, "operator", **{name: "b"})] == [False, False]
    assert held(service, SHORT, **{name: "e"})
    assert [held(service, AGAIN, **{name: "d"}), held(service, AGAIN), held(service, AGAIN, "operator")] == [
        whole, whole, False]
    restated = facts + 2 * whole
    assert ('discreet_restated_total{guard="medical"} ' + f"{restated:.1f}" in service.gate.telemetry.metrics.page(
        ).decode()) == bool(restated)
    assert "Omaha" not in service.log.getvalue()


def test_a_new_name_in_the_same_conversation_resets_nothing(start: Start) -> None:
    service = start()
    assert held(service, LITIGATOR, conversation_id="a", user="jane")
    assert held(service, AGAIN, conversation_id="a", user="john")
    assert held(service, AGAIN, conversation_id="b", user="jane")
    assert not held(service, AGAIN, conversation_id="c", user="jack")


def test_memories_are_bounded_and_names_of_users_push_out_no_key(start: Start) -> None:
    service = start(withheld={"memories": 1})
    for user in ("jane", "john"):
        assert held(service, LITIGATOR, user=user)
    assert len(service.gate.withheld) == 2
    assert [held(service, AGAIN, user="jane"), held(service, AGAIN, user="john")] == [False, True]
    assert held(service, SHORT, user="jack")
    assert held(service, AGAIN, user="jane")
    assert "jane" not in repr(service.gate.withheld.__dict__)


@pytest.mark.parametrize(("headers", "body"), [
    ({"x-discreet-user": "jane"}, {}), ({"x-discreet-user": "jane"}, {"user": "john"}), ({}, {"user": "jane"})])
def test_who_names_the_end_user(start: Start, headers: dict[str, str], body: dict[str, Any]) -> None:
    service = start()
    assert held(service, LITIGATOR, user="jane")
    sent = headers | {"Authorization": f"Bearer {service.tokens['caller']}"}
    assert service.client.post("/v1/check", json={"text": AGAIN, **body}, headers=sent).json()["code"] != "ok"


def test_no_text_of_it_in_the_memory_or_the_log(start: Start) -> None:
    service = start()
    service.ask("/v1/check", {"text": AGE, "conversation_id": "mrs-roe"})
    assert len(service.gate.conversations) == 1
    assert "mrs-roe" not in service.log.getvalue()


def test_turns_of_one_conversation_follow_one_another() -> None:
    async def several() -> list[int]:
        kept, order = Conversations(settings()), list[int]()

        async def one(number: int) -> None:
            async with kept.turn(("app", "medical", "a")) as remembered:
                before = len(remembered.told.persons)
                await asyncio.sleep(0)
                assert len(remembered.told.persons) == before
                order.append(number)

        await asyncio.gather(*(one(number) for number in range(5)))
        return order

    assert asyncio.run(several()) == [0, 1, 2, 3, 4]


def test_it_is_bounded_and_expires() -> None:
    now = [0.0]
    kept = Conversations(settings(conversations={"most": 2, "expires_s": 60}), lambda: now[0])

    async def told(name: str) -> Told:
        async with kept.turn(("app", "medical", name)) as remembered:
            return remembered.told

    async def run() -> None:
        first = await told("a")
        assert await told("a") is first
        for name in ("b", "c", "d"):
            await told(name)
        assert len(kept) == 3  # The one that is judged now is over the count.
        assert await told("a") is not first
        now[0] = 61
        await told("e")
        assert len(kept) == 1

    asyncio.run(run())


def test_several_processes_refuse_a_conversation() -> None:
    async def run() -> None:
        with pytest.raises(RefusedError, match="expected no conversation id, or processes: 1"):
            async with Conversations(settings(processes=2)).turn(("app", "medical", "a")):
                pass

    asyncio.run(run())
