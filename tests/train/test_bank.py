from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from discreet.train import bank
from discreet.train.bank import Net, Plan, Trained, fit_bank
from discreet.train.features import Centred, Scaling, Tfidf

N, D, K = 40, 12, 3
PLAN = Plan(hidden=5, steps=30, rate=0.02, decay=0.01)


def problem(kind: str, seed: int = 0) -> tuple[Any, np.ndarray, type[Scaling]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, N)
    if kind == "dense":
        return rng.normal(size=(N, D)) + labels[:, None] * (np.arange(D) < 3), labels, Centred
    counts = rng.poisson(0.6, (N, D)) + (np.arange(D) % K == labels[:, None])
    return sparse.csr_matrix(counts.astype(float)), labels, Tfidf


def seeds(count: int) -> list[np.random.SeedSequence]:
    return [np.random.SeedSequence(7, spawn_key=(m,)) for m in range(count)]


def same(one: Trained, other: Trained) -> bool:
    nets = all(getattr(one.net, part).tobytes() == getattr(other.net, part).tobytes() for part in Net.__slots__)
    return nets and (one.steps, one.best_step, one.curve) == (other.steps, other.best_step, other.curve)


kinds = pytest.mark.parametrize("kind", ["dense", "sparse"])


def by_torch(features: Any, labels: np.ndarray, plan: Plan, seed: np.random.SeedSequence,
             scaling: type[Scaling]) -> np.ndarray:
    """Logits of the same rows after the same training by torch in double precision, one row after another repeated."""
    torch = pytest.importorskip("torch")
    scaled = scaling.fit(features, np.ones(labels.size)).apply(features)
    x = torch.tensor(scaled.toarray() if sparse.issparse(scaled) else scaled, dtype=torch.float64)
    start = bank._start(D, plan.hidden, K, seed)
    w, b, w2, b2 = (torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in start)
    groups = [{"params": [w, w2], "weight_decay": plan.decay}, {"params": [b, b2], "weight_decay": 0.0}]
    optimiser = torch.optim.Adam(groups, lr=plan.rate)
    for _ in range(plan.steps):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(torch.relu(x @ w + b) @ w2 + b2, torch.tensor(labels))
        loss.backward()
        optimiser.step()
    found: np.ndarray = (torch.relu(x @ w + b) @ w2 + b2).detach().numpy()
    return found


@kinds
def test_is_adam_on_the_log_loss_of_repeated_rows(kind: str) -> None:
    features, labels, scaling = problem(kind)
    times = np.random.default_rng(1).integers(0, 4, N)
    (found,) = fit_bank(features, labels, times[None], K, PLAN, seeds(1), scaling)
    rows = np.repeat(np.arange(N), times)
    wanted = by_torch(features[rows], labels[rows], PLAN, seeds(1)[0], scaling)
    np.testing.assert_allclose(found.net.logits(found.scaling.apply(features[rows])), wanted, atol=2e-4)


@kinds
def test_a_bank_is_its_models_one_by_one(kind: str) -> None:
    features, labels, scaling = problem(kind)
    weights = np.random.default_rng(2).integers(0, 2, (9, N))
    weights[3] *= 16
    together = fit_bank(features, labels, weights, K, PLAN, seeds(9), scaling)
    for m, one in enumerate(together):
        (alone,) = fit_bank(features, labels, weights[m : m + 1], K, PLAN, seeds(9)[m : m + 1], scaling)
        assert same(one, alone)
    assert not any(same(one, other) for one, other in pairwise(together))


@kinds
def test_how_many_are_trained_together_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels, scaling = problem(kind)
    weights = np.random.default_rng(2).integers(0, 3, (5, N))
    whole = fit_bank(features, labels, weights, K, PLAN, seeds(5), scaling)
    monkeypatch.setattr(bank, "TOGETHER", 2 * D * PLAN.hidden)
    pairs = fit_bank(features, labels, weights, K, PLAN, seeds(5), scaling)
    assert len(pairs) == 5
    assert all(same(one, other) for one, other in zip(whole, pairs, strict=True))


@kinds
def test_rows_without_weight_do_not_exist(kind: str) -> None:
    features, labels, scaling = problem(kind)
    weights = (np.arange(N) % 3 > 0)[None].astype(np.int64)
    (with_them,) = fit_bank(features, labels, weights, K, PLAN, seeds(1), scaling)
    kept = np.flatnonzero(weights[0])
    ones = np.ones((1, kept.size), dtype=np.int64)
    (without,) = fit_bank(features[kept], labels[kept], ones, K, PLAN, seeds(1), scaling)
    assert same(with_them, without)


@kinds
def test_patience_keeps_the_best_net(kind: str) -> None:
    features, labels, scaling = problem(kind)
    checks, truth, _ = problem(kind, seed=5)
    truth = np.random.default_rng(0).permutation(truth)
    weights = np.random.default_rng(4).integers(0, 2, (4, N))
    plan = Plan(hidden=5, steps=60, rate=0.03, patience=2, every=1)
    found = fit_bank(features, labels, weights, K, plan, seeds(4), scaling, (checks, truth))
    assert len({one.steps for one in found}) > 1
    for m, one in enumerate(found):
        losses = dict(one.curve)
        assert list(losses) == list(range(1, one.steps + 1))
        assert one.best_step == min(losses, key=lambda step: losses[step])
        assert one.steps == one.best_step + 2 * plan.every < plan.steps
        shorter = Plan(hidden=5, steps=one.best_step, rate=0.03)
        (until,) = fit_bank(features, labels, weights[m : m + 1], K, shorter, seeds(4)[m : m + 1], scaling)
        assert until.net.first.tobytes() == one.net.first.tobytes()
        logits = one.net.logits(one.scaling.apply(checks))
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        loss = -np.log(shares[np.arange(N), truth]).mean()
        assert losses[one.best_step] == pytest.approx(loss, abs=1e-5)
        (alone,) = fit_bank(features, labels, weights[m : m + 1], K, plan, seeds(4)[m : m + 1], scaling,
                            (checks, truth))
        assert same(one, alone)


def test_without_patience_the_last_net_counts() -> None:
    features, labels, scaling = problem("dense")
    checks = problem("dense", seed=5)[:2]
    ones = np.ones((1, N), dtype=np.int64)
    (found,) = fit_bank(features, labels, ones, K, PLAN, seeds(1), scaling, checks)
    assert (found.steps, found.best_step, found.curve) == (30, 30, ())


def test_a_net_is_what_it_says() -> None:
    rng = np.random.default_rng(0)
    first, first_bias, second, second_bias = (rng.normal(size=s).astype(np.float32) for s in ((D, 4), 4, (4, K), K))
    net = Net(first, first_bias, second, second_bias)
    rows = rng.normal(size=(6, D))
    hidden = np.maximum(rows @ first.astype(float) + first_bias, 0)
    np.testing.assert_allclose(net.hidden(rows), hidden, atol=1e-12)
    np.testing.assert_allclose(net.logits(rows), hidden @ second.astype(float) + second_bias, atol=1e-12)


@pytest.mark.parametrize(("weights", "count", "said"), [
    (np.ones((2, N), dtype=int), 1, "expected"), (np.ones((1, N - 1), dtype=int), 1, "expected"),
    (np.full((1, N), 0.5), 1, "negative or fractional"), (np.full((1, N), -1), 1, "negative or fractional"),
    (np.stack([np.ones(N, dtype=int), np.zeros(N, dtype=int)]), 2, "model 1 has no row"),
])
def test_impossible_weights(weights: np.ndarray, count: int, said: str) -> None:
    features, labels, scaling = problem("dense")
    with pytest.raises(ValueError, match=said):
        fit_bank(features, labels, weights, K, PLAN, seeds(count), scaling)


def test_patience_without_validation() -> None:
    features, labels, scaling = problem("dense")
    plan = Plan(hidden=2, steps=2, rate=0.1, patience=1)
    for checks in (None, (features[:0], labels[:0])):
        with pytest.raises(ValueError, match="without validation rows"):
            fit_bank(features, labels, np.ones((1, N), dtype=int), K, plan, seeds(1), scaling, checks)


@pytest.mark.parametrize("odd", [{"hidden": 0}, {"steps": 0}, {"rate": 0.0}, {"rate": float("nan")}, {"decay": -1.0},
                                 {"decay": float("inf")}, {"patience": 0}, {"every": 0}])
def test_impossible_plans(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(odd))} is .*: expected"):
        Plan(**{"hidden": 2, "steps": 2, "rate": 0.1, **odd})
