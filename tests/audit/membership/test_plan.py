from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from tests.audit.membership.scenes import sure

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.attack import score_all
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.membership.plan import leak_seen, plan_membership
from discreet.audit.membership.rows import judged_row
from discreet.core.errors import UsageError
from discreet.stats import auroc


def test_references_see_what_the_simulated_world_says() -> None:
    world = World(members=6000, others=0, clean=6000, selector=0, paired=0, neutral=0, shadows=4, leak=1.2,
                  reference_leak=1.2)
    table = simulated_table(world, np.random.default_rng(1))
    sets = evaluation_sets(table, 0, np.random.default_rng(0))
    [scores] = [one for one in score_all(table, sets, seed=0, names=["reference"])
                if (one.scale, one.kind) == ("logit", "population")]
    found = judged_row(table, sets, scores, "clean")
    endless = NormalDist().cdf(1.2 / (2**0.5 * world.noise))
    # Two of four did not train on a record, give or take one.
    assert auroc(sure(scores.target)[found.rows], found.truth) == pytest.approx(leak_seen(endless, 4), abs=0.02)
    assert leak_seen(endless, 4) < leak_seen(endless, 64) < endless


def test_rare_parts_need_more_records_and_more_parts_too() -> None:
    def members(**options: Any) -> int:
        return int(sure(plan_membership(**options)["members"]))

    assert members(shares=(0.02, 0.98)) > 4 * members(shares=(0.5, 0.5))
    assert members(shares=(0.25,) * 4) > members(shares=(0.25,))
    assert members(tolerance_auc=0.53) > members(tolerance_auc=0.55)
    assert members(leak=0.68, tolerance_auc=0.6, references=64) > members(leak=0.8, tolerance_auc=0.6, references=64)


def test_a_row_of_the_plan_decides_it_and_costs_follow() -> None:
    plan = plan_membership(shares=(0.02, 0.98), minutes=3.0)
    rare = plan["parts"][1]
    assert plan["members"] == np.ceil(max(rare["to_pass"], rare["to_fail"]) / 0.02)
    assert plan["nonmembers"] * 0.9 == pytest.approx(plan["members"], abs=1.0)
    assert (plan["models"], plan["minutes"]) == (10, 30.0)
    assert [one["references"] for one in plan["choices"]] == [4, 8, 16, 32, 64]
    assert plan_membership()["minutes"] is None
    # What was planned is what the parts then reach.
    assert rare["passes"] >= 0.8 ** (1 / 3)
    assert rare["fails"] >= 0.8
    assert rare["least_leak"] <= plan["leak_seen"] + 0.001


def test_a_leak_that_few_references_cannot_see_above_the_tolerance_has_no_number() -> None:
    plan = plan_membership(leak=0.68, references=64)
    few, *_, many = plan["choices"]
    assert few["leak_seen"] < 0.65 < many["leak_seen"]
    assert few["members"] is None
    assert few["nonmembers"] is None
    assert many["members"] == plan["members"]


@pytest.mark.parametrize(("options", "said"), [
    ({"tolerance_auc": 0.5}, "--tolerance-auc is 0.5"), ({"leak": 1.0}, "--leak is 1"), ({"shares": (0.5, 1.2)}, "1.2"),
    ({"references": 1}, "--references is 1"), ({"power": 1.0}, "--power is 1"), ({"minutes": 0.0}, "--minutes is 0"),
    ({"leak": 0.6}, "8 references see 0.590")])
def test_what_cannot_be_planned(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_membership(**options)
