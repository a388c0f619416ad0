from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.labels.judge_facts import (
    conformance_of,
    exposure_of,
    histogram_of,
    plain,
    refuse_broken,
    utility_of,
)
from discreet.audit.labels.judge_rows import sides_of
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.core.errors import InputError
from discreet.mechanisms.labels.rr import HalvedRandomisedResponse
from discreet.scores.table import CANARY, HELDOUT, PLACEBO, TRAIN, UNKNOWN, ScoreTable

RNG = np.random.default_rng


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**{"canaries": 2000, "placebos": 1000, **given}), RNG(seed))


def under(table: ScoreTable, mechanism: str, epsilon: float, trained: np.ndarray[Any, Any]) -> ScoreTable:
    model = replace(table.models[0], mechanism=mechanism, epsilon=epsilon)
    return changed(table, models=(model,), trained=trained[None])


class TestConformance:
    def test_sound_labels_conform_and_are_counted(self) -> None:
        table = world(epsilon=1.0)
        found = conformance_of(table, 0)
        assert found.ok
        assert found.expected_flip == pytest.approx(1.0 / (1.0 + np.e))
        assert found.observed.value == np.mean(table.canaries.label != table.canaries.trained)
        assert found.to_json()["epsilon"] == 1.0

    def test_halved_flips_under_the_name_of_rr_are_broken(self) -> None:
        table = world()
        halved = HalvedRandomisedResponse.at(1.0, 2).apply(table.canaries.label[0], RNG(1))
        found = conformance_of(under(table, "rr", 1.0, halved), 0)
        assert found.ok is False
        assert "changed" in found.reasons[0]

    @pytest.mark.parametrize("mechanism", ["somebody_elses", "rr_with_prior"])
    def test_a_mechanism_whose_chances_are_not_known_must_change_enough(self, mechanism: str) -> None:
        table = world()
        assert conformance_of(under(table, mechanism, 1.0, world(epsilon=1.0).canaries.trained[0]), 0).at_least
        halved = HalvedRandomisedResponse.at(1.0, 2).apply(table.canaries.label[0], RNG(1))
        assert conformance_of(under(table, mechanism, 1.0, halved), 0).ok is False
        # More noise than needed breaks no promise.
        noise = RNG(2).integers(0, 2, len(table.examples))
        assert conformance_of(under(table, mechanism, 1.0, noise), 0).ok

    def test_only_fair_draws_tell_of_an_unknown_mechanism(self) -> None:
        table = world()
        role = table.canaries.role.copy()
        role[0, 300:] = TRAIN
        trained = table.canaries.label[0].copy()
        trained[:300] = RNG(3).integers(0, 2, 300)
        found = conformance_of(changed(under(table, "somebody_elses", 1.0, trained), role=role), 0)
        assert found.observed.n == 300
        assert found.ok

    def test_changes_without_a_mechanism_are_found(self) -> None:
        table = world()
        trained = table.canaries.trained.copy()
        assert conformance_of(table, 0).ok
        trained[0, 0] = 1 - trained[0, 0]
        assert conformance_of(changed(table, trained=trained), 0).ok is False

    def test_labels_that_are_not_there_say_nothing(self) -> None:
        table = world()
        found = conformance_of(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN)), 0)
        assert found.ok is None
        assert not found.observed.resolved

    def test_a_mechanism_that_is_broken_on_purpose_is_refused(self) -> None:
        table = world()
        refuse_broken(table)
        with pytest.raises(InputError, match="broken on purpose"):
            refuse_broken(under(table, "rr_halved", 1.0, table.canaries.trained[0]))


def test_accuracy_is_against_each_label_and_on_rows_of_its_own() -> None:
    table = world(canaries=40, placebos=40, epsilon=0.5, memory=3.0)
    role = table.canaries.role.copy()
    role[0, :10], role[0, 70:] = TRAIN, HELDOUT
    table = changed(table, role=role)
    found = utility_of(table, 0)
    guess = table.logits[0, :, 0].argmax(axis=1)
    inside = [place for place in range(80) if role[0, place] in (CANARY, TRAIN)]
    outside = [place for place in range(80) if role[0, place] in (HELDOUT, PLACEBO)]
    drawn = table.canaries
    for name, labels in (("trained", drawn.trained[0]), ("secret", drawn.label[0]), ("original", table.examples.label)):
        assert found["train_accuracy"][name].value == np.mean([guess[i] == labels[i] for i in inside])
    assert found["test_accuracy"].value == np.mean([guess[i] == table.examples.label[i] for i in outside])
    unknown = changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN))
    assert not utility_of(unknown, 0)["train_accuracy"]["trained"].resolved


def test_histograms_count_every_row_once_and_memory_moves_canaries() -> None:
    sides = sides_of(world(memory=4.0), 0)
    found = histogram_of(sides)
    assert (len(found["edges"]), sum(found["canary"]), sum(found["placebo"])) == (21, 2000, 1000)
    assert found["canary"][-1] / 2000 > 2 * found["placebo"][-1] / 1000
    p = np.exp(sides.canary.view.log_p[np.arange(2000), sides.canary.secret])
    assert found["canary"][0] == np.count_nonzero(p < 0.05)
    assert histogram_of(replace(sides, placebo=None))["placebo"] is None


def test_exposure_is_zero_bits_more_for_placebos() -> None:
    sides = sides_of(world(memory=4.0, n_classes=4), 0)
    found = exposure_of(sides)
    assert found["canary"].low is not None
    assert found["placebo"].high is not None
    assert found["canary"].low > found["placebo"].high
    assert not exposure_of(replace(sides, placebo=None))["placebo"].resolved


def test_plain_goes_into_mappings_and_lists() -> None:
    table = world(canaries=20, placebos=20)
    found = plain({"a": [utility_of(table, 0)], "b": (1, inf)})
    assert set(found["a"][0]["test_accuracy"]) >= {"value", "reason"}
    assert found["b"] == [1, inf]
