"""The training loop of all networks here: many models in one program, each on rows, labels and an order of its own.

A model's numbers do not hang on its neighbours, but for the last bits in which a product may round otherwise in other
company. What comes out hangs on the arguments and the number of threads; torch's generators are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import UsageError
from discreet.train.base import FloatArray, IntArray, child
from discreet.train.networks.base import Network, Numbers, Params, Plan, Tensor, need_torch

Retarget: TypeAlias = Callable[[IntArray, FloatArray], FloatArray]
"""From places of m models among all and their logits (m, n, K) to their soft targets (m, n, K), rows that sum to 1."""

SCORED = 256
"""Rows that are scored at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """One model.

    Attributes
    ----------
    numbers : mapping of str to array
        Parameters and buffers.
    steps, epochs : int
        Updates and passes that were made.
    running : tuple of float
        For each epoch, the share of its rows that were classified as trained when they came up, before the update.
    after : tuple of float
        For each epoch, the same share at its end; only where `Plan.until_accuracy` asks for it.
    """

    numbers: Numbers
    steps: int
    epochs: int
    running: tuple[float, ...]
    after: tuple[float, ...]


def train_networks(network: Network, inputs: NDArray[Any], targets: IntArray | FloatArray, rows: Sequence[IntArray],
                   n_classes: int, plan: Plan, seeds: Sequence[np.random.SeedSequence],
                   retarget: Retarget | None = None) -> list[Trained]:
    """Train M models.

    Parameters
    ----------
    inputs : array (n, …)
        Shared by all models, of the type that the network takes.
    targets : array (M, n) of whole numbers, or (M, n, K)
        Each model's labels, or its soft labels, whose rows sum to 1.
    rows : sequence of M arrays
        The row numbers that each model is trained on; a row may repeat.
    retarget : function, optional
        Asked before each epoch but the first; needs soft targets.
    seeds : sequence of M SeedSequence
        Of the first numbers and of the order of the rows.

    Raises UsageError where training diverges.
    """
    groups: dict[int, list[int]] = {}
    for model, own in enumerate(rows):
        # Models in one program make equally many updates.
        groups.setdefault(-(-own.size // plan.batch), []).append(model)
    found: dict[int, Trained] = {}
    with _gradients():
        for members in groups.values():
            for start in range(0, len(members), network.together):
                part = members[start : start + network.together]
                made = _Run(network, inputs, targets[part], [rows[m] for m in part], n_classes, plan,
                            [seeds[m] for m in part]).run(None if retarget is None else _of(retarget, part))
                found.update(zip(part, made, strict=True))
    return [found[m] for m in range(len(rows))]


def score(network: Network, models: Sequence[Numbers], inputs: NDArray[Any], *, hidden: bool = False) -> FloatArray:
    """Logits (M, n, K), or what the head is given (M, n, h); n >= 1.

    Computed in double precision and rounded to single: what the company of a row does to the last bits of a product is
    far below what is kept, so that a row's score is its own.
    """
    torch = need_torch()
    found = []
    with torch.inference_mode():
        for start in range(0, len(models), network.together):
            part = models[start : start + network.together]
            params = {name: torch.from_numpy(np.stack([one[name] for one in part])).to(_device(torch), torch.float64)
                      for name in part[0]}
            found.append(np.concatenate([
                _scored(network, params, inputs[at : at + SCORED], hidden) for at in range(0, len(inputs), SCORED)
            ], axis=1))
    return np.concatenate(found)


def _scored(network: Network, params: Params, part: NDArray[Any], hidden: bool) -> FloatArray:
    torch = need_torch()
    rows = torch.from_numpy(np.ascontiguousarray(part)).to(_device(torch))
    rows = rows.to(torch.float64) if rows.is_floating_point() else rows
    models = next(iter(params.values())).shape[0]
    given = network.forward(params, rows.expand(models, *rows.shape), training=False)[int(hidden)]
    return np.asarray(given.float().double().cpu().numpy(), dtype=np.float64)


def _of(retarget: Retarget, part: Sequence[int]) -> Callable[[FloatArray], FloatArray]:
    """What `retarget` says of the models of one program."""
    places = np.array(part, dtype=np.int64)
    return lambda logits: retarget(places, logits)


def _device(torch: Any) -> Any:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def _gradients() -> Iterator[None]:
    torch = need_torch()
    with torch.inference_mode(False), torch.enable_grad():
        yield


class _Run:
    """Models that are trained in one program, and where they are."""

    def __init__(self, network: Network, inputs: NDArray[Any], targets: IntArray | FloatArray,
                 rows: Sequence[IntArray], n_classes: int, plan: Plan,
                 seeds: Sequence[np.random.SeedSequence]) -> None:
        self._torch = torch = need_torch()
        self._device = _device(torch)
        self._network, self._plan, self._n_classes = network, plan, n_classes
        self._rows, self._host = rows, inputs
        self._inputs = torch.from_numpy(np.ascontiguousarray(inputs)).to(self._device)
        self._aim(targets)
        self._orders = [np.random.default_rng(child(one, 1)) for one in seeds]
        self._place(network, [network.start(np.random.default_rng(child(one, 0))) for one in seeds])
        self._updates = -(-max(own.size for own in rows) // plan.batch)
        self._running: list[list[float]] = [[] for _ in rows]
        self._after: list[list[float]] = [[] for _ in rows]

    def _aim(self, targets: IntArray | FloatArray) -> None:
        torch = self._torch
        self._soft = targets.ndim == 3
        kind = np.float32 if self._soft else np.int64
        self._targets = torch.from_numpy(np.ascontiguousarray(targets, dtype=kind)).to(self._device)

    def _place(self, network: Network, starts: Sequence[Numbers]) -> None:
        """Put all parameters side by side, so that Adam is one call whatever the number of models and layers."""
        torch = self._torch
        stacked = {name: torch.from_numpy(np.stack([one[name] for one in starts])).to(self._device)
                   for name in starts[0]}
        names = [name for name in stacked if name not in network.buffers]
        sizes = [stacked[name].numel() for name in names]
        self._flat = torch.cat([stacked[name].reshape(-1) for name in names])
        self._slopes = torch.zeros_like(self._flat)
        self._params = dict(stacked)
        self._into = {}
        for name, part, slope in zip(names, self._flat.split(sizes), self._slopes.split(sizes), strict=True):
            self._params[name] = part.view(stacked[name].shape).detach()
            self._into[name] = slope.view(stacked[name].shape)
        self._direct = hasattr(network, "slopes")
        if not self._direct:
            for name, into in self._into.items():
                self._params[name].requires_grad_()
                self._params[name].grad = into
        self._moments = [torch.zeros_like(self._flat), torch.zeros_like(self._flat)]
        self._kernel = import_module("torch.optim.adam").adam
        self._step = torch.zeros((), device=self._device)

    def run(self, retarget: Callable[[FloatArray], FloatArray] | None) -> list[Trained]:
        """Train all models to their ends."""
        plan, done = self._plan, dict[int, Trained]()
        for epoch in range(1, plan.epochs + 1):
            if epoch > 1 and retarget is not None:
                self._aim(retarget(score(self._network, [self._numbers(m) for m in range(len(self._rows))],
                                         self._host)))
            self._epoch()
            self._check(epoch)
            for model in range(len(self._rows)):
                if model not in done and self._ends(model, epoch):
                    done[model] = Trained(self._numbers(model), epoch * self._updates, epoch,
                                          tuple(self._running[model]), tuple(self._after[model]))
            if len(done) == len(self._rows):
                break
        return [done[model] for model in range(len(self._rows))]

    def _ends(self, model: int, epoch: int) -> bool:
        wanted = self._plan.until_accuracy
        if wanted is not None:
            places = self._rows[model]
            logits = score(self._network, [self._numbers(model)], self._host)[0][places]
            given = self._targets[model].cpu().numpy()[places]
            labels = given.argmax(axis=1) if self._soft else given
            self._after[model].append(float((logits.argmax(axis=1) == labels).mean()))
            if self._after[model][-1] >= wanted:
                return True
        return epoch == self._plan.epochs

    def _epoch(self) -> None:
        torch, batch = self._torch, self._plan.batch
        # Of one model no batch is filled up: rows without weight would still count in a normalisation.
        models, total = len(self._rows), max(own.size for own in self._rows)
        order = np.zeros((models, total), dtype=np.int64)
        share = np.zeros((models, total), dtype=np.float32)
        for model, own in enumerate(self._rows):
            # What fills up is a row of its own: labels of rows that it is not trained on may be anything.
            order[model] = own[0]
            order[model, : own.size] = own[self._orders[model].permutation(own.size)]
            share[model, : own.size] = 1.0 / np.minimum(batch, own.size - np.arange(own.size) // batch * batch)
        orders, shares = (torch.from_numpy(each).to(self._device) for each in (order, share))
        said = torch.empty_like(orders)
        for start in range(0, total, batch):
            part = slice(start, start + batch)
            said[:, part] = self._update(orders[:, part], shares[:, part]).argmax(-1)
        wanted = self._targets.argmax(-1) if self._soft else self._targets
        right = ((said == wanted.gather(1, orders)) & (shares > 0.0)).sum(-1)
        for model, own in enumerate(self._rows):
            self._running[model].append(int(right[model]) / own.size)

    def _update(self, order: Tensor, share: Tensor) -> Tensor:
        """One step of all models; the logits (M, B, K) before it."""
        torch = self._torch
        rows = self._inputs.index_select(0, order.reshape(-1)).view(*order.shape, *self._inputs.shape[1:])
        truth = self._truth(order)
        if self._direct:
            with torch.no_grad():
                logits = self._network.slopes(  # type: ignore[attr-defined]
                    self._params, rows, truth, share, self._into)
        else:
            self._slopes.zero_()
            logits, _ = self._network.forward(self._params, rows, training=True)
            loss = -((truth * torch.log_softmax(logits, -1)).sum(-1) * share).sum()
            loss.backward()
        self._adam()
        return logits.detach()

    def _adam(self) -> None:
        """Kingma and Ba 2015, Algorithm 1, by the function behind `torch.optim.Adam`, whose book-keeping costs more."""
        plan = self._plan
        with self._torch.no_grad():
            self._kernel([self._flat], [self._slopes], *([one] for one in self._moments), [], [self._step],
                         foreach=False, fused=True, amsgrad=False, beta1=0.9, beta2=0.999, lr=plan.rate,
                         weight_decay=plan.decay, eps=1e-8, maximize=False)

    def _truth(self, order: Tensor) -> Tensor:
        torch = self._torch
        if self._soft:
            return self._targets[torch.arange(order.shape[0], device=order.device)[:, None], order]
        truth = torch.zeros(*order.shape, self._n_classes, device=order.device)
        return truth.scatter_(2, self._targets.gather(1, order)[..., None], 1.0)

    def _check(self, epoch: int) -> None:
        if not bool(self._torch.isfinite(self._flat).all()):
            raise UsageError(f"training diverged in epoch {epoch} with a learning rate of {self._plan.rate:g}: "
                             "expected finite numbers; give a lower rate")

    def _numbers(self, model: int) -> Numbers:
        return {name: np.array(one[model].detach().cpu().numpy()) for name, one in self._params.items()}
