"""The steps of a trial, run by the engine: deal roles and labels, train models and score with them.

Results hold numbers of rows, labels and scores; no text and no ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.data.datasets import Dataset, Inputs, read_dataset
from discreet.engine import Job, seeds_of
from discreet.experiments.labels.assign import deal
from discreet.experiments.labels.experiment import NONE, Arm
from discreet.mechanisms.labels.base import LabelMechanism, SoftLabelMechanism, label_mechanism
from discreet.scores.table import CANARY, HELDOUT, PLACEBO, TRAIN, UNKNOWN
from discreet.train import recipe_of

if TYPE_CHECKING:
    from discreet.train.labelled_training import LabelTrained

Scheme = Literal["plain", "soft", "staged"]
DEALT = ("canaries", "placebo", "planted", "planted_each", "heldout", "law")
READ = ("target", "positive", "group", "drop")


def deal_out(job: Job) -> dict[str, Any]:
    """Roles, secrets and planted repetitions of all rows; sizes and classes."""
    data = _dataset(job)
    found = dealt_out(data, job.params, job.seed, job.files["data"].name)
    return {**found, "classes": list(data.classes), "kind": data.kind}


def dealt_out(data: Dataset, options: Mapping[str, Any], seed: int, source: str) -> dict[str, Any]:
    """The deal of a data set under the options `DEALT`; see `deal`. Raises InputError, beginning with `source`."""
    rng = np.random.default_rng(seeds_of(seed, "deal"))
    try:
        return deal(data.labels, data.classes, data.groups, rng, **{name: options[name] for name in DEALT})
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def fit(job: Job) -> dict[str, Any]:
    """Train models of one scheme and score every row with each.

    `models` lists mechanism, ε (None: infinite) and number (0 the target, from 1 its references). Returns `logits`
    (M, N, K) float32, `secret` and `trained` (M, N), the latter `UNKNOWN` of rows held out, and `facts` of each model.
    A model hangs on the trial's seed, its arm and its number, not on those it is trained with but for the last bits.
    """
    data, dealt = _dataset(job), job.inputs["deal"].arrays
    role, times = dealt["role"], np.maximum(dealt["planted"], 1).astype(np.int64)
    inputs = data.inputs(np.flatnonzero((role == CANARY) | (role == TRAIN)))
    inside = np.flatnonzero(role != HELDOUT)
    models = [(arm_of(name, epsilon), int(number)) for name, epsilon, number in job.params["models"]]
    secret = np.stack([_secret(job, arm, number, data, role, dealt["secret"]) for arm, number in models])
    weights = np.stack([np.where((role == PLACEBO) & (number == 0), 0, times) for _, number in models])
    done = _trained(job, models, _taken(inputs, inside), secret[:, inside], weights[:, inside], len(data.classes))
    trained = np.full(secret.shape, UNKNOWN, dtype=np.int32)
    trained[:, inside] = done.trained
    if job.params["keep"]:
        for (arm, number), fitted in zip(models, done.bank.models, strict=True):
            fitted.save(job.folder / model_name(arm, job.seed, number).replace("/", "-"))
    return {"logits": done.bank.logits(inputs).astype(np.float32), "secret": secret.astype(np.int32),
            "trained": trained, "facts": [dict(one.facts) for one in done.bank.models]}


def scheme_of(arm: Arm) -> Scheme:
    """How a model of this arm is trained; those of one scheme share a bank."""
    mechanism = _mechanism(arm, 2)
    if mechanism is None:
        return "plain"
    return "soft" if isinstance(mechanism, SoftLabelMechanism) else "plain" if mechanism.takes_prior == "no" else (
        "staged")


def model_name(arm: Arm, seed: int, number: int) -> str:
    """What a model is called in tables: "rr-2/42", "rr-2/42/reference-1"."""
    return f"{arm.name}/{seed}" + (f"/reference-{number}" if number else "")


def arm_of(mechanism: str, epsilon: float | None) -> Arm:
    """The arm that a list in JSON stands for."""
    return Arm(mechanism, inf if epsilon is None else float(epsilon))


def _dataset(job: Job) -> Dataset:
    labels: Path | None = job.files.get("labels")
    return read_dataset(job.files["data"], labels=labels, **{name: job.params[name] for name in READ})


def _mechanism(arm: Arm, n_classes: int) -> LabelMechanism | None:
    # Whether a broken one may be trained under was settled when the trial was described.
    return None if arm == NONE else label_mechanism(arm.mechanism, arm.epsilon, n_classes, allow_broken=True)


def _secret(job: Job, arm: Arm, number: int, data: Dataset, role: IntArray, dealt: IntArray) -> IntArray:
    """Labels before the mechanism; a reference draws those of canaries and placebos for itself, uniformly."""
    if not number:
        return dealt
    rng = np.random.default_rng(seeds_of(job.seed, f"{arm.name}/{number}", "secrets"))
    drawn = (role == CANARY) | (role == PLACEBO)
    return np.where(drawn, rng.integers(0, len(data.classes), data.labels.size), data.labels)


def _trained(job: Job, models: Sequence[tuple[Arm, int]], inputs: Inputs, labels: IntArray, weights: IntArray,
             n_classes: int) -> LabelTrained:
    from discreet.train.labelled_training import train_in_stages, train_labelled

    [scheme] = {scheme_of(arm) for arm, _ in models}
    recipe: Any = recipe_of(_clocked(job.params["recipe"], job.inputs))
    mechanisms = [_mechanism(arm, n_classes) for arm, _ in models]
    seeds = [seeds_of(job.seed, f"{arm.name}/{number}", "fit") for arm, number in models]
    if scheme == "staged":
        return train_in_stages(recipe, inputs, labels, mechanisms, n_classes, seeds, weights=weights)
    return train_labelled(recipe, inputs, labels, mechanisms, n_classes, seeds, soft=scheme == "soft", weights=weights)


def _clocked(recipe: Mapping[str, Any], inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The recipe with as many epochs as the target without noise took, where that one is the clock."""
    if "clock" not in inputs:
        return recipe
    [facts] = inputs["clock"].value["facts"]
    return {**recipe, "epochs": facts["epochs_done"], "until_accuracy": None}


def _taken(inputs: Inputs, rows: IntArray) -> Inputs:
    return inputs[rows] if isinstance(inputs, np.ndarray) else [inputs[row] for row in rows.tolist()]
