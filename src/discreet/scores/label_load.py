"""A flat file of scores to a `LabelTable`, or one line that says why not."""

from __future__ import annotations

from math import inf, isnan
from pathlib import Path
from typing import cast

import numpy as np

from discreet.core.numbers import counted
from discreet.data.column_files import open_columns
from discreet.data.columns import WHOLE, ColumnFile
from discreet.scores.files import SCORE, ScoreFiles, score_columns
from discreet.scores.grid import Grid, ObjectArray, grid_of, per_key, short
from discreet.scores.label_checks import check_label_table
from discreet.scores.label_table import (
    CANARY,
    EXAMPLE_ROLES,
    MODEL_ROLES,
    NO_MECHANISM,
    PLACEBO,
    UNKNOWN,
    IntArray,
    LabelModel,
    LabelTable,
    ModelRole,
    RoleArray,
)
from discreet.scores.load import logits_of

KEYS = ("model", "example", "query")
REQUIRED = ("model", "example", "example_role", "label_original", "label_secret", "label_trained")
OPTIONAL = ("model_role", "epsilon", "mechanism", "seed", "planted", "group", "recipe")
FACTS = ("recipe",)


def load_label_scores(path: Path | str) -> LabelTable:
    """Read one flat table of scores (Parquet, CSV, JSON Lines; the last two also as .gz) and check it.

    A row for each model and example, with `model, example, example_role (canary|placebo|train|heldout),
    label_original, label_secret, label_trained, logit_0, logit_1, …` (or `prob_*`) and, where it has them, `model_role
    (target|reference), epsilon, mechanism, seed, planted, group, recipe`. Other columns are passed over. Models and
    examples come in order of their names.

    - *original* is the data set's own label, *secret* the canary's after its redraw, *trained* what the model saw after
      the mechanism. `label_secret` may be null but for canaries and placebos, `label_trained` everywhere.
    - Roles, secrets, trained labels and `planted` are each model's own: seeds and references draw for themselves.
    - A model is a target, has no mechanism, and ε = inf, unless the table says otherwise.

    Raises
    ------
    InputError
        In one line, for whatever keeps the file from being that, and as `check_label_table`.
    MissingExtraError
        Without pyarrow.
    """
    scores = open_columns(Path(path), _known, lambda name: SCORE.fullmatch(name) is not None,
                          "model, example, example_role, label_original, label_secret, logit_0, logit_1")
    _refuse_absent(scores)
    files = ScoreFiles(scores, score_columns(scores))
    _refuse_both_roles(scores)
    grid = grid_of(files)
    if grid.n_queries > 1:
        scores.fail(f"there are {grid.n_queries} queries for each example; a label audit reads one answer of each "
                    f"model: keep one, or average them")
    models = _models(files, grid)
    role = _role(scores, grid)
    original = _original(files, grid)
    drawn = (role == CANARY) | (role == PLACEBO)
    classes = files.columns.n_classes
    secret = _whole(scores, grid, "label_secret", classes)
    _refuse_unknown(scores, grid, drawn & (secret == UNKNOWN), "'label_secret' is null for a canary or a placebo")
    table = LabelTable(
        models, np.array(grid.example.names, dtype=np.object_), original, role,
        np.where(secret == UNKNOWN, original, secret), _whole(scores, grid, "label_trained", classes),
        np.maximum(_whole(scores, grid, "planted", None), 0), logits_of(files, grid)[:, :, 0], _groups(files, grid))
    check_label_table(table, str(scores.path))
    return table


def _known(name: str) -> bool:
    return name in (*KEYS, *REQUIRED, *OPTIONAL) or SCORE.fullmatch(name) is not None


def _refuse_absent(scores: ColumnFile) -> None:
    absent = [name for name in REQUIRED if name not in scores.names]
    if absent:
        scores.fail(f"there is no {absent[0]!r}; expected the columns {', '.join(REQUIRED)} and logit_0, logit_1, …")


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


def _role(scores: ColumnFile, grid: Grid) -> RoleArray:
    codes, names = _cells(scores, grid, "example_role")
    words = [name.strip().lower() for name in names]
    places = [EXAMPLE_ROLES.index(word) if word in EXAMPLE_ROLES else UNKNOWN for word in words]
    role = np.array([*places, UNKNOWN], dtype=np.int8)[codes]
    _refuse_unknown(scores, grid, role == UNKNOWN,
                    f"'example_role' is none that is known; expected one of {', '.join(EXAMPLE_ROLES)}")
    return role


def _original(files: ScoreFiles, grid: Grid) -> IntArray:
    by_model = _whole(files.scores, grid, "label_original", files.columns.n_classes)
    _refuse_unknown(files.scores, grid, by_model == UNKNOWN, "'label_original' is null")
    _refuse_unknown(files.scores, grid, by_model != by_model[:1],
                    "'label_original' is not the same for all models of this example")
    return np.asarray(by_model[0], dtype=np.int64)


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


def _refuse_unknown(scores: ColumnFile, grid: Grid, bad: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
                    what: str) -> None:
    rows = np.flatnonzero(bad.reshape(-1)[grid.place])
    if rows.size:
        scores.fail(f"{what}, and so in {rows.size:,} of {grid.place.size:,} rows; correct them", int(rows[0]))


def _models(files: ScoreFiles, grid: Grid) -> tuple[LabelModel, ...]:
    n = len(grid.model.names)
    found = {name: per_key(files, name, "model", grid) for name in ("model_role", "mechanism", "epsilon", "seed",
                                                                      *FACTS)}
    said = {name: np.full(n, None, dtype=np.object_) if values is None else values for name, values in found.items()}
    models = []
    for place, name in enumerate(grid.model.names):
        role = (said["model_role"][place] or MODEL_ROLES[0]).strip().lower()
        if role not in MODEL_ROLES:
            files.scores.fail(f"'model_role' of model {short(name)} is not one that is known; expected one of "
                              f"{', '.join(MODEL_ROLES)}")
        mechanism = said["mechanism"][place]
        models.append(LabelModel(
            name, cast(ModelRole, role), NO_MECHANISM if mechanism is None else mechanism.strip(),
            _epsilon(files.scores, name, said["epsilon"][place]), said["seed"][place],
            {fact: said[fact][place] for fact in FACTS if said[fact][place] is not None}))
    return tuple(models)


def _epsilon(scores: ColumnFile, model: str, given: str | None) -> float:
    try:
        epsilon = inf if given is None else float(given)
    except ValueError:
        epsilon = np.nan
    if isnan(epsilon) or epsilon <= 0.0:
        what = "no number" if isnan(epsilon) else f"{epsilon:g}"
        scores.fail(f"'epsilon' of model {short(model)} is {what}; expected a number above 0, or inf for no noise")
    return epsilon


def _groups(files: ScoreFiles, grid: Grid) -> IntArray | None:
    """Codes of groups; examples that say none have one of their own."""
    given: ObjectArray | None = per_key(files, "group", "example", grid)
    if given is None:
        return None
    names = [f"g{name}" if name is not None else f"e{place}" for place, name in enumerate(given)]
    return np.unique(names, return_inverse=True)[1].astype(np.int64).reshape(-1)
