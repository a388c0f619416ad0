"""The guarantee of DP-SGD against what an audit shows: holds, is broken, cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.audit.membership.scenes import drawn, scene, sure
from tests.errors import refused

from discreet.audit.core.simulate import World
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.guarantee import Guarantee, guarantee_of, guaranteed
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import ScoreTable
from discreet.audit.scores.write import write_scores
from discreet.core.errors import InputError
from discreet.report import summarise, to_html
from discreet.stats.epsilon import one_run_p

LEAKING = World(members=400, others=0, clean=400, selector=0, paired=0, leak=3.0)


def private(table: ScoreTable, epsilon: float, **facts: str) -> ScoreTable:
    first, *rest = table.models
    return replace(table, models=(replace(first, mechanism="dp-sgd", epsilon=epsilon, facts=facts), *rest))


def audited(table: ScoreTable, design: str = "randomised") -> MembershipAudit:
    return audit_membership(table, design=design, permutations=0, bootstraps=5, attacks=["loss"])


def test_a_larger_epsilon_than_guaranteed_fails_whatever_the_tolerance() -> None:
    table = private(drawn(LEAKING), 0.5, delta="1e-5")
    done = audit_membership(table, design="randomised", permutations=0, bootstraps=5, attacks=["loss"],
                            tolerance_auc=0.999, tolerance_part=0.999)
    found = sure(done.decisive.guarantee)
    assert (found.broken, done.verdict) == (True, "fail")
    assert sure(found.lower.value) > 1.0
    assert done.decisive.judgement.reason_codes[0] == "guarantee_broken"
    page = summarise(done.record)
    assert "gives away more about its training records than its ε of 0.5 allows" in page.headline
    assert "The guarantee does not hold" in to_html(page)


def test_a_guarantee_that_holds_stands_next_to_the_bound() -> None:
    done = audited(private(drawn(replace(LEAKING, leak=0.0)), 4.0, delta="1e-5"))
    found = sure(done.decisive.guarantee)
    assert not found.broken
    assert 0.0 <= sure(found.lower.value) < 1.0
    assert "guarantee" in done.decisive.judgement.reason_codes
    assert "at most 4 at δ = 1e-05" in " ".join(done.decisive.judgement.reasons)
    assert "is the most that ε of this training run can be" in to_html(summarise(done.record))


def test_without_a_random_draw_nothing_is_broken() -> None:
    done = audited(private(drawn(LEAKING), 0.5, delta="1e-5"), "convenience")
    found = sure(done.decisive.guarantee)
    assert (found.broken, done.verdict) == (False, "inconclusive")
    assert "random draw" in found.sentence


def test_models_without_a_guarantee_have_none() -> None:
    table = drawn(LEAKING)
    assert audited(table).decisive.guarantee is None
    first, *rest = table.models
    assert guaranteed(replace(table, models=(replace(first, mechanism="rr", epsilon=1.0), *rest)), 0) is None


def test_the_bound_is_about_rows_that_stand_alone() -> None:
    """Groups, and rows that were planted, are left out; δ makes the bound smaller."""
    table, sets, scores = scene(replace(LEAKING, planted={4: 60}))
    members = sets.members
    rng = np.random.default_rng(0)

    def bound(table: ScoreTable) -> Guarantee:
        return sure(guarantee_of(table, sets, scores, "randomised", rng, 0.05))

    strict, lax = (bound(private(table, 1.0, delta=delta)) for delta in ("1e-6", "0.001"))
    assert sure(strict.lower.value) > sure(lax.lower.value)
    assert strict.lower.n_pos == min(members.size, sets.clean[scores.kind].size)
    group = np.arange(len(table.examples))
    group[members[:300]] = np.repeat(members[:150], 2)
    grouped = replace(table, examples=replace(table.examples, group=group))
    assert bound(private(grouped, 1.0, delta="1e-6")).lower.n_pos == members.size - 300


def test_the_bound_at_delta_is_the_first_epsilon_that_is_not_rejected() -> None:
    from discreet.audit.membership.controls import RUNGS, ladder_bound

    truth = np.arange(200) < 100
    best, guesses = ladder_bound(truth.astype(float), truth, 0.05, np.random.default_rng(0), 1e-4)
    level = 0.05 / len(RUNGS)
    for epsilon, rejected in ((best - 0.01, True), (best + 0.01, False)):
        assert (one_run_p(guesses, guesses, epsilon, delta=1e-4, n=200) <= level) == rejected


def test_a_table_keeps_the_guarantee(tmp_path: Path) -> None:
    table = private(drawn(LEAKING), 2.0, delta="1e-05")
    write_scores(table, tmp_path / "scores.parquet")
    again = load_scores(tmp_path / "scores.parquet")
    assert guaranteed(again, again.index("target-0")) == (2.0, 1e-5)


@pytest.mark.parametrize(("facts", "said"), [
    ({}, "the mechanism dp-sgd and no delta; expected a column 'delta'"), ({"delta": "x"}, "the delta 'x'"),
    ({"delta": "1.5"}, "with a number from 0 to below 1")])
def test_a_delta_that_is_none_is_refused(facts: dict[str, str], said: str) -> None:
    with refused(InputError, said):
        audited(private(drawn(LEAKING), 1.0, **facts))
