"""What the attacker is shown of a score table: never the target's membership."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from discreet.audit.membership.evaluation_sets import Sides
from discreet.audit.membership.view import References, View
from discreet.core.types import FloatArray
from discreet.scores.table import OUT, ReferenceKind, ScoreTable


def target_view(table: ScoreTable, sides: Sides) -> View:
    """The view of the target: every row of the table, in its order."""
    references: Mapping[ReferenceKind, References] = {
        kind: References(table.log_p[_rows(models)], table.member[_rows(models)])
        for kind, models in sides.references.items()
    }
    return View(table.log_p[sides.target], table.examples.label, references, sides.population, sides.judged)


def _rows(models: tuple[int, ...]) -> slice | list[int]:
    """The same rows as a slice where they are neighbours: 64 models need then no copy."""
    first, end = models[0], models[-1] + 1
    return slice(first, end) if models == tuple(range(first, end)) else list(models)


def placebo_view(table: ScoreTable, sides: Sides, target: View) -> View | None:
    """The same view with the placebo's answers in the target's place; None without a placebo."""
    return None if sides.placebo is None else replace(target, target=table.log_p[sides.placebo])


def selector_p(table: ScoreTable, sides: Sides) -> FloatArray | None:
    """(N,) probability of the true class by the selection models, None without one.

    NaN, besides where it is unscored, where a selector does not say that it was not trained on the example: its
    probability there may be memory, and would put its own training data away from the boundary.
    """
    found = true_class_p(table, sides.selectors)
    if found is None:
        return None
    return np.where((table.member[list(sides.selectors)] == OUT).all(axis=0), found, np.nan)


def true_class_p(table: ScoreTable, models: tuple[int, ...]) -> FloatArray | None:
    """(N,) probability of the true class, mean over queries and models; None without models. NaN where unscored."""
    if not models:
        return None
    rows = np.arange(len(table.examples))
    chosen = [np.exp(table.log_p[model][rows, :, table.examples.label]).mean(axis=1) for model in models]
    return np.asarray(np.mean(chosen, axis=0), dtype=np.float64)
