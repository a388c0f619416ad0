from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.serve.console.conftest import Desk

from discreet.serve.console.statistics import reviewing


def test_shares_are_counted_by_code_and_nothing_is_not_zero(make: Callable[..., Desk]) -> None:
    desk = make()
    empty = reviewing(desk.queue.database, 0)
    assert empty.decisions == 0
    shares = (empty.released, empty.overruled, empty.second, empty.rechecked, empty.kappa)
    assert not any(one.resolved for one in shares)
    for code, action, reason in (
            ("privacy/undecided", "release", "consent"), ("privacy/undecided", "block", "other"),
            ("privacy/contextual", "release", "public_person"), ("privacy/contextual", "block", "singles_out"),
            ("privacy/contextual", "block", "singles_out"), ("privacy/direct", "block", "names_a_person")):
        desk.queue.decide(desk.open(code=code), "anna", action=action, code=reason, version=1)  # type: ignore[arg-type]
    desk.clock.ahead += 11
    desk.open()
    expired = desk.open()
    desk.queue.sweep()
    found = reviewing(desk.queue.database, 0)
    assert found.decisions == 6
    assert found.released.value == pytest.approx(2 / 6)
    assert found.released.n == 6
    assert found.overruled.value == pytest.approx(1 / 4)
    assert found.overruled.n == 4
    assert not found.second.resolved
    assert found.reasons[0] == ("block", "singles_out", 2)
    groups = {(one.guard, one.code): one for one in found.groups}
    undecided = groups["medical", "privacy/undecided"]
    assert (undecided.opened, undecided.released, undecided.blocked, undecided.pending) == (4, 1, 1, 2)
    assert undecided.median_s == pytest.approx(10, abs=3)
    desk.clock.ahead += 3700
    desk.queue.settled(expired)
    again = {(one.guard, one.code): one for one in reviewing(desk.queue.database, 0).groups}
    assert again["medical", "privacy/undecided"].expired == 1
    assert reviewing(desk.queue.database, 0, ["legal"]).decisions == 0
    assert reviewing(desk.queue.database, desk.clock()).decisions == 0


def test_agreement_of_blind_rechecks_is_cohen_s_kappa(make: Callable[..., Desk]) -> None:
    desk = make(recheck=1.0)
    # Cohen's example by hand: both release 4, both block 3, 2 and 1 differ; (.7 - .5) / (1 - .5).
    for first, second, n in (("release", "release", 4), ("block", "block", 3), ("release", "block", 2),
                             ("block", "release", 1)):
        for _ in range(n):
            ticket = desk.open()
            desk.queue.decide(ticket, "anna", action=first, code="other", version=1)  # type: ignore[arg-type]
            desk.clock.ahead += 11
            version = desk.queue.settled(ticket)["version"]
            desk.queue.decide(ticket, "bela", action=second, code="other", version=version)  # type: ignore[arg-type]
    found = reviewing(desk.queue.database, 0)
    assert found.rechecked.value == pytest.approx(.7)
    assert found.rechecked.n == 10
    expected = .6 * .5 + .4 * .5
    assert found.kappa.value == pytest.approx((.7 - expected) / (1 - expected))
    assert found.kappa.low is not None
    assert found.kappa.low < .3


def test_the_second_reviewer_s_agreement(make: Callable[..., Desk]) -> None:
    desk = make(second_reviewer=True)
    for second in ("release", "release", "block"):
        ticket = desk.open()
        desk.queue.decide(ticket, "anna", action="release", code="other", version=1)
        desk.queue.decide(ticket, "bela", action=second, code="other", version=2)
    alone = desk.open()
    desk.queue.decide(alone, "anna", action="block", code="other", version=1)
    desk.clock.ahead += 11
    desk.queue.sweep()
    found = reviewing(desk.queue.database, 0)
    assert found.second.value == pytest.approx(2 / 3)
    assert found.second.n == 3
