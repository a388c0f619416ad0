"""What attackers get: the sentences, what naming is worth, and that both hold on simulated tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from tests.audit.membership.scenes import drawn, ends, sets_of, sure

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World
from discreet.audit.membership.attack import score_all
from discreet.audit.membership.attackers import Named, gains, named_members
from discreet.audit.membership.evaluation_sets import Selector
from discreet.audit.membership.rows import JudgedRow, judged_rows
from discreet.core.records import Estimate
from discreet.stats import tpr_at_fpr
from discreet.stats.attackers import tpr_bounds

HONEST = World(members=300, others=60, clean=300, leak=2.0)


def scene(world: World, seed: int = 0) -> tuple[list[JudgedRow], Units]:
    """All rows over all records of a simulated table, and its units."""
    table = drawn(world, seed)
    sets = sets_of(table)
    scores = score_all(table, sets, seed=0, names=["loss", "reference", "confidence", "entropy"])
    selector = Selector.of(table, sets, np.random.default_rng(0))
    judged = judged_rows(table, sets, selector, scores, lambda _: False)
    return [one for one in judged if one.spec.whole], Units.of(table)


def named(share: Estimate, control: Estimate | None = None, **more: Any) -> Named:
    return Named(**{"fpr": 0.01, "attacks": 7, "attack": "loss", "share": share,
                    "control": control or Estimate.unresolved("none"), **more})


def test_the_strongest_honest_attack_by_hand() -> None:
    judged, units = scene(HONEST)
    [found] = named_members(judged, units)
    honest = [one for one in judged if not one.spec.oracle and one.scores.target is not None]
    assert len(honest) < len(judged)
    # Of two classes confidence and entropy order records alike, as p and logit of the loss do.
    assert found.attacks == len({(one.rows.tobytes(), tuple(rankdata(sure(one.scores.target)[one.rows])))
                                 for one in honest}) < len(honest)
    values = {one.spec.attack: tpr_at_fpr(sure(one.scores.target)[one.rows], one.truth, 0.01) for one in honest}
    low, value, high = ends(found.share)
    assert (found.attack, value) == (max(values, key=lambda name: values[name]), max(values.values()))
    bounds = [tpr_bounds(sure(one.scores.target)[one.rows], one.truth, 0.01, attacks=found.attacks) for one in honest]
    assert (low, high) == (max(one.low for one in bounds), max(one.high for one in bounds))
    assert (found.control.high or 1.0) < high
    assert "Bonferroni" in found.share.method


def test_small_shares_only_where_records_resolve_them() -> None:
    many = named_members(*scene(World(members=100, others=0, clean=1200, paired=0)))
    assert [one.fpr for one in many] == [0.01, 0.001]
    [few] = named_members(*scene(World(members=60, others=0, clean=60, paired=0)))
    assert not few.share.resolved
    assert few.at_most.startswith("How many members the attacks name while naming few others is not known: ")
    assert "100" in few.at_most
    assert few.at_least == ""
    [none] = named_members([], Units(None))
    assert none.share.reason == "no attack has scores"


def test_the_sentences() -> None:
    share = Estimate(0.2, 0.0551, 0.0791, n=900)
    found = named(share, Estimate(0.01, 0.0, 0.03))
    assert found.at_most == ("With 95% confidence, none of the 7 attacks that were tried names more than 80 of 1,000 "
                             "members while naming 10 of 1,000 others (on the control model: 30).")
    assert found.at_least == "With 95% confidence, one of them names at least 55."
    assert named(share, attacks=1, fpr=0.001).at_most == (
        "With 95% confidence, the one attack that was tried names no more than 80 of 1,000 members while naming 1 of "
        "1,000 others.")
    assert named(replace(share, low=0.01)).at_least == ""
    assert "nothing bounds how many members" in named(replace(share, high=1.0)).at_most
    assert "more than 999 of 1,000" in named(replace(share, high=0.999)).at_most


def test_worth_of_naming_is_bayes_at_each_base_rate() -> None:
    judged, units = scene(HONEST)
    bounds = named_members(judged, units)
    own = next(one for one in judged if (one.spec.attack, one.spec.scale, one.spec.reference_kind) == (
        "reference", "logit", "neutral") and not one.spec.oracle)
    found = gains(own, bounds, (0.01, 0.5), units)
    assert [(one.base_rate, one.fpr) for one in found] == [(0.01, 0.01), (0.5, 0.01)]
    for one in found:
        tpr = tpr_at_fpr(sure(own.scores.target)[own.rows], own.truth, 0.01)
        # Of a million people: members who are named, among all who are named.
        members, others = 1e6 * one.base_rate, 1e6 * (1.0 - one.base_rate)
        ppv = members * tpr / (members * tpr + others * 0.01)
        assert one.ppv.value == pytest.approx(ppv)
        assert one.lift.value == pytest.approx(ppv / one.base_rate)
        high = sure(bounds[0].share.high)
        assert one.at_most == pytest.approx(members * high / (members * high + others * 0.01))
        assert sure(one.ppv.high) <= sure(one.at_most)
    bare = gains(replace(own, scores=replace(own.scores, control=None)), bounds, (0.1,), units)
    assert not bare[0].control_ppv.resolved
    assert "no control model" in str(bare[0].control_ppv.reason)
