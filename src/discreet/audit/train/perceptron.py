"""Scaled features, and classifiers of one hidden layer on weighted rows of them, many trained side by side, no torch.

A model does not depend on its neighbours: sparse products add row by row, dense ones are called per model on its own
rows, and the rest is elementwise. So a bank of M equals M banks of one, bit for bit.

There is a second bank besides that of networks (`discreet.audit.train.networks`) because rows stay sparse here: 16
models on 800 rows of 2,048 hashed columns take 6 ms an update, and 140 ms as dense rows in torch
(docs/results/training_speed.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.plan import BETA1, BETA2, EPSILON, TrainedModel, TrainingPlan, smoothed
from discreet.core.errors import need
from discreet.core.types import FloatArray, IntArray

Matrix: TypeAlias = Any
"""An array (n, d), or a SciPy CSR matrix of that shape."""
Single = NDArray[np.float32]

FIRST_STD = 0.5
"""Standard deviation of the first layer's initial weights, for features of norm about one."""
TOGETHER = 1 << 17
"""First-layer weights of the models that are trained together: more of them do not fit the processor's cache."""
BLOCK = 256
"""Rows that an exact product is made of at a time, to stay in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Tfidf:
    """Counts times idf (d,), rows brought to norm 1 (zero rows stay).

    idf = ln((1 + N) / (1 + df)) + 1, scikit-learn's smooth form, where N is the sum of weights and df that of rows that
    have the feature: a repeated record is as many documents.
    """

    shapes: ClassVar[dict[str, tuple[int | None, ...]]] = {"idf": (None,)}

    idf: FloatArray

    @classmethod
    def fit(cls, features: Matrix, weights: FloatArray) -> Self:
        """From counts (n, d), CSR, of which row i counts weights[i] > 0 times."""
        seen = features.copy()
        seen.data = np.ones_like(seen.data)
        return cls(np.log((1.0 + weights.sum()) / (1.0 + np.asarray(seen.T @ weights))) + 1.0)

    def apply(self, features: Matrix) -> Matrix:
        """CSR (n, d) with rows of norm 1 or 0; a row depends on that row only, bit for bit."""
        scaled = features.astype(np.float64)
        scaled.data = scaled.data * self.idf[scaled.indices]
        squares = scaled.copy()
        squares.data = squares.data**2
        # A product with ones adds each row in its own order, whatever the other rows are.
        norms = np.sqrt(np.asarray(squares @ np.ones(features.shape[1])))
        scaled.data = scaled.data / np.repeat(norms, np.diff(scaled.indptr))
        return scaled


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """Rows less the weighted mean (d,), over the root mean square (1,) of what is left (1 where nothing is left)."""

    shapes: ClassVar[dict[str, tuple[int | None, ...]]] = {"mean": (None,), "size": (1,)}

    mean: FloatArray
    size: FloatArray

    @classmethod
    def fit(cls, features: Matrix, weights: FloatArray) -> Self:
        """From an array (n, d) of which row i counts weights[i] > 0 times."""
        rows = np.asarray(features, dtype=np.float64)
        share = weights / weights.sum()
        mean = share @ rows
        size = np.sqrt(share @ ((rows - mean) ** 2).sum(axis=1))
        return cls(mean, np.array([size if size > 0.0 else 1.0]))

    def apply(self, features: Matrix) -> Matrix:
        """Array (n, d) with weighted mean 0 and mean squared norm 1 on the rows of `fit`."""
        return (np.asarray(features, dtype=np.float64) - self.mean) / self.size


@dataclass(frozen=True, slots=True, eq=False)
class UnitRows:
    """Rows brought to norm 1, each by itself (zero rows stay): nothing is learnt from training rows."""

    shapes: ClassVar[dict[str, tuple[int | None, ...]]] = {}

    @classmethod
    def fit(cls, features: Matrix, weights: FloatArray) -> Self:
        """The same whatever the rows are."""
        return cls()

    def apply(self, features: Matrix) -> Matrix:
        """Array (n, d); a row depends on that row only."""
        rows = np.asarray(features if isinstance(features, np.ndarray) else features.toarray(), dtype=np.float64)
        norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return rows / np.where(norms > 0.0, norms, 1.0)


Scaling: TypeAlias = Tfidf | Centred | UnitRows
"""How features are scaled, learnt from training rows; its fields are arrays to save."""


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron:
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


def fit_perceptrons(features: Matrix, labels: IntArray, weights: IntArray, n_classes: int, hidden: int,
                    plan: TrainingPlan, seeds: Sequence[np.random.SeedSequence], scaling: type[Scaling],
                    validation: tuple[Matrix, IntArray] | None = None) -> list[tuple[Scaling, TrainedModel]]:
    """Train M models by Adam on all rows at once; `TrainedModel.state` has the fields of `Perceptron`.

    `features` are an array or CSR (n, d) before scaling, and each model's scaling is fitted on its own rows; `labels`
    (n,) are in [0, n_classes); `weights` (M, n) say how often each model is trained on each row, and each has some row;
    `hidden` are ReLU units. Of the plan, `epochs` updates on all rows, decay (a penalty on weights and not on biases),
    smoothing and early stopping are followed. `seeds` are of the initial weights; nothing else is drawn. `validation`,
    features and labels, is shared by all models, and needed and used where `plan.patience` is given.
    """
    together = max(1, TOGETHER // (features.shape[1] * hidden))
    found: list[tuple[Scaling, TrainedModel]] = []
    for start in range(0, len(seeds), together):
        part = slice(start, start + together)
        params = [np.stack(one) for one in zip(
            *(initial(features.shape[1], hidden, n_classes, one) for one in seeds[part]), strict=True)]
        found += _Training(features, labels, weights[part], params, plan, scaling,
                           None if plan.patience is None else validation).run()
    return found


def initial(dim: int, hidden: int, n_classes: int, seeds: np.random.SeedSequence) -> tuple[Single, ...]:
    """The fields of a `Perceptron` before training."""
    rng = np.random.default_rng(seeds)
    first = rng.normal(0.0, FIRST_STD, (dim, hidden))
    second = rng.normal(0.0, hidden**-0.5, (hidden, n_classes))
    return tuple(one.astype(np.float32) for one in (first, np.zeros(hidden), second, np.zeros(n_classes)))


class _Training:
    """The state of models that are trained together: parameters, Adam's moments, the best models so far."""

    def __init__(self, features: Matrix, labels: IntArray, weights: IntArray, params: list[Single],
                 plan: TrainingPlan, scaling: type[Scaling], validation: tuple[Matrix, IntArray] | None) -> None:
        self.plan, self.params, models = plan, params, range(len(weights))
        own = [np.flatnonzero(row) for row in weights]
        self.scalings = [scaling.fit(features[own[m]], weights[m, own[m]].astype(np.float64)) for m in models]
        self.rows = packed([self.scalings[m].apply(features[own[m]]) for m in models])
        most = max(self.rows.sizes)
        self.share = np.zeros((len(own), most, 1), dtype=np.float32)
        self.truth = np.zeros((len(own), most, params[3].shape[1]), dtype=np.float32)
        self.ones = np.ones(most, dtype=np.float32)
        for m, rows in enumerate(own):
            self.share[m, : rows.size, 0] = weights[m, rows] / weights[m].sum()
            self.truth[m, np.arange(rows.size), labels[rows]] = 1.0
        if plan.smoothing > 0.0:
            self.truth = smoothed(self.truth, plan.smoothing)
        self.gradients = [np.zeros_like(one) for one in params]
        self.moments = [(np.zeros_like(one), np.zeros_like(one), np.empty_like(one)) for one in params]
        self.checks = validation and (packed([one.apply(validation[0]) for one in self.scalings]), validation[1])
        self.curves: list[list[tuple[int, float]]] = [[] for _ in models]
        self.best = [(0, self._state(m)) for m in models]
        self.ended = np.zeros(len(own), dtype=np.int64)

    def run(self) -> list[tuple[Scaling, TrainedModel]]:
        plan = self.plan
        for step in range(1, plan.epochs + 1):
            self._backward()
            for param, gradient, moments in zip(self.params, self.gradients, self.moments, strict=True):
                _adam(param, gradient, *moments, step, plan.rate)
            if self.checks is not None and (step % plan.eval_every == 0 or step == plan.epochs):
                self._evaluate(*self.checks, step)
                if self.ended.all():
                    break
        best = self.best if self.checks is not None else [(plan.epochs, self._state(m)) for m in range(len(self.best))]
        return [(scaling, TrainedModel(int(end) or plan.epochs, plan.epochs, *kept, tuple(curve)))
                for scaling, end, kept, curve in zip(self.scalings, self.ended, best, self.curves, strict=True)]

    def _forward(self, rows: SparseRows | DenseRows) -> tuple[Single, Single]:
        first, first_bias, second, second_bias = self.params
        hidden = rows.times(first)
        hidden += first_bias[:, None, :]
        np.maximum(hidden, 0.0, out=hidden)
        logits = np.zeros((*hidden.shape[:2], second.shape[2]), dtype=np.float32)
        for m, size in enumerate(rows.sizes):
            np.matmul(hidden[m, :size], second[m], out=logits[m, :size])
        logits += second_bias[:, None, :]
        return hidden, logits

    def _backward(self) -> None:
        """Gradients of the mean log loss, and of the penalty on weights."""
        first, _, second, _ = self.params
        hidden, logits = self._forward(self.rows)
        error = _softmax(logits)
        error -= self.truth
        error *= self.share
        back = np.zeros_like(hidden)
        for m, size in enumerate(self.rows.sizes):
            np.matmul(error[m, :size], second[m].T, out=back[m, :size])
            np.matmul(hidden[m, :size].T, error[m, :size], out=self.gradients[2][m])
            np.matmul(self.ones[:size], error[m, :size], out=self.gradients[3][m])
        back *= hidden > 0.0
        self.rows.back(back, self.gradients[0])
        for m, size in enumerate(self.rows.sizes):
            np.matmul(self.ones[:size], back[m, :size], out=self.gradients[1][m])
        if self.plan.decay > 0.0:
            self.gradients[0] += np.float32(self.plan.decay) * first
            self.gradients[2] += np.float32(self.plan.decay) * second

    def _evaluate(self, checks: SparseRows | DenseRows, labels: IntArray, step: int) -> None:
        _, logits = self._forward(checks)
        for m in np.flatnonzero(self.ended == 0):
            given = logits[m].astype(np.float64)
            top = given.max(axis=1)
            losses = np.log(np.exp(given - top[:, None]).sum(axis=1)) + top - given[np.arange(labels.size), labels]
            loss, curve = float(losses.mean()), self.curves[m]
            if all(loss < earlier for _, earlier in curve):
                self.best[m] = (step, self._state(int(m)))
            curve.append((step, loss))
            if sum(at > self.best[m][0] for at, _ in curve) >= (self.plan.patience or 0):
                self.ended[m] = step

    def _state(self, model: int) -> dict[str, Single]:
        return {name: one[model].copy() for name, one in zip(Perceptron.__slots__, self.params, strict=True)}


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


def _adam(param: Single, gradient: Single, mean: Single, square: Single, room: Single, step: int, rate: float) -> None:
    """One step of Adam in place; `room` takes what is computed on the way."""
    np.subtract(gradient, mean, out=room)
    np.multiply(room, 1.0 - BETA1, out=room)
    np.add(mean, room, out=mean)
    np.multiply(gradient, gradient, out=room)
    np.subtract(room, square, out=room)
    np.multiply(room, 1.0 - BETA2, out=room)
    np.add(square, room, out=square)
    np.divide(square, 1.0 - BETA2**step, out=room)
    np.sqrt(room, out=room)
    np.add(room, EPSILON, out=room)
    np.divide(mean, room, out=room)
    np.multiply(room, rate / (1.0 - BETA1**step), out=room)
    np.subtract(param, room, out=param)


def exact_product(rows: Matrix, right: NDArray[np.floating]) -> FloatArray:
    """rows (n, d) times right (d, k) in float64, (n, k): each row bit for bit the same in any batch.

    BLAS gives a row other last bits in another batch; here every row adds its terms in the order of the columns.
    """
    wide = right.astype(np.float64)
    if not isinstance(rows, np.ndarray):
        return np.asarray(rows.astype(np.float64) @ wide, dtype=np.float64)
    out = np.zeros((rows.shape[0], right.shape[1]))
    for start in range(0, rows.shape[0], BLOCK):
        part, sums = rows[start : start + BLOCK].T.astype(np.float64), out[start : start + BLOCK]
        for column, factors in zip(part, wide, strict=True):
            sums += column[:, None] * factors
    return out


class SparseRows:
    """The rows of M models, (n_m, d) each, as one block-diagonal CSR matrix (M · most, M · d), and its transpose.

    `sizes` are the rows of each model; those from there to `most` are empty.
    """

    def __init__(self, features: Sequence[Matrix]) -> None:
        self.sizes = [int(one.shape[0]) for one in features]
        most, dim, csr = max(self.sizes), int(features[0].shape[1]), need("scipy.sparse", "hashed TF-IDF", "audit")
        ends = np.concatenate([np.pad(np.diff(one.indptr), (0, most - one.shape[0])) for one in features])
        columns = np.concatenate([one.indices.astype(np.int64) + m * dim for m, one in enumerate(features)])
        data = np.concatenate([one.data for one in features]).astype(np.float32)
        self._blocks = csr.csr_matrix((data, columns, np.concatenate([[0], np.cumsum(ends)])),
                                      shape=(len(features) * most, len(features) * dim))
        self._transposed = self._blocks.T.tocsr()

    def times(self, right: Single) -> Single:
        """Each model's rows times its (d, h) of `right` (M, d, h): (M, most, h), zero beyond a model's rows."""
        product = self._blocks @ right.reshape(-1, right.shape[2])
        return np.asarray(product, dtype=np.float32).reshape(len(self.sizes), -1, right.shape[2])

    def back(self, left: Single, out: Single) -> None:
        """Into `out` (M, d, h): each model's transposed rows times its (most, h) of `left`."""
        out[:] = (self._transposed @ left.reshape(-1, left.shape[2])).reshape(out.shape)


class DenseRows:
    """As `SparseRows`, of arrays."""

    def __init__(self, features: Sequence[Matrix]) -> None:
        self._rows = [np.ascontiguousarray(one, dtype=np.float32) for one in features]
        self.sizes = [len(one) for one in self._rows]

    def times(self, right: Single) -> Single:
        """As `SparseRows.times`."""
        out = np.zeros((len(self.sizes), max(self.sizes), right.shape[2]), dtype=np.float32)
        for m, size in enumerate(self.sizes):
            np.matmul(self._rows[m], right[m], out=out[m, :size])
        return out

    def back(self, left: Single, out: Single) -> None:
        """As `SparseRows.back`."""
        for m, size in enumerate(self.sizes):
            np.matmul(self._rows[m].T, left[m, :size], out=out[m])


def packed(features: Sequence[Matrix]) -> SparseRows | DenseRows:
    """The scaled features of M models, all arrays or all CSR, in single precision."""
    return DenseRows(features) if isinstance(features[0], np.ndarray) else SparseRows(features)
