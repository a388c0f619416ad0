"""Score tables of simulated worlds whose leak is known: for trying an audit out, for its power, and for its tests.

An example has a difficulty that every model sees alike, and each model adds noise of its own to the log odds of the
true class. A model that trained on an example adds its leak. Nothing else is in the scores, so the AUC of the perfect
calibrated attack has a closed form: Φ(leak / (√2 · noise · √(1 + 1/r))) with r honest references.

For label audits (`simulated_labels`) the log odds of class k for a row are what its features say, a noise of the
model's own, and, where the model was trained on the row as a k, its memory of that: added to logit k. Held-out
canaries are like canaries but for the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, log2

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.audit.scores.table import CANARY, CONTROL, IN, Canaries, Model, Role, ScoreTable
from discreet.audit.scores.table import Examples as ExampleTable
from discreet.audit.scores.table import ReferenceKind as Kind
from discreet.core.types import FloatArray, IntArray
from discreet.stats.mechanisms.labels.base import truth_probability
from discreet.stats.mechanisms.labels.rr import randomised_response

SPLITS = ("train", "reference", "eval", "calibration", "planted")
CATEGORIES = ("abuse", "fraud", "weapons")


@dataclass(frozen=True, slots=True)
class World:
    """What is simulated.

    Attributes
    ----------
    members, others, clean, selector : int
        Examples that the target trained on; the paired reference; nobody; the selection model (0: there is none).
    leak, reference_leak : float
        What training on an example adds to the log odds of its true class, in the target and in other models.
    paired, neutral, shadows, controls : int
        Models of each kind. Shadows are population references, trained on random halves of everything but the
        selector's examples.
    planted : mapping of int to int
        For each number of repetitions, how many records a fair coin may plant; the leak grows by
        `leak_of_planted(repetitions)`.
    rare : float in (0, 0.5]
        Share of class 1.
    leak_in : str
        The part whose members leak, such as "class 1" or "category fraud"; all members if empty.
    shift : float
        What any model, control models too, finds likelier in the target's members: the sets differ by themselves.
    group_size : int
        Records of a person (1: no column `group`); membership goes by person, who share `group_noise`.
    """

    members: int = 400
    others: int = 400
    clean: int = 400
    selector: int = 200
    leak: float = 0.0
    reference_leak: float = 2.0
    noise: float = 0.7
    spread: float = 1.5
    paired: int = 1
    neutral: int = 1
    shadows: int = 0
    controls: int = 1
    planted: Mapping[int, int] = field(default_factory=dict)
    planted_leak: float = 0.8
    rare: float = 0.5
    leak_in: str = ""
    shift: float = 0.0
    group_size: int = 1
    group_noise: float = 0.0

    def leak_of_planted(self, repetitions: int) -> float:
        """What planting a record so many times adds to the target's log odds."""
        return self.leak + self.planted_leak * (1.0 + log2(repetitions))


def simulated_table(world: World, rng: Generator) -> ScoreTable:
    """Draw a score table of one target and two classes from a world."""
    sizes = (world.members, world.others, world.clean, world.selector, sum(world.planted.values()))
    split = np.repeat(np.array(SPLITS, dtype=object), sizes)
    n, planted = split.size, np.zeros(split.size, dtype=np.int64)
    planted[split == "planted"] = np.repeat(list(world.planted), list(world.planted.values())).astype(np.int64)
    coin, label = rng.integers(0, 2, n), rng.integers(0, 2, n)
    if world.rare < 0.5:
        label = label * (rng.random(n) < 2.0 * world.rare)
    group = np.arange(n) // world.group_size if world.group_size > 1 else None
    difficulty = 1.0 + world.spread * rng.normal(size=n)
    models, member, odds = list[Model](), [], []
    everywhere = 0.0 if world.leak_in else world.leak
    for role, kind, trained in _models(world, split, coin, group, rng):
        leak = np.full(n, world.reference_leak)
        if role == "target":
            leak = np.array([world.leak_of_planted(int(one)) if one else everywhere for one in planted])
            difficulty = difficulty + world.shift * trained
        own = world.noise * rng.normal(size=n)
        if group is not None:
            own = own + world.group_noise * rng.normal(size=int(group.max()) + 1)[group]
        models.append(Model(f"{role}-{kind or ''}{len(models)}", role, kind))
        member.append(trained.astype(np.int8))
        odds.append(difficulty + own + leak * trained)
    categories = tuple(frozenset({CATEGORIES[one]}) for one in rng.integers(0, len(CATEGORIES), n))
    if world.leak_in:
        part, _, value = world.leak_in.partition(" ")
        inside = label == int(value) if part == "class" else np.array([value in one for one in categories])
        odds[0] = odds[0] + world.leak * (inside & (member[0] == IN) & (planted == 0))
    phi: FloatArray = np.stack(odds) * np.where(label == 1, 1.0, -1.0)
    examples = ExampleTable(
        id=np.array([f"e{place}" for place in range(n)], dtype=object), label=label, planted=planted, group=group,
        split=split, categories=categories)
    return ScoreTable(tuple(models), examples, np.stack([-phi / 2.0, phi / 2.0], axis=-1)[:, :, None, :],
                      np.stack(member))


def _models(world: World, split: NDArray[np.object_], coin: IntArray, group: IntArray | None,
            rng: Generator) -> Iterator[tuple[Role, Kind | None, IntArray]]:
    """Role, reference kind and membership (n,) of each model."""
    nobody, calibration = np.zeros(split.size, dtype=np.int64), np.where(split == "calibration", 1, 0)
    halves = [rng.integers(0, 2, split.size if group is None else int(group.max()) + 1) for _ in range(world.shadows)]
    yield "target", None, np.where((split == "train") | ((split == "planted") & (coin == IN)), 1, 0)
    for _ in range(world.paired):
        yield "reference", "paired", np.where(split == "reference", 1, 0)
    for _ in range(world.neutral):
        yield "reference", "neutral", nobody
    for half in halves:
        yield "shadow", "population", np.where(calibration == 1, 0, half if group is None else half[group])
    if world.selector:
        yield "selection", None, calibration
    for _ in range(world.controls):
        yield "control", None, nobody


@dataclass(frozen=True, slots=True)
class LabelWorld:
    """What is simulated.

    Attributes
    ----------
    memory : float >= 0
        What training on a row with label k adds to its logit k. 0: a model that memorises nothing.
    signal, spread, noise : float
        Logit of the class that a row's features say, above those of the others; deviations of the logits that all
        models see alike, and of each model's own.
    epsilon : float
        Of randomised response on all labels; infinity for none.
    references : int
        Trained alike on canaries and held-out ones of the target with draws of their own.
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
    n, one_hot = world.canaries + world.held_out, np.eye(world.n_classes)
    original = rng.integers(0, world.n_classes, n)
    features = world.signal * one_hot[original] + world.spread * rng.normal(size=(n, world.n_classes))
    truth = truth_probability(world.epsilon, world.n_classes)
    planted = np.zeros((1 + world.references, n), dtype=np.int64)
    for place, repetitions in enumerate(world.planted):
        planted[0, place * (world.canaries // 10) : (place + 1) * (world.canaries // 10)] = repetitions
    models, labels, trained, logits = [], [], [], []
    role = np.full(planted.shape, CANARY, dtype=np.int8)
    role[0, world.canaries :] = CONTROL
    for place, (own_role, copies) in enumerate(zip(role, planted, strict=True)):
        labels.append(rng.integers(0, world.n_classes, n))
        trained.append(randomised_response(labels[-1], truth, world.n_classes, rng))
        memory = world.memory * (own_role == CANARY) * (1.0 + np.log2(np.maximum(copies, 1)))
        logits.append(features + world.noise * rng.normal(size=features.shape) + memory[:, None] * one_hot[trained[-1]])
        models.append(
            Model(f"reference-{place}" if place else "target", "reference" if place else "target",
                  mechanism="none" if world.epsilon == inf else "rr", epsilon=world.epsilon,
                  seed=None if place else "0")
        )
    canaries = Canaries(role, np.stack(labels), np.stack(trained), planted)
    return ScoreTable.of_canaries(tuple(models), np.array([f"e{place}" for place in range(n)], dtype=np.object_),
                                  original, canaries, np.stack(logits))
