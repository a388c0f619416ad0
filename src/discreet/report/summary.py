"""What a record says, in the order in which it is read: one object for the page, the terminal and Markdown.

A function a kind of record makes a `Summary` (see `discreet.report.summarise`); `render` shows it. A summary holds
words and numbers as they are read, and computes nothing that is not in the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, TypeAlias

from discreet.core.numbers import NOTHING
from discreet.report.figure import Figure

Record: TypeAlias = Mapping[str, Any]
Cells: TypeAlias = tuple[str, ...]

STATES: Mapping[str, str] = {"holds": "holds", "done": "done", "stated": "stated", "unshown": "not shown",
                             "broken": "does not hold", "lacking": "not there"}
MOST_OPEN = 12
LONG = 40
"""Characters from which the cells of a column are broken into lines."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key figure with its interval and the same figure of its control; a `value` of "–" where there is none."""

    value: str
    text: str
    interval: str = ""
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
    """A paragraph; `kind` "note", "prose", "heading" or "quote"."""

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
    """A record as it is read.

    Attributes
    ----------
    kind, kicker : str
        The command that made it, and what stands above the headline.
    verdict : str or None
        "pass", "fail" or "inconclusive".
    headline : str
        The whole in one sentence; it begins with the verdict where there is one.
    leads : tuple of str
        Sentences under it, the most important first; asterisks are emphasis.
    figure : Figure or None
        The figure under them.
    keys : tuple of Key
    sections : tuple of Section
    glossary : tuple of (str, str)
        Terms of this summary and what they mean.
    provenance : tuple of (str, str)
    footer : str
    contents : bool
        Whether the page begins with links to its sections.
    """

    kind: str
    headline: str
    kicker: str = ""
    verdict: str | None = None
    leads: tuple[str, ...] = ()
    figure: Figure | None = None
    keys: tuple[Key, ...] = ()
    sections: tuple[Section, ...] = ()
    glossary: tuple[tuple[str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    footer: str = ""
    contents: bool = False

    @property
    def figures(self) -> list[Figure]:
        """Every figure in order."""
        first = [] if self.figure is None else [self.figure]
        return first + [block.figure for section in self.sections for block in section.blocks
                        if isinstance(block, Drawing)]


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


def without_constant(one: Table, columns: Iterable[str]) -> Table:
    """The table without those `columns` that hold one value in all of its several rows; the values go to its title."""
    if len(one.rows) < 2:
        return one
    gone = [place for place, name in enumerate(one.head) if name in columns
            and len({row[place] for row in one.rows}) == 1]

    def rest(cells: Cells) -> Cells:
        return tuple(cell for place, cell in enumerate(cells) if place not in gone)

    title = ", ".join([*([one.title.rstrip(".")] if one.title else []), *(one.rows[0][place] for place in gone)])
    return replace(one, head=rest(one.head), title=title, groups=tuple(
        (name, tuple(map(rest, rows))) for name, rows in one.groups))


def blocks(*found: Block | Figure | None) -> tuple[Block, ...]:
    """What there is of these, figures as drawings."""
    return tuple(Drawing(one) if isinstance(one, Figure) else one for one in found if one is not None)


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


def _kind(cells: Sequence[str]) -> str:
    if all(not cell or cell in (NOTHING, "unresolved", "no control") or cell[:1] in "+−.0123456789<" for cell in cells):
        return "num"
    return "long" if max(map(len, cells)) > LONG else ""
