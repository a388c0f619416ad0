"""Files of scores to a `ScoreTable`, or one line that says why not: a partial table is never read as a whole one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from math import inf, isnan, nan
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from discreet.audit.scores.check import check_label_table, check_table
from discreet.audit.scores.read import EXAMPLE_COLUMNS, MODEL_COLUMNS, Grid, ObjectArray, absent, open_scores, short
from discreet.audit.scores.signals import class_logits
from discreet.audit.scores.table import (
    CANARY,
    CONTROL,
    EXAMPLE_ROLES,
    GROUP_KIND,
    IN,
    NO_MECHANISM,
    OUT,
    REFERENCE_KINDS,
    ROLES,
    UNKNOWN,
    Canaries,
    Examples,
    MemberArray,
    Model,
    Role,
    ScoreTable,
)
from discreet.core.calls import check_flags, checked_call
from discreet.core.errors import UsageError, shown
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.columns import WHOLE, ColumnFile, Frame, name_codes

Word = TypeVar("Word", bound=str)

MEMBER_WORDS = {"true": IN, "1": IN, "1.0": IN, "false": OUT, "0": OUT, "0.0": OUT,
                "null": UNKNOWN, "none": UNKNOWN, "nan": UNKNOWN}
CANARY_COLUMNS = ("example_role", "label_original", "label_canary", "label_trained")
ROLE_WORDS: Mapping[str, int] = {word: place for place, word in enumerate(EXAMPLE_ROLES)}
LABEL_ROLES: tuple[Role, ...] = ("target", "reference")
KINDS = ("membership", "labels")
OTHER = "; its columns are those of a {} audit: discreet audit {} scores, or audit_{}"
BAD = -2


@checked_call
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

    Of a label audit, with one query:

    - `example_role` is canary, control, train or heldout. `label_original` is the data set's own label, `label_canary`
      the label after its redraw, `label_trained` what the model saw after the mechanism; the second may be null but
      for canaries and held-out ones, the third everywhere.
    - Roles, canary labels, trained labels and `planted` are each model's own: seeds and references draw for themselves.
    - A model is a target, has no mechanism, and ε = inf, unless the table says otherwise.

    Raises
    ------
    InputError
        In one line, for whatever keeps the table from being that, and as `check_table` and `check_label_table`.
    MissingExtraError
        Without pyarrow.
    """
    if kind not in (None, *KINDS):
        raise UsageError(f"kind is {shown(kind)}; expected one of {', '.join(KINDS)}, or None")
    check_flags(allow_split_groups=allow_split_groups)
    files = open_scores(source, models, examples)
    names = files.scores.names
    if kind is None:
        kind = "labels" if "member" not in names and set(CANARY_COLUMNS) & set(names) else "membership"
    if kind == "labels":
        _check_canary_columns(files.scores)
        table = _label_table(Grid.of(files))
        check_label_table(table, str(files.scores.path))
        return table
    if "member" not in names:
        files.scores.fail("there is no 'member'; expected true, false or null in every row: was the example in that "
                          "model's training set" + (OTHER.format("label", "labels", "labels")
                                                    if set(CANARY_COLUMNS) & set(names) else ""))
    grid = Grid.of(files)
    described = _models(grid, ROLES, None)
    table = ScoreTable(described, _examples(grid), _logits(grid), _member(grid), files.given_as)
    if ("structure" in names and "structure" not in table.examples.columns
            and not any("structure" in model.facts for model in described) and files.scores.coded("structure").names):
        files.scores.fail("'structure' is the same neither in all rows of a model nor in all rows of an example; give "
                          "each model, or each example, one")
    check_table(table, str(files.scores.path), allow_split_groups=allow_split_groups)
    return table


def _models(grid: Grid, words: tuple[Role, ...], default: Role | None) -> tuple[Model, ...]:
    """The models; without a role they are `default`. Only a membership audit, which has none, knows kinds."""
    source, roles = grid.source("model"), grid.per("model", "model_role")
    kinds = grid.per("model", "reference_kind") if default is None else None
    if roles is None and default is None:
        source.fail(f"there is no 'model_role'; expected one of {', '.join(words)} for each model")
    further = {name: values for name in MODEL_COLUMNS if name not in ("model_role", "reference_kind")
               if (values := grid.per("model", name, loose=name == "structure")) is not None}
    models = []
    for place, name in enumerate(grid.models):
        role = _word(source, "model_role", name, None if roles is None else roles[place], words) or default
        if role is None:
            source.fail(f"'model_role' of model {short(name)} is null; expected one of {', '.join(words)}")
        kind = _word(source, "reference_kind", name, None if kinds is None else kinds[place], REFERENCE_KINDS)
        if role not in ("reference", "shadow"):
            kind = None
        elif role == "shadow":
            kind = kind or "population"
        said = {column: str(values[place]) for column, values in further.items() if values[place] is not None}
        mechanism, seed = said.pop("mechanism", NO_MECHANISM).strip(), said.pop("seed", None)
        epsilon = _epsilon(source, name, said.pop("epsilon", None))
        models.append(Model(name, role, kind, said, mechanism, epsilon, seed))
    return tuple(models)


def _word(source: ColumnFile, column: str, model: str, given: str | None, words: tuple[Word, ...]) -> Word | None:
    if given is None:
        return None
    plain = given.strip().lower()
    found = next((word for word in words if plain == word), None)
    if found is None:
        source.fail(f"{column!r} of model {short(model)} is not one that is known; expected one of "
                    f"{', '.join(words)}")
    return found


def _epsilon(source: ColumnFile, model: str, given: str | None) -> float:
    try:
        epsilon = inf if given is None else float(given)
    except ValueError:
        epsilon = nan
    if isnan(epsilon) or epsilon <= 0.0:
        what = "no number" if isnan(epsilon) else f"{epsilon:g}"
        source.fail(f"'epsilon' of model {short(model)} is {what}; expected a number above 0, or inf for no noise")
    return epsilon


def _examples(grid: Grid) -> Examples:
    given = {name: grid.per("example", name, loose=name == "structure") for name in EXAMPLE_COLUMNS}
    label = _whole(grid, "label", given["label"], grid.files.n_classes)
    planted = _whole(grid, "planted", given["planted"], None)
    group, category = given["group"], given["category"]
    source, n = grid.source("example"), len(grid.examples)
    if label is None or absent(label).any():
        what = "there is no 'label'" if label is None else "'label' is null for some examples"
        source.fail(f"{what}; expected a class from 0 to {grid.files.n_classes - 1} for each example")
    if group is not None and (nulls := int(absent(group).sum())):
        source.fail(f"'group' is null for {nulls:,} of {n:,} examples; give an example without a user or document a "
                    f"group of its own")
    return Examples(
        id=np.array(grid.examples, dtype=np.object_), label=label.astype(np.int64),
        planted=np.array([0] * n if planted is None else [value or 0 for value in planted], dtype=np.int64),
        group=None if group is None else name_codes(group), split=given["split"],
        categories=None if category is None else _categories(category),
        columns={name: values for name in ("structure", GROUP_KIND)
                 if (values := given[name]) is not None})


def _categories(given: ObjectArray) -> tuple[frozenset[str], ...]:
    sets = {name: frozenset(part.strip() for part in re.split(r"[|;]", name or "") if part.strip())
            for name in set(given)}
    return tuple(sets[name] for name in given)


def _whole(grid: Grid, column: str, given: ObjectArray | None, below: int | None) -> ObjectArray | None:
    """What each example says as whole numbers from 0, under `below`; None stays None."""
    if given is None:
        return None
    names = set(given) - {None}
    known = dict(zip(names, _numbers(names, below), strict=True))
    bad = [place for place, name in enumerate(given) if known.get(name) == BAD]
    if bad:
        expected = f"a whole number {_range(below)}"
        advice = "; give each class the number of its column of scores" if below is not None else ""
        grid.fail_of("example", column, bad, f"{column!r} is not {expected}, and so for {len(bad):,} of "
                                             f"{len(given):,} examples{advice}")
    return np.array([known.get(name) for name in given], dtype=np.object_)


def _numbers(names: Iterable[str], below: int | None) -> list[int]:
    """Names as whole numbers from 0, under `below`; others are `BAD`."""
    # A CSV file of a column that once had a null in pandas says 1.0 for 1.
    plain = (name.strip().removesuffix(".0") for name in names)
    found = [int(text) if WHOLE.fullmatch(text) else BAD for text in plain]
    return found if below is None else [value if value < below else BAD for value in found]


def _range(below: int | None) -> str:
    return "from 0" if below is None else f"from 0 to {below - 1}, as the scores are of {below} classes"


def _word_codes(names: Iterable[str], words: Mapping[str, int]) -> MemberArray:
    """What the names of a column stand for, `BAD` for others; the last one, of no name, is `UNKNOWN`."""
    return np.array([*(words.get(name.strip().lower(), BAD) for name in names), UNKNOWN], dtype=np.int8)


def _member(grid: Grid) -> MemberArray:
    codes, names = grid.cells("member")
    member = _word_codes(names, MEMBER_WORDS)[codes]
    grid.refuse_cells(member == BAD, "'member' is none of true, false, 1, 0 and null")
    return member


def _label_table(grid: Grid) -> ScoreTable:
    """The table of a label audit."""
    scores, n_classes = grid.files.scores, grid.files.n_classes
    if grid.n_queries > 1:
        scores.fail(f"there are {grid.n_queries} queries for each example; a label audit reads one answer of each "
                    f"model: keep one, or average them")
    models = _models(grid, LABEL_ROLES, "target")
    codes, names = grid.cells("example_role")
    role = _word_codes(names, ROLE_WORDS)[codes]
    grid.refuse_cells(role < 0, f"'example_role' is none that is known; expected one of {', '.join(EXAMPLE_ROLES)}")
    by_model = _whole_cells(grid, "label_original", n_classes)
    grid.refuse_cells(by_model == UNKNOWN, "'label_original' is null")
    original = by_model[0]
    grid.refuse_cells(by_model != original, "'label_original' is not the same for all models of this example")
    canary = _whole_cells(grid, "label_canary", n_classes)
    grid.refuse_cells(np.isin(role, (CANARY, CONTROL)) & (canary == UNKNOWN),
                      "'label_canary' is null for a canary or a control")
    canaries = Canaries(role, np.where(canary == UNKNOWN, original, canary),
                        _whole_cells(grid, "label_trained", n_classes),
                        np.maximum(_whole_cells(grid, "planted", None), 0))
    groups = grid.per("example", "group")
    # Examples that say none have a group of their own.
    group = None if groups is None else np.unique(
        [f"g{name}" if name is not None else f"e{place}" for place, name in enumerate(groups)],
        return_inverse=True)[1].astype(np.int64).reshape(-1)
    return ScoreTable.of_canaries(models, np.array(grid.examples, dtype=np.object_), original, canaries,
                                  _logits(grid)[:, :, 0], group, grid.files.given_as)


def _check_canary_columns(scores: ColumnFile) -> None:
    required = ("model", "example", "example_role", "label_original", "label_canary", "label_trained")
    if lacking := [name for name in required if name not in scores.names]:
        scores.fail(f"there is no {lacking[0]!r}; expected the columns {', '.join(required)} and logit_0, logit_1, …"
                    + (OTHER.format("membership", "membership", "membership")
                       if "member" in scores.names else ""))
    # One model with an example as canary and as control: said before its rows are called repeated.
    role, model, example = (scores.coded(name) for name in ("example_role", "model", "example"))
    key = model.codes.astype(np.int64) << 32 | example.codes.astype(np.int64)
    word = _word_codes(role.names, ROLE_WORDS)[role.codes]
    both = np.intersect1d(key[word == CANARY], key[word == CONTROL])
    if both.size:
        scores.fail(f"canaries overlap held-out ones: {counted(both.size, 'example')} of one model both ways; one is "
                    f"trained on, the other never: give each example one role")


def _whole_cells(grid: Grid, column: str, below: int | None) -> IntArray:
    """(M, N) whole numbers from 0, under `below`; `UNKNOWN` where null or without the column."""
    if column not in grid.files.scores.names:
        return np.full((len(grid.models), len(grid.examples)), UNKNOWN, dtype=np.int64)
    codes, names = grid.cells(column)
    values = np.array([*_numbers(names, below), UNKNOWN], dtype=np.int64)[codes]
    grid.refuse_cells(values == BAD, f"{column!r} is no whole number {_range(below)}")
    return values


def _logits(grid: Grid) -> FloatArray:
    """(M, N, Q, K) logits."""
    files = grid.files
    found = class_logits(files.scores, files.given_as, files.columns, grid.place, partial(_refuse_rows, grid))
    return found.reshape(len(grid.models), len(grid.examples), grid.n_queries, files.n_classes)


def _refuse_rows(grid: Grid, bad: BoolArray, what: str, expected: str) -> None:
    if not bad.any():
        return
    row, codes = int(bad.argmax()), grid.keys["model"].codes
    counts = np.bincount(codes[bad], minlength=len(grid.models))
    model, others = int(codes[row]), int(np.count_nonzero(counts)) - 1
    besides = f" and of {counted(others, 'other model')}" if others else ""
    grid.files.scores.fail(f"{what} here, and so in {counted(int(counts[model]), 'row')} of model "
                           f"{short(grid.models[model])}{besides}; expected {expected}", row)
