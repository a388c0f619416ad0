"""The columns of a label audit: which examples were canaries, and which label each model's run drew for what."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.core.numbers import counted
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.data.columns import WHOLE, ColumnFile
from discreet.scores.read import Grid, ObjectArray, ScoreFiles, grid_of, model_facts, per_key, short
from discreet.scores.table import CANARY, EXAMPLE_ROLES, PLACEBO, UNKNOWN, Canaries, MemberArray, Model, ScoreTable

CANARY_COLUMNS = ("example_role", "label_original", "label_canary", "label_trained")
OLD_LABEL = "label_secret"
"""What `label_canary` was called in tables of version 0.1."""
MODEL_ROLES = ("target", "reference")


def read_canaries(files: ScoreFiles, logits_of: Callable[[ScoreFiles, Grid], FloatArray]) -> ScoreTable:
    """The table of a label audit, not yet checked.

    A row for each model and example, with `model, example, example_role (canary|placebo|train|heldout),
    label_original, label_canary, label_trained, logit_0, logit_1, …` (or `prob_*`) and, where it has them, `model_role
    (target|reference), epsilon, mechanism, seed, planted, group, recipe`. Other columns are passed over. Models and
    examples come in order of their names.

    - *original* is the data set's own label, *canary* the label after its redraw, *trained* what the model saw after
      the mechanism. `label_canary` may be null but for canaries and placebos, `label_trained` everywhere.
    - Roles, canary labels, trained labels and `planted` are each model's own: seeds and references draw for themselves.
    - A model is a target, has no mechanism, and ε = inf, unless the table says otherwise.
    - Tables written before `label_canary` was named call it `label_secret`.

    Raises InputError, in one line, for whatever keeps the files from being that.
    """
    scores = files.scores
    label = OLD_LABEL if OLD_LABEL in scores.names and "label_canary" not in scores.names else "label_canary"
    required = tuple(label if name == "label_canary" else name for name in ("model", "example", *CANARY_COLUMNS))
    if absent := [name for name in required if name not in scores.names]:
        scores.fail(f"there is no {absent[0]!r}; expected the columns {', '.join(required)} and logit_0, logit_1, …")
    _refuse_both_roles(scores)
    grid = grid_of(files)
    if grid.n_queries > 1:
        scores.fail(f"there are {grid.n_queries} queries for each example; a label audit reads one answer of each "
                    f"model: keep one, or average them")
    models, role, classes = _models(files, grid), _role(scores, grid), files.columns.n_classes
    by_model = _whole(scores, grid, "label_original", classes)
    _refuse_unknown(scores, grid, by_model == UNKNOWN, "'label_original' is null")
    original = by_model[0]
    _refuse_unknown(scores, grid, by_model != original,
                    "'label_original' is not the same for all models of this example")
    drawn = (role == CANARY) | (role == PLACEBO)
    canary = _whole(scores, grid, label, classes)
    _refuse_unknown(scores, grid, drawn & (canary == UNKNOWN), f"{label!r} is null for a canary or a placebo")
    canaries = Canaries(role, np.where(canary == UNKNOWN, original, canary),
                        _whole(scores, grid, "label_trained", classes),
                        np.maximum(_whole(scores, grid, "planted", None), 0))
    return ScoreTable.of_canaries(models, np.array(grid.example.names, dtype=np.object_), original, canaries,
                                  logits_of(files, grid)[:, :, 0], _groups(files, grid), files.columns.given_as)


def _refuse_both_roles(scores: ColumnFile) -> None:
    """One model with an example as canary and as placebo: said before its rows are called repeated."""
    role, model, example = (scores.coded(name) for name in ("example_role", "model", "example"))
    key = model.codes.astype(np.int64) << 32 | example.codes.astype(np.int64)
    names = [name.strip().lower() for name in role.names]
    canary, placebo = (np.unique(key[np.isin(role.codes, [place for place, name in enumerate(names) if name == word])])
                       for word in ("canary", "placebo"))
    both = np.intersect1d(canary, placebo)
    if both.size:
        scores.fail(f"canaries overlap placebos: {counted(both.size, 'example')} of one model both ways; a placebo is "
                    f"never trained on: give each example one role")


def _cells(scores: ColumnFile, grid: Grid, column: str) -> tuple[IntArray, tuple[str, ...]]:
    """Codes of a column, (M, N), -1 where it is null, and the names that they stand for."""
    coded = scores.coded(column)
    found = np.empty(grid.place.size, dtype=np.int64)
    found[grid.place] = coded.codes
    return found.reshape(len(grid.model.names), len(grid.example.names)), coded.names


def _role(scores: ColumnFile, grid: Grid) -> MemberArray:
    codes, names = _cells(scores, grid, "example_role")
    words = [name.strip().lower() for name in names]
    places = [EXAMPLE_ROLES.index(word) if word in EXAMPLE_ROLES else UNKNOWN for word in words]
    role = np.array([*places, UNKNOWN], dtype=np.int8)[codes]
    _refuse_unknown(scores, grid, role == UNKNOWN,
                    f"'example_role' is none that is known; expected one of {', '.join(EXAMPLE_ROLES)}")
    return role


def _whole(scores: ColumnFile, grid: Grid, column: str, below: int | None) -> IntArray:
    """(M, N) whole numbers from 0, under `below`; `UNKNOWN` where null or without the column."""
    if column not in scores.names:
        return np.full((len(grid.model.names), len(grid.example.names)), UNKNOWN, dtype=np.int64)
    codes, names = _cells(scores, grid, column)
    # A CSV file of a column that once had a null in pandas says 1.0 for 1.
    plain = [name.strip().removesuffix(".0") for name in names]
    values = np.array([*(int(text) if WHOLE.fullmatch(text) else -2 for text in plain), UNKNOWN], dtype=np.int64)[codes]
    bad = values == -2 if below is None else (values == -2) | (values >= below)
    expected = "from 0" if below is None else f"from 0 to {below - 1}, as the scores are of {below} classes"
    _refuse_unknown(scores, grid, bad, f"{column!r} is no whole number {expected}")
    return values


def _refuse_unknown(scores: ColumnFile, grid: Grid, bad: BoolArray, what: str) -> None:
    rows = np.flatnonzero(bad.reshape(-1)[grid.place])
    if rows.size:
        scores.fail(f"{what}, and so in {rows.size:,} of {grid.place.size:,} rows; correct them", int(rows[0]))


def _models(files: ScoreFiles, grid: Grid) -> tuple[Model, ...]:
    roles, described = per_key(files, "model_role", "model", grid), model_facts(files, grid)
    models = []
    for place, name in enumerate(grid.model.names):
        role = "target" if roles is None or roles[place] is None else roles[place].strip().lower()
        if role not in MODEL_ROLES:
            files.scores.fail(f"'model_role' of model {short(name)} is not one that is known; expected one of "
                              f"{', '.join(MODEL_ROLES)}")
        models.append(Model(name, "target" if role == "target" else "reference", **described[place]))
    return tuple(models)


def _groups(files: ScoreFiles, grid: Grid) -> IntArray | None:
    """Codes of groups; examples that say none have one of their own."""
    given: ObjectArray | None = per_key(files, "group", "example", grid)
    if given is None:
        return None
    names = [f"g{name}" if name is not None else f"e{place}" for place, name in enumerate(given)]
    return np.unique(names, return_inverse=True)[1].astype(np.int64).reshape(-1)
