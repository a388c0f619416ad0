"""How many requests at a time: against a made-up server whose best number is known."""

from __future__ import annotations

import pytest

from discreet.inputs.endpoints.adaptive import BACK_OFF, FIRST, Concurrency


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(one: Concurrency, clock: Clock, room: int, answers: int) -> None:
    """A server that answers `room` at a time in a second; of more, each takes longer in proportion, without a word."""
    for _ in range(answers):
        under_way = max(int(one.limit), 1)
        seconds = max(1.0, under_way / room)
        clock.now += seconds / under_way
        one.answered(seconds, 100.0)


@pytest.mark.parametrize("room", [4, 16, 50])
def test_a_server_that_only_gets_slower_is_not_asked_for_much_more_than_it_can(room: int) -> None:
    clock = Clock()
    one = Concurrency(500, clock=clock)
    run(one, clock, room, 20_000)
    assert room * 0.5 <= one.limit <= room * 4
    assert one.decreases > 0


def test_one_that_keeps_up_gets_all_that_may_be() -> None:
    clock = Clock()
    one = Concurrency(64, clock=clock)
    run(one, clock, 10_000, 5_000)
    assert (one.limit, one.decreases) == (64, 0)


def test_being_turned_away_backs_off_once_for_all_that_were_under_way() -> None:
    clock = Clock()
    one = Concurrency(64, clock=clock)
    for _ in range(10):
        one.limited()
    assert one.limit == pytest.approx(FIRST * BACK_OFF)
    clock.now += 2
    for _ in range(20):
        clock.now += 2
        one.limited()
    assert one.limit == 1


def test_an_idle_endpoint_says_nothing_about_its_limit() -> None:
    clock = Clock()
    one = Concurrency(64, clock=clock)
    for _ in range(500):
        clock.now += 1
        one.answered(1.0, 100.0, busy=False)
    assert one.limit == FIRST
