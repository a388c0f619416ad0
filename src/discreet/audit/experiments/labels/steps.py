"""The tasks of a label experiment, run by the engine: assign roles and labels, train models and score with them.

Results hold numbers of rows, labels and scores; no text and no ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from discreet.audit.engine import Job, seeds_of
from discreet.audit.experiments.runner import read_once
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, NO_MECHANISM, TRAIN, UNKNOWN
from discreet.audit.train import recipe_of
from discreet.audit.train.labelled_training import train_in_stages, train_labelled
from discreet.core.errors import InputError, UsageError
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, IntArray
from discreet.inputs.canaries import draw_canaries
from discreet.inputs.datasets import Dataset, read_dataset
from discreet.stats.mechanisms.labels.base import LabelMechanism, SoftLabelMechanism, label_mechanism

Scheme = Literal["plain", "soft", "staged"]
ASSIGNED = ("canaries", "control", "planted", "planted_each", "heldout", "assignment")
"""Options of an experiment that decide the assignment."""
READ = ("target", "positive", "group", "drop")
"""Options of an experiment that decide what is read."""
PLANTED_SHARE = 0.1
"""Planted canaries of each kind, as a share of the others."""
FEWEST_PLANTED = 20
PLANTED_ROWS = 0.25
"""Planted rows, repetitions counted, are at most this share of the rows that are not held out, if not asked for."""


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """What is done to the labels before training.

    Attributes
    ----------
    mechanism : str
        "none", or a registered label mechanism. `alibi` trains on soft labels, `rr_with_prior` and `rr_top_k` in two
        stages, the first model giving the prior of the second half (LP-2ST), all others on what is released.
    epsilon : float
        Above 0; infinite with "none" and with nothing else.

    Raises UsageError for others.
    """

    mechanism: str = NO_MECHANISM
    epsilon: float = inf

    def __post_init__(self) -> None:
        if isnan(self.epsilon) or self.epsilon <= 0.0:
            raise UsageError(f"epsilon is {self.epsilon:g}; expected a number above 0, or inf for no noise")
        if (self.mechanism == NO_MECHANISM) != (self.epsilon == inf):
            raise UsageError(f"mechanism {self.mechanism!r} at epsilon {self.epsilon:g}; expected 'none' at inf, and a "
                             "finite number with any other")
        self.mechanism_for(2)

    @property
    def name(self) -> str:
        """ "none", "rr-2", "alibi-0.5"."""
        if self.epsilon == inf:
            return NO_MECHANISM
        short = f"{self.epsilon:g}"
        return f"{self.mechanism}-{short if float(short) == self.epsilon else repr(float(self.epsilon))}"

    @property
    def scheme(self) -> Scheme:
        """How its models are trained; those of one scheme share a bank."""
        mechanism = self.mechanism_for(2)
        if mechanism is None:
            return "plain"
        return "soft" if isinstance(mechanism, SoftLabelMechanism) else (
            "plain" if mechanism.takes_prior == "no" else "staged")

    def mechanism_for(self, n_classes: int) -> LabelMechanism | None:
        """The mechanism, one that is broken on purpose too; None without noise."""
        return None if self.mechanism == NO_MECHANISM else label_mechanism(self.mechanism, self.epsilon, n_classes,
                                                                           allow_broken=True)

    def model(self, seed: int, number: int) -> str:
        """What its models are called in tables: "rr-2/42" (number 0), "rr-2/42/reference-1"."""
        return f"{self.name}/{seed}" + (f"/reference-{number}" if number else "")

    @classmethod
    def of(cls, mechanism: str, epsilon: float | None) -> Arm:
        """The arm that a list in JSON stands for; None is infinite."""
        return cls(mechanism, inf if epsilon is None else float(epsilon))


def assign_labels(job: Job) -> dict[str, Any]:
    """Roles, canary labels and planted repetitions of all rows; sizes and classes."""
    data = _dataset(job)
    return {**assign(data, job.params, job.seed, job.files["data"].name), "classes": list(data.classes),
            "kind": data.kind}


def assign(data: Dataset, options: Mapping[str, Any], seed: int, source: str) -> dict[str, Any]:
    """The roles of N rows and the labels before any mechanism, under the options `ASSIGNED` of an experiment.

    Returns arrays (N,): `role` (codes of `Canaries.role`), `label` (the label as given, canaries redrawn),
    `planted`; and `sizes`, the rows of each role and the number of planted canaries by repetitions. Raises InputError,
    beginning with `source`, where the rows do not suffice and where a class is no canary's label.
    """
    try:
        return _assigned(data.labels, data.classes, data.groups, np.random.default_rng(seeds_of(seed, "deal")), options)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _assigned(labels: IntArray, classes: Sequence[str], groups: IntArray | None, rng: Generator,
              options: Mapping[str, Any]) -> dict[str, Any]:
    n, planted = labels.size, options["planted"]
    held = _held_out(n, options["heldout"], groups, rng)
    left = n - int(held.sum())
    wanted, control = (_number(options[name], left) for name in ("canaries", "control"))
    if not wanted:
        raise InputError(f"a share of {options['canaries']:g} of {left:,} rows is no canary; expected a larger share "
                         "or more rows")
    each = planted_number(planted, options["planted_each"], wanted, left)
    drawn = draw_canaries(labels, len(classes), wanted, control, rng, assignment=options["assignment"], groups=groups,
                          among=~held, planted={times: each for times in planted if each})
    role = np.full(n, TRAIN, dtype=np.int8)
    role[held], role[drawn.canary], role[drawn.control] = HELDOUT, CANARY, CONTROL
    plain = drawn.label[(role == CANARY) & (drawn.planted == 0)]
    count = np.bincount(plain, minlength=len(classes))
    if (count == 0).any():
        raise InputError(f"class {classes[int(count.argmin())][:40]!r} has no canary among "
                         f"{counted(plain.size, 'canary', 'canaries')} of {len(classes)} classes; draw more canaries, "
                         "or make the target binary")
    return {"role": role, "label": drawn.label, "planted": drawn.planted, "sizes": {
        "rows": n, "train": int((role == TRAIN).sum()), "canary": int(plain.size),
        "planted": {str(times): int((drawn.planted == times).sum()) for times in planted},
        "control": int((role == CONTROL).sum()), "heldout": int(held.sum())}}


def planted_number(planted: Sequence[int], each: int | None, canaries: int, rows: int) -> int:
    """How many canaries are planted for each number of repetitions."""
    if each is not None or not planted:
        return each or 0
    return min(max(FEWEST_PLANTED, round(PLANTED_SHARE * canaries)), int(PLANTED_ROWS * rows) // sum(planted))


def _number(size: float, rows: int) -> int:
    # A product such as .02 · 50 must not fall a row short.
    return int(size * rows + 1e-9) if size < 1.0 else int(size)


def _held_out(n: int, heldout: float, groups: IntArray | None, rng: Generator) -> BoolArray:
    """Whole groups in random order until there are enough rows; what is left of a share is rounded down."""
    wanted = n - int((1.0 - heldout) * n + 1e-9) if heldout < 1.0 else int(heldout)
    if wanted >= n:
        raise InputError(f"{wanted:,} of {n:,} rows are to be held out; expected fewer")
    unit = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(unit)
    order = rng.permutation(sizes.size)
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.isin(unit, order[before < wanted])


def fit(job: Job) -> dict[str, Any]:
    """Train models of one scheme and score every row with each.

    `models` lists mechanism, ε (None: infinite) and number (0 the target, from 1 its references). Returns `logits`
    (M, N, K) float32, `label` and `trained` (M, N), the latter `UNKNOWN` of rows held out, and `facts` of each model.
    A model depends on the experiment's seed, its arm and its number, not on those it is trained with but for the last
    bits.
    """
    data, there = _dataset(job), job.inputs["assign"].arrays
    role, times = there["role"], np.maximum(there["planted"], 1).astype(np.int64)
    inputs = data.inputs(np.flatnonzero((role == CANARY) | (role == TRAIN)))
    inside = np.flatnonzero(role != HELDOUT)
    models = [(Arm.of(name, epsilon), int(number)) for name, epsilon, number in job.params["models"]]
    label = np.stack([_drawn(job, arm, number, data, role, there["label"]) for arm, number in models])
    weights = np.stack([np.where((role == CONTROL) & (number == 0), 0, times) for _, number in models])
    [scheme] = {arm.scheme for arm, _ in models}
    recipe = dict(job.params["recipe"])
    if "clock" in job.inputs:
        # As many epochs as the target without noise took.
        [facts] = job.inputs["clock"].value["facts"]
        recipe |= {"epochs": facts["epochs_done"], "until_accuracy": None}
    learnt = inputs[inside] if isinstance(inputs, np.ndarray) else [inputs[row] for row in inside.tolist()]
    mechanisms = [arm.mechanism_for(len(data.classes)) for arm, _ in models]
    seeds = [seeds_of(job.seed, f"{arm.name}/{number}", "fit") for arm, number in models]
    how: dict[str, Any] = {} if scheme == "staged" else {"soft": scheme == "soft"}
    network: Any = recipe_of(recipe)
    done = (train_in_stages if scheme == "staged" else train_labelled)(
        network, learnt, label[:, inside], mechanisms, len(data.classes), seeds, weights=weights[:, inside], **how)
    trained = np.full(label.shape, UNKNOWN, dtype=np.int32)
    trained[:, inside] = done.trained
    if job.params["keep"]:
        for (arm, number), fitted in zip(models, done.bank.models, strict=True):
            fitted.save(job.folder / arm.model(job.seed, number).replace("/", "-"))
    return {"logits": done.bank.logits(inputs).astype(np.float32), "label": label.astype(np.int32),
            "trained": trained, "facts": [dict(one.facts) for one in done.bank.models]}


def _dataset(job: Job) -> Dataset:
    return read_once(read_dataset, job.files["data"], labels=job.files.get("labels"),
                     **{name: job.params[name] for name in READ})


def _drawn(job: Job, arm: Arm, number: int, data: Dataset, role: IntArray, drawn: IntArray) -> IntArray:
    """Labels before the mechanism; a reference draws those of canaries and held-out ones for itself, uniformly."""
    if not number:
        return drawn
    rng = np.random.default_rng(seeds_of(job.seed, f"{arm.name}/{number}", "secrets"))
    again = (role == CANARY) | (role == CONTROL)
    return np.where(again, rng.integers(0, len(data.classes), data.labels.size), data.labels)
