"""The training loop: micro-batches of like length, AdamW, cosine, early stopping, and the best weights at the end.

The result depends on the arguments alone: every micro-batch has a seed of its own for dropout, gradients are on
whatever the caller's mode is, and torch's global generators are left as they were. On a CPU with a fixed number of
threads it is the same to the last byte; on a GPU sums may be taken in another order. It costs 1.6 times less than
`transformers.Trainer` (docs/results/training_speed.md).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import ceil, cos, isfinite, log, pi
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.plan import BETA1, BETA2, EPSILON, TrainedModel, TrainingPlan, child
from discreet.audit.train.transformer.classifier import LoadedClassifier, Regime
from discreet.audit.train.transformer.reading import Tokens, epoch_batches, length_batches, padded, padding_share
from discreet.core.errors import InputError, UsageError
from discreet.core.types import IntArray

ONE_AT_A_TIME = threading.RLock()
"""Held while torch's generator is seeded, of which a process has one: threads would draw from each other's."""
CLIP = 1.0
"""Norm that gradients are cut down to."""
SAME_SIZE = 1.2
"""Models whose numbers of parameters differ by less than this factor are of one size."""
SEARCHED = (0.25, 0.5, 1.0, 2.0, 4.0)
"""What `search` multiplies the usual rate by."""
ENCODERS = ("albert", "bert", "camembert", "deberta", "distilbert", "electra", "ernie", "modernbert", "mpnet",
            "roberta", "xlm")
ENCODER = {"lora": 2e-3, "full": 2e-4}
"""Chosen on validation rows only: see docs/results/training_speed.md."""


class PublishedRate(NamedTuple):
    """A model of the paper's Table 4: family (beginning of its model type), parameters, and its two rates."""

    family: str
    parameters: float
    lora: float
    full: float


TABLE = tuple(PublishedRate(*row) for row in (
    ("llama", 1.24e9, 2e-4, 2e-5), ("llama", 3.21e9, 2e-4, 2e-5), ("llama", 8.03e9, 1e-4, 1e-5),
    ("gemma", 1.22e10, 5e-5, 5e-6)))


class Rate(NamedTuple):
    """A learning rate and where it comes from."""

    value: float
    by: Literal["given", "paper, Table 4", "nearest row of the paper's Table 4", "ours, for encoders", "search"]


def usual_rate(family: str, parameters: int, regime: Regime) -> Rate:
    """The rate for a model that none was given for, by its model type and how many parameters it has without LoRA.

    A decoder has that of the row of Table 4 that is nearest in size on a log scale, among those of its family where it
    has any. An encoder has `ENCODER`.
    """
    if family.startswith(ENCODERS):
        return Rate(ENCODER[regime], "ours, for encoders")
    rows = [row for row in TABLE if family.startswith(row.family)] or list(TABLE)
    nearest = min(rows, key=lambda row: abs(log(row.parameters / parameters)))
    there = family.startswith(nearest.family) and abs(log(nearest.parameters / parameters)) < log(SAME_SIZE)
    return Rate(nearest.lora if regime == "lora" else nearest.full,
                "paper, Table 4" if there else "nearest row of the paper's Table 4")


def scale(step: int, steps: int, warmup: float) -> float:
    """What the learning rate is multiplied by at update `step` (from 0) of `steps`; in (0, 1].

    It rises on a line over the first `warmup` (share in [0, 1], rounded up to whole updates) to 1, and falls on half a
    cosine to 0, which it would reach at update `steps`: no update is made with a rate of 0. Paper, Table 4; as
    transformers' `get_cosine_schedule_with_warmup`, whose first update has the rate 0, but for that line.
    """
    rising = ceil(steps * warmup)
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1.0 + cos(pi * (step - rising) / (steps - rising)))


def train(model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray, checks: Sequence[Tokens],
          check_labels: IntArray, plan: TrainingPlan, seeds: np.random.SeedSequence) -> TrainedModel:
    """Train a classifier in place, on the device that it is on, and leave it with its best weights, in evaluation mode.

    Best is the lowest mean log loss on `checks` of all evaluations, the earliest of equals; without checks there is no
    evaluation, and the last weights are the best. Labels are int64, one a row; decay is decoupled. Order of the rows
    and dropout are drawn from `seeds` alone; no child is spawned.

    Raises UsageError where a gradient or a validation loss is infinite or NaN, and where a micro-batch does not fit
    into the device's memory.
    """
    torch, device = import_module("torch"), model.device
    run = _Run(model, rows, labels, plan, seeds)
    curve: list[tuple[int, float]] = []
    best, kept = 0, state_of(model) if checks else {}
    # Gradients are on whatever the caller's mode is, and torch's generators are in the end as they were.
    with (ONE_AT_A_TIME, torch.inference_mode(False), torch.enable_grad(),
          torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])):
        evaluate = evaluation(model, checks, check_labels, plan.batch or len(rows))
        for parts in run.batches():
            run.update(parts)
            if not checks or (run.step % plan.eval_every and run.step < run.steps):
                continue
            if not isfinite(loss := evaluate()):
                raise run.diverged()
            curve.append((run.step, loss))
            if len(curve) == 1 or loss < curve[best][1]:
                best, kept = len(curve) - 1, state_of(model)
            elif plan.patience is not None and len(curve) - 1 - best >= plan.patience:
                break
        if curve:
            set_state(model, kept)
        run.end()
    return TrainedModel(run.step, run.steps, curve[best][0] if curve else run.step, validation_curve=tuple(curve),
                        padding_share=padding_share(run.done, rows))


class _Run:
    """The optimiser and where it is."""

    def __init__(self, model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray, plan: TrainingPlan,
                 seeds: np.random.SeedSequence) -> None:
        self._torch = torch = import_module("torch")
        self._model, self._rows, self._plan = model, rows, plan
        self._labels = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64))
        self._weights = list(model.trained().values())
        self._adam = torch.optim.AdamW(self._weights, lr=plan.rate, betas=(BETA1, BETA2), eps=EPSILON,
                                       weight_decay=plan.decay, fused=True)
        self._order, self._noise = (np.random.default_rng(child(seeds, place)) for place in range(2))
        batch = plan.batch or len(rows)
        self._part = plan.micro_batch or batch
        self._parts = batch // self._part
        self.steps = plan.epochs * ceil(ceil(len(rows) / self._part) / self._parts)
        self.step, self.done = 0, list[IntArray]()

    def batches(self) -> Iterator[list[IntArray]]:
        """The micro-batches of each update; the last of an epoch takes what is left."""
        for _ in range(self._plan.epochs):
            found = epoch_batches(self._rows, self._part, self._order)
            yield from (found[start : start + self._parts] for start in range(0, len(found), self._parts))

    def update(self, parts: Sequence[IntArray]) -> None:
        """One step on the mean loss of all the examples of these micro-batches, whatever the size of each."""
        torch, plan = self._torch, self._plan
        examples = sum(map(len, parts))
        self._model.model.train()
        self._adam.zero_grad(set_to_none=True)
        for places in parts:
            ids, mask = tensors(self._model, [self._rows[place] for place in places])
            _seed(ids.device, int(self._noise.integers(2**63)))
            wanted = self._labels[torch.from_numpy(places)].to(ids.device)
            with _fits(ids):
                logits, _ = self._model(ids, mask)
                loss = torch.nn.functional.cross_entropy(
                    logits, wanted, reduction="sum", label_smoothing=plan.smoothing) / examples
                loss.backward()
        self.step += 1
        if not isfinite(float(torch.nn.utils.clip_grad_norm_(self._weights, CLIP))):
            raise self.diverged()
        for group in self._adam.param_groups:
            group["lr"] = plan.rate * scale(self.step - 1, self.steps, plan.warmup or 0.0)
        self._adam.step()
        self.done += parts

    def end(self) -> None:
        """Leave a model that scores, without the memory that gradients take."""
        self._adam.zero_grad(set_to_none=True)
        self._model.model.eval()

    def diverged(self) -> UsageError:
        return UsageError(f"training diverged at update {self.step} with a learning rate of {self._plan.rate:g}: "
                          "expected finite losses and gradients; give a lower learning_rate")


def evaluation(model: LoadedClassifier, rows: Sequence[Tokens], labels: IntArray, size: int) -> Callable[[], float]:
    """Mean log loss on rows that are padded once."""
    torch = import_module("torch")
    batches = [(*tensors(model, [rows[place] for place in places]), torch.from_numpy(labels[places]))
               for places in length_batches(rows, size)]

    def evaluate() -> float:
        total = 0.0
        model.model.eval()
        with torch.no_grad():
            for ids, mask, wanted in batches:
                with _fits(ids):
                    logits = model(ids, mask)[0].cpu().double()
                total += float(torch.nn.functional.cross_entropy(logits, wanted, reduction="sum"))
        return total / len(rows)

    return evaluate


def state_of(model: LoadedClassifier) -> dict[str, NDArray[np.float32]]:
    """Name to a copy of everything that is trained."""
    return {name: weights.detach().to("cpu", copy=True).contiguous().numpy() for name, weights in
            model.trained().items()}


def set_state(model: LoadedClassifier, state: Mapping[str, NDArray[Any]]) -> None:
    """Copy what `state_of` made into a model of the same shape.

    Raises InputError, naming one array, where there are others than those that are trained, or of another shape.
    """
    torch, wanted = import_module("torch"), model.trained()
    if odd := sorted(set(wanted) ^ set(state)):
        raise InputError(f"the weights {'lack' if odd[0] in wanted else 'have an unexpected'} {odd[0][:80]!r}, one of "
                         f"{len(odd)} that differ from {model.base}'s: expected the base that the model was trained "
                         "from; name it, or train again")
    for name, weights in wanted.items():
        if tuple(weights.shape) != state[name].shape or state[name].dtype != "float32":
            raise InputError(f"the weights {name[:80]!r} are {state[name].dtype} of shape {state[name].shape}, those "
                             f"of {model.base} float32 of {tuple(weights.shape)}: name the base that the model was "
                             "trained from, or train again")
    with torch.no_grad():
        for name, weights in wanted.items():
            weights.copy_(torch.from_numpy(state[name]))


def tensors(model: LoadedClassifier, rows: Sequence[Tokens]) -> tuple[Any, Any]:
    """Ids and mask of a batch, where the model is."""
    ids, mask = (import_module("torch").from_numpy(part).to(model.device) for part in padded(rows, model.pad))
    return ids, mask


def _seed(device: Any, seed: int) -> None:
    """Of this device alone: `torch.manual_seed` would change others, which are not restored."""
    torch = import_module("torch")
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)


@contextmanager
def _fits(ids: Any) -> Iterator[None]:
    try:
        yield
    except import_module("torch").cuda.OutOfMemoryError:
        raise UsageError(f"{ids.shape[0]} texts of {ids.shape[1]:,} tokens do not fit into the device's memory: give a "
                         "smaller micro_batch, or fewer max_tokens") from None
