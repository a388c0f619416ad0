"""What training with differential privacy guarantees, against what an audit shows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Part, Sentence, Sentences
from discreet.audit.membership.attack import Scores
from discreet.audit.membership.controls import one_run_bound
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.scores.table import DP_SGD, ScoreTable
from discreet.core.design import Design
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, IntArray

say = Sentences.read(__package__).of("verdict")


@dataclass(frozen=True, slots=True)
class Guarantee(Part):
    """`epsilon` at `delta`, for adding or removing one training row, is what the accountant of the training says;
    `lower` is what an audit shows of ε at the same δ, and above `epsilon` it breaks the guarantee."""

    derived: ClassVar[tuple[str, ...]] = ("broken", "sentence")

    epsilon: float
    delta: float
    lower: Estimate

    @property
    def broken(self) -> bool:
        """Whether training gives away more than it guarantees: of 20 that keep theirs, at most one is called so."""
        return self.lower.value is not None and self.lower.value > self.epsilon

    @property
    def sentence(self) -> Sentence:
        """The guarantee next to what the audit shows."""
        said = {"epsilon": f"{self.epsilon:.3g}", "delta": f"{self.delta:.2g}"}
        if self.lower.value is None:
            return say("guarantee_unresolved", reason=self.lower.reason, **said)
        return say("guarantee_broken" if self.broken else "guarantee", lower=f"{self.lower.value:.2f}", **said)


def guaranteed(table: ScoreTable, target: int) -> tuple[float, float] | None:
    """ε and δ of a model whose mechanism is "dp-sgd" with a finite ε, else None. InputError for a δ that is no share
    below 1, or none."""
    model = table.models[target]
    if model.mechanism != DP_SGD or not isfinite(model.epsilon):
        return None
    given = model.facts.get("delta")
    try:
        delta = float("nan" if given is None else given)
    except ValueError:
        delta = float("nan")
    if not 0.0 <= delta < 1.0:
        raise InputError(f"the model {model.name!r} has the mechanism {DP_SGD} and "
                         f"{'no delta' if given is None else f'the delta {given[:20]!r}'}; expected a column 'delta' "
                         "with a number from 0 to below 1")
    return model.epsilon, delta


def guarantee_of(table: ScoreTable, sets: EvaluationSets, scores: Scores, design: Design, rng: Generator,
                 alpha: float) -> Guarantee | None:
    """The guarantee of a target, and the bound by these scores with confidence 1 − `alpha`; None without one.

    A guarantee is about one row. So planted records, which are repeated, and rows of a group, near-duplicates among
    them, are left out of the bound. InputError as `guaranteed`.
    """
    found = guaranteed(table, sets.target)
    if found is None:
        return None
    alone = _alone(table)
    sets = replace(sets, members=_kept(sets.members, alone),
                   clean={kind: _kept(rows, alone) for kind, rows in sets.clean.items()})
    return Guarantee(*found, one_run_bound(scores, sets, design, Units(None), rng, delta=found[1], alpha=alpha))


def _alone(table: ScoreTable) -> BoolArray:
    """(N,) whether no other row of the table is in an example's group."""
    group = table.examples.group
    if group is None:
        return np.ones(len(table.examples), dtype=np.bool_)
    _, place, counts = np.unique(group, return_inverse=True, return_counts=True)
    return np.asarray(counts[place.reshape(-1)] == 1)


def _kept(rows: IntArray, alone: BoolArray) -> IntArray:
    return rows[alone[rows]]
