"""What a network is, and the loop that trains many in one program, each on rows, labels and an order of its own.

A model does not depend on its neighbours, but for the last bits: a product may round differently in another
batch. The result depends on the arguments and the number of threads; torch's generators are not touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import need_torch
from discreet.audit.train.plan import BETA1, BETA2, EPSILON, StateDict, TrainedModel, TrainingPlan, child, smoothed
from discreet.core.arrays import log_softmax
from discreet.core.errors import UsageError
from discreet.core.types import FloatArray, IntArray

Tensor: TypeAlias = Any
"""A torch tensor; torch is not there in a bare installation."""
States: TypeAlias = Mapping[str, Tensor]
"""M models' parameters and buffers by name, (M, …) each."""
Retarget: TypeAlias = Callable[[IntArray, FloatArray], FloatArray]
"""From places of m models among all and their logits (m, n, K) to their soft targets (m, n, K), rows that sum to 1."""

SCORED = 256
"""Rows that are scored at a time."""


@dataclass(frozen=True, slots=True)
class Network(ABC):
    """An architecture: the options of a recipe, the shape of a row, and the number of classes.

    `together` is how many models one program may train, 1 where there is nothing to gain; `buffers` are names in the
    state that are no parameters: they follow the data and have no gradient.
    """

    options: Any
    shape: tuple[int, ...]
    n_classes: int

    together: ClassVar[int] = 1
    buffers: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def initial(self, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """One model's state before training, always the same names in the same order."""

    @abstractmethod
    def forward(self, states: States, rows: Tensor, *, training: bool) -> tuple[Tensor, Tensor]:
        """Logits (M, B, K) and what the head is given (M, B, h), of rows (M, B, …).

        In training, buffers are updated in place.
        """


def he_normal(rng: np.random.Generator, *shape: int, fan: int, gain: float = 2.0) -> NDArray[np.float32]:
    """Normal numbers of variance gain / fan (He et al. 2015, equation 10, for gain 2)."""
    return rng.normal(0.0, (gain / fan) ** 0.5, shape).astype(np.float32)


def train_networks(network: Network, inputs: NDArray[Any], targets: IntArray | FloatArray, rows: Sequence[IntArray],
                   n_classes: int, plan: TrainingPlan, seeds: Sequence[np.random.SeedSequence],
                   retarget: Retarget | None = None, validation: tuple[NDArray[Any], IntArray] | None = None
                   ) -> list[TrainedModel]:
    """Train M models on `inputs` (n, …), of the type that the network takes.

    `targets` are each model's labels (M, n), or soft labels (M, n, K) whose rows sum to 1; `rows` the row numbers that
    each is trained on, which may repeat; `seeds` are of the initial weights and of the order of the rows. Of the plan,
    epochs, batch, decay (a penalty on all parameters), smoothing, `until_accuracy` and `patience`, in epochs, are
    followed. `validation`, inputs and labels, is shared by all models, and needed and used where `plan.patience` is
    given. `retarget` is asked before each epoch but the first, and needs soft targets. Raises UsageError where training
    diverges.
    """
    torch = need_torch()
    groups: dict[int, list[int]] = {}
    for model, own in enumerate(rows):
        # Models in one program make equally many updates.
        groups.setdefault(-(-own.size // (plan.batch or own.size)), []).append(model)
    parts = [members[start : start + network.together] for members in groups.values()
             for start in range(0, len(members), network.together)]
    found: dict[int, TrainedModel] = {}
    with torch.inference_mode(False), torch.enable_grad():
        for part in parts:
            run = _Run(network, inputs, targets[part], [rows[m] for m in part], n_classes, plan,
                       [seeds[m] for m in part], None if plan.patience is None else validation)
            found.update(zip(part, run.trained(retarget, np.array(part, dtype=np.int64)), strict=True))
    return [found[m] for m in range(len(rows))]


def score(network: Network, models: Sequence[StateDict], inputs: NDArray[Any], *, hidden: bool = False) -> FloatArray:
    """Logits (M, n, K), or what the head is given (M, n, h); n >= 1.

    Computed in double precision and rounded to single: what the other rows of a batch do to the last bits of a product
    is far below what is kept, so that a score depends on its own row only.
    """
    torch = need_torch()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    found = []
    with torch.inference_mode():
        for start in range(0, len(models), network.together):
            part = models[start : start + network.together]
            states = {name: torch.from_numpy(np.stack([one[name] for one in part])).to(device, torch.float64)
                      for name in part[0]}
            blocks = []
            for at in range(0, len(inputs), SCORED):
                rows = torch.from_numpy(np.ascontiguousarray(inputs[at : at + SCORED])).to(device)
                rows = rows.to(torch.float64) if rows.is_floating_point() else rows
                given = network.forward(states, rows.expand(len(part), *rows.shape), training=False)[int(hidden)]
                blocks.append(np.asarray(given.float().double().cpu().numpy(), dtype=np.float64))
            found.append(np.concatenate(blocks, axis=1))
    return np.concatenate(found)


class _Run:
    """Models that are trained in one program, and where they are."""

    def __init__(self, network: Network, inputs: NDArray[Any], targets: IntArray | FloatArray,
                 rows: Sequence[IntArray], n_classes: int, plan: TrainingPlan,
                 seeds: Sequence[np.random.SeedSequence], validation: tuple[NDArray[Any], IntArray] | None) -> None:
        self._torch = torch = need_torch()
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._network, self._plan, self._n_classes = network, plan, n_classes
        self._rows, self._host, self._most = rows, inputs, max(own.size for own in rows)
        self._batch = plan.batch or self._most
        self._inputs = torch.from_numpy(np.ascontiguousarray(inputs)).to(self._device)
        self._set_targets(targets)
        self._orders = [np.random.default_rng(child(one, 1)) for one in seeds]
        self._place([network.initial(np.random.default_rng(child(one, 0))) for one in seeds])
        self._adam = import_module("torch.optim.adam").adam
        self._step = torch.zeros((), device=self._device)
        self._running, self._after = ([list[float]() for _ in rows] for _ in range(2))
        self._validation, self._curves = validation, [list[float]() for _ in rows]
        self._best = dict[int, tuple[int, StateDict]]()

    def _set_targets(self, targets: IntArray | FloatArray) -> None:
        self._soft = targets.ndim == 3
        kind = np.float32 if self._soft else np.int64
        self._targets = self._torch.from_numpy(np.ascontiguousarray(targets, dtype=kind)).to(self._device)

    def _place(self, initial: Sequence[StateDict]) -> None:
        """Put all parameters side by side, so that Adam is one call whatever the number of models and layers."""
        torch = self._torch
        stacked = {name: np.stack([one[name] for one in initial], dtype=np.float32) for name in initial[0]}
        self._states = {name: torch.from_numpy(one).to(self._device) for name, one in stacked.items()}
        names = [name for name in self._states if name not in self._network.buffers]
        sizes = [self._states[name].numel() for name in names]
        self._flat = torch.cat([self._states[name].reshape(-1) for name in names])
        self._gradients = torch.zeros_like(self._flat)
        for name, part, gradient in zip(names, self._flat.split(sizes), self._gradients.split(sizes), strict=True):
            shape = self._states[name].shape
            self._states[name] = part.view(shape).detach().requires_grad_()
            self._states[name].grad = gradient.view(shape)
        self._moments = [torch.zeros_like(self._flat), torch.zeros_like(self._flat)]

    def trained(self, retarget: Retarget | None, places: IntArray) -> list[TrainedModel]:
        """Train all models to their ends; `places` are their numbers among all models."""
        plan, done = self._plan, dict[int, TrainedModel]()
        updates = -(-self._most // self._batch)
        for epoch in range(1, plan.epochs + 1):
            if epoch > 1 and retarget is not None:
                states = [self._state(m) for m in range(len(self._rows))]
                self._set_targets(retarget(places, score(self._network, states, self._host)))
            self._epoch()
            if not bool(self._torch.isfinite(self._flat).all()):
                raise UsageError(f"training diverged in epoch {epoch} with a learning rate of {plan.rate:g}: expected "
                                 "finite numbers; give a lower rate")
            for model in range(len(self._rows)):
                if model not in done and (self._ends(model, epoch) or epoch == plan.epochs):
                    best, state = self._best.get(model) or (epoch, self._state(model))
                    done[model] = TrainedModel(
                        epoch * updates, plan.epochs * updates, best * updates, state,
                        tuple(((place + 1) * updates, loss) for place, loss in enumerate(self._curves[model])),
                        tuple(self._running[model]), tuple(self._after[model]))
            if len(done) == len(self._rows):
                break
        return [done[model] for model in range(len(self._rows))]

    def _ends(self, model: int, epoch: int) -> bool:
        """Whether a model stops after this epoch, by its training rows or by the validation rows."""
        accurate = self._accurate(model)
        if self._validation is None:
            return accurate
        rows, labels = self._validation
        state, curve = self._state(model), self._curves[model]
        logits = score(self._network, [state], rows)[0]
        loss = -float(log_softmax(logits)[np.arange(labels.size), labels].mean())
        if all(loss < earlier for earlier in curve):
            self._best[model] = (epoch, state)
        curve.append(loss)
        return accurate or epoch - self._best[model][0] >= (self._plan.patience or 0)

    def _accurate(self, model: int) -> bool:
        """Whether a model is as accurate on its rows as the plan asks for, which is noted."""
        if self._plan.until_accuracy is None:
            return False
        own = self._rows[model]
        logits = score(self._network, [self._state(model)], self._host)[0][own]
        given = self._targets[model].cpu().numpy()[own]
        labels = given.argmax(axis=1) if self._soft else given
        self._after[model].append(float((logits.argmax(axis=1) == labels).mean()))
        return self._after[model][-1] >= self._plan.until_accuracy

    def _epoch(self) -> None:
        torch, batch = self._torch, self._batch
        # The batches of a single model are not filled up: rows without weight would count in a normalisation.
        order = np.zeros((len(self._rows), self._most), dtype=np.int64)
        share = np.zeros(order.shape, dtype=np.float32)
        for model, own in enumerate(self._rows):
            # What fills up is a row of its own: labels of rows that it is not trained on may be anything.
            order[model] = own[0]
            order[model, : own.size] = own[self._orders[model].permutation(own.size)]
            share[model, : own.size] = 1.0 / np.minimum(batch, own.size - np.arange(own.size) // batch * batch)
        orders, shares = (torch.from_numpy(each).to(self._device) for each in (order, share))
        said = torch.empty_like(orders)
        for start in range(0, self._most, batch):
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
        if self._soft:
            truth = self._targets[torch.arange(order.shape[0], device=order.device)[:, None], order]
        else:
            truth = torch.zeros(*order.shape, self._n_classes, device=order.device)
            truth.scatter_(2, self._targets.gather(1, order)[..., None], 1.0)
        if self._plan.smoothing > 0.0:
            truth = smoothed(truth, self._plan.smoothing)
        self._gradients.zero_()
        logits, _ = self._network.forward(self._states, rows, training=True)
        (-((truth * torch.log_softmax(logits, -1)).sum(-1) * share).sum()).backward()
        with torch.no_grad():
            # The function behind `torch.optim.Adam`, whose bookkeeping costs more than the step.
            self._adam(
                [self._flat], [self._gradients], *([one] for one in self._moments), [], [self._step], foreach=False,
                fused=True, amsgrad=False, beta1=BETA1, beta2=BETA2, lr=self._plan.rate,
                weight_decay=self._plan.decay, eps=EPSILON, maximize=False)
        return logits.detach()

    def _state(self, model: int) -> StateDict:
        return {name: np.array(one[model].detach().cpu().numpy()) for name, one in self._states.items()}
