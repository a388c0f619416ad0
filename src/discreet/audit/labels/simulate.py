"""Tables of label scores of simulated worlds whose memory is known: for trying an audit out, its power, its tests.

A model's log odds of class k for a row are what its features say, a noise of the model's own, and, where it was trained
on the row as a k, its memory of that: added to logit k. Held-out canaries are like canaries but for the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.random import Generator

from discreet.core.types import FloatArray, IntArray
from discreet.mechanisms.labels.base import truth_probability
from discreet.mechanisms.labels.rr import randomised_response
from discreet.scores.table import CANARY, PLACEBO, Canaries, MemberArray, Model, ScoreTable


@dataclass(frozen=True, slots=True)
class LabelWorld:
    """What is simulated.

    Attributes
    ----------
    canaries, held_out, n_classes : int
    memory : float >= 0
        What training on a row with label k adds to its logit k. 0: a model that memorises nothing.
    signal : float
        Logit of the class that a row's features say, above those of the others; on top of it a `spread`, alike for all
        models.
    noise : float
        Standard deviation of each model's own noise on each logit.
    epsilon : float
        Of randomised response on all labels; infinity for none.
    references : int
        Trained alike on canaries and held-out canaries of the target with draws of their own.
    planted : tuple of int
        The first canaries are planted so many times, a tenth of all for each; memory grows by log2 of that.
    """

    canaries: int = 400
    held_out: int = 400
    n_classes: int = 2
    memory: float = 0.0
    signal: float = 2.0
    spread: float = 1.0
    noise: float = 0.5
    epsilon: float = inf
    references: int = 0
    planted: tuple[int, ...] = ()


def simulated_labels(world: LabelWorld, rng: Generator) -> ScoreTable:
    """Draw one target and its references from a world."""
    n, n_classes = world.canaries + world.held_out, world.n_classes
    original = rng.integers(0, n_classes, n)
    features = world.signal * _one_hot(original, n_classes) + world.spread * rng.normal(size=(n, n_classes))
    truth = truth_probability(world.epsilon, n_classes)
    planted = np.zeros(n, dtype=np.int64)
    for place, copies in enumerate(world.planted):
        planted[place * (world.canaries // 10) : (place + 1) * (world.canaries // 10)] = copies
    models, role, labels, trained, logits = [], [], [], [], []
    for place in range(1 + world.references):
        own = rng.integers(0, n_classes, n)
        seen = randomised_response(own, truth, n_classes, rng)
        target_role = np.repeat([CANARY, PLACEBO], [world.canaries, world.held_out]).astype(np.int8)
        own_role: MemberArray = target_role if not place else np.full(n, CANARY, dtype=np.int8)
        memory = world.memory * (own_role == CANARY) * (1.0 + np.log2(np.maximum(planted, 1)) * (place == 0))
        logits.append(features + world.noise * rng.normal(size=features.shape)
                      + memory[:, None] * _one_hot(seen, n_classes))
        mechanism = "none" if world.epsilon == inf else "rr"
        models.append(Model(f"reference-{place}" if place else "target", "reference" if place else "target",
                            mechanism=mechanism, epsilon=world.epsilon, seed=None if place else "0"))
        role.append(own_role)
        labels.append(own)
        trained.append(seen)
    of_all = np.stack([planted] + [np.zeros_like(planted)] * world.references)
    canaries = Canaries(np.stack(role), np.stack(labels), np.stack(trained), of_all)
    return ScoreTable.of_canaries(tuple(models), np.array([f"e{place}" for place in range(n)], dtype=np.object_),
                                  original, canaries, np.stack(logits))


def _one_hot(labels: IntArray, n_classes: int) -> FloatArray:
    return np.asarray(labels[:, None] == np.arange(n_classes), dtype=np.float64)
