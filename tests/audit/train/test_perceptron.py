from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.audit.train.tasks import seeds

from discreet.audit.train import TrainedModel, TrainingPlan, perceptron
from discreet.audit.train.perceptron import BLOCK, Centred, Perceptron, Scaling, Tfidf, exact_product, fit_perceptrons

N, D, K = 40, 12, 3
HIDDEN = 5
PLAN = TrainingPlan(0.02, 30, decay=0.01)


def problem(kind: str, seed: int = 0) -> tuple[Any, np.ndarray, type[Scaling]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, N)
    if kind == "dense":
        return rng.normal(size=(N, D)) + labels[:, None] * (np.arange(D) < 3), labels, Centred
    counts = rng.poisson(0.6, (N, D)) + (np.arange(D) % K == labels[:, None])
    return sparse.csr_matrix(counts.astype(float)), labels, Tfidf


def same(one: TrainedModel, other: TrainedModel) -> bool:
    nets = all(one.state[part].tobytes() == other.state[part].tobytes() for part in Perceptron.__slots__)
    return nets and (one.steps, one.best_step, one.validation_curve) == (
        other.steps, other.best_step, other.validation_curve)


def fit(features: Any, labels: np.ndarray, weights: np.ndarray, plan: TrainingPlan, given: list[Any],
        scaling: type[Scaling], checks: Any = None) -> list[TrainedModel]:
    return [one for _, one in fit_perceptrons(features, labels, weights, K, HIDDEN, plan, given, scaling, checks)]


kinds = pytest.mark.parametrize("kind", ["dense", "sparse"])


def by_torch(features: Any, labels: np.ndarray, plan: TrainingPlan, seed: np.random.SeedSequence,
             scaling: type[Scaling]) -> np.ndarray:
    """Logits of the same rows after the same training by torch in double precision, one row after another repeated."""
    torch = pytest.importorskip("torch")
    scaled = scaling.fit(features, np.ones(labels.size)).apply(features)
    x = torch.tensor(scaled.toarray() if sparse.issparse(scaled) else scaled, dtype=torch.float64)
    start = perceptron.initial(D, HIDDEN, K, seed)
    w, b, w2, b2 = (torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in start)
    groups = [{"params": [w, w2], "weight_decay": plan.decay}, {"params": [b, b2], "weight_decay": 0.0}]
    optimiser = torch.optim.Adam(groups, lr=plan.rate)
    for _ in range(plan.epochs):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(torch.relu(x @ w + b) @ w2 + b2, torch.tensor(labels),
                                                 label_smoothing=plan.smoothing)
        loss.backward()
        optimiser.step()
    found: np.ndarray = (torch.relu(x @ w + b) @ w2 + b2).detach().numpy()
    return found


@kinds
@pytest.mark.parametrize("plan", [PLAN, replace(PLAN, smoothing=0.3)])
def test_is_adam_on_the_log_loss_of_repeated_rows(plan: TrainingPlan, kind: str) -> None:
    features, labels, scaling = problem(kind)
    times = np.random.default_rng(1).integers(0, 4, N)
    ((own, found),) = fit_perceptrons(features, labels, times[None], K, HIDDEN, plan, seeds(1), scaling)
    rows = np.repeat(np.arange(N), times)
    wanted = by_torch(features[rows], labels[rows], plan, seeds(1)[0], scaling)
    np.testing.assert_allclose(Perceptron(**found.state).logits(own.apply(features[rows])), wanted, atol=2e-4)


@kinds
def test_a_bank_is_its_models_one_by_one(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels, scaling = problem(kind)
    weights = np.random.default_rng(2).integers(0, 2, (9, N))
    weights[3] *= 16
    together = fit(features, labels, weights, PLAN, seeds(9), scaling)
    for m, one in enumerate(together):
        (alone,) = fit(features, labels, weights[m : m + 1], PLAN, seeds(9)[m : m + 1], scaling)
        assert same(one, alone)
    assert not any(same(one, other) for one, other in pairwise(together))
    # Nor does it matter how many are trained together.
    monkeypatch.setattr(perceptron, "TOGETHER", 2 * D * HIDDEN)
    pairs = fit(features, labels, weights, PLAN, seeds(9), scaling)
    assert len(pairs) == 9
    assert all(same(one, other) for one, other in zip(together, pairs, strict=True))


@kinds
def test_patience_keeps_the_best_net(kind: str) -> None:
    features, labels, scaling = problem(kind)
    checks, truth, _ = problem(kind, seed=5)
    truth = np.random.default_rng(0).permutation(truth)
    weights = np.random.default_rng(4).integers(0, 2, (4, N))
    plan = TrainingPlan(0.03, 60, patience=2, eval_every=1)
    found = fit_perceptrons(features, labels, weights, K, HIDDEN, plan, seeds(4), scaling, (checks, truth))
    assert len({one.steps for _, one in found}) > 1
    for m, (own, one) in enumerate(found):
        losses = dict(one.validation_curve)
        assert list(losses) == list(range(1, one.steps + 1))
        assert one.best_step == min(losses, key=lambda step: losses[step])
        assert one.steps == one.best_step + 2 * plan.eval_every < plan.epochs
        shorter = TrainingPlan(0.03, one.best_step)
        (until,) = fit(features, labels, weights[m : m + 1], shorter, seeds(4)[m : m + 1], scaling)
        assert until.state["first"].tobytes() == one.state["first"].tobytes()
        logits = Perceptron(**one.state).logits(own.apply(checks))
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        loss = -np.log(shares[np.arange(N), truth]).mean()
        assert losses[one.best_step] == pytest.approx(loss, abs=1e-5)
        (alone,) = fit(features, labels, weights[m : m + 1], plan, seeds(4)[m : m + 1], scaling,
                            (checks, truth))
        assert same(one, alone)


def test_without_patience_the_last_net_counts() -> None:
    features, labels, scaling = problem("dense")
    checks = problem("dense", seed=5)[:2]
    ones = np.ones((1, N), dtype=np.int64)
    (found,) = fit(features, labels, ones, PLAN, seeds(1), scaling, checks)
    assert (found.steps, found.best_step, found.validation_curve) == (30, 30, ())


def rows(kind: str, n: int, d: int, seed: int = 0) -> Any:
    made = np.random.default_rng(seed).normal(size=(n, d))
    if kind == "dense":
        return made
    return sparse.csr_matrix(np.where(np.random.default_rng(seed + 1).random((n, d)) < 0.4, made, 0.0))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@given(n=st.sampled_from([1, 2, 7, BLOCK, BLOCK + 3]), d=st.integers(1, 40), k=st.integers(1, 17))
def test_product_and_each_row_alone(kind: str, n: int, d: int, k: int) -> None:
    left, right = rows(kind, n, d), np.random.default_rng(9).normal(size=(d, k)).astype(np.float32)
    found = exact_product(left, right)
    wanted = (left if kind == "dense" else left.toarray()) @ right.astype(np.float64)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    for row in {0, n // 2, n - 1}:
        assert exact_product(left[row : row + 1], right).tobytes() == found[row].tobytes()
    assert exact_product(left[::-1], right)[::-1].tobytes() == found.tobytes()
