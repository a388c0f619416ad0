from __future__ import annotations

from dataclasses import replace
from math import exp, inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats
from tests.audit.labels.tables import changed

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.conformance import (
    LEVEL,
    conform,
    conformance_of,
    conformance_power,
    labels_needed,
    refuse_broken,
)
from discreet.audit.scores.table import TRAIN, UNKNOWN, ScoreTable
from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.stats.intervals import clopper_pearson
from discreet.stats.mechanisms.labels.alibi import Alibi
from discreet.stats.mechanisms.labels.base import label_mechanism, truth_probability
from discreet.stats.mechanisms.labels.rr import HalvedRandomisedResponse, RandomisedResponse
from discreet.stats.mechanisms.labels.rr_top_k import RRWithPrior

RNG = np.random.default_rng
RATES = st.sampled_from([0.0, 1.0]) | st.floats(1e-6, 1.0 - 1e-6)


class TestSoundMechanismsPass:
    @pytest.mark.parametrize("name", ["rr", "rr_top_k", "rr_with_prior", "alibi"])
    @pytest.mark.parametrize(("epsilon", "n_classes"), [(0.3, 2), (4.0, 2), (1.0, 10), (inf, 3)])
    def test_each(self, name: str, epsilon: float, n_classes: int) -> None:
        mechanism = label_mechanism(name, epsilon, n_classes)
        prior = np.linspace(1.0, 2.0, n_classes) if mechanism.takes_prior == "needed" else None
        labels = RNG(0).integers(0, n_classes, 5_000)
        found = conform(mechanism, labels, mechanism.apply(labels, RNG(1), prior), prior)
        assert found.ok, found.reasons
        assert found.observed.low is not None
        assert found.observed.high is not None
        assert found.observed.low <= found.expected_flip <= found.observed.high
        assert found.observed.n == 5_000

    def test_a_prior_for_each_example_is_checked_by_its_chances(self) -> None:
        prior = RNG(2).dirichlet([0.5] * 5, 20_000)
        labels = RNG(3).integers(0, 5, 20_000)
        mechanism = RRWithPrior.at(1.0, 5)
        assert conform(mechanism, labels, mechanism.apply(labels, RNG(4), prior), prior).ok
        swapped = mechanism.apply(labels, RNG(4), prior[::-1])
        found = conform(mechanism, labels, swapped, prior)
        assert not found.ok
        assert "should have" in found.reasons[0]

    def test_several_chances_raise_no_more_alarms(self) -> None:
        mechanism, rng = RRWithPrior.at(1.0, 8), RNG(9)
        prior, labels = rng.dirichlet([0.7] * 8, 2_000), rng.integers(0, 8, 2_000)
        assert np.unique(mechanism.should_stay(labels, prior)).size >= 6
        alarms = sum(not conform(mechanism, labels, mechanism.apply(labels, rng, prior), prior, level=0.95).ok
                     for _ in range(300))
        assert stats.binomtest(alarms, 300, 0.05, alternative="greater").pvalue > 0.001


class TestBrokenOnesFail:

    def test_it_is_refused_by_its_matrix_and_by_its_flips(self) -> None:
        labels = np.arange(26_048) % 2
        for epsilon in (4.0, 2.0, 1.0, 0.8, 0.5, 0.3):
            mechanism = HalvedRandomisedResponse.at(epsilon, 2)
            found = conform(mechanism, labels, mechanism.apply(labels, RNG(0)))
            assert not found.ok
            assert found.expected_flip == pytest.approx(1 / (1 + exp(epsilon)))
            assert found.reasons[0].startswith("its exact epsilon is")
            assert "labels changed where" in found.reasons[1]
            assert len(found.reasons) == 2

    def test_too_many_flips_or_one_where_there_should_be_none(self) -> None:
        labels = np.arange(5_000) % 2
        noisier, once = RandomisedResponse.at(1.0, 2).apply(labels, RNG(0)), np.where(np.arange(5_000) == 7, 0, labels)
        assert not conform(RandomisedResponse.at(2.0, 2), labels, noisier).ok
        assert conform(RandomisedResponse.at(inf, 2), labels, labels).ok
        assert not conform(RandomisedResponse.at(inf, 2), labels, once).ok

    def test_lies_that_favour_a_class(self) -> None:
        """As many flips as there should be, but every lie is the next class."""
        mechanism, labels = RandomisedResponse.at(1.0, 4), np.arange(4_000) % 4
        kept = RNG(0).random(4_000) < truth_probability(1.0, 4)
        found = conform(mechanism, labels, np.where(kept, labels, (labels + 1) % 4))
        assert len(found.reasons) == 1
        assert "became" in found.reasons[0]

    def test_a_mechanism_that_claims_too_little_is_refused_whatever_it_drew(self) -> None:
        class Boastful(RandomisedResponse):
            def exact_epsilon(self, prior: ArrayLike | None = None) -> float:
                return 2.0

        mechanism = Boastful(1.0, 2)
        labels: IntArray = np.arange(1000) % 2
        found = conform(mechanism, labels, mechanism.apply(labels, RNG(0)))
        assert found.reasons == ("its exact epsilon is 2, above the 1 that it claims",)


@pytest.mark.parametrize(("before", "after", "message"), [
    ([], [], "0 labels after 0"), ([0, 1], [0], "1 labels after 2"), ([0, 2], [0, 1], r"labels\[1\] is 2"),
])
def test_labels_that_cannot_be_checked(before: list[int], after: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conform(RandomisedResponse.at(1.0, 2), before, after)
    with pytest.raises(ValueError, match="no chances in closed form"):
        conform(Alibi.at(1.0, 2), [0, 1], [0, 1], [0.5, 0.5])


class TestPower:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(1, 120), RATES, RATES, st.sampled_from([0.9, LEVEL]))
    def test_is_the_mass_of_counts_whose_interval_excludes_the_expected(
        self, n: int, expected: float, actual: float, level: float
    ) -> None:
        outside = [k for k in range(n + 1)
                   if not (ends := clopper_pearson(k, n, level)).low <= expected <= ends.high]
        slow = float(stats.binom.pmf(outside, n, actual).sum())
        assert conformance_power(n, expected, actual, level=level) == pytest.approx(slow, abs=1e-9)

    def test_labels_needed_is_where_power_is_reached(self) -> None:
        n = labels_needed(0.27, 0.135, power=0.99)
        assert conformance_power(n, 0.27, 0.135) >= 0.99 > conformance_power(n - 1, 0.27, 0.135)
        with pytest.raises(ValueError, match="need more than 10,000,000 labels"):
            labels_needed(0.27, 0.27)


def world(seed: int = 0, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**{"canaries": 2000, "held_out": 1000, **given}), RNG(seed))


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

    def test_without_a_mechanism_a_change_is_found_and_unknown_labels_say_nothing(self) -> None:
        table = world()
        assert conformance_of(table, 0).ok
        one = table.canaries.trained.copy()
        one[0, 0] = 1 - one[0, 0]
        assert conformance_of(changed(table, trained=one), 0).ok is False
        found = conformance_of(changed(table, trained=np.full_like(one, UNKNOWN)), 0)
        assert (found.ok, found.observed.resolved) == (None, False)
        refuse_broken(table)
        with pytest.raises(InputError, match="broken on purpose"):
            refuse_broken(under(table, "rr_halved", 1.0, table.canaries.trained[0]))
