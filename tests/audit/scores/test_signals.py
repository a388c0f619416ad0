from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.scores import signals
from discreet.core.arrays import log_softmax


def test_phi_keeps_its_digits_where_p_rounds_to_one() -> None:
    """Logits (g, 0): φ is g exactly, though p rounds to 1 from g = 37 on. K > 2 adds log(K − 1) below."""
    for gap in (0.5, 20.0, 40.0, 300.0, 800.0):
        two = log_softmax(np.array([[[gap, 0.0]]]))
        assert signals.phi(two, np.array([0]))[0, 0] == pytest.approx(gap, rel=1e-12)
        assert signals.phi(two, np.array([1]))[0, 0] == pytest.approx(-gap, rel=1e-12)
        assert signals.top_phi(two)[0, 0] == pytest.approx(gap, rel=1e-12)
        four = log_softmax(np.array([[[0.0, gap, 0.0, 0.0]]]))
        assert signals.phi(four, np.array([1]))[0, 0] == pytest.approx(gap - math.log(3), rel=1e-12)
        assert signals.top_phi(four)[0, 0] == pytest.approx(gap - math.log(3), rel=1e-12)


def test_two_classes_are_the_general_formula() -> None:
    """K = 2 has a shortcut; a third class without probability must not change φ."""
    two = log_softmax(np.random.default_rng(0).normal(0, 3, (50, 2, 2)))
    three = np.concatenate([two, np.full((50, 2, 1), -np.inf)], axis=-1)
    label = np.arange(50) % 2
    np.testing.assert_allclose(signals.phi(two, label), signals.phi(three, label), rtol=1e-14)
    np.testing.assert_allclose(signals.top_phi(two), signals.top_phi(three), rtol=1e-14)
    np.testing.assert_allclose(signals.entropy(two), signals.entropy(three), rtol=1e-14)


def test_margin_and_rank() -> None:
    log_p = np.log(np.array([[[0.5, 0.3, 0.2]]] * 3 + [[[0.4, 0.4, 0.2]]] * 2))
    label = np.array([0, 1, 2, 1, 2])
    np.testing.assert_allclose(signals.margin(log_p, label)[:, 0], [0.2, -0.2, -0.3, 0.0, -0.2], atol=1e-15)
    assert signals.true_rank(log_p, label)[:, 0].tolist() == [0, 1, 2, 0, 2]


def test_clipping_is_the_papers() -> None:
    p = np.array([1e-12, 1e-7, 0.3, 1 - 1e-9])
    log_p = np.log(np.stack([p, 1 - p], axis=-1))[:, None, :]
    expected = np.log(np.clip(p, 1e-7, 1 - 1e-7))
    clipped = signals.clipped_log_p(log_p, np.zeros(4, dtype=np.int64))[:, 0]
    np.testing.assert_allclose(clipped, expected, rtol=1e-14, atol=1e-15)
    assert clipped[0] == clipped[1]


def test_missing_and_infinite_values_are_missing() -> None:
    log_p = np.array([[[np.nan, np.nan]], [[0.0, -np.inf]], [[np.log(0.5)] * 2]])
    label = np.array([0, 1, 1])
    for found in (signals.true_log_p(log_p, label), signals.phi(log_p, label), signals.clipped_log_p(log_p, label)):
        assert np.isnan(found[:, 0]).tolist() == [True, True, False]
    assert np.isnan(signals.phi(log_p, np.array([0, 0, 0]))[:, 0]).tolist() == [True, True, False]
    assert signals.entropy(log_p)[1, 0] == 0
    assert np.isnan(signals.true_rank(log_p, label)[0, 0])
    assert np.isnan(signals.margin(log_p, label)[0, 0])


def test_query_mean_is_over_what_was_scored() -> None:
    values = np.array([[1.0, 3.0, np.nan], [np.nan] * 3, [2.0, np.inf, 4.0]])
    np.testing.assert_array_equal(signals.query_mean(values), [2.0, np.nan, 3.0])
    np.testing.assert_array_equal(signals.query_mean(values[:, :1]), [1.0, np.nan, 2.0])
    np.testing.assert_array_equal(signals.query_mean(np.stack([values, values])), [[2.0, np.nan, 3.0]] * 2)


def test_moments_are_those_of_the_masked_values() -> None:
    """More columns than one block holds."""
    draw = np.random.default_rng(0)
    values = draw.normal(5, 2, (9, 2_500, 2))
    values[3, ::7] = np.nan
    mask = draw.random(values.shape) < 0.3
    mean, std, n = signals.masked_moments(values, mask)
    for i in (0, 1, 7, 2_047, 2_048, 2_499):
        for q in range(2):
            kept = [v for v, m in zip(values[:, i, q], mask[:, i, q], strict=True) if m and not math.isnan(v)]
            assert n[i, q] == len(kept)
            if kept:
                assert mean[i, q] == pytest.approx(np.mean(kept), rel=1e-13)
                assert std[i, q] == pytest.approx(np.std(kept), rel=1e-12, abs=1e-14)
            else:
                assert np.isnan(mean[i, q])
                assert np.isnan(std[i, q])
    assert (n == 0).any()


def test_the_mean_alone_is_the_first_moment() -> None:
    """Rows that count whole, in part and not at all; what was given stays as it was."""
    draw = np.random.default_rng(1)
    values, mask = draw.normal(5, 2, (6, 50, 2)), draw.random((6, 50, 2)) < 0.4
    values[1, 3], values[2, 4] = np.nan, np.inf
    mask[:3], mask[5], mask[:, 7] = True, False, False
    before = values.copy(), mask.copy()
    mean, moments = signals.masked_mean(values, mask), signals.masked_moments(values, mask)
    np.testing.assert_allclose(mean, moments[0], rtol=1e-14)
    assert np.isnan(mean).sum() == 2
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(mask, before[1])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_true_class_of_every_model_row_and_query(classes: int) -> None:
    log_p = log_softmax(np.random.default_rng(2).normal(0, 2, (3, 8, 4, classes)))
    label = np.arange(8) % classes
    turned = np.asfortranarray(log_p)
    for given in (log_p, turned):
        found = signals.true_log_p(given, label)
        before = given.copy()
        assert found.shape == (3, 8, 4)
        assert all(found[m, i, q] == log_p[m, i, q, label[i]] for m in range(3) for i in range(8) for q in range(4))
        np.testing.assert_array_equal(signals.true_p(given, label), np.exp(found))
        np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("label", [[-1, 0], [0, 2], [0], [[0], [1]]])
def test_labels_that_cannot_be_are_refused(label: list[int]) -> None:
    with pytest.raises(ValueError, match="label"):
        signals.true_log_p(np.log(np.full((2, 1, 2), 0.5)), np.array(label))


def test_models_one_by_one_are_models_at_once() -> None:
    log_p = log_softmax(np.random.default_rng(0).normal(0, 2, (4, 10, 2, 3)))
    label = np.arange(10) % 3
    assert np.array_equal(signals.per_model(signals.phi, log_p, label), signals.phi(log_p, label))
