"""The defence frontier: what attacks lose and users pay as an interface releases less (membership paper, section 7.2).

The paper adds Laplace noise to the target's logits, leaves the reference clean, keeps the boundary set of σ = 0, and
gives the mean AUC over 50 draws. Here besides: k queries of the same input, whose fresh noise averages out; keyed
noise, which does not; k − 1 near-duplicates, whose keyed noise does; rounding; the top label alone; any registered
attack; and next to every figure the same attack on the outputs of a control model under the same mechanism.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from discreet.audit.defences.figures import (
    SHOWN,
    Bench,
    Figure,
    Frontier,
    Outputs,
    Point,
    Queried,
    figure_of,
    over_draws,
)
from discreet.audit.membership.evaluation_sets import BOUNDARY_N, evaluation_sets
from discreet.audit.scores.table import ScoreTable
from discreet.core.arrays import log_softmax
from discreet.core.errors import UsageError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import share_estimate
from discreet.stats.mechanisms.base import OutputMechanism, output_mechanisms

Todo: TypeAlias = tuple[str, float | None]
"""A mechanism and its strength."""

ATTACKS = ("loss", "reference")
"""The default: what one threshold on the answer finds, and the verdict's own attack."""
QUERIES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DRAWS, JITTER, PER_SET = 50, 0.25, 5_000


def frontier(table: ScoreTable, target: int, rng: Generator, *, strengths: Mapping[str, Sequence[float]] | None = None,
             mechanisms: Sequence[str] | None = None, attacks: Sequence[str] = ATTACKS,
             queries: Sequence[int] = QUERIES, draws: int = DRAWS, positive: int = 1, clip: float | None = None,
             jitter: float = JITTER, n: int = BOUNDARY_N, per_set: int | None = PER_SET,
             each: Callable[[list[Todo]], Iterator[Todo]] = iter) -> Frontier:
    """Every registered mechanism (or those called `mechanisms`) against attacks on model `target`.

    Parameters
    ----------
    strengths : mapping of knob to numbers
        What to try ("sigma", "decimals"); a mechanism's own where its knob is not named. σ = 0 is left out: that is
        the mechanism "none", always the first point.
    attacks : sequence of str
        Names of registered membership attacks. Each runs in all its scales with honest references (neutral, else
        population) and with paired ones; runs that rank the examples alike are shown once.
    queries, draws : int >= 1
        Numbers of queries; noise draws that are averaged (of keyed noise, keys).
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

    ValueError for a number out of range, UsageError where an attack is not registered or none can run, InputError where
    the table does not say who is a member.
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
    # One seed a draw, so that a point does not depend on which others are asked for.
    seeds = tuple(int(seed) for seed in rng.integers(0, 2**62, draws))
    names = list(dict.fromkeys(["none", *(output_mechanisms if mechanisms is None else mechanisms)]))
    todo = [(name, strength) for name in names for strength in _grid(output_mechanisms[name], strengths or {})]
    points = [point for name, strength in each(todo)
              for point in Deployment(bench, seeds, positive, clip, jitter, name, strength).points(queries)]
    control = None if sets.control is None else table.models[sets.control].name
    return Frontier(table.models[target].name, control, positive, draws, jitter, clip, bench.primary,
                    tuple(points), bench.notes)


def _grid(cls: type[OutputMechanism], strengths: Mapping[str, Sequence[float]]) -> list[float | None]:
    if cls.knob is None:
        return [None]
    return [float(s) for s in strengths.get(cls.knob, cls.strengths) if cls.knob != "sigma" or s != 0]


@dataclass(frozen=True, slots=True, eq=False)
class Deployment:
    """One mechanism at one strength in front of the target."""

    bench: Bench
    seeds: tuple[int, ...]
    positive: int
    clip: float | None
    jitter: float
    name: str
    strength: float | None

    @property
    def cls(self) -> type[OutputMechanism]:
        """The mechanism."""
        return output_mechanisms[self.name]

    def points(self, queries: Sequence[int]) -> Iterator[Point]:
        """A point for each number of queries. Only fresh noise and near-duplicates change with it."""
        utility = self.utility()
        same: dict[int, tuple[Figure, ...]] = {}
        for k in queries:
            asked_once = k if self.cls.noise == "fresh" else 1
            if asked_once not in same:
                same[asked_once] = self.figures(asked_once, "same")
            yield self.point(k, "same", utility, same[asked_once])
        if self.cls.noise == "keyed":
            for k in queries:
                # One query is of the input itself.
                figures = same[1] if k == 1 else self.figures(k, "near-duplicates")
                yield self.point(k, "near-duplicates", utility, figures)

    def point(self, k: int, queried: Queried, utility: Mapping[str, Estimate], figures: tuple[Figure, ...]) -> Point:
        """What was found, with the exact ε."""
        n_classes = self.bench.judged.logits.shape[1]
        mechanism = self.cls.at(self.strength, self.clip, np.random.default_rng(0))
        one = mechanism.epsilon(n_classes)
        every = mechanism.epsilon(n_classes, k) if queried == "same" else None if one is None else one * k
        return Point(self.name, self.cls.knob, self.strength, self.cls.noise, k, queried, one, every, utility, figures)

    def drawn(self, k: int) -> Iterator[tuple[OutputMechanism, Generator]]:
        """The mechanism and a generator per draw; one where nothing is drawn. Equal draws for all strengths."""
        for seed in self.seeds if self.cls.noise != "none" else self.seeds[:1]:
            rng = np.random.default_rng([seed, k, zlib.crc32(self.name.encode())])
            yield self.cls.at(self.strength, self.clip, rng), rng

    def figures(self, k: int, queried: Queried) -> tuple[Figure, ...]:
        """One for each case of the bench."""
        bench, n = self.bench, len(self.bench.judged.logits)
        of_target, of_control = (list[list[FloatArray]]([] for _ in bench.cases) for _ in range(2))
        clean = np.concatenate([bench.judged.logits, bench.population.logits])
        for mechanism, rng in self.drawn(k):
            # The control model is another deployment: another key, other noise.
            other = self.cls.at(self.strength, self.clip, rng)
            for logits, one, draws in ((clean, mechanism, of_target), (bench.control, other, of_control)):
                if logits is None:
                    continue
                # The population has draws of its own: the figures of other attacks do not depend on who uses it.
                log_p = self.held(one, logits[:n], bench.judged, k, queried, rng)
                if len(logits) > n:
                    own = rng.spawn(1)[0]
                    log_p = np.concatenate([log_p, self.held(one, logits[n:], bench.population, k, queried, own)])
                scores = bench.scores(log_p)
                for case, found in zip(bench.cases, draws, strict=True):
                    found.append(scores[case.run][case.rows])
        return tuple(map(figure_of, bench.cases, of_target, of_control))

    def held(self, mechanism: OutputMechanism, logits: FloatArray, rows: Outputs, k: int, queried: Queried,
             rng: Generator) -> FloatArray:
        """Log probabilities that an attacker has after k queries."""
        if queried == "same":
            return log_softmax(mechanism.pooled(logits, rows.inputs, k, rng))
        near = mechanism.near_duplicates(logits, rows.inputs, k, self.jitter, rng)
        assert near is not None
        return log_softmax(near)

    def utility(self) -> dict[str, Estimate]:
        """Accuracy and missed positives of single answers; classes that tie for the top are drawn among."""
        rows, right, missed = self.bench.utility, list[BoolArray](), list[BoolArray]()
        positives = rows.label == self.positive
        for mechanism, rng in self.drawn(1) if rows.label.size else ():
            answers = mechanism.release(rows.logits, rows.inputs, rng)
            tied = answers == answers.max(axis=1, keepdims=True)
            called = (tied * rng.random(tied.shape)).argmax(axis=1)
            right.append(called == rows.label)
            missed.append((called != self.positive)[positives])
        groups = rows.groups
        return {"accuracy": _shares(right, groups, "rows to measure accuracy on"),
                "missed_positives": _shares(missed, None if groups is None else groups[positives], "positives")}


def _shares(hits: list[BoolArray], groups: IntArray | None, of: str) -> Estimate:
    unit = "example" if groups is None else "group"
    shown = [share_estimate(one, groups=groups, unit=unit, of=of) for one in hits[:SHOWN]]
    return over_draws([float(one.mean()) for one in hits if one.size], shown, f"a share of no {of}")[0]
