from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.core.errors import UsageError
from discreet.stats.mechanisms.labels.base import (
    checked_labels,
    checked_prior,
    epsilon_of,
    epsilon_of_truth,
    label_mechanism,
    prior_of_logits,
    stage_parts,
    truth_probability,
)

CHANCES = hnp.arrays(np.float64, st.tuples(st.integers(2, 5), st.integers(2, 6)), elements=st.floats(0.01, 1.0))


def rows_to_one(weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> np.ndarray[
        tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


class TestEpsilonOfAMatrix:
    @settings(deadline=None)
    @given(CHANCES)
    def test_is_the_largest_log_ratio_of_two_inputs(self, weights: np.ndarray[tuple[int, int], np.dtype[np.float64]]
                                                    ) -> None:
        matrix = rows_to_one(weights)
        inputs, outputs = matrix.shape
        slow = max(log(matrix[a, o] / matrix[b, o]) for a in range(inputs) for b in range(inputs)
                   for o in range(outputs))
        assert epsilon_of(matrix) == pytest.approx(slow, abs=1e-12)

    @pytest.mark.parametrize(("matrix", "epsilon"), [
        ([[1.0, 0.0], [0.5, 0.5]], inf), ([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]], log(3)), ([[0.2, 0.8]] * 3, 0.0)])
    def test_its_ends(self, matrix: list[list[float]], epsilon: float) -> None:
        assert epsilon_of(matrix) == pytest.approx(epsilon)

    @pytest.mark.parametrize(("matrix", "message"), [
        ([[0.5, 0.4], [0.5, 0.5]], "row 0 of the matrix sums to 0.9"),
        ([[1.5, -0.5], [0.5, 0.5]], "negative"),
        ([[np.nan, 1.0], [0.5, 0.5]], "NaN"),
        ([0.5, 0.5], r"shape \(2,\)"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
    ])
    def test_what_is_no_matrix_of_chances_is_refused(self, matrix: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            epsilon_of(matrix)  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.floats(0.01, 30.0), st.integers(2, 1000))
def test_truth_and_epsilon_are_inverse(epsilon: float, n_classes: int) -> None:
    truth = truth_probability(epsilon, n_classes)
    assert truth == pytest.approx(exp(epsilon) / (exp(epsilon) + n_classes - 1), rel=1e-12)
    # Near 1 the odds lose digits: e^-30 of 1 is a few roundings.
    assert epsilon_of_truth(truth, n_classes) == pytest.approx(epsilon, abs=1e-2 if epsilon > 25 else 1e-4)
    assert truth_probability(inf, n_classes) == truth_probability(5000.0, n_classes) == 1.0
    assert [epsilon_of_truth(rate, n_classes) for rate in (1.0, 1.0 / n_classes, 0.0)] == [inf, 0.0, 0.0]


class TestDoor:
    def test_a_broken_one_is_refused_unless_asked_for(self) -> None:
        with pytest.raises(UsageError, match=r"'rr_halved' is broken on .* alibi, rr, rr_top_k, rr_with_prior$"):
            label_mechanism("rr_halved", 1.0, 2)
        assert label_mechanism("rr_halved", 1.0, 2, allow_broken=True).broken

    @pytest.mark.parametrize(("epsilon", "n_classes", "message"), [
        (0.0, 2, "epsilon is 0: expected a number above 0"), (-1.0, 2, "epsilon is -1"), (np.nan, 2, "epsilon is nan"),
        (1.0, 1, "n_classes is 1: expected a whole number, at least 2"),
    ])
    @pytest.mark.parametrize("name", ["rr", "rr_top_k", "rr_with_prior", "alibi"])
    def test_what_cannot_be_is_a_usage_error(self, name: str, epsilon: float, n_classes: int, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            label_mechanism(name, epsilon, n_classes)

    def test_an_unknown_name(self) -> None:
        with pytest.raises(UsageError, match=r"'nothing': expected one of alibi, rr, rr_top_k, rr_with_prior$"):
            label_mechanism("nothing", 1.0, 2)
        with pytest.raises(UsageError, match=r"'nothing' is none of .*expected some of .*rr_halved"):
            label_mechanism("nothing", 1.0, 2, allow_broken=True)


class TestInputs:
    def test_labels_become_whole_numbers_and_weights_a_distribution(self) -> None:
        assert checked_labels([True, False, 1.0], 2).tolist() == [1, 0, 1]
        assert checked_labels([], 2).shape == (0,)
        assert np.asarray(checked_prior([[1.0, 3.0], [2.0, 2.0]], 2, 2)).tolist() == [[0.25, 0.75], [0.5, 0.5]]

    @pytest.mark.parametrize(("labels", "message"), [
        ([0, 2], r"labels\[1\] is 2 \(1 such\)"), ([-1], r"labels\[0\] is -1"), ([0.5], r"labels\[0\] is 0.5"),
        ([np.nan], r"labels\[0\] is nan"), ([[0, 1]], r"shape \(1, 2\)"), (["a"], "values of type"),
    ])
    def test_labels_that_cannot_be(self, labels: list[object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            checked_labels(labels, 2)  # type: ignore[arg-type]

    @pytest.mark.parametrize(("prior", "message"), [
        ([1.0, 1.0, 1.0], r"shape \(3,\)"), ([-1.0, 2.0], "negative"), ([np.nan, 1.0], "NaN"), ([0.0, 0.0], "is 0"),
        ([[0.5, 0.5]] * 3, r"shape \(3, 2\): expected \(2,\) or \(4, 2\)"),
    ])
    def test_priors_that_cannot_be(self, prior: list[object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            checked_prior(prior, 2, 4)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "stages"), [(10, 2), (11, 2), (7, 3), (3, 3), (5, 1)])
def test_parts_are_disjoint_and_whole(n: int, stages: int) -> None:
    parts = stage_parts(n, np.random.default_rng(0), stages)
    assert len(parts) == stages
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all((np.diff(part) > 0).all() for part in parts)
    for wrong in (0, n + 1):
        with pytest.raises(ValueError, match=f"{wrong} stages of {n} rows"):
            stage_parts(n, np.random.default_rng(0), wrong)


def test_a_high_temperature_knows_less() -> None:
    logits = np.array([[0.0, np.log(3.0)], [1.0, 1.0]])
    np.testing.assert_allclose(prior_of_logits(logits), [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(prior_of_logits(logits, 2.0)[0, 1], np.sqrt(3) / (1 + np.sqrt(3)))
    for temperature in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="temperature is"):
            prior_of_logits(logits, temperature)
