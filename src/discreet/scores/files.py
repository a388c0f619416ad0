"""Files of scores, as one flat table or as the three tables models, examples and scores: which columns they have.

What the columns mean, and whether they fit together, is the audit's to say (`discreet.scores.load`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discreet.core.errors import InputError
from discreet.data.column_files import FORMATS, open_columns
from discreet.data.columns import ColumnFile

KEYS = ("model", "example", "query")
MODEL_COLUMNS = ("model_role", "reference_kind", "recipe", "seed", "regime", "direction", "structure", "mechanism",
                 "epsilon")
EXAMPLE_COLUMNS = ("label", "example_role", "label_original", "label_secret", "group", "group_kind", "category",
                   "split", "planted", "structure")
SCORE = re.compile(r"(logit|prob)(?:_(0|[1-9][0-9]{0,5}))?")
PARTS = ("models", "examples", "scores")


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """The columns that hold the scores themselves.

    Attributes
    ----------
    given_as : "logit" or "prob"
    names : tuple of str
        One a class, in order of class; or one alone, `logit` or `prob`, of class 1 of two.
    """

    given_as: Literal["logit", "prob"]
    names: tuple[str, ...]

    @property
    def n_classes(self) -> int:
        """K, at least 2."""
        return max(2, len(self.names))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreFiles:
    """Open tables of scores; `models` and `examples` are None where `scores` is one flat table."""

    scores: ColumnFile
    columns: ScoreColumns
    models: ColumnFile | None = None
    examples: ColumnFile | None = None


def open_scores(path: Path | str, models: Path | str | None = None, examples: Path | str | None = None) -> ScoreFiles:
    """Open a file of scores, or a folder that holds `scores` and, where it has them, `models` and `examples`.

    Raises InputError for a file that cannot be read, a folder without (or with two of) a table, and score columns
    that are absent, of both kinds, or with a class left out; MissingExtraError without pyarrow.
    """
    path = Path(path)
    if path.is_dir():
        given = {"models": models, "examples": examples}
        found = {part: _in_folder(path, part) for part in PARTS if given.get(part) is None}
        models, examples = models or found.get("models"), examples or found.get("examples")
        if found["scores"] is None:
            raise InputError(f"the folder {path} has no table 'scores'; expected scores.parquet, scores.csv or "
                             f"scores.jsonl, or name the file itself")
        path = found["scores"]
    scores = open_columns(path, _known, _is_score, "model, example, member, logit_0, logit_1")
    return ScoreFiles(scores, score_columns(scores),
                      None if models is None else _side(Path(models), ("model", *MODEL_COLUMNS)),
                      None if examples is None else _side(Path(examples), ("example", *EXAMPLE_COLUMNS)))


def score_columns(file: ColumnFile) -> ScoreColumns:
    """The score columns among the names of `file`. InputError as `open_scores`."""
    found = [match for name in file.names if (match := SCORE.fullmatch(name))]
    if not found:
        file.fail("there are no scores; expected logit_0, logit_1, … (a column a class), or prob_0, prob_1, …, or one "
                  "column 'logit' or 'prob' of class 1 of two")
    if len({match[1] for match in found}) > 1:
        file.fail("there are columns of logits and of probabilities; keep the logits")
    given_as: Literal["logit", "prob"] = "logit" if found[0][1] == "logit" else "prob"
    classes = sorted(int(match[2]) for match in found if match[2] is not None)
    if not classes:
        return ScoreColumns(given_as, (given_as,))
    if len(classes) < len(found):
        file.fail(f"there is {given_as!r} beside {given_as}_{classes[0]}; keep one column a class, or the one of class "
                  f"1 alone")
    if classes != list(range(len(classes))):
        lacking = next(number for number in range(len(classes) + 1) if number not in classes)
        file.fail(f"there is no {given_as}_{lacking}, but {given_as}_{classes[-1]}; number the classes from 0 without "
                  f"gaps")
    if len(classes) == 1:
        file.fail(f"there is {given_as}_0 alone; name it {given_as!r} if it is the score of class 1 of two, or add "
                  f"{given_as}_1")
    return ScoreColumns(given_as, tuple(f"{given_as}_{number}" for number in classes))


def _known(name: str) -> bool:
    return name in (*KEYS, "member", *MODEL_COLUMNS, *EXAMPLE_COLUMNS) or _is_score(name)


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
