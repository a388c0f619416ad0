"""What a record says, in the order in which it is read: one object for the page, the terminal and Markdown.

A function a kind of record makes a `Summary`, which `render` shows; it computes nothing that is not in the record.
Fixed words are data: `words.yaml`, whose `{path:form}` are filled from a record by `core.numbers.say`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, ClassVar, TypeAlias

import yaml

from discreet.core.errors import UsageError, shown
from discreet.core.numbers import FORMS, NOTHING, UNRESOLVED, Forms, say
from discreet.core.registry import offered
from discreet.report.figure import Figure

Record: TypeAlias = Mapping[str, Any]
Cells: TypeAlias = tuple[str, ...]

KINDS: Mapping[str, str] = {
    "audit guard": "commands:guard_audit_summary", "audit labels": "labels:summary",
    "audit membership": "membership:summary",
    "audit recipe": "membership_runs:recipe_summary", "benchmark": "benchmark:summary",
    "compare membership": "membership_runs:compare_summary", "defend-frontier": "frontier:summary",
    "defend-training": "frontier:training_summary",
    "plan labels": "labels:plan_summary", "plan membership": "membership_runs:plan_summary",
    "plan training": "membership_runs:training_plan_summary",
    "check-table": "commands:table_summary", "certificate": "commands:certificate_summary",
    "seal": "commands:seal_summary", "guard evaluate": "commands:evaluation_summary",
    "guard calibrate": "commands:calibration_summary", "guard calibrate reviews": "commands:reviews_summary",
    "guard diff": "commands:diff_summary", "guard fit": "commands:fit_summary",
    "stress-test": "commands:stress_summary"}
"""The function that summarises each kind of record. A package adds to them by an entry point of the group
`discreet.summaries`: a mapping like this one, with whole names of modules."""
STATES: Mapping[str, str] = {"holds": "holds", "done": "done", "stated": "stated", "unshown": "not shown",
                             "broken": "does not hold", "lacking": "not there"}
MOST_OPEN = 12
LONG = 40
"""Characters from which the cells of a column are broken into lines."""


def summarise(record: Record, **options: Any) -> Summary:
    """The summary of a saved record, by its `kind`. Raises UsageError for one that nothing summarises.

    `options` are of the kind: `texts` of a membership audit, where texts may be shown.
    """
    if not isinstance(record, Mapping):
        raise UsageError(f"the record is {shown(record)}; expected a mapping, as an audit's record or its result.json")
    kind = str(record.get("kind"))
    # Other packages are looked up only for what is not ours.
    known = KINDS if kind in KINDS else {**KINDS, **offered("summaries")}
    if kind not in known:
        raise UsageError(f"a record of kind {kind[:40]!r} has no summary; expected one of {', '.join(known)}")
    module, name = known[kind].split(":")
    make: Callable[..., Summary] = getattr(
        import_module(module if "." in module else f"discreet.report.{module}"), name)
    return make(record, **options)


@cache
def words_of(part: str) -> dict[str, Any]:
    """The words of one part of the reports, by name."""
    found: dict[str, Any] = _words()[part]
    return found


@cache
def _words() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(files("discreet.report").joinpath("words.yaml").read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Key:
    """A key figure with the ends of its interval and what its control says; a `value` of "–" where there is none."""

    value: str
    text: str
    low: str = ""
    high: str = ""
    control: str = ""


@dataclass(frozen=True, slots=True)
class Control:
    """What was checked besides the figures; `state` is one of `STATES`."""

    name: str
    state: str
    text: str

    @property
    def word(self) -> str:
        """The state as it is read."""
        return STATES[self.state]


@dataclass(frozen=True, slots=True)
class Controls:
    """A list of controls."""

    block: ClassVar[str] = "controls"
    items: tuple[Control, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; `kind` "note", "prose", "because", "heading" or "quote"."""

    block: ClassVar[str] = "text"
    text: str
    kind: str = "note"


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list under its title."""

    block: ClassVar[str] = "bullets"
    title: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Pairs of a name and what it is; `title` makes them fold away on a page."""

    block: ClassVar[str] = "facts"
    items: tuple[tuple[str, str], ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as a block."""

    block: ClassVar[str] = "drawing"
    figure: Figure


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `groups` are rows under a heading of their own, which may be empty.

    `title` is written above, `note` below. On a page the table folds away unless it is `open`; the terminal shows the
    `first` rows of each group.
    """

    block: ClassVar[str] = "table"
    head: Cells
    groups: tuple[tuple[str, tuple[Cells, ...]], ...]
    title: str = ""
    note: str = ""
    open: bool = True
    first: int = 60

    @property
    def rows(self) -> tuple[Cells, ...]:
        """All rows."""
        return tuple(row for _, rows in self.groups for row in rows)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The class of each column: "num" for figures, "long" for words that are broken into lines, else empty."""
        return tuple(_kind([row[place] for row in self.rows]) for place in range(len(self.head)))


def _kind(cells: Sequence[str]) -> str:
    if all(not cell or cell in (NOTHING, UNRESOLVED, "no control") or cell[:1] in "+−.0123456789<" for cell in cells):
        return "num"
    return "long" if max(map(len, cells)) > LONG else ""


Block: TypeAlias = Controls | Text | Bullets | Facts | Drawing | Table


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a summary; `folded` ones are closed on a page, and those without `page` are for the terminal alone."""

    title: str
    blocks: tuple[Block, ...]
    name: str = ""
    folded: bool = False
    terminal: bool = False
    page: bool = True
    badge: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A record as it is read, from the command that made it (`kind`) to the end of its page.

    `headline` is the whole in one sentence; with a `verdict` ("pass", "fail" or "inconclusive"), which may be that on
    some of the models (`scope`), it is what follows the verdict. `leads` are sentences under it, the most important
    first, with asterisks for emphasis; `figure` is seen first. With `contents` the page lists its sections.
    """

    kind: str
    headline: str
    kicker: str = ""
    verdict: str | None = None
    scope: str = ""
    leads: tuple[str, ...] = ()
    figure: Figure | None = None
    keys: tuple[Key, ...] = ()
    sections: tuple[Section, ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    footer: str = ""
    contents: bool = False

    @property
    def judged(self) -> str:
        """"Pass", "Fail for 2 of 3 models"; empty without a verdict."""
        return f"{self.verdict.capitalize()}{self.scope}" if self.verdict else ""

    @property
    def sentence(self) -> str:
        """The headline with the verdict before it."""
        return f"{self.judged}: {self.headline}" if self.verdict else self.headline

    @property
    def figures(self) -> list[Figure]:
        """Every figure in order."""
        first = [] if self.figure is None else [self.figure]
        return first + [block.figure for section in self.sections for block in section.blocks
                        if isinstance(block, Drawing)]


def tabled(columns: Iterable[Sequence[str]], rows: Iterable[Record] = (), forms: Forms = FORMS, *,
           groups: Iterable[tuple[str, Iterable[Record]]] | None = None, **options: Any) -> Table | None:
    """A table of records, or of `groups` of them, whose columns are pairs of a head and what `say` fills.

    That is a template, or one field of it without its braces.
    """
    pairs = [(head, spec if "{" in spec else f"{{{spec}}}") for head, spec in columns]
    return grouped_table([head for head, _ in pairs], [
        (title, [[say(spec, row, NOTHING, forms) for _, spec in pairs] for row in part])
        for title, part in (groups or [("", rows)])], **options)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], **options: Any) -> Table | None:
    """A table of one group without the columns that say nothing in any row; None without rows."""
    return grouped_table(head, [("", rows)], **options)


def grouped_table(head: Sequence[str], groups: Iterable[tuple[str, Iterable[Sequence[str]]]], **options: Any
                  ) -> Table | None:
    """The same of several groups; groups without rows are left out."""
    kept = [(title, [tuple(row) for row in rows]) for title, rows in groups]
    every = [row for _, rows in kept for row in rows]
    if not every:
        return None
    said = [place for place in range(len(head)) if any(row[place] not in (NOTHING, "") for row in every)]
    return Table(tuple(head[place] for place in said), tuple(
        (title, tuple(tuple(row[place] for place in said) for row in rows)) for title, rows in kept if rows), **options)


def blocks(*found: Block | Figure | None) -> tuple[Block, ...]:
    """What there is of these, figures as drawings."""
    return tuple(Drawing(one) if isinstance(one, Figure) else one for one in found if one is not None)


def part(title: str, *found: Block | Figure | None) -> Section:
    """A part that the terminal shows too, of what there is of these."""
    return Section(title, blocks(*found), terminal=True)


def facts(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Facts of a run as pairs of words, for the end of a page."""
    return tuple((name.replace("_", " "), _fact(value)) for name, value in given.items() if name != "finished")


def kicker(record: Record, *parts: str) -> str:
    """`parts`, and when the run was finished, for the line above a headline."""
    finished = record["provenance"].get("finished")
    return " · ".join([*parts, *([moment(finished)] if finished else [])])


def moment(iso: str) -> str:
    """"02 January 2026, 03:04 UTC"."""
    return f"{datetime.fromisoformat(iso):%d %B %Y, %H:%M} UTC"


def _fact(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {role}" for role, count in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "none" if value is None else str(value)
