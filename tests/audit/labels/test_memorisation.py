from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import Any

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.memorisation import (
    class_exposure,
    histogram_of,
    mean_memorisation,
    memorisation_interval,
    utility_of,
)
from discreet.audit.labels.rows import evaluation_sets
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, TRAIN, UNKNOWN, ScoreTable
from discreet.core.records import Estimate
from discreet.stats.intervals import clopper_pearson

RNG = np.random.default_rng


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**{"canaries": 2000, "held_out": 1000, **given}), RNG(seed))


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def covers(estimate: Estimate, value: float) -> bool:
    low, high = ends(estimate)
    return low <= value <= high


def test_the_class_with_the_best_score_is_fully_exposed_and_equal_scores_expose_nothing() -> None:
    scores = [[3.0, 1.0, 2.0, 0.0]] * 4
    assert class_exposure(scores, [0, 2, 1, 3]).tolist() == [2.0, 1.0, pytest.approx(log2(4 / 3)), 0.0]
    assert class_exposure([[1.0, 1.0, 1.0, 1.0]], [2]).tolist() == [0.0]


@pytest.mark.parametrize(("scores", "labels", "message"), [
    ([1.0, 2.0], [0], "scores have shape"), ([[1.0]], [0], "K >= 2"), ([[1.0, np.nan]], [0], "finite"),
    ([[1.0, 2.0]], [2], "labels have shape"), ([[1.0, 2.0]], [0, 1], "labels have shape"),
    ([[1.0, 2.0]], [0.5], "labels have shape"),
])
def test_scores_and_labels_that_cannot_be(scores: list[float], labels: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_exposure(scores, labels)


def test_the_interval_is_of_both_rates_and_covers() -> None:
    one = memorisation_interval(9, 10, 2, 20)
    high, low = clopper_pearson(9, 10, 0.975), clopper_pearson(2, 20, 0.975)
    assert (one.value, one.low, one.high) == pytest.approx((0.8, high.low - low.high, high.high - low.low))
    rng = RNG(1)
    assert sum(covers(memorisation_interval(int(rng.binomial(15, 0.7)), 15, int(rng.binomial(15, 0.3)), 15), 0.4)
               for _ in range(300)) >= 285


def test_the_mean_over_canaries_is_the_difference_to_held_out_ones() -> None:
    given: dict[str, Any] = {"canaries": 300, "held_out": 200, "epsilon": 1.0}
    table = world(2, memory=2.0, **given)
    found = mean_memorisation(evaluation_sets(table, 0))
    for truth, labels in (("canary", table.canaries.label[0]), ("trained", table.canaries.trained[0])):
        hit = table.logits[0, :, 0].argmax(axis=1) == labels
        assert found[truth].value == pytest.approx(hit[:300].mean() - hit[300:].mean())  # type: ignore[index]
    assert ends(found["trained"])[0] > 0.0
    quiet = mean_memorisation(evaluation_sets(world(2, memory=0.0, **given), 0))
    assert all(covers(one, 0.0) for one in quiet.values())


def test_without_held_out_canaries_or_labels_there_is_no_mean() -> None:
    table = world(2, canaries=20, held_out=20)
    alone = replace(evaluation_sets(table, 0), held_out=None)
    assert not any(one.resolved for one in mean_memorisation(alone).values())
    unknown = changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN))
    found = mean_memorisation(evaluation_sets(unknown, 0))
    assert (found["canary"].resolved, found["trained"].resolved) == (True, False)


def test_accuracy_is_against_each_label_and_on_rows_of_its_own() -> None:
    table = world(canaries=40, held_out=40, epsilon=0.5, memory=3.0)
    role = table.canaries.role.copy()
    role[0, :10], role[0, 70:] = TRAIN, HELDOUT
    table = changed(table, role=role)
    found, drawn = utility_of(table, 0), table.canaries
    guess = table.logits[0, :, 0].argmax(axis=1)
    inside = [place for place in range(80) if role[0, place] in (CANARY, TRAIN)]
    outside = [place for place in range(80) if role[0, place] in (HELDOUT, CONTROL)]
    for name, labels in (("trained", drawn.trained[0]), ("canary", drawn.label[0]), ("original", table.examples.label)):
        assert found["train_accuracy"][name].value == np.mean([guess[i] == labels[i] for i in inside])
    assert found["test_accuracy"].value == np.mean([guess[i] == table.examples.label[i] for i in outside])
    unknown = changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN))
    assert not utility_of(unknown, 0)["train_accuracy"]["trained"].resolved


def test_histograms_count_every_row_once_and_memory_moves_canaries() -> None:
    sets = evaluation_sets(world(memory=4.0), 0)
    found = histogram_of(sets)
    assert (len(found["edges"]), sum(found["canary"]), sum(found["control"])) == (21, 2000, 1000)
    assert found["canary"][-1] / 2000 > 2 * found["control"][-1] / 1000
    p = np.exp(sets.canaries.view.log_p[np.arange(2000), sets.canaries.canary])
    assert found["canary"][0] == np.count_nonzero(p < 0.05)
    assert histogram_of(replace(sets, held_out=None))["control"] is None
