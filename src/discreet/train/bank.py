"""Many small classifiers of one hidden layer, trained side by side on weighted rows of the same features.

A model's numbers do not depend on its neighbours: sparse products add row by row, dense ones are called per model on
its own rows, and the rest is elementwise. So a bank of M equals M banks of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.train.base import FloatArray, IntArray
from discreet.train.features import Matrix, Scaling
from discreet.train.products import DenseRows, SparseRows, exact_product, packed

Single = NDArray[np.float32]

BETA, BETA2, EPSILON = 0.9, 0.999, 1e-8
FIRST_SPREAD = 0.5
"""Standard deviation of the first layer's start, for features of norm about one."""
TOGETHER = 1 << 17
"""Numbers in the first layers of the models that are trained together: more fall out of the processor's cache."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Full-batch Adam on the mean log loss.

    Attributes
    ----------
    hidden : int
        ReLU units, at least 1.
    steps : int
        Updates, at least 1; fewer where training stops early.
    rate : float
        Learning rate, > 0.
    decay : float
        L2 penalty, added to the slope of the weights and not of the biases; >= 0.
    patience : int or None
        Stop after that many evaluations without a lower validation loss and keep the best; None: never stop.
    every : int
        Steps between evaluations.

    Raises ValueError for others.
    """

    hidden: int
    steps: int
    rate: float
    decay: float = 0.0
    patience: int | None = None
    every: int = 5

    def __post_init__(self) -> None:
        for name in ("hidden", "steps", "patience", "every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}: expected a whole number, at least 1")
        if not (np.isfinite(self.rate) and self.rate > 0.0):
            raise ValueError(f"rate is {self.rate}: expected a finite number above 0")
        if not (np.isfinite(self.decay) and self.decay >= 0.0):
            raise ValueError(f"decay is {self.decay}: expected a finite number, at least 0")


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """logits = max(x W₁ + b₁, 0) W₂ + b₂; `first` (d, h), `first_bias` (h,), `second` (h, K), `second_bias` (K,)."""

    first: Single
    first_bias: Single
    second: Single
    second_bias: Single

    def hidden(self, features: Matrix) -> FloatArray:
        """(n, h), at least 0."""
        return np.asarray(np.maximum(exact_product(features, self.first) + self.first_bias, 0.0), dtype=np.float64)

    def logits(self, features: Matrix) -> FloatArray:
        """(n, K)."""
        return exact_product(self.hidden(features), self.second) + self.second_bias


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A net, the scaling of its features, and how it came about.

    `steps` were made; the net is that after `best_step`. `curve` are (step, mean validation log loss in nats), empty
    without patience.
    """

    net: Net
    scaling: Scaling
    steps: int
    best_step: int
    curve: tuple[tuple[int, float], ...]


def fit_bank(features: Matrix, labels: IntArray, weights: IntArray, n_classes: int, plan: Plan,
             seeds: Sequence[np.random.SeedSequence], scaling: type[Scaling],
             validation: tuple[Matrix, IntArray] | None = None) -> list[Trained]:
    """Train M models.

    Parameters
    ----------
    features : array or CSR (n, d)
        Before scaling; each model's scaling is fitted on its own rows.
    labels : array (n,)
        Classes in [0, n_classes).
    weights : array (M, n)
        How often each model is trained on each row, whole numbers from 0; 0 = not at all.
    seeds : sequence of M SeedSequence
        Of the starting weights; nothing else is drawn.
    validation : (features, labels), optional
        Needed where `plan.patience` is given; shared by all models.

    Raises ValueError where shapes disagree, a weight is negative or no whole number, a model has no row, or patience
    has no validation rows.
    """
    weights = _checked(features, labels, weights, len(seeds))
    if plan.patience is not None and (validation is None or not validation[1].size):
        raise ValueError("patience is given without validation rows: expected some, or patience None")
    together = max(1, TOGETHER // (features.shape[1] * plan.hidden))
    found: list[Trained] = []
    for start in range(0, len(seeds), together):
        part = slice(start, start + together)
        found += _Training(features, labels, weights[part], n_classes, plan, seeds[part], scaling, validation).run()
    return found


def _checked(features: Matrix, labels: IntArray, weights: IntArray, count: int) -> IntArray:
    given = np.asarray(weights)
    if given.shape != (count, features.shape[0]) or labels.shape != (features.shape[0],):
        raise ValueError(f"weights {given.shape} and labels {labels.shape} for {count} seeds and {features.shape[0]} "
                         "rows: expected (M, n) and (n,)")
    if given.size and (given.dtype.kind not in "iu" or int(given.min()) < 0):
        raise ValueError("weights hold negative or fractional numbers: expected how often a row is trained on")
    if (given.sum(axis=1) == 0).any():
        raise ValueError(f"model {int(np.argmin(given.sum(axis=1)))} has no row of positive weight: expected some")
    return given.astype(np.int64)


class _Training:
    """The state of models that are trained together: parameters, Adam's moments, the best nets so far."""

    def __init__(self, features: Matrix, labels: IntArray, weights: IntArray, n_classes: int, plan: Plan,
                 seeds: Sequence[np.random.SeedSequence], scaling: type[Scaling],
                 validation: tuple[Matrix, IntArray] | None) -> None:
        self.plan, models = plan, range(len(seeds))
        own = [np.flatnonzero(row) for row in weights]
        self.scalings = [scaling.fit(features[own[m]], weights[m, own[m]].astype(np.float64)) for m in models]
        self.rows: SparseRows | DenseRows = packed([self.scalings[m].apply(features[own[m]]) for m in models])
        most = max(rows.size for rows in own)
        self.share = np.zeros((len(own), most, 1), dtype=np.float32)
        self.truth = np.zeros((len(own), most, n_classes), dtype=np.float32)
        self.ones = np.ones(most, dtype=np.float32)
        for m, rows in enumerate(own):
            self.share[m, : rows.size, 0] = weights[m, rows] / weights[m].sum()
            self.truth[m, np.arange(rows.size), labels[rows]] = 1.0
        starts = [_start(features.shape[1], plan.hidden, n_classes, one) for one in seeds]
        self.params = [np.stack(one) for one in zip(*starts, strict=True)]
        self.slopes = [np.zeros_like(one) for one in self.params]
        self.moments = [(np.zeros_like(one), np.zeros_like(one), np.empty_like(one)) for one in self.params]
        self.checks: SparseRows | DenseRows | None = None
        if plan.patience is not None and validation is not None:
            self.checks = packed([one.apply(validation[0]) for one in self.scalings])
            self.check_labels = validation[1]
        self.curves: list[list[tuple[int, float]]] = [[] for _ in models]
        self.best: list[tuple[int, Net]] = [(0, self._net(m)) for m in models]
        self.ended = np.zeros(len(own), dtype=np.int64)

    def run(self) -> list[Trained]:
        plan = self.plan
        for step in range(1, plan.steps + 1):
            self._slopes()
            self._adam(step)
            if self.checks is not None and (step % plan.every == 0 or step == plan.steps):
                self._evaluate(step)
                if self.ended.all():
                    break
        found = []
        for m, scaling in enumerate(self.scalings):
            best_step, net = self.best[m] if self.checks is not None else (plan.steps, self._net(m))
            made = int(self.ended[m]) or plan.steps
            found.append(Trained(net, scaling, made, best_step, tuple(self.curves[m])))
        return found

    def _forward(self, rows: SparseRows | DenseRows) -> tuple[Single, Single]:
        first, first_bias, second, second_bias = self.params
        hidden = rows.times(first)
        hidden += first_bias[:, None, :]
        np.maximum(hidden, 0.0, out=hidden)
        logits = np.empty((*hidden.shape[:2], second.shape[2]), dtype=np.float32)
        for m, size in enumerate(rows.sizes):
            np.matmul(hidden[m, :size], second[m], out=logits[m, :size])
            logits[m, size:] = 0.0
        logits += second_bias[:, None, :]
        return hidden, logits

    def _slopes(self) -> None:
        """Slopes of the mean log loss, and of the penalty on weights."""
        first, _, second, _ = self.params
        hidden, logits = self._forward(self.rows)
        error = _softmax(logits)
        error -= self.truth
        error *= self.share
        back = np.zeros_like(hidden)
        for m, size in enumerate(self.rows.sizes):
            np.matmul(error[m, :size], second[m].T, out=back[m, :size])
            np.matmul(hidden[m, :size].T, error[m, :size], out=self.slopes[2][m])
            np.matmul(self.ones[:size], error[m, :size], out=self.slopes[3][m])
        back *= hidden > 0.0
        self.rows.back(back, self.slopes[0])
        for m, size in enumerate(self.rows.sizes):
            np.matmul(self.ones[:size], back[m, :size], out=self.slopes[1][m])
        if self.plan.decay > 0.0:
            self.slopes[0] += np.float32(self.plan.decay) * first
            self.slopes[2] += np.float32(self.plan.decay) * second

    def _adam(self, step: int) -> None:
        for param, slope, moments in zip(self.params, self.slopes, self.moments, strict=True):
            _update(param, slope, *moments, step, self.plan.rate)

    def _evaluate(self, step: int) -> None:
        assert self.checks is not None
        assert self.plan.patience is not None
        _, logits = self._forward(self.checks)
        at = np.arange(self.check_labels.size)
        for m in np.flatnonzero(self.ended == 0):
            given = logits[m].astype(np.float64)
            top = given.max(axis=1)
            losses = np.log(np.exp(given - top[:, None]).sum(axis=1)) + top - given[at, self.check_labels]
            loss, curve = float(losses.mean()), self.curves[m]
            if all(loss < earlier for _, earlier in curve):
                self.best[m] = (step, self._net(int(m)))
            curve.append((step, loss))
            since = sum(1 for at_step, _ in curve if at_step > self.best[m][0])
            if since >= self.plan.patience:
                self.ended[m] = step

    def _net(self, model: int) -> Net:
        first, first_bias, second, second_bias = (one[model].copy() for one in self.params)
        return Net(first, first_bias, second, second_bias)


def _softmax(logits: Single) -> Single:
    """Over the last axis, in place; class by class, which is quicker than NumPy's sums over so few."""
    top = logits[..., 0].copy()
    for k in range(1, logits.shape[-1]):
        np.maximum(top, logits[..., k], out=top)
    logits -= top[..., None]
    np.exp(logits, out=logits)
    total = logits[..., 0].copy()
    for k in range(1, logits.shape[-1]):
        total += logits[..., k]
    logits /= total[..., None]
    return logits


def _update(param: Single, slope: Single, mean: Single, square: Single, room: Single, step: int, rate: float) -> None:
    """Adam (Kingma and Ba, ICLR 2015, Algorithm 1), in place; `room` is where it reckons."""
    np.subtract(slope, mean, out=room)
    np.multiply(room, 1.0 - BETA, out=room)
    np.add(mean, room, out=mean)
    np.multiply(slope, slope, out=room)
    np.subtract(room, square, out=room)
    np.multiply(room, 1.0 - BETA2, out=room)
    np.add(square, room, out=square)
    np.divide(square, 1.0 - BETA2**step, out=room)
    np.sqrt(room, out=room)
    np.add(room, EPSILON, out=room)
    np.divide(mean, room, out=room)
    np.multiply(room, rate / (1.0 - BETA**step), out=room)
    np.subtract(param, room, out=param)


def _start(dim: int, hidden: int, n_classes: int, seeds: np.random.SeedSequence) -> tuple[Single, ...]:
    rng = np.random.default_rng(seeds)
    first = rng.normal(0.0, FIRST_SPREAD, (dim, hidden))
    second = rng.normal(0.0, hidden**-0.5, (hidden, n_classes))
    parts = (first, np.zeros(hidden), second, np.zeros(n_classes))
    return tuple(one.astype(np.float32) for one in parts)
