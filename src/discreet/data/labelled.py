"""Labelled answers: what two careful readers say that each answer binds to one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from discreet.core.records import Answer
from discreet.data import answers
from discreet.data.rows import Place, iter_rows, json_type

Cluster = Literal["yes", "one", "no", "unclear"]
LabelledSubject = Literal["third", "speaker", "public", "asker", "none"]

CLUSTERS: tuple[Cluster, ...] = get_args(Cluster)
LABELLED_SUBJECTS: tuple[LabelledSubject, ...] = get_args(LabelledSubject)
COUNTS = ("age", "sex", "ethnicity", "place", "occupation", "family", "affiliation", "domain", "direct")
STRATA = ("register", "domain", "stratum", "document")
COLUMNS = (*answers.COLUMNS, "label", "cluster", "subject", *COUNTS, *STRATA)


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
    register, domain, stratum, document : str or None
        What tables are broken down by, and the unit that is resampled.
    """

    answer: Answer
    cluster: Cluster
    counts: Mapping[str, int] = field(default_factory=dict)
    subject: LabelledSubject | None = None
    register: str | None = None
    domain: str | None = None
    stratum: str | None = None
    document: str | None = None


def read_labelled(path: Path | str) -> list[LabelledAnswer]:
    """All labelled answers of a JSON Lines, CSV or Parquet file.

    The columns are those of `read_answers`, the judgement as `cluster` or `label`, and, where the file has them,
    the counts, `subject` and strata. `domain` is a count when it is a whole number and the name of the domain when
    it is a word. Raises InputError as `read_answers` does.
    """
    rows = iter_rows(Path(path), COLUMNS, answers.REQUIRED)
    return [record for _, record in answers.unique(rows, labelled_from_row, lambda record: record.answer.id)]


def labelled_from_row(place: Place, row: Mapping[str, Any]) -> LabelledAnswer:
    """One row as a labelled answer."""
    return LabelledAnswer(
        answer=answers.answer_from_row(place, row), cluster=_cluster(place, row), counts=_counts(place, row),
        subject=_subject(place, row.get("subject")),
        **{name: _stratum(place, name, row.get(name)) for name in STRATA},
    )


def _cluster(place: Place, row: Mapping[str, Any]) -> Cluster:
    given = {name: row[name] for name in ("cluster", "label") if row.get(name) not in (None, "")}
    if not given:
        place.fail(f"there is neither 'cluster' nor 'label'; expected one of {', '.join(CLUSTERS)}")
    found = [cluster for value in given.values() for cluster in CLUSTERS if _word(value) == cluster]
    if len(found) < len(given):
        bad = next(name for name, value in given.items() if _word(value) not in CLUSTERS)
        place.fail(f"{bad!r} is not a judgement that is known; expected one of {', '.join(CLUSTERS)}")
    if len(set(found)) > 1:
        place.fail("'cluster' and 'label' say different things; keep one of them")
    return found[0]


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


def _subject(place: Place, value: Any) -> LabelledSubject | None:
    if value is None or value == "":
        return None
    known = next((subject for subject in LABELLED_SUBJECTS if _word(value) == subject), None)
    if known is None:
        place.fail(f"'subject' is not one that is known; expected one of {', '.join(LABELLED_SUBJECTS)}")
    return known


def _stratum(place: Place, name: str, value: Any) -> str | None:
    if value is None or value == "" or (name == "domain" and _whole(value) is not None):
        return None
    if not isinstance(value, str):
        place.fail(f"{name!r} is {json_type(value)}; expected a string")
    return answers.clean(value)


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
