"""Files of scores to a `ScoreTable`, or one line that says why not: a partial table is never read as a whole one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from discreet.core.numbers import counted
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.data.columns import WHOLE, ColumnFile, Frame, name_codes
from discreet.scores.canaries import CANARY_COLUMNS, read_canaries
from discreet.scores.check import check_label_table, check_table
from discreet.scores.read import (
    EXAMPLE_COLUMNS,
    Grid,
    ObjectArray,
    ScoreFiles,
    absent,
    grid_of,
    model_facts,
    open_scores,
    per_key,
    short,
    where,
)
from discreet.scores.table import (
    GROUP_KIND,
    IN,
    OUT,
    REFERENCE_KINDS,
    ROLES,
    UNKNOWN,
    Examples,
    MemberArray,
    Model,
    ScoreTable,
)

Word = TypeVar("Word", bound=str)

MEMBER_WORDS = {"true": IN, "1": IN, "1.0": IN, "false": OUT, "0": OUT, "0.0": OUT,
                "null": UNKNOWN, "none": UNKNOWN, "nan": UNKNOWN}
CLASSES = ("label_original", "label_canary", "label_secret")
FURTHER = ("example_role", *CLASSES, "structure", GROUP_KIND)
TWO_DECIMALS = 0.005
SUM_TOLERANCE = 0.05
ROUNDING = 1e-6
CLIP = 1e-7
LARGEST = 1e150
"""Differences and sums of logits up to here are finite."""


def load_scores(source: Path | str | Frame, *, kind: Literal["membership", "labels"] | None = None,
                models: Path | str | None = None, examples: Path | str | None = None,
                allow_split_groups: bool = False) -> ScoreTable:
    """Read one flat table of scores, or the tables models, examples and scores, and check that it is whole.

    Parameters
    ----------
    source : path or data frame
        A flat file, the file of scores, or a folder with `scores` and, where it has them, `models` and `examples`
        (Parquet, CSV or JSON Lines, the last two also as .gz); or a DataFrame with the columns of a flat file.
    kind : "membership", "labels" or None
        Which audit the table is for; None reads it off its columns: a membership audit has `member`, a label audit
        `example_role`, `label_original`, `label_canary` and `label_trained`.
    models, examples : path, optional
        The tables of models and of examples, if they are apart.
    allow_split_groups : bool
        Accept groups with examples in both sets.

    Notes
    -----
    Models, examples and queries come in order of their names, so that nothing depends on the order of the file. Columns
    that are not known are passed over. A value of a model or an example may stand in its own table, in the flat one, or
    in both; a null says nothing, and what is said must be said alike.

    - Every model must score every example, with every query of the table: no logit of the result is NaN.
    - `member` of a target is true or false in every row and takes both values; of other models it may be null.
    - `reference_kind` of a shadow is "population" unless the table says otherwise. A reference without a kind keeps
      None and is of no kind: it is never taken for a neutral one. Models in other roles have none.
    - Probabilities sum to 1 within .005 a class (two decimals), at most .05.
    - A single column `logit` or `prob` is the log-odds or the probability of class 1 of two.
    - `category` may hold several names, with "|" or ";" between them, or a list. `planted` is 0 where it is null.
    - `structure` belongs to the models where each has one, and to the examples where each has one.
    - Of a label audit, see `discreet.scores.canaries.read_canaries`.

    Raises
    ------
    InputError
        In one line, for whatever keeps the table from being that, and as `check_table` and `check_label_table`.
    MissingExtraError
        Without pyarrow.
    """
    files = open_scores(source, models, examples)
    names = files.scores.names
    if kind is None:
        kind = "labels" if "member" not in names and set(CANARY_COLUMNS) & set(names) else "membership"
    if kind == "labels":
        table = read_canaries(files, logits_of)
        check_label_table(table, str(files.scores.path))
        return table
    grid = grid_of(files)
    described = _models(files, grid)
    table = ScoreTable(described, _examples(files, grid), logits_of(files, grid), _member(files, grid),
                       files.columns.given_as)
    _refuse_lost_structure(files, table)
    check_table(table, str(files.scores.path), allow_split_groups=allow_split_groups)
    return table


def _models(files: ScoreFiles, grid: Grid) -> tuple[Model, ...]:
    source = files.models or files.scores
    roles = per_key(files, "model_role", "model", grid)
    if roles is None:
        source.fail(f"there is no 'model_role'; expected one of {', '.join(ROLES)} for each model")
    kinds = per_key(files, "reference_kind", "model", grid)
    described = model_facts(files, grid)
    models = []
    for place, name in enumerate(grid.model.names):
        role = _word(source, "model_role", name, roles[place], ROLES)
        if role is None:
            source.fail(f"'model_role' of model {short(name)} is null; expected one of {', '.join(ROLES)}")
        kind = _word(source, "reference_kind", name, None if kinds is None else kinds[place], REFERENCE_KINDS)
        if role == "shadow":
            kind = kind or "population"
        models.append(Model(name, role, kind if role in ("reference", "shadow") else None, **described[place]))
    return tuple(models)


def _word(source: ColumnFile, column: str, model: str, given: str | None, words: tuple[Word, ...]
          ) -> Word | None:
    if given is None:
        return None
    found = next((word for word in words if given.strip().lower() == word), None)
    if found is None:
        source.fail(f"{column!r} of model {short(model)} is not one that is known; expected one of "
                    f"{', '.join(words)}")
    return found


def _refuse_lost_structure(files: ScoreFiles, table: ScoreTable) -> None:
    if "structure" not in files.scores.names or "structure" in table.examples.columns:
        return
    if not any("structure" in model.facts for model in table.models) and files.scores.coded("structure").names:
        files.scores.fail("'structure' is the same neither in all rows of a model nor in all rows of an example; give "
                          "each model, or each example, one")


def _examples(files: ScoreFiles, grid: Grid) -> Examples:
    given = {name: per_key(files, name, "example", grid, loose=name == "structure") for name in EXAMPLE_COLUMNS}
    label = _whole(files, grid, "label", given["label"], files.columns.n_classes)
    if label is None or absent(label).any():
        (files.examples or files.scores).fail("'label' is absent or null for some examples; expected a class from 0 to "
                                              f"{files.columns.n_classes - 1} for each")
    planted = _whole(files, grid, "planted", given["planted"], None)
    further = {name: values for name in FURTHER if (values := given[name]) is not None}
    for name in CLASSES:
        if (classes := _whole(files, grid, name, further.get(name), files.columns.n_classes)) is not None:
            further[name] = classes
    return Examples(
        id=np.array(grid.example.names, dtype=np.object_), label=label.astype(np.int64),
        planted=np.zeros(len(label), dtype=np.int64) if planted is None else _filled(planted, 0),
        group=None if given["group"] is None else _groups(files, given["group"]), split=given["split"],
        categories=None if given["category"] is None else _categories(given["category"]), columns=further)


def _whole(files: ScoreFiles, grid: Grid, column: str, given: ObjectArray | None, below: int | None
           ) -> ObjectArray | None:
    """`given` as whole numbers from 0, below `below`; None stays None."""
    if given is None:
        return None
    # A CSV file of a column that once had a null in pandas says 1.0 for 1.
    plain = {name: name.removesuffix(".0") for name in set(given) - {None}}
    known = {name: int(text) if WHOLE.fullmatch(text) else -1 for name, text in plain.items()}
    bad = {name for name, value in known.items() if value < 0 or (below is not None and value >= below)}
    if bad:
        places = [place for place, name in enumerate(given) if name in bad]
        file, row = where(files, column, "example", grid, places)
        expected = ("a whole number from 0" if below is None else
                    f"a whole number from 0 to {below - 1}, as the scores are of {below} classes")
        file.fail(f"{column!r} is not {expected}, and so for {len(places):,} of {len(given):,} examples", row)
    values = np.empty(len(given), dtype=np.object_)
    values[:] = [known.get(name) for name in given]
    return values


def _filled(values: ObjectArray, default: int) -> IntArray:
    return np.where(absent(values), default, values).astype(np.int64)


def _groups(files: ScoreFiles, given: ObjectArray) -> IntArray:
    nulls = int(absent(given).sum())
    if nulls:
        (files.examples or files.scores).fail(f"'group' is null for {nulls:,} of {len(given):,} examples; give an "
                                              f"example without a user or document a group of its own")
    return name_codes(given)


def _categories(given: ObjectArray) -> tuple[frozenset[str], ...]:
    sets = {name: frozenset(part.strip() for part in re.split(r"[|;]", name or "") if part.strip())
            for name in set(given)}
    return tuple(sets[name] for name in given)


def _member(files: ScoreFiles, grid: Grid) -> MemberArray:
    scores = files.scores
    if "member" not in scores.names:
        scores.fail("there is no 'member'; expected true, false or null in every row: was the example in that model's "
                    "training set")
    coded = scores.coded("member")
    values = np.full(len(coded.names) + 1, UNKNOWN, dtype=np.int8)
    words = [name.strip().lower() for name in coded.names]
    bad = np.isin(coded.codes, [place for place, word in enumerate(words) if word not in MEMBER_WORDS])
    if bad.any():
        scores.fail(f"'member' is neither true nor false nor null, and so in {int(bad.sum()):,} of "
                    f"{bad.size:,} rows; correct them", int(bad.argmax()))
    for place, word in enumerate(words):
        values[place] = MEMBER_WORDS[word]
    given, cell = values[coded.codes], grid.place // grid.n_queries
    member = np.empty(len(grid.model.names) * len(grid.example.names), dtype=np.int8)
    member[cell] = given
    if grid.n_queries > 1 and (differs := member[cell] != given).any():
        scores.fail("'member' of this model and example is not the same for all queries; say one thing for each",
                    int(differs.argmax()))
    return member.reshape(len(grid.model.names), len(grid.example.names))


def logits_of(files: ScoreFiles, grid: Grid) -> FloatArray:
    """(M, N, Q, K) logits, filled one column at a time: the columns together may not fit beside them."""
    columns, n_rows = files.columns, grid.place.size
    alone, as_prob = len(columns.names) == 1, columns.given_as == "prob"
    logits = np.zeros((n_rows, columns.n_classes))
    broken, outside = np.zeros(n_rows, dtype=np.bool_), np.zeros(n_rows, dtype=np.bool_)
    total = np.zeros(n_rows if as_prob else 0)
    for place, name in enumerate(columns.names):
        values = files.scores.numbers(name)
        finite = np.abs(values) <= LARGEST
        broken |= ~finite
        if as_prob:
            values = np.where(finite, values, 0.0)
            outside |= (values < -ROUNDING) | (values > 1 + ROUNDING)
            total += values
            if alone:
                logits[grid.place, 0] = np.log(np.clip(1 - values, CLIP, 1 - CLIP))
            values = np.log(np.clip(values, CLIP, 1 - CLIP))
        logits[grid.place, 1 if alone else place] = values
    scores = f"{columns.given_as}s"
    _refuse_rows(files, grid, broken, f"{scores} are NaN, infinite or null",
                 f"finite numbers, none beyond {LARGEST:g}: score these rows again")
    _refuse_rows(files, grid, outside, f"{scores} are not between 0 and 1",
                 "probabilities, or name the columns logit_*")
    if as_prob and not alone:
        # Rounding is a defence that is audited: probabilities of two decimals are still probabilities.
        allowed = min(TWO_DECIMALS * columns.n_classes, SUM_TOLERANCE)
        _refuse_rows(files, grid, np.abs(total - 1) > allowed + ROUNDING, f"{scores} do not sum to 1",
                     f"a sum within {allowed:g} of 1, or name the columns logit_*")
    return logits.reshape(len(grid.model.names), len(grid.example.names), grid.n_queries, columns.n_classes)


def _refuse_rows(files: ScoreFiles, grid: Grid, bad: BoolArray, what: str, expected: str) -> None:
    if not bad.any():
        return
    row = int(bad.argmax())
    counts = np.bincount(grid.model.codes[bad], minlength=len(grid.model.names))
    model, others = int(grid.model.codes[row]), int(np.count_nonzero(counts)) - 1
    besides = f" and of {counted(others, 'other model')}" if others else ""
    files.scores.fail(f"{what} here, and so in {counted(int(counts[model]), 'row')} of model "
                      f"{short(grid.model.names[model])}{besides}; expected {expected}", row)
