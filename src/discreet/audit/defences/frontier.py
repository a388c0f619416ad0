"""The defence frontier: what attacks lose and users pay as an interface releases less (membership paper, section 7.2).

The paper adds Laplace noise to the target's logits, leaves the reference clean, keeps the boundary set of σ = 0, and
gives the mean AUC over 50 draws. Here besides: k queries of the same input, whose fresh noise averages out; keyed
noise, which does not; k − 1 near-duplicates, whose keyed noise does; rounding; the top label alone; any registered
attack; and next to every figure the same attack on the outputs of a control model (placebo) under the same mechanism.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from discreet.audit.defences.bench import Bench, Outputs
from discreet.audit.defences.figures import SHOWN, Figure, Frontier, Point, Queried, figure_of, over_draws
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.membership.selection import BOUNDARY_N
from discreet.core.arrays import log_softmax
from discreet.core.errors import UsageError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.mechanisms.base import OutputMechanism, output_mechanisms
from discreet.scores.table import ScoreTable
from discreet.stats import share_estimate

Todo: TypeAlias = tuple[str, float | None]
"""A mechanism and its strength."""

ATTACKS = ("loss", "reference")
"""The default: what one threshold on the answer finds, and the verdict's own attack."""
QUERIES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DRAWS = 50
JITTER = 0.25
PER_SET = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What every point shares. `seeds` are one per draw, so a point does not depend on which others are asked for."""

    bench: Bench
    positive: int
    clip: float | None
    jitter: float
    seeds: tuple[int, ...]


def frontier(
    table: ScoreTable, target: int, rng: Generator, *, strengths: Mapping[str, Sequence[float]] | None = None,
    mechanisms: Sequence[str] | None = None, attacks: Sequence[str] = ATTACKS, queries: Sequence[int] = QUERIES,
    draws: int = DRAWS, positive: int = 1, clip: float | None = None, jitter: float = JITTER, n: int = BOUNDARY_N,
    per_set: int | None = PER_SET, each: Callable[[list[Todo]], Iterator[Todo]] = iter,
) -> Frontier:
    """Every registered mechanism (or those called `mechanisms`) against attacks on model `target`.

    Parameters
    ----------
    strengths : mapping of knob to numbers
        What to try ("sigma", "decimals"); a mechanism's own where its knob is not named. σ = 0 is left out: that is
        the mechanism "none", always the first point.
    attacks : sequence of str
        Names of registered membership attacks. Each runs in all its scales with honest references (neutral, else
        population) and with paired ones; runs that rank the examples alike are shown once.
    queries : sequence of int >= 1
    draws : int >= 1
        Noise draws that are averaged; of keyed noise, keys.
    positive : int
        The class whose misses are counted, in [0, K).
    clip : float > 0 or None
        Bound of the centred logits under noise; without one no local ε is finite.
    jitter : float >= 0
        Standard deviation, per class, of a near-duplicate's logits around the input's own.
    per_set : int or None
        Most members and most non-members in a global row, drawn once; None takes all.
    each : callable
        Wraps the list of points to be computed, for progress.

    Raises
    ------
    ValueError
        For a number out of range, a mechanism's strength included.
    UsageError
        For an attack that is not registered, or where none of them can run.
    InputError
        Where the table does not say who is a member.
    """
    if not queries or min(queries) < 1:
        raise ValueError(f"queries are {list(queries)}: expected whole numbers, at least 1")
    if draws < 1:
        raise ValueError(f"draws is {draws}: expected at least 1")
    if not 0 <= positive < table.n_classes:
        raise ValueError(f"positive is {positive}: expected a class from 0 to {table.n_classes - 1}")
    sets = evaluation_sets(table, target, rng)
    bench = Bench.of(table, sets, list(dict.fromkeys(attacks)), n, per_set, rng)
    if not bench.runs:
        raise UsageError(f"none of the attacks {', '.join(attacks)} can run on this table; expected one that needs no "
                         "other references than it has, such as loss")
    seeds = tuple(int(seed) for seed in rng.integers(0, 2**62, draws))
    setting = Setting(bench, positive, clip, jitter, seeds)
    names = list(dict.fromkeys(["none", *(output_mechanisms if mechanisms is None else mechanisms)]))
    todo = [(name, strength) for name in names for strength in _grid(output_mechanisms[name], strengths or {})]
    points = [point for name, strength in each(todo) for point in _points(setting, name, strength, queries)]
    placebo = None if sets.placebo is None else table.models[sets.placebo].name
    return Frontier(table.models[target].name, placebo, positive, draws, jitter, clip, bench.primary,
                    tuple(points), bench.notes)


def _grid(cls: type[OutputMechanism], strengths: Mapping[str, Sequence[float]]) -> list[float | None]:
    if cls.knob is None:
        return [None]
    return [float(s) for s in strengths.get(cls.knob, cls.strengths) if cls.knob != "sigma" or s != 0]


def _points(setting: Setting, name: str, strength: float | None, queries: Sequence[int]) -> Iterator[Point]:
    """The points of one mechanism and strength. Only fresh noise and near-duplicates change with the queries."""
    cls = output_mechanisms[name]
    accuracy, missed = _utility(setting, name, strength)
    same: dict[int, tuple[Figure, ...]] = {}
    for k in queries:
        asked_once = k if cls.noise == "fresh" else 1
        if asked_once not in same:
            same[asked_once] = _figures(setting, name, strength, asked_once, "same")
        yield _point(setting, name, strength, k, "same", accuracy, missed, same[asked_once])
    if cls.noise == "keyed":
        for k in queries:
            # One query is of the input itself.
            figures = same[1] if k == 1 else _figures(setting, name, strength, k, "near-duplicates")
            yield _point(setting, name, strength, k, "near-duplicates", accuracy, missed, figures)


def _point(
    setting: Setting, name: str, strength: float | None, k: int, queried: Queried, accuracy: Estimate,
    missed: Estimate, figures: tuple[Figure, ...],
) -> Point:
    cls, n_classes = output_mechanisms[name], setting.bench.judged.logits.shape[1]
    mechanism = cls.at(strength, setting.clip, np.random.default_rng(0))
    one = mechanism.epsilon(n_classes)
    every = mechanism.epsilon(n_classes, k) if queried == "same" else None if one is None else one * k
    return Point(name, cls.knob, strength, cls.noise, k, queried, one, every, accuracy, missed, figures)


def _deployments(setting: Setting, name: str, strength: float | None, k: int
                 ) -> Iterator[tuple[OutputMechanism, Generator]]:
    """A deployment and a generator per draw; one where nothing is drawn. Equal draws for all strengths of a knob."""
    cls = output_mechanisms[name]
    for seed in setting.seeds if cls.noise != "none" else setting.seeds[:1]:
        rng = np.random.default_rng([seed, k, zlib.crc32(name.encode())])
        yield cls.at(strength, setting.clip, rng), rng


def _figures(setting: Setting, name: str, strength: float | None, k: int, queried: Queried) -> tuple[Figure, ...]:
    bench = setting.bench
    of_target, of_placebo = (list[list[FloatArray]]([] for _ in bench.cases) for _ in range(2))
    n = len(bench.judged.logits)
    clean = np.concatenate([bench.judged.logits, bench.population.logits])
    for mechanism, rng in _deployments(setting, name, strength, k):
        # The control model is another deployment: another key, other noise.
        other = type(mechanism).at(strength, setting.clip, rng)
        for logits, one, draws in ((clean, mechanism, of_target), (bench.placebo, other, of_placebo)):
            if logits is None:
                continue
            # The population has draws of its own: the figures of other attacks do not depend on who uses it.
            log_p = _held(one, logits[:n], bench.judged, k, queried, setting.jitter, rng)
            if len(logits) > n:
                own = rng.spawn(1)[0]
                others = _held(one, logits[n:], bench.population, k, queried, setting.jitter, own)
                log_p = np.concatenate([log_p, others])
            scores = bench.scores(log_p)
            for case, found in zip(bench.cases, draws, strict=True):
                found.append(scores[case.run][case.rows])
    return tuple(map(figure_of, bench.cases, of_target, of_placebo))


def _held(
    mechanism: OutputMechanism, logits: FloatArray, rows: Outputs, k: int, queried: Queried, jitter: float,
    rng: Generator,
) -> FloatArray:
    """Log probabilities that an attacker has after k queries."""
    if queried == "same":
        return log_softmax(mechanism.pooled(logits, rows.inputs, k, rng))
    near = mechanism.near_duplicates(logits, rows.inputs, k, jitter, rng)
    assert near is not None
    return log_softmax(near)


def _utility(setting: Setting, name: str, strength: float | None) -> tuple[Estimate, Estimate]:
    """Accuracy and missed positives of single answers; classes that tie for the top are drawn among."""
    rows = setting.bench.utility
    positives = rows.label == setting.positive
    right: list[BoolArray] = []
    missed: list[BoolArray] = []
    if rows.label.size:
        for mechanism, rng in _deployments(setting, name, strength, 1):
            answers = mechanism.release(rows.logits, rows.inputs, rng)
            tied = answers == answers.max(axis=1, keepdims=True)
            called = (tied * rng.random(tied.shape)).argmax(axis=1)
            right.append(called == rows.label)
            missed.append((called != setting.positive)[positives])
    groups = rows.groups
    return (_shares(right, groups, "rows to measure accuracy on"),
            _shares(missed, None if groups is None else groups[positives], "positives"))


def _shares(hits: list[BoolArray], groups: IntArray | None, of: str) -> Estimate:
    unit = "example" if groups is None else "group"
    shown = [share_estimate(one, groups=groups, unit=unit, of=of) for one in hits[:SHOWN]]
    return over_draws([float(one.mean()) for one in hits if one.size], shown, f"a share of no {of}")[0]
