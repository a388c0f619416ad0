"""Simulated tables with their evaluation sets, and values that must be there."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.attack import Scores, score_all
from discreet.audit.membership.evaluation_sets import EvaluationSets, evaluation_sets
from discreet.audit.scores.table import ScoreTable
from discreet.core.records import Estimate

T = TypeVar("T")


def sure(value: T | None) -> T:
    """`value`, which is not None."""
    assert value is not None
    return value


def ends(estimate: Estimate) -> tuple[float, float, float]:
    """Low, value and high."""
    return sure(estimate.low), sure(estimate.value), sure(estimate.high)


def drawn(world: World, seed: int = 0) -> ScoreTable:
    return simulated_table(world, np.random.default_rng(seed))


def sets_of(table: ScoreTable) -> EvaluationSets:
    return evaluation_sets(table, 0, np.random.default_rng(0))


def scene(world: World, seed: int = 0) -> tuple[ScoreTable, EvaluationSets, Scores]:
    """A table, its sets, and the scores of the neutral ratio on the logit scale."""
    table = drawn(world, seed)
    sets = sets_of(table)
    [scored] = [one for one in score_all(table, sets, seed=0, names=["reference"])
                if (one.scale, one.kind) == ("logit", "neutral")]
    return table, sets, scored


def with_member(table: ScoreTable, row: int, code: int, where: np.ndarray | slice = slice(None)) -> ScoreTable:
    """What a model says of its membership, changed."""
    member = table.member.copy()
    member[row, where] = code
    return replace(table, member=member)
