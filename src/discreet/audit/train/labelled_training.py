"""Training under label differential privacy: the mechanism is an argument, and its noise is drawn once.

In one stage all labels are randomised and a model is trained on what is released. ALIBI releases numbers instead
(`SoftLabelMechanism`): the model is trained on their posterior, whose prior is the model itself after each epoch (Malek
Esmaeili et al. 2021, §4). In two stages (LP-2ST, Ghazi et al. 2021, Algorithm 3) the model of the first part gives the
prior under which the second is randomised; every label is randomised once.

Mechanism m randomises the labels of model m, so that a bank may run over ε, mechanisms and seeds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from discreet.audit.train.base import Inputs
from discreet.audit.train.networks import Bank, NetworkRecipe, fit_bank
from discreet.audit.train.plan import child
from discreet.core.types import FloatArray, IntArray
from discreet.stats.mechanisms.base import softmax
from discreet.stats.mechanisms.labels.base import LabelMechanism, SoftLabelMechanism, prior_of_logits, stage_parts
from discreet.stats.mechanisms.labels.rr import RandomisedResponse

Mechanisms: TypeAlias = Sequence[LabelMechanism | None]
"""One for each model; None trains on the labels as they are."""

TRAINING, NOISE, PARTS = range(3)
"""Which child of a model's seeds is for what; later stages train under children of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelTrained:
    """M models, the labels (M, n) that they were trained on, and in which stage, from 0, each was randomised.

    `trained` is what the mechanism made of each label; of soft labels the likeliest by what was released alone.
    """

    bank: Bank
    trained: IntArray
    stage: IntArray


def train_labelled(recipe: NetworkRecipe, inputs: Inputs, labels: IntArray, mechanisms: Mechanisms, n_classes: int,
                   seeds: Sequence[np.random.SeedSequence], *, prior: FloatArray | None = None,
                   soft: bool = False, weights: IntArray | None = None) -> LabelTrained:
    """Train M models in one stage, on n texts or an array (n, …) of inputs.

    `labels` (M, n) are each model's before its mechanism, canaries already redrawn. `prior`, (K,) or (n, K), is what is
    known of the labels without looking at them, for mechanisms that take one. With `soft`, models are trained on soft
    labels that follow them; every mechanism must then be a `SoftLabelMechanism` or None. `weights` (M, n) say how often
    each model is trained on each row, by the one label that was released of it; None: once.

    Raises ValueError where shapes or lengths disagree, or for a mechanism that is not soft; and as `fit_bank`.
    """
    noise, training = _streams(labels, inputs, mechanisms, seeds)
    stage = np.zeros(labels.shape, dtype=np.int64)
    if not soft:
        trained = np.array([_released(mechanism, own, rng, prior)
                            for mechanism, own, rng in zip(mechanisms, labels, noise, strict=True)])
        return LabelTrained(fit_bank(recipe, inputs, trained, n_classes, training, weights=weights), trained, stage)
    observed = [_observed(mechanism, own, n_classes, rng)
                for mechanism, own, rng in zip(mechanisms, labels, noise, strict=True)]
    # What was released alone says which label a model was trained on: the posterior moves with the model.
    trained = np.array([released.argmax(axis=1) for released, _ in observed], dtype=np.int64)
    posteriors = [posterior for _, posterior in observed]
    bank = fit_bank(
        recipe, inputs, trained, n_classes, training, weights=weights,
        soft=np.array([posterior(prior) for posterior in posteriors]),
        retarget=lambda places, logits: np.array([
            posteriors[place](softmax(own)) for place, own in zip(places.tolist(), logits, strict=True)]))
    return LabelTrained(bank, trained, stage)


def train_in_stages(recipe: NetworkRecipe, inputs: Inputs, labels: IntArray, mechanisms: Mechanisms, n_classes: int,
                    seeds: Sequence[np.random.SeedSequence], *, weights: IntArray | None = None) -> LabelTrained:
    """Train M models in two stages, LP-2ST.

    The rows are cut at random into two parts, for each model anew. Labels of the first part are randomised without a
    prior; a model trained on it gives, as the softmax of its logits, the prior of the second. The models that come back
    were trained on both parts. Mechanisms that take no prior ignore it; for one that needs a prior the first part is
    randomised by randomised response at its ε. `weights` are as for `train_labelled`.

    Raises as `train_labelled`, and ValueError for fewer rows than two; InputError where a part lacks a class.
    """
    noise, training = _streams(labels, inputs, mechanisms, seeds)
    # No label is there before it is randomised.
    stage, trained = np.zeros(labels.shape, dtype=np.int64), np.full(labels.shape, -1, dtype=np.int64)
    for own, one in zip(stage, seeds, strict=True):
        for number, rows in enumerate(stage_parts(own.size, np.random.default_rng(child(one, PARTS)))):
            own[rows] = number
    bank: Bank | None = None
    for number in range(2):
        logits = None if bank is None else bank.logits(inputs)
        for model, mechanism in enumerate(mechanisms):
            rows = np.flatnonzero(stage[model] == number)
            prior = None if logits is None else prior_of_logits(logits[model, rows])
            if mechanism is not None and prior is None and mechanism.takes_prior == "needed":
                mechanism = RandomisedResponse.at(mechanism.epsilon, mechanism.n_classes)  # noqa: PLW2901
            trained[model, rows] = _released(mechanism, labels[model, rows], noise[model], prior)
        bank = fit_bank(recipe, inputs, trained, n_classes, [child(one, number) for one in training],
                        weights=np.where(stage <= number, 1 if weights is None else weights, 0).astype(np.int64))
    assert bank is not None
    return LabelTrained(bank, trained, stage)


def _observed(mechanism: LabelMechanism | None, labels: IntArray, n_classes: int, rng: np.random.Generator
              ) -> tuple[FloatArray, Callable[[FloatArray | None], FloatArray]]:
    """What is released of one model's labels, and the soft labels that it gives under a prior."""
    if mechanism is None:
        released = np.eye(n_classes)[labels]
        return released, lambda prior: released
    if not isinstance(mechanism, SoftLabelMechanism):
        raise ValueError(f"{type(mechanism).__name__} releases labels and no numbers: expected a mechanism for soft "
                         "labels, such as alibi, or soft=False")
    observed = mechanism.observe(labels, rng)
    return observed, lambda prior: mechanism.posterior(observed, prior)


def _released(mechanism: LabelMechanism | None, labels: IntArray, rng: np.random.Generator,
              prior: FloatArray | None) -> IntArray:
    if mechanism is None:
        return labels
    return mechanism.apply(labels, rng, None if mechanism.takes_prior == "no" else prior)


def _streams(labels: IntArray, inputs: Inputs, mechanisms: Mechanisms, seeds: Sequence[np.random.SeedSequence]
             ) -> tuple[list[np.random.Generator], list[np.random.SeedSequence]]:
    """Each model's noise, and its seeds for training. Raises ValueError where shapes or lengths disagree."""
    if labels.shape != (len(seeds), len(inputs)) or labels.dtype.kind not in "iu" or len(mechanisms) != len(seeds):
        raise ValueError(f"labels are {labels.dtype} of shape {labels.shape} for {len(mechanisms)} mechanisms, "
                         f"{len(seeds)} seeds and {len(inputs)} inputs: expected whole numbers (M, n), M mechanisms, M "
                         "seeds")
    return [np.random.default_rng(child(one, NOISE)) for one in seeds], [child(one, TRAINING) for one in seeds]
