"""Labelled passages: which spans say what of which person, by offset, with the text from another file.

`docs/benchmark.md` describes the format. SPIA's files (arXiv 2604.21211), which list values without offsets, are read
as the same records: a value of certainty 3 or more that stands in the text is a stated attribute, another an inferred
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import InputError
from discreet.core.files import clean
from discreet.core.numbers import counted
from discreet.guard.domains import IDENTIFYING
from discreet.inputs.answers import CLUSTERS, Cluster
from discreet.inputs.rows import Place, iter_rows, json_type, string_cell, unique, word_cell

CLASSES = ("age", "sex", "ethnicity", "place", "occupation", "family", "affiliation", "domain", "name", "address",
           "contact", "date", "organisation")
Kind = Literal["third", "speaker", "public", "group", "nobody"]
KINDS: tuple[Kind, ...] = ("third", "speaker", "public", "group")
BOUND: tuple[Kind, ...] = ("third", "speaker")
"""Kinds of people whose attributes are a leak."""
TEXT, PART = ("text", "answer"), ("source", "file", "id", "field", "start", "end")
SPIA_TAGS = {
    "AGE": "age", "SEX": "sex", "NATIONALITY": "ethnicity", "LOCATION": "place", "OCCUPATION": "occupation",
    "POSITION": "occupation", "RELATIONSHIP": "family", "EDUCATION": "affiliation", "AFFILIATION": "affiliation",
    "NAME": "name"}
SPIA_CERTAIN = 3


@dataclass(frozen=True, slots=True)
class LabelledSpan:
    """A mention: what it says, of which person (0 nobody). A `repeat`, or one that is not `sure` (the words only hint
    at it, or the readers differ), is neither missed where a guard does not find it nor a false alarm where it does."""

    start: int
    end: int
    kind: str
    person: int
    repeat: bool = False
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Passage:
    """A labelled passage.

    Attributes
    ----------
    people : mapping of int to str
        The kind of each person: "third", "speaker", "public" or "group".
    inferred : tuple of (class, person)
        What a careful reader names though no words state it.
    main : int
        The person of whom most is said, 0 where there is none.
    cluster : "yes", "one", "no" or "unclear"
        Whether two or more, one or none of the identifying attributes are bound to the main person.
    register, domain, document : str or None
        What figures are broken down by, the domain of the policy, and the unit that is resampled.
    """

    id: str
    text: str = field(repr=False)
    people: Mapping[int, Kind]
    spans: tuple[LabelledSpan, ...]
    inferred: tuple[tuple[str, int], ...]
    main: int
    cluster: Cluster
    register: str | None = None
    domain: str | None = None
    document: str | None = None

    def kind(self, person: int) -> Kind:
        """The kind of a person; "nobody" for 0."""
        return self.people.get(person, "nobody")

    @property
    def leaks(self) -> bool | None:
        """Whether a cluster is bound to a third person or the speaker: None where there is one attribute, the person
        is public, or the readers could not tell."""
        if self.cluster == "yes":
            return True if self.kind(self.main) in BOUND else None
        return False if self.cluster == "no" else None

    def attributes(self, person: int) -> tuple[int, int]:
        """Distinct identifying attributes of a person: stated in words, and inferred."""
        stated = sum(s.person == person and s.kind in IDENTIFYING and s.sure and not s.repeat for s in self.spans)
        return stated, sum(p == person and kind in IDENTIFYING for kind, p in self.inferred)

    @property
    def stated(self) -> str | None:
        """"stated" where one person has two or more stated attributes, "inferred" where that takes inferred ones."""
        if self.cluster == "unclear":
            return None
        found = [self.attributes(p) for p, kind in self.people.items() if kind in BOUND]
        if any(stated >= 2 for stated, _ in found):
            return "stated"
        return "inferred" if any(sum(one) >= 2 for one in found) else None


def read_passages(labels: Path | str, texts: Sequence[Path | str] = (), places: Sequence[Path | str] = (),
                  data: Path | str | None = None, domain: str | None = None) -> list[Passage]:
    """The labelled passages of a file, in its order, with their texts.

    Parameters
    ----------
    labels : path
        JSON Lines of labels, or a file of SPIA's, which holds its texts.
    texts : sequence of paths
        Tables of `passage` (or `id`) and `text`, for labels without a text.
    places : sequence of paths
        Tables of `passage` and what the labels lack: `register`, `domain`, `document`; with `data` also where the
        text stands: `source`, `file`, `id`, `field`, `start`, `end`.
    data : path, optional
        The folder that holds `source/file`.
    domain : str, optional
        That of passages that name none.

    Raises InputError for a row that cannot be labels, and where passages have no text or their spans lie outside it.
    """
    further = {name: row for path in places for name, row in _table(path, "passage")}
    known = {name: _text(place_text) for path in texts for name, place_text in _table(path)}
    rows: list[tuple[Place, Mapping[str, Any]]] = []
    for place, row in iter_rows(Path(labels), (), ()):
        if "subjects" in row:
            rows.append((place, _from_spia(place, row)))
            continue
        name = _name(place, row)
        rows.append((place, {**further.get(name, {}), **row, "passage": name}))
    bare = [row for _, row in rows if row["passage"] not in known and row.get("text") is None]
    known |= {} if data is None else texts_of(Path(data), bare)
    if lacking := [row["passage"] for row in bare if row["passage"] not in known]:
        raise InputError(f"{labels}: {counted(len(lacking), 'passage')} of {len(rows):,} have no text, {lacking[0]!r} "
                         "first; expected it in the file, in a table of texts, or under the data folder")
    given = [(place, {"domain": domain, **row, "text": known.get(row["passage"], row.get("text"))})
             for place, row in rows]
    return [passage for _, passage in unique(given, passage_from_row, lambda p: p.id)]


def texts_of(data: Path, rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """By passage the text of each row that says where it stands under `data`."""
    files: dict[Path, dict[str, Mapping[str, Any]]] = {}
    found = {}
    for row in rows:
        if any(name not in row for name in PART):
            continue
        path = data / row["source"] / row["file"]
        if path not in files:
            files[path] = {str(one.get("id")): one for _, one in iter_rows(path, (), ())}
        whole = files[path].get(str(row["id"]), {}).get(row["field"])
        if not isinstance(whole, str):
            raise InputError(f"{path} has no text {row['field']!r} in its row {row['id']!r}, which passage "
                             f"{row['passage']!r} is a part of; expected the file that was labelled")
        found[str(row["passage"])] = whole[row["start"] : row["end"]]
    return found


def passage_from_row(place: Place, row: Mapping[str, Any]) -> Passage:
    """One row of labels with its text as a passage."""
    if not isinstance(row["text"], str):
        place.fail(f"'text' is {json_type(row['text'])}; expected a string")
    text = clean(row["text"])
    cluster = word_cell(place, "cluster", row.get("cluster"), CLUSTERS)
    try:
        people = {int(p): _kind(place, kind) for p, kind in row.get("people", {}).items()}
        spans = tuple(_span(*span) for span in row.get("spans", ()))
        inferred = tuple((str(kind), int(p)) for kind, p in row.get("inferred", ()))
        main = int(row.get("main", 0))
    except (TypeError, ValueError, AttributeError):
        place.fail("'people', 'spans', 'inferred' or 'main' is not as expected: {\"1\": kind}, [[start, end, class, "
                   "person, flags]], [[class, person]] and a number")
    if cluster is None:
        place.fail(f"there is no 'cluster'; expected one of {', '.join(CLUSTERS)}")
    if outside := [s for s in spans if not 0 <= s.start < s.end <= len(text)]:
        place.fail(f"a span from {outside[0].start} to {outside[0].end} lies outside its text of {len(text)} "
                   "characters; expected offsets into the text that was labelled")
    if unknown := {s.kind for s in spans} - set(CLASSES):
        place.fail(f"a span has the class {min(unknown)[:20]!r}; expected one of {', '.join(CLASSES)}")
    if missing := {main, *(s.person for s in spans)} - set(people) - {0, -1}:
        place.fail(f"person {min(missing)} is not in 'people'; expected their kind there")
    strata = (string_cell(place, name, row.get(name)) for name in ("register", "domain", "document"))
    return Passage(row["passage"], text, people, spans, inferred, main, cluster, *strata)


def _kind(place: Place, value: Any) -> Kind:
    found = word_cell(place, "people", value, KINDS)
    return place.fail(f"a person has no kind; expected one of {', '.join(KINDS)}") if found is None else found


def _span(start: int, end: int, kind: str, person: int, flags: str = "", readers: int = 2) -> LabelledSpan:
    return LabelledSpan(int(start), int(end), str(kind), int(person), "r" in flags, readers > 1 and "w" not in flags)


def _table(path: Path | str, *also: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return ((_name(place, row), row) for place, row in iter_rows(Path(path), (), also))


def _name(place: Place, row: Mapping[str, Any]) -> str:
    name = row.get("passage", row.get("id"))
    if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
        place.fail("there is no 'passage'; every row needs the id of its passage")
    return str(name)


def _text(row: Mapping[str, Any]) -> Any:
    return next((row[name] for name in TEXT if name in row), None)


def _from_spia(place: Place, row: Mapping[str, Any]) -> dict[str, Any]:
    """A document of SPIA's as labels. The dataset tells no third person from a speaker."""
    text, name = row.get("text"), _name(place, row)
    if not isinstance(text, str):
        place.fail(f"'text' is {json_type(text)}; expected a string")
    spans: list[list[Any]] = []
    inferred: list[list[Any]] = []
    for person, subject in enumerate(row["subjects"], start=1):
        said: set[str] = set()
        for one in subject["attributes"]:
            kind, value = SPIA_TAGS.get(one["tag"]), str(one["keyword"])
            if kind is None or not value or one["certainty"] < SPIA_CERTAIN:
                continue
            if there := re.search(re.escape(value), text, re.IGNORECASE):
                spans.append([*there.span(), kind, person, "r" if kind in said else ""])
                said.add(kind)
            elif [kind, person] not in inferred:
                inferred.append([kind, person])
        inferred = [one for one in inferred if one[1] != person or one[0] not in said]
    labelled = Passage(name, text, dict.fromkeys(range(1, len(row["subjects"]) + 1), "third"),
                       tuple(_span(*span) for span in spans), tuple((k, p) for k, p in inferred), 0, "no")
    sizes = {p: sum(labelled.attributes(p)) for p in labelled.people}
    main = max(sizes, key=lambda p: sizes[p], default=0)
    most = sizes.get(main, 0)
    return {"passage": name, "text": text, "people": labelled.people, "spans": spans, "inferred": inferred,
            "main": main, "cluster": "yes" if most >= 2 else "one" if most else "no", "register": row.get("category")}

