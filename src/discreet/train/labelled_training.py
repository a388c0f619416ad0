"""Training under label differential privacy: the mechanism is an argument, and its noise is drawn once.

In one stage all labels are randomised and a model is trained on what is released. ALIBI releases numbers instead
(`SoftLabelMechanism`): the model is trained on their posterior, whose prior is the model itself after each epoch (Malek
Esmaeili et al. 2021, §4). In several stages (LP-MST, Ghazi et al. 2021, Algorithm 3; LP-2ST has two) the model of the
parts so far gives the prior under which the next part is randomised; every label is randomised once.

Mechanism m randomises the labels of model m, so that a bank may run over ε, mechanisms and seeds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from discreet.mechanisms.base import softmax
from discreet.mechanisms.labels.base import LabelMechanism, SoftLabelMechanism, prior_of_logits, stage_parts
from discreet.mechanisms.labels.rr import RandomisedResponse
from discreet.train.base import FloatArray, Inputs, IntArray, child
from discreet.train.networks.bank import Bank, NetworkRecipe, fit_bank

Mechanisms: TypeAlias = Sequence[LabelMechanism | None]
"""One for each model; None trains on the labels as they are."""
Posterior: TypeAlias = Callable[[FloatArray | None], FloatArray]
"""From a prior (K,) or (n, K) to soft labels (n, K)."""

TRAINING, NOISE, PARTS = range(3)
"""Which child of a model's seeds is for what; later stages train under children of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelTrained:
    """M models and the labels that they were trained on.

    Attributes
    ----------
    trained : array (M, n)
        What the mechanism made of each label. Of soft labels it is the likeliest by what was released alone.
    stage : array (M, n)
        In which stage, from 0, each label was randomised.
    """

    bank: Bank
    trained: IntArray
    stage: IntArray


def train_labelled(recipe: NetworkRecipe, inputs: Inputs, labels: IntArray, mechanisms: Mechanisms, n_classes: int,
                   seeds: Sequence[np.random.SeedSequence], *, prior: FloatArray | None = None,
                   soft: bool = False, weights: IntArray | None = None) -> LabelTrained:
    """Train M models in one stage.

    Parameters
    ----------
    inputs : n texts, or an array (n, …)
    labels : array (M, n)
        Each model's labels before its mechanism, canaries already redrawn.
    mechanisms : sequence of M mechanisms or None
    prior : array (K,) or (n, K), optional
        What is known of the labels without looking at them; for mechanisms that take one.
    soft : bool
        Train on soft labels that follow the model; every mechanism must then be a `SoftLabelMechanism` or None.
    weights : array (M, n), optional
        How often each model is trained on each row, whole numbers from 0, by the one label that was released of it;
        None: once.

    Raises ValueError where shapes or lengths disagree, for labels beyond the classes, or a mechanism that is not soft;
    and as `fit_bank`.
    """
    given = _checked(labels, len(inputs), mechanisms, seeds)
    noise = [np.random.default_rng(child(one, NOISE)) for one in seeds]
    training = [child(one, TRAINING) for one in seeds]
    stage = np.zeros(given.shape, dtype=np.int64)
    if not soft:
        trained = np.array([_released(mechanism, own, rng, prior)
                            for mechanism, own, rng in zip(mechanisms, given, noise, strict=True)])
        bank = fit_bank(recipe, inputs, trained, n_classes, training, weights=weights)
        return LabelTrained(bank, trained, stage)
    observed = [_observed(mechanism, own, n_classes, rng)
                for mechanism, own, rng in zip(mechanisms, given, noise, strict=True)]
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
                    seeds: Sequence[np.random.SeedSequence], *, stages: int = 2, temperature: float = 1.0,
                    weights: IntArray | None = None) -> LabelTrained:
    """Train M models in stages, LP-2ST for two.

    The rows are cut at random into `stages` parts, for each model anew. Labels of the first part are randomised without
    a prior; a model trained on all parts so far gives, as softmax(logits / `temperature`), the prior of the next. The
    models that come back were trained on all parts. Mechanisms that take no prior ignore it; for one that needs a prior
    the first part is randomised by randomised response at its ε. `weights` are as for `train_labelled`.

    Raises as `train_labelled`, and ValueError for fewer than two stages or more than rows, or a temperature that is not
    above 0; InputError where a part lacks a class.
    """
    given = _checked(labels, len(inputs), mechanisms, seeds)
    if stages < 2:
        raise ValueError(f"stages is {stages}: expected at least 2; one stage is train_labelled")
    parts = [stage_parts(given.shape[1], np.random.default_rng(child(one, PARTS)), stages) for one in seeds]
    noise = [np.random.default_rng(child(one, NOISE)) for one in seeds]
    # No label is there before it is randomised.
    stage, trained = np.zeros(given.shape, dtype=np.int64), np.full(given.shape, -1, dtype=np.int64)
    for model, own in enumerate(parts):
        for number, rows in enumerate(own):
            stage[model, rows] = number
    bank: Bank | None = None
    for number in range(stages):
        logits = None if bank is None else bank.logits(inputs)
        for model, mechanism in enumerate(mechanisms):
            rows = parts[model][number]
            prior = None if logits is None else prior_of_logits(logits[model, rows], temperature)
            trained[model, rows] = _released(_able(mechanism, prior), given[model, rows], noise[model], prior)
        bank = fit_bank(recipe, inputs, trained, n_classes, [child(child(one, TRAINING), number) for one in seeds],
                        weights=np.where(stage <= number, 1 if weights is None else weights, 0).astype(np.int64))
    assert bank is not None
    return LabelTrained(bank, trained, stage)


def _observed(mechanism: LabelMechanism | None, labels: IntArray, n_classes: int, rng: np.random.Generator
              ) -> tuple[FloatArray, Posterior]:
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


def _able(mechanism: LabelMechanism | None, prior: FloatArray | None) -> LabelMechanism | None:
    """The mechanism, or randomised response at its ε where it needs a prior and there is none."""
    if mechanism is None or prior is not None or mechanism.takes_prior != "needed":
        return mechanism
    return RandomisedResponse.at(mechanism.epsilon, mechanism.n_classes)


def _checked(labels: IntArray, n: int, mechanisms: Mechanisms, seeds: Sequence[np.random.SeedSequence]) -> IntArray:
    given = np.asarray(labels)
    if given.shape != (len(seeds), n) or given.dtype.kind not in "iu" or len(mechanisms) != len(seeds):
        raise ValueError(f"labels are {given.dtype} of shape {given.shape} for {len(mechanisms)} mechanisms, "
                         f"{len(seeds)} seeds and {n} inputs: expected whole numbers (M, n), M mechanisms, M seeds")
    return given.astype(np.int64)
