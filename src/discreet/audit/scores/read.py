"""Files and frames of scores: which columns they have, and the grid of models, examples and queries that they fill.

One flat table, or the three tables models, examples and scores. What the columns mean: `discreet.audit.scores.load`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.numbers import counted
from discreet.core.types import BoolArray, IntArray
from discreet.inputs.columns import CodeArray, Coded, ColumnFile, Frame, frame_columns, open_columns
from discreet.inputs.rows import FORMATS

ObjectArray = NDArray[np.object_]
Key = Literal["model", "example"]
Given = Literal["logit", "prob"]

MODEL_COLUMNS = ("model_role", "reference_kind", "recipe", "seed", "regime", "direction", "structure", "mechanism",
                 "epsilon", "delta", "checkpoint_of")
EXAMPLE_COLUMNS = ("label", "group", "group_kind", "category", "split", "planted", "structure")
ROW_COLUMNS = ("model", "example", "query", "member", "example_role", "label_original", "label_canary",
               "label_trained")
SCORE = re.compile(r"(logit|prob)(?:_(0|[1-9][0-9]{0,5}))?")
SHOWN = 60


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFiles:
    """Open tables of scores; `sides` are the tables of models and of examples, where they are apart.

    `columns` are those of the scores: one a class, in order of class; or one alone, `logit` or `prob`, of class 1 of
    two, as `given_as` says.
    """

    scores: ColumnFile
    sides: Mapping[Key, ColumnFile]
    given_as: Given
    columns: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """K, at least 2."""
        return max(2, len(self.columns))


def open_scores(source: Path | str | Frame, models: Path | str | None = None,
                examples: Path | str | None = None) -> ScoreFiles:
    """Open a file of scores, a folder that holds `scores` and, where it has them, `models` and `examples`, or a frame.

    Raises InputError for a file that cannot be read, a folder without (or with two of) a table, and score columns
    that are absent, of both kinds, or with a class left out; MissingExtraError without pyarrow.
    """
    if not isinstance(source, str | Path):
        scores = frame_columns(source, _known)
        return ScoreFiles(scores, {}, *score_columns(scores))
    path = Path(source)
    if path.is_dir():
        folder, found = path, _in_folder(path, "scores")
        models, examples = models or _in_folder(folder, "models"), examples or _in_folder(folder, "examples")
        if found is None:
            raise InputError(f"the folder {path} has no table 'scores'; expected scores.parquet, scores.csv or "
                             f"scores.jsonl, or name the file itself")
        path = found
    scores = open_columns(path, _known, _is_score, "model, example, member, logit_0, logit_1")
    columns = score_columns(scores)
    sides: dict[Key, ColumnFile] = {}
    if models is not None:
        sides["model"] = _side(Path(models), ("model", *MODEL_COLUMNS))
    if examples is not None:
        sides["example"] = _side(Path(examples), ("example", *EXAMPLE_COLUMNS))
    return ScoreFiles(scores, sides, *columns)


def score_columns(file: ColumnFile) -> tuple[Given, tuple[str, ...]]:
    """What the scores of `file` are, and their columns, as of `ScoreFiles`. InputError as `open_scores`."""
    found = [match for name in file.names if (match := SCORE.fullmatch(name))]
    if not found:
        file.fail("there are no scores; expected logit_0, logit_1, … (a column a class), or prob_0, prob_1, …, or one "
                  "column 'logit' or 'prob' of class 1 of two")
    if len({match[1] for match in found}) > 1:
        file.fail("there are columns of logits and of probabilities; keep the logits")
    given_as: Given = "logit" if found[0][1] == "logit" else "prob"
    classes = sorted(int(match[2]) for match in found if match[2] is not None)
    if not classes:
        return given_as, (given_as,)
    if len(classes) < len(found):
        file.fail(f"there is {given_as!r} beside {given_as}_{classes[0]}; keep one column a class, or the one of class "
                  f"1 alone")
    if classes != list(range(len(classes))):
        lacking = min(set(range(len(classes) + 1)) - set(classes))
        file.fail(f"there is no {given_as}_{lacking}, but {given_as}_{classes[-1]}; number the classes from 0 without "
                  f"gaps")
    if len(classes) == 1:
        file.fail(f"there is {given_as}_0 alone; name it {given_as!r} if it is the score of class 1 of two, or add "
                  f"{given_as}_1")
    return given_as, tuple(f"{given_as}_{number}" for number in classes)


def _known(name: str) -> bool:
    return name in (*ROW_COLUMNS, *MODEL_COLUMNS, *EXAMPLE_COLUMNS) or _is_score(name)


def _is_score(name: str) -> bool:
    return SCORE.fullmatch(name) is not None


def _side(path: Path, columns: tuple[str, ...]) -> ColumnFile:
    file = open_columns(path, columns.__contains__, lambda _: False, ", ".join(columns))
    if columns[0] not in file.names:
        file.fail(f"there is no {columns[0]!r}; expected a row for each {columns[0]}, named in that column")
    return file


def _in_folder(folder: Path, part: str) -> Path | None:
    found = sorted(file for end in FORMATS if (file := folder / f"{part}{end}").is_file())
    if len(found) > 1:
        raise InputError(f"{folder} holds {found[0].name} and {found[1].name}; keep one of them")
    return found[0] if found else None


def short(name: str) -> str:
    """The name of a model for a message, in quotes and in one line."""
    return repr(name if len(name) <= SHOWN else name[:SHOWN] + "…")


def absent(values: ObjectArray) -> BoolArray:
    """Where `values` is None."""
    return np.array([value is None for value in values], dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Which row of the scores is which model, example and query: each combination once, and none left out.

    `keys` code the R rows into the M models and N examples, whose names are in order; `n_queries` is 1 where there is
    no column `query`. `place` (R,) is (model · N + example) · Q + query, a permutation of 0 … M·N·Q - 1; `own` the row
    of each model or example in the table of its own, where there is one.
    """

    files: ScoreFiles
    keys: Mapping[Key, Coded]
    n_queries: int
    place: IntArray
    own: Mapping[Key, IntArray]

    @classmethod
    def of(cls, files: ScoreFiles) -> Grid:
        """The keys of `files`. InputError for a null key, for keys that come twice, and for rows that are missing."""
        scores = files.scores
        keys: dict[Key, Coded] = {"model": _key(scores, "model"), "example": _key(scores, "example")}
        query = _key(scores, "query") if "query" in scores.names else None
        query = query if query is not None and query.names else None
        own = {key: _own_rows(side, key, keys[key], scores) for key, side in files.sides.items()}
        model, n_examples = keys["model"], len(keys["example"].names)
        n_queries = 1 if query is None else len(query.names)
        place = model.codes.astype(np.int64) * n_examples + keys["example"].codes
        if query is not None:
            place = place * n_queries + query.codes
        _refuse_repeated(scores, place, len(model.names) * n_examples * n_queries, query is not None)
        _refuse_missing(scores, model, n_examples, n_queries)
        return cls(files, keys, n_queries, place, own)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in order."""
        return self.keys["model"].names

    @property
    def examples(self) -> tuple[str, ...]:
        """Names of the examples, in order."""
        return self.keys["example"].names

    def source(self, key: Key) -> ColumnFile:
        """The table that describes models, or examples."""
        return self.files.sides.get(key, self.files.scores)

    def per(self, key: Key, column: str, *, loose: bool = False) -> ObjectArray | None:
        """What the tables say in `column` of each model or example: strings, None where they say nothing.

        None for a column that is nowhere, or null everywhere. InputError where two rows, or two tables, contradict
        each other; with `loose`, a column that contradicts itself within the scores is None.
        """
        side, scores = self.files.sides.get(key), self.files.scores
        found = self._from_rows(column, key, loose) if column in scores.names else None
        if side is not None and column in side.names:
            coded = side.coded(column)
            own = _spelled(coded, coded.codes[self.own[key]])
            if found is not None:
                if (~absent(own) & ~absent(found) & (own != found)).any():
                    side.fail(f"{column!r} says something else than the same column of {scores.path.name}; keep one "
                              f"of them")
                own = np.where(absent(own), found, own)
            found = own
        return None if found is None or absent(found).all() else found

    def _from_rows(self, column: str, key: Key, loose: bool) -> ObjectArray | None:
        scores, keys = self.files.scores, self.keys[key]
        coded = scores.coded(column)
        first = np.full(len(keys.names), -1, dtype=np.int32)
        said = coded.codes >= 0
        first[keys.codes[said]] = coded.codes[said]
        conflict: BoolArray = said & (first[keys.codes] != coded.codes)
        if not conflict.any():
            return _spelled(coded, first)
        if loose:
            return None
        row = int(conflict.argmax())
        if key == "model":
            advice = ("give the selector, the reference and the control names of their own, and do not use the target "
                      "for them" if column == "model_role" else "say one thing for each model")
            scores.fail(f"{column!r} of model {short(keys.names[keys.codes[row]])} is not the same in all its rows; "
                        f"{advice}", row)
        count = np.unique(keys.codes[conflict]).size
        return scores.fail(f"{column!r} of the example of this row is not the same in all rows of that example, and so "
                           f"for {counted(count, 'example')}; say one thing for each example", row)

    def fail_of(self, key: Key, column: str, places: Sequence[int], message: str) -> NoReturn:
        """Fail at the first row that says `column` of some models or examples."""
        side = self.files.sides.get(key)
        if side is not None and column in side.names:
            side.fail(message, int(self.own[key][places].min()))
        self.files.scores.fail(message, int(np.isin(self.keys[key].codes, places).argmax()))

    def cells(self, column: str) -> tuple[IntArray, tuple[str, ...]]:
        """Codes of a column, (M, N), -1 where it is null, and the names that they stand for; all queries say one."""
        coded, cell = self.files.scores.coded(column), self.place // self.n_queries
        found = np.empty(len(self.models) * len(self.examples), dtype=np.int64)
        found[cell] = coded.codes
        if self.n_queries > 1 and (differs := found[cell] != coded.codes).any():
            self.files.scores.fail(f"{column!r} of this model and example is not the same for all queries; say one "
                                   f"thing for each", int(differs.argmax()))
        return found.reshape(len(self.models), len(self.examples)), coded.names

    def refuse_cells(self, bad: BoolArray, what: str) -> None:
        """Fail at the first row of the cells (M, N) that are `bad`, if any are."""
        rows = np.flatnonzero(bad.reshape(-1)[self.place // self.n_queries])
        if rows.size:
            self.files.scores.fail(f"{what}, and so in {rows.size:,} of {self.place.size:,} rows; correct them",
                                   int(rows[0]))


def _spelled(coded: Coded, codes: CodeArray) -> ObjectArray:
    """The names of `codes`, None for -1."""
    return np.array([*coded.names, None], dtype=np.object_)[codes]


def _key(file: ColumnFile, name: str) -> Coded:
    if name not in file.names:
        file.fail(f"there is no {name!r}; expected a row for each model and example, with the columns 'model' and "
                  f"'example'")
    coded = file.coded(name)
    nulls = coded.codes < 0
    if nulls.any() and (name != "query" or coded.names):
        file.fail(f"{name!r} is empty in {counted(int(nulls.sum()), 'row')}, first in this one; name the {name} in "
                  f"every row", int(nulls.argmax()))
    return coded.ordered()


def _own_rows(side: ColumnFile, key: Key, coded: Coded, scores: ColumnFile) -> IntArray:
    there = _key(side, key)
    if len(there.names) < side.rows:
        twice = np.setdiff1d(np.arange(side.rows), np.unique(there.codes, return_index=True)[1])
        side.fail(f"this {key} stands in a row before; expected one row for each {key}", int(twice[0]))
    place = dict(zip(there.names, np.argsort(there.codes).tolist(), strict=True))
    unknown = sum(name not in place for name in coded.names)
    if unknown:
        side.fail(f"{unknown:,} of the {len(coded.names):,} {key}s of {scores.path.name} are not in this table; add "
                  f"them")
    if len(place) > len(coded.names):
        side.fail(f"{len(place) - len(coded.names):,} of its {len(place):,} {key}s have no scores in "
                  f"{scores.path.name}; score them, or take them out")
    return np.array([place[name] for name in coded.names], dtype=np.int64)


def _refuse_repeated(scores: ColumnFile, place: IntArray, cells: int, has_query: bool) -> None:
    if place.size == cells and np.bincount(place, minlength=cells).all():
        return
    order = np.argsort(place, kind="stable")
    again = order[1:][np.diff(place[order]) == 0]
    if again.size:
        keys = "model, example and query" if has_query else "model and example"
        remedy = "" if has_query else ", or tell them apart in a column 'query'"
        scores.fail(f"{keys} are those of a row before, and so in {counted(again.size, 'row')} in all; keep one row "
                    f"for each{remedy}", int(again.min()))


def _refuse_missing(scores: ColumnFile, model: Coded, n_examples: int, n_queries: int) -> None:
    lacks = n_examples * n_queries - np.bincount(model.codes, minlength=len(model.names))
    if not lacks.any():
        return
    worst, others = int(lacks.argmax()), int(np.count_nonzero(lacks)) - 1
    each = f"{n_examples:,} examples" if n_queries == 1 else f"{n_examples:,} examples × {n_queries:,} queries"
    besides = f" and {counted(others, 'other model lacks', 'other models lack')} some" if others else ""
    scores.fail(f"rows are missing: model {short(model.names[worst])} lacks {int(lacks[worst]):,} of {each}{besides}; "
                f"every model must score every example, shadows too: score them, or take the examples out")
