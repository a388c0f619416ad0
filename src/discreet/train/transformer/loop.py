"""The training loop: micro-batches of like length, AdamW, cosine, early stopping, and the best weights at the end.

The result depends on the arguments alone: every micro-batch has a seed of its own for dropout, gradients are on
whatever the caller's mode is, and torch's global generators are left as they were. On a CPU with a fixed number of
threads it is the same to the last byte; on a GPU sums may be taken in another order. It costs 1.6 times less than
`transformers.Trainer` (docs/results/training_speed.md).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np

from discreet.core.errors import UsageError
from discreet.train.base import IntArray, child, need
from discreet.train.plan import BETA1, BETA2, EPSILON, TrainedModel, TrainingPlan
from discreet.train.transformer.batches import epoch_batches, length_batches, padded, padding_share
from discreet.train.transformer.fitted import Best
from discreet.train.transformer.loading import LoadedClassifier, device_of
from discreet.train.transformer.reading import Tokens
from discreet.train.transformer.schedule import scale, updates

ONE_AT_A_TIME = threading.RLock()
"""Held while torch's generator is seeded, of which a process has one: threads would draw from each other's."""


class ClassifierTrainer(Protocol):
    """What trains a classifier in place: `train` below, or another engine, such as one around `transformers.Trainer`.

    It follows the `TrainingPlan` that it is given and refuses the rest (`refuse_others`), leaves the model in
    evaluation mode with its best weights (lowest mean log loss on `checks`, the earliest of equals; the last without
    checks), draws from `seeds` alone, and leaves torch's generators as they were. The recipe
    `discreet.train.recipes.transformer` calls it by this signature.
    """

    def __call__(self, model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray, checks: Sequence[Tokens],
                 check_labels: IntArray, plan: TrainingPlan, seeds: np.random.SeedSequence) -> TrainedModel:
        """Parameters and errors are those of `train`."""


def train(model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray, checks: Sequence[Tokens],
          check_labels: IntArray, plan: TrainingPlan, seeds: np.random.SeedSequence) -> TrainedModel:
    """Train a classifier in place, on the device that it is on, and leave it with its best weights, in evaluation mode.

    Best is the lowest mean log loss on `checks` of all evaluations, the earliest of equals; without checks there is no
    evaluation, and the last weights are the best.

    Parameters
    ----------
    model : LoadedClassifier
    rows : sequence of n Tokens, n >= 1
    labels : (n,) int64
    checks : sequence of m Tokens, m >= 0
    check_labels : (m,) int64
    plan : TrainingPlan
        Of AdamW, with `batch`, `micro_batch`, `warmup` and `clip`.
    seeds : SeedSequence
        Order of the rows and dropout are drawn from it alone; no child is spawned.

    Raises
    ------
    UsageError
        Where a gradient or a validation loss is infinite or NaN, and where a micro-batch does not fit into the
        device's memory.
    ValueError
        Where the plan asks for what is not done here.
    """
    plan.refuse_others("transformers", "epochs", "batch", "micro_batch", "optimizer", "decay", "warmup", "clip",
                       "eval_every", "patience")
    batch = plan.batch or len(rows)
    steps = updates(len(rows), plan.epochs, batch, plan.micro_batch or batch)
    with ONE_AT_A_TIME, _own_random(model), Best(model) as best:
        run = _Run(model, rows, labels, plan, steps, seeds)
        evaluate = _Evaluation(model, checks, check_labels, batch)
        curve: list[tuple[int, float]] = []
        for parts in run.batches():
            run.update(parts)
            if not checks or (run.step % plan.eval_every and run.step < steps):
                continue
            if not isfinite(loss := evaluate()):
                raise _diverged(run.step, plan)
            curve.append((run.step, loss))
            if _best(curve) == len(curve) - 1:
                best.take()
            elif plan.patience is not None and len(curve) - 1 - _best(curve) >= plan.patience:
                break
        if curve:
            best.put_back()
        run.end()
    best_step = curve[_best(curve)][0] if curve else run.step
    return TrainedModel(run.step, steps, best_step, validation_curve=tuple(curve),
                        padding_share=padding_share(run.done, rows))


def _best(curve: Sequence[tuple[int, float]]) -> int:
    """Place of the first of the lowest losses."""
    return min(range(len(curve)), key=lambda place: curve[place][1])


class _Run:
    """The optimiser and where it is."""

    def __init__(self, model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray, plan: TrainingPlan,
                 steps: int, seeds: np.random.SeedSequence) -> None:
        self._torch = torch = need("torch")
        self._model, self._rows, self._plan, self._steps = model, rows, plan, steps
        self._labels = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64))
        self._weights = list(model.trained().values())
        optimizer = torch.optim.AdamW if plan.optimizer == "adamw" else torch.optim.Adam
        self._adam = optimizer(self._weights, lr=plan.rate, betas=(BETA1, BETA2), eps=EPSILON, weight_decay=plan.decay,
                               fused=True)
        self._order, self._noise = (np.random.default_rng(child(seeds, place)) for place in range(2))
        self.step, self.done = 0, list[IntArray]()

    def batches(self) -> Iterator[list[IntArray]]:
        """The micro-batches of each update."""
        batch = self._plan.batch or len(self._rows)
        micro_batch = self._plan.micro_batch or batch
        size = batch // micro_batch
        for _ in range(self._plan.epochs):
            found = epoch_batches(self._rows, micro_batch, self._order)
            yield from (found[start : start + size] for start in range(0, len(found), size))

    def update(self, parts: Sequence[IntArray]) -> None:
        """One step on the mean loss of all the examples of these micro-batches, whatever the size of each."""
        torch, plan = self._torch, self._plan
        examples = sum(map(len, parts))
        self._model.model.train()
        self._adam.zero_grad(set_to_none=True)
        for places in parts:
            ids, mask = _tensors(self._model, [self._rows[place] for place in places])
            _seed(ids.device, int(self._noise.integers(2**63)))
            wanted = self._labels[torch.from_numpy(places)].to(ids.device)
            with _fits(torch, ids):
                logits, _ = self._model(ids, mask)
                loss = torch.nn.functional.cross_entropy(logits, wanted, reduction="sum") / examples
                loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self._weights, inf if plan.clip is None else plan.clip)
        if not isfinite(float(norm)):
            raise _diverged(self.step + 1, plan)
        for group in self._adam.param_groups:
            group["lr"] = plan.rate * (1.0 if plan.warmup is None else scale(self.step, self._steps, plan.warmup))
        self._adam.step()
        self.step += 1
        self.done += parts

    def end(self) -> None:
        """Leave a model that scores, without the memory that gradients take."""
        self._adam.zero_grad(set_to_none=True)
        self._model.model.eval()


class _Evaluation:
    """Mean log loss on rows that are padded once."""

    def __init__(self, model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray, size: int) -> None:
        torch = need("torch")
        self._model, self._count = model, len(rows)
        self._batches = [
            (*_tensors(model, [rows[place] for place in places]), torch.from_numpy(labels[places]))
            for places in length_batches(rows, size)]

    def __call__(self) -> float:
        torch, total = need("torch"), 0.0
        self._model.model.eval()
        with torch.no_grad():
            for ids, mask, labels in self._batches:
                with _fits(torch, ids):
                    logits = self._model(ids, mask)[0].cpu().double()
                total += float(torch.nn.functional.cross_entropy(logits, labels, reduction="sum"))
        return total / self._count


def _tensors(model: LoadedClassifier, rows: Sequence[Tokens]) -> tuple[Any, Any]:
    torch, device = need("torch"), device_of(model)
    ids, mask = padded(rows, model.pad)
    return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)


def _seed(device: Any, seed: int) -> None:
    """Of this device alone: `torch.manual_seed` would change others, which are not restored."""
    torch = need("torch")
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)


@contextmanager
def _own_random(model: LoadedClassifier) -> Iterator[None]:
    """Gradients on, and torch's generators as they were in the end."""
    torch, device = need("torch"), device_of(model)
    devices = [device] if device.type == "cuda" else []
    with torch.inference_mode(False), torch.enable_grad(), torch.random.fork_rng(devices=devices):
        yield


@contextmanager
def _fits(torch: Any, ids: Any) -> Iterator[None]:
    try:
        yield
    except torch.cuda.OutOfMemoryError:
        raise UsageError(f"{ids.shape[0]} texts of {ids.shape[1]:,} tokens do not fit into the device's memory: give a "
                         "smaller micro_batch, or fewer max_tokens") from None


def _diverged(step: int, plan: TrainingPlan) -> UsageError:
    return UsageError(f"training diverged at update {step} with a learning rate of {plan.rate:g}: expected finite "
                      "losses and gradients; give a lower learning_rate")
