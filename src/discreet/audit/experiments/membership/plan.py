"""What a membership experiment will take, and what its audit can decide, before anything is trained.

Records, parts and planted records are those of the very assignment that the run would make; minutes are measured on the
recipe itself, trained on growing shares of the rows of f_A until that takes long enough to read a time off it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from math import ceil, prod
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from discreet.audit.core.power import POWER, least_leak, pass_power, records_to_pass
from discreet.audit.core.resampling import Units
from discreet.audit.engine import Result, run, seeds_of
from discreet.audit.experiments.membership.assign import SCORED, training_rows
from discreet.audit.experiments.membership.experiment import MembershipExperiment
from discreet.audit.experiments.membership.training import ROLES, data_of, examples_of
from discreet.audit.membership.options import FEWEST, LEAST_LIKELY, WHOLE, check_parts, named_parts, part_name
from discreet.audit.membership.parts import LEAST_LIKELY_SIZE
from discreet.audit.scores.adapters.scorer import named_classes
from discreet.audit.scores.table import Model, ScoreTable
from discreet.audit.train import recipe_of
from discreet.core.types import IntArray
from discreet.inputs.texts import LabelledText

FIRST_ROWS = 64
"""Training rows of the first timed piece; each further piece has twice as many."""
ENOUGH_SECONDS = 10.0
"""Pieces that took so long together are enough."""
AGAIN = len(ROLES) - 1
"""Models that a further retraining trains: all but the selector."""
Piece = tuple[int, float]
"""Training rows, and the seconds that training on them and scoring took."""


def plan_training(experiment: MembershipExperiment, *, tolerance_auc: float = 0.55, tolerance_part: float = 0.65,
                  seeds: int = 1, excluded: Collection[str] = (), clock: Callable[[], float] = time.perf_counter
                  ) -> dict[str, Any]:
    """Records, parts, planted records, models and minutes of an experiment with `seeds` retrainings, as plain values.

    `parts` have for f_A the members and non-members that are judged (groups, where records belong to groups), the
    chance `passes` that a model without any leak is within the tolerance, the members `needed` (with as many
    non-members) for all parts to pass together with a chance of `power`, and the least AUC that fails with that chance.
    `minutes` are of all models one after another, each as large as f_A. Raises as the experiment's tasks and the
    recipe.
    """
    tasks = experiment.tasks()
    with TemporaryDirectory(prefix="discreet-") as store:
        [prepared] = run([tasks["prepare"]], store, engine="inline", quiet=True).values()
        rows, value, arrays = experiment.read(), prepared.value, prepared.arrays
        parts = list(_parts(prepared, rows, tolerance_auc, tolerance_part, excluded))
        at = training_rows(arrays, "a")
        pieces = _timed(experiment, rows, at, arrays[SCORED], arrays["val"], value["classes"], clock)
    models = len(ROLES) + experiment.shadows + (experiment.mismatched is not None) + AGAIN * (seeds - 1)
    seconds, how = seconds_of(pieces, at.size)
    return {"recipe": recipe_of(experiment.recipe).name, "sides": value["sides"], "notes": value["notes"],
            "planted": {times: 2 * number for times, number in value["planted"].items()},
            "tolerance_auc": tolerance_auc, "tolerance_part": tolerance_part, "power": POWER,
            "members": parts[0]["members"], "nonmembers": parts[0]["nonmembers"],
            "passes": prod(one["passes"] for one in parts), "parts": parts, "models": models, "rows": int(at.size),
            "pieces": [{"rows": n, "seconds": took} for n, took in pieces], "seconds": seconds, "timed": how,
            "minutes": models * seconds / 60.0}


def assigned_table(prepared: Result, rows: Sequence[LabelledText]) -> ScoreTable:
    """The table that the audit of f_A, f_B and the selector will read, with every score 0: the parts of the records are
    known from it, and who is a member. `prepared` is the result of `prepare`."""
    arrays, classes = prepared.arrays, tuple(map(str, prepared.value["classes"]))
    at = arrays[SCORED]
    member = np.stack([np.isin(at, training_rows(arrays, role)) for role in ("a", "b", "selector")])
    return ScoreTable((Model("f_A"), Model("f_B"), Model("f_S", "selection")),
                      examples_of(prepared, rows, at, np.arange(at.size)), np.zeros((3, at.size, 1, len(classes))),
                      member.astype(np.int8), class_names=named_classes(classes, len(classes)))


def _parts(prepared: Result, rows: Sequence[LabelledText], tolerance_auc: float, tolerance_part: float,
           excluded: Collection[str]) -> Iterator[dict[str, Any]]:
    """Each part that the audit of f_A covers, all records first."""
    arrays, table = prepared.arrays, assigned_table(prepared, rows)
    check_parts(table, tuple(excluded))
    at, examples, n_classes = arrays[SCORED], table.examples, table.logits.shape[-1]
    member = np.isin(at, arrays["a"])
    judged = np.flatnonzero(np.isin(at, np.concatenate([arrays["a"], arrays["b"], arrays["eval"]])))
    units = Units.of(table)

    def sizes(rows: IntArray) -> tuple[int, int]:
        return units.count(rows[member[rows]]), units.count(rows[~member[rows]])

    found: list[tuple[str, set[str], tuple[int, int]]] = [(WHOLE, {WHOLE}, sizes(judged))]
    for kind, value, inside in named_parts(judged, table):
        if member[judged[inside]].any() and not inside.all():
            name = part_name(kind, value, table)
            found.append((name, {name, f"{kind} {value}", kind}, sizes(judged[inside])))
    of_class = [[int((member[judged[examples.label[judged] == label]] == side).sum()) for side in (True, False)]
                for label in range(n_classes)]
    least = sum(min(LEAST_LIKELY_SIZE, *both) for both in of_class)
    found.append((LEAST_LIKELY, {LEAST_LIKELY}, (least, least)))
    covered = [(name, sizes) for name, names, sizes in found if not names & set(excluded)]
    for name, (members, others) in covered:
        tolerance = tolerance_auc if name == WHOLE else tolerance_part
        enough, fewest = records_to_pass(tolerance, POWER ** (1.0 / len(covered))), min(members, others)
        yield {"part": name, "tolerance": tolerance, "members": members, "nonmembers": others,
               "passes": pass_power(tolerance, members, others) if fewest > 1 else 0.0,
               "needed": None if enough is None else max(FEWEST, enough),
               "least_leak": least_leak(members, others, tolerance, len(covered)) if fewest >= FEWEST else None}


def _timed(experiment: MembershipExperiment, rows: Sequence[LabelledText], at: IntArray, scored: IntArray,
           validation: IntArray, classes: Sequence[str], clock: Callable[[], float]) -> list[Piece]:
    """Train on growing parts of the training rows `at`, score as large a share of what is scored, and time both."""
    recipe, held = recipe_of(experiment.recipe), data_of(rows, validation, classes)
    order = np.random.default_rng((experiment.seed, at.size)).permutation(at)
    pieces, n = list[Piece](), min(FIRST_ROWS, at.size)

    def piece(n: int) -> float:
        train = data_of(rows, order[:n], classes)
        some = data_of(rows, scored[:ceil(scored.size * n / at.size)], classes)
        began = clock()
        recipe.fit(train, held, len(classes), seeds_of(experiment.seed, f"plan/{n}", "fit")).logits(some.inputs)
        return clock() - began

    # The first training of a process also imports its libraries, which takes torch longer than many small models.
    piece(n)
    while True:
        pieces.append((n, piece(n)))
        if n == at.size or sum(took for _, took in pieces) >= ENOUGH_SECONDS:
            return pieces
        n = min(2 * n, at.size)


def seconds_of(pieces: Sequence[Piece], rows: int) -> tuple[float, str]:
    """Seconds of one model on `rows` training rows, and how they follow from the pieces: "whole" where the last piece
    was a whole model, else by the "line" through the last two, or, from one piece, in "proportion" to the rows."""
    n, took = pieces[-1]
    if n == rows:
        return took, "whole"
    if len(pieces) == 1:
        return took * rows / n, "proportion"
    before, earlier = pieces[-2]
    return took + (rows - n) * max(0.0, took - earlier) / (n - before), "line"
