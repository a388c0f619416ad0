from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from discreet.audit.scores.check import COPY, DISTINCT, Shown, check_table, order_agreement, signals
from discreet.audit.scores.table import Examples, Model, Role, ScoreTable
from discreet.core.errors import InputError
from discreet.core.types import FloatArray, IntArray


def table_of(one: FloatArray, other: FloatArray, label: IntArray | None = None, *, as_prob: bool = False,
             roles: tuple[Role, Role] = ("target", "selection")) -> ScoreTable:
    """Two models with (n, K) logits each; every other example is a member of the first."""
    n = len(one)
    label = np.zeros(n, dtype=np.int64) if label is None else label
    examples = Examples(np.array([f"e{i}" for i in range(n)], dtype=object), label, np.zeros(n, dtype=np.int64))
    half = np.arange(n) % 2
    member = np.stack([half, half if roles[1] == "target" else 0 * half]).astype(np.int8)
    return ScoreTable((Model("f", roles[0]), Model("g", roles[1])), examples, np.stack([one, other])[:, :, None, :],
                      member, "prob" if as_prob else "logit")


def made(n: int = 2_000, n_classes: int = 2, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Logits that favour the label, most of them by far."""
    rng = np.random.default_rng(seed)
    label, logits = rng.integers(0, n_classes, n), rng.normal(size=(n, n_classes))
    logits[np.arange(n), label] += rng.gamma(2.0, 2.0, n)
    return logits, label


def as_probabilities(logits: FloatArray, decimals: int) -> FloatArray:
    """What a table of rounded probabilities becomes when it is read."""
    p = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    return np.log(np.clip(np.round(p, decimals), 1e-7, 1 - 1e-7))


NOISE = np.random.default_rng(9)
COPIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "rescaled": lambda x: 0.37 * x,
    "rescaled and shifted by row": lambda x: 3.0 * x + NOISE.normal(size=(len(x), 1)),
    "three decimals": lambda x: np.round(x, 3),
    "one decimal": lambda x: np.round(x, 1),
    "float16": lambda x: x.astype(np.float16).astype(np.float64),
    "probabilities of three decimals": lambda x: as_probabilities(x, 3),
    "probabilities of two decimals": lambda x: as_probabilities(x, 2),
    "noise": lambda x: x + 0.01 * NOISE.normal(size=x.shape),
}


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("how", COPIES)
def test_a_selector_that_is_the_target_is_refused_in_one_line(how: str, n_classes: int) -> None:
    logits, label = made(n_classes=n_classes)
    as_prob = how.startswith("probabilities")
    given = as_probabilities(logits, 12) if as_prob else logits
    with pytest.raises(InputError, match=r"^x: selector 'g' has the scores of target 'f', rescaled, rounded or with a "
                                         r"little noise \(rank correlation above 0\.9999\); each must be") as caught:
        check_table(table_of(given, COPIES[how](logits), label, as_prob=as_prob), "x")
    assert "\n" not in str(caught.value)


def test_models_in_one_role_may_be_alike() -> None:
    logits, label = made()
    check_table(table_of(logits, 2.0 * logits, label, roles=("target", "target")), "x")
    with pytest.raises(InputError, match="control 'g' has the scores of target 'f', rescaled"):
        check_table(table_of(logits, 2.0 * logits, label, roles=("target", "control")), "x")


@pytest.mark.parametrize("decimals", [None, 3, 2])
@pytest.mark.parametrize("penalty", [1e-2, 1.0, 1e4])
def test_models_trained_apart_on_separable_data_are_two(penalty: float, decimals: int | None) -> None:
    """Two classes far apart, of which either half teaches almost the same; saturated scores in long ties."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 6_000)
    features = rng.normal(size=(6_000, 20)) + np.where(label == 1, 3.0, -3.0)[:, None] * (np.arange(20) < 3)
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (slice(0, 1_000), slice(1_000, 2_000)):
            fitted = LogisticRegression(C=penalty, max_iter=300).fit(features[part], label[part])
            odds = fitted.decision_function(features)
            logits = np.stack([np.zeros(6_000), odds], axis=1)
            scores.append(logits if decimals is None else as_probabilities(logits, decimals))
    check_table(table_of(scores[0], scores[1], label, as_prob=decimals is not None), "x")


def test_saturated_ties_on_both_sides_are_no_agreement() -> None:
    # 19,900 of 20,000 examples at the cap of both; the rest in orders that have nothing to do with one another.
    rng = np.random.default_rng(0)
    one, other = np.full(20_000, 16.0), np.full(20_000, 16.0)
    one[:100], other[:100] = rng.normal(size=100), rng.normal(size=100)
    assert spearmanr(one, other).statistic > 0.98
    found = order_agreement(one, other)
    assert found is not None
    assert found < 0.5


def test_few_values_may_agree() -> None:
    few = np.random.default_rng(0).integers(0, DISTINCT - 1, 5_000).astype(float)
    assert order_agreement(few, few) is None
    assert order_agreement(few, few + np.linspace(0, 0.5, 5_000)) is None
    assert order_agreement(np.ones(100), np.arange(100.0)) is None
    check_table(table_of(np.stack([few, -few], 1), np.stack([2 * few, -few], 1)), "x")


def test_agreement_is_spearmans() -> None:
    rng = np.random.default_rng(1)
    one = rng.normal(size=300)
    other = np.round(one + rng.normal(size=300), 6)
    missing = np.where(np.arange(300) < 20, np.nan, one)
    assert order_agreement(one, other) == pytest.approx(spearmanr(one, other).statistic)
    assert order_agreement(missing, other) == pytest.approx(spearmanr(one[20:], other[20:]).statistic)
    assert order_agreement(one, -one) == pytest.approx(-1.0)


def test_the_bar_lies_between_a_little_noise_and_another_model() -> None:
    rng = np.random.default_rng(2)
    one = rng.normal(size=20_000)
    little, more = (order_agreement(one, one + sigma * rng.normal(size=one.size)) or 0.0 for sigma in (0.005, 0.05))
    assert more < COPY < little


def test_what_differs_outside_the_sample_is_seen() -> None:
    logits, label = made(n=8_000)
    other = 2.0 * logits
    every = np.arange(8_000) % 7 != 0
    other[every] = made(n=8_000, seed=5)[0][every]
    table = table_of(logits, other, label)
    sampled = [signals(table.logits[model, ::7], label[::7])[0] for model in (0, 1)]
    assert order_agreement(*sampled) == pytest.approx(1.0)
    assert not Shown(table).copies(0, 1)


def test_queries_are_averaged() -> None:
    rng = np.random.default_rng(4)
    logits, label = made()
    many = logits[:, None, :] + rng.normal(size=(len(logits), 5, 2))
    [found] = signals(many, label)
    ahead = np.where(label == 1, 1.0, -1.0)[:, None] * (many[..., 1] - many[..., 0])
    np.testing.assert_allclose(found, ahead.mean(axis=1))
