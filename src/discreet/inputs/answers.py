"""Tables of answers: `id, answer`, and where they are there `user_words, question, sources, conversation`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

from discreet.core.errors import InputError
from discreet.core.files import clean
from discreet.core.records import ORIGINS, Answer, Public, Turn
from discreet.inputs.rows import (
    Place,
    Row,
    is_csv_header,
    iter_csv,
    iter_json_lines,
    iter_rows,
    json_type,
    stdin_lines,
    string_cell,
    unique,
    word_cell,
)

REQUIRED = ("id", "answer")
COLUMNS = (*REQUIRED, "user_words", "question", "sources", "conversation")
STDIN = "standard input"


class AnswerStream(Iterator[Answer]):
    """Answers one after the other.

    `total` is how many there are, None where only the end will tell. `columns` are those that rows had so far, of a
    file all from the beginning, also those that are not read.
    """

    def __init__(self, answers: Iterator[Answer], total: int | None = None, columns: Set[str] = frozenset()) -> None:
        self._answers = answers
        self.total, self.columns = total, columns

    def __next__(self) -> Answer:
        return next(self._answers)


def read_answers(source: Path | str, *, stdin: BinaryIO | None = None, question: str | None = None,
                 user_words: str | None = None) -> AnswerStream:
    """Answers of a file, or of standard input where `source` is "-", as a stream.

    A file (JSON Lines, CSV, Parquet) is validated to its end before this function returns, so that nothing is
    written for a file with a mistake on its last line; standard input is validated line by line. Standard input is
    JSON Lines when it begins with `{`, CSV when its first line is a header with the columns id and answer, else the
    whole of it is one answer in plain text, with the id "1" and with `question` and `user_words`. Raises InputError in
    one line: the file, the line or row, what was found, what was expected. Never the text itself.
    """
    columns: set[str] = set()
    if str(source) == "-":
        lines = sys.stdin.buffer if stdin is None else stdin
        return AnswerStream(_from_stdin(lines, question, user_words, columns), columns=columns)
    path = Path(source)
    total = sum(1 for _ in _answers(iter_rows(path, COLUMNS, REQUIRED), columns))
    return AnswerStream(_answers(iter_rows(path, COLUMNS, REQUIRED), columns), total, columns)


def answer_from_text(text: str, question: str | None = None, user_words: str | None = None) -> Answer:
    """One answer in plain text, with the id "1"."""
    return Answer(id="1", answer=clean(text), question=None if question is None else clean(question),
                  user_words=None if user_words is None else clean(user_words))


def unread(columns: Set[str]) -> str:
    """The columns that are not read, eight at most, each with the absent one that it may stand for; "" if all are."""
    absent = set(COLUMNS) - columns
    others = sorted(columns - set(COLUMNS))
    near = {name: get_close_matches(name, absent, n=1) for name in others}
    shown = [f"{name[:40]!r}" + (f" (did you mean {near[name][0]!r}?)" if near[name] else "")
             for name in sorted(others, key=lambda name: not near[name])[:8]]
    return ", ".join(shown) + (f" and {len(others) - 8} more" if len(others) > 8 else "")


def _answers(rows: Iterable[Row], columns: set[str]) -> Iterator[Answer]:
    def read(place: Place, row: Mapping[str, Any]) -> Answer:
        columns.update(row)
        return answer_from_row(place, row)

    return (answer for _, answer in unique(rows, read, lambda a: a.id))


def answer_from_row(place: Place, row: Mapping[str, Any]) -> Answer:
    """One row as an answer; columns that are not ours are passed over."""
    for name in REQUIRED:
        if name not in row:
            place.fail(f"there is no {name!r}; every row needs 'id' and 'answer'")
    answer = row["answer"]
    if not isinstance(answer, str):
        place.fail(f"'answer' is {json_type(answer)}; expected a string")
    return Answer(_id(place, row["id"]), clean(answer), string_cell(place, "question", row.get("question")),
                  _sources(place, row.get("sources")), _conversation(place, row.get("conversation")),
                  string_cell(place, "user_words", row.get("user_words")))


def _id(place: Place, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        place.fail(f"'id' is {json_type(value)}; expected a string or a whole number")
    name = clean(str(value))
    if not name.strip():
        place.fail("'id' is empty; every row needs a name of its own")
    return name


def _sources(place: Place, value: Any) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        # A CSV cell has no lists: one is recognised where it is JSON, and "[1] Smith" stays a string.
        listed = _cell_json(value, default=None) if value.lstrip().startswith("[") else None
        value = listed if isinstance(listed, list) and all(isinstance(v, str | dict) for v in listed) else [value]
    if not isinstance(value, list):
        place.fail(f"'sources' is {json_type(value)}; expected a list of strings, or a string")
    for number, item in enumerate(value, start=1):
        if not isinstance(item, str) and not (isinstance(item, dict) and isinstance(item.get("text"), str)
                                              and isinstance(item.get("public", False), bool)):
            place.fail(f"item {number} of 'sources' is {json_type(item)}; expected a string, or an object with 'text', "
                       "a string, and 'public', true or false")
    return tuple(clean(item) if isinstance(item, str) else
                 Public(clean(item["text"])) if item.get("public") else clean(item["text"]) for item in value)


def _conversation(place: Place, value: Any) -> tuple[Turn, ...]:
    if isinstance(value, str):
        value = _cell_json(value, default=value) if value.strip() else None
    if value is None:
        return ()
    turns = []
    for where, item, text in turn_cells(place, "conversation", value, ("content", "text")):
        role = item.get("role")
        if not isinstance(role, str) or not role:
            place.fail(f"the 'role' of {where} is {json_type(role)}; expected a string such as 'user'")
        if "content" not in item and "text" not in item:
            place.fail(f"{where} has neither 'content' nor 'text'; expected one of them, a string")
        origin = item.get("origin")
        if origin is not None and origin not in ORIGINS:
            place.fail(f"the 'origin' of {where} is not one that is known; expected one of {', '.join(ORIGINS)}")
        turns.append(Turn(clean(role), text, origin))
    return tuple(turns)


def turn_cells(place: Place, column: str, value: Any, names: tuple[str, str]
               ) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Each turn of a list of objects: where it stands, in words, the object, and its text under one of `names`.

    A turn that only calls a tool has null content in the common chat format: its text is empty.
    """
    expected = f"with 'role' and {names[0]!r}"
    if not isinstance(value, list):
        place.fail(f"{column!r} is {json_type(value)}; expected a list of objects {expected}")
    for number, item in enumerate(value, start=1):
        where = f"turn {number} of {column!r}"
        if not isinstance(item, dict):
            place.fail(f"{where} is {json_type(item)}; expected an object {expected}")
        text = next((item[name] for name in names if item.get(name) is not None), "")
        if not isinstance(text, str):
            place.fail(f"the text of {where} is {json_type(text)}; expected a string")
        yield where, item, clean(text)


def _cell_json(cell: str, default: Any) -> Any:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return default


def _from_stdin(stdin: BinaryIO, question: str | None, user_words: str | None, columns: set[str]) -> Iterator[Answer]:
    lines = stdin_lines(stdin)
    before: list[bytes] = []
    for line in lines:
        before.append(line)
        if line.strip(b"\xef\xbb\xbf \t\r\n"):
            break
    else:
        raise InputError(f"{STDIN} is empty; expected JSON Lines or CSV with 'id' and 'answer', or an answer in plain "
                         "text")
    whole = chain(before, lines)
    if before[-1].lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
        kind, rows = "JSON Lines", iter_json_lines(whole, STDIN)
    elif is_csv_header(before[-1], REQUIRED):
        kind, rows = "CSV", iter_csv(whole, STDIN, COLUMNS, REQUIRED)
    else:
        yield answer_from_text(_plain_text(whole), question, user_words)
        return
    for name, value in (("question", question), ("user_words", user_words)):
        if value is not None:
            raise InputError(f"{STDIN} is {kind}, where --{name.replace('_', '-')} has no place; put it into the "
                             f"column {name!r}")
    empty = True
    for answer in _answers(rows, columns):
        empty = False
        yield answer
    if empty:
        raise InputError(f"{STDIN} holds no rows; expected at least one below the header")


def _plain_text(lines: Iterable[bytes]) -> str:
    data = b"".join(lines)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{STDIN} is UTF-16; expected UTF-8: iconv -f UTF-16 -t UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{STDIN} is not UTF-8 at byte {error.start}; expected UTF-8") from None
    if text.lstrip().startswith("[{"):
        raise InputError(f"{STDIN} is a JSON array; expected JSON Lines, one object a line: jq -c '.[]'")
    return text


Cluster = Literal["yes", "one", "no", "unclear"]
LabelledSubject = Literal["third", "speaker", "public", "asker", "none"]

CLUSTERS: tuple[Cluster, ...] = get_args(Cluster)
LABELLED_SUBJECTS: tuple[LabelledSubject, ...] = get_args(LabelledSubject)
COUNTS = ("age", "sex", "ethnicity", "place", "occupation", "family", "affiliation", "domain", "direct")
STRATA = ("register", "domain", "document")
LABELLED_COLUMNS = (*COLUMNS, "label", "cluster", "subject", *COUNTS, *STRATA)


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer with the readers' judgement.

    Attributes
    ----------
    cluster : "yes", "one", "no" or "unclear"
        Two or more, exactly one, or none of age, ethnicity, place, occupation, family and affiliation.
    counts : mapping of str to int
        Distinct attributes per class, from 0 (3 stands for three or more); only the classes that the file has.
    subject : str or None
        Whom the attributes belong to, "none" where nobody is described.
    register, domain, document : str or None
        What tables are broken down by, and the unit that is resampled.
    """

    answer: Answer
    cluster: Cluster
    counts: Mapping[str, int] = field(default_factory=dict)
    subject: LabelledSubject | None = None
    register: str | None = None
    domain: str | None = None
    document: str | None = None


def read_labelled(path: Path | str) -> list[LabelledAnswer]:
    """All labelled answers of a JSON Lines, CSV or Parquet file.

    The columns are those of `read_answers`, the judgement as `cluster` or `label`, and, where the file has them,
    the counts, `subject` and strata. `domain` is a count when it is a whole number and the name of the domain when
    it is a word. Raises InputError as `read_answers` does.
    """
    rows = iter_rows(Path(path), LABELLED_COLUMNS, REQUIRED)
    return [record for _, record in unique(rows, labelled_from_row, lambda record: record.answer.id)]


def labelled_from_row(place: Place, row: Mapping[str, Any]) -> LabelledAnswer:
    """One row as a labelled answer."""
    said = {name: found for name in ("cluster", "label")
            if (found := word_cell(place, name, row.get(name), CLUSTERS)) is not None}
    if not said:
        place.fail(f"there is neither 'cluster' nor 'label'; expected one of {', '.join(CLUSTERS)}")
    if len(set(said.values())) > 1:
        place.fail("'cluster' and 'label' say different things; keep one of them")
    # A domain that is a whole number is a count.
    strata = {name: None if name == "domain" and _whole(row.get(name)) is not None else
              string_cell(place, name, row.get(name)) for name in STRATA}
    return LabelledAnswer(answer_from_row(place, row), next(iter(said.values())), _counts(place, row),
                          word_cell(place, "subject", row.get("subject"), LABELLED_SUBJECTS), **strata)


def _counts(place: Place, row: Mapping[str, Any]) -> dict[str, int]:
    counts = {}
    for name in COUNTS:
        value = row.get(name)
        if value is None or value == "" or (name == "domain" and _whole(value) is None and isinstance(value, str)):
            continue
        number = _whole(value)
        if number is None or number < 0:
            place.fail(f"{name!r} is not a count; expected a whole number from 0, where 3 stands for three or more")
        counts[name] = number
    return counts


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
