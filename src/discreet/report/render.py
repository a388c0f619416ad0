"""A summary to a page, to a terminal and to Markdown. Only the page needs jinja2."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from discreet.core.errors import need
from discreet.core.numbers import counted, number, percent, printable
from discreet.report.figure import css
from discreet.report.people import scale
from discreet.report.summary import (
    Block,
    Bullets,
    Cells,
    Controls,
    Drawing,
    Facts,
    Key,
    Summary,
    Table,
    Text,
    moment,
)

if TYPE_CHECKING:
    from jinja2 import Environment

TAG = re.compile(r"<(?=[A-Za-z/!?])")
TERMINAL = 100
"""Columns of a terminal that sentences are wrapped at."""


def templates(package: str) -> Environment:
    """The jinja2 environment of a package's folder `templates`. Raises MissingExtraError without jinja2."""
    jinja2: Any = need("jinja2", "an HTML report", "report")
    made: Environment = jinja2.Environment(loader=jinja2.PackageLoader(package), autoescape=True, trim_blocks=True,
                                           undefined=jinja2.StrictUndefined, lstrip_blocks=True)
    return made


def environment() -> Environment:
    """The templates' environment. Raises MissingExtraError where jinja2 is not installed."""
    env = templates("discreet.report")
    from markupsafe import Markup

    env.globals["css"] = lambda name: Markup(css(name))
    env.filters.update(
        words=lambda name: str(name).replace("_", " "), thousands=lambda value: f"{value:,}",
        moment=moment, number=number, percent=percent,
        people_scale=lambda people: Markup(scale(people)),
        emphasis=_emphasis, ms=lambda value: "not measured" if value is None else f"{value:,.1f} ms")
    return env


def to_html(summary: Summary, template: str = "page.html.j2", **further: Any) -> str:
    """One self-contained page: no network, no fonts to load, readable in light, dark and print.

    Raises MissingExtraError without jinja2, or without Matplotlib where there are figures.
    """
    return environment().get_template(template).render(summary=summary, **further)


def _emphasis(sentence: str) -> Any:
    """HTML of a sentence: its asterisks as emphasis, everything else escaped."""
    from markupsafe import Markup

    parts = escape(sentence).split("*")
    return Markup(escape(sentence) if len(parts) % 2 == 0 else "".join(
        f"<em>{part}</em>" if place % 2 else part for place, part in enumerate(parts)))


def to_text(summary: Summary, *, quiet: bool = False) -> str:
    """What a terminal shows: the verdict and what it rests on; only the headline where `quiet`."""
    return "\n".join(printable(line) for line in ([summary.sentence] if quiet else _lines(summary)))


def _lines(summary: Summary) -> Iterator[str]:
    yield from _wrapped(summary.sentence)
    for lead in summary.leads:
        yield from _wrapped(lead.replace("*", ""))
    if summary.keys:
        yield ""
    for key in summary.keys:
        yield from _wrapped(_key(key), "  ", "    ")
    for section in summary.sections:
        if section.terminal:
            yield ""
            if section.title:
                yield section.title
            for block in section.blocks:
                yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Controls):
        for one in block.items:
            # What holds needs no more than its name; the page has the figures.
            text = "" if one.state in ("holds", "done") else f" {one.text}"
            yield from _wrapped(f"{one.word}: {one.name}.{text}", "  ", "    ")
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Text):
        yield from _wrapped(block.text.replace("*", ""), "  ", "  ")
    elif isinstance(block, Bullets):
        yield from ([f"  {block.title}"] if block.title else [])
        for said in block.items:
            yield from _wrapped(said, "  - ", "    ")
    elif isinstance(block, Facts):
        width = max(len(name) for name, _ in block.items)
        for name, said in block.items:
            yield f"  {name.ljust(width)}  {said}"


def _table(table: Table) -> Iterator[str]:
    groups = [(name, rows[:table.first]) for name, rows in table.groups]
    every = [table.head, *(row for _, rows in groups for row in rows)]
    # A long last column is a sentence, and is written below its row.
    last = len(table.head) - (table.kinds[-1] == "long")
    widths = [max(len(row[place]) for row in every) for place in range(last)]
    kinds = table.kinds
    if table.title:
        yield from _wrapped(table.title, "  ", "  ")

    def line(cells: Cells) -> str:
        return "  " + "  ".join(cell.rjust(width) if kind == "num" else cell.ljust(width) for cell, width, kind in zip(
            cells[:last], widths, kinds[:last], strict=True)).rstrip()

    if any(table.head[:last]):
        yield line(table.head)
    for name, rows in groups:
        yield from _wrapped(f"{name}:", "  ", "  ") if name else ()
        for row in rows:
            yield line(row)
            yield from _wrapped(row[-1], "    ", "    ") if last < len(row) else ()
    if left := len(table.rows) - sum(len(rows) for _, rows in groups):
        yield f"  {counted(left, 'further row')} in --json and on the page."
    yield from _wrapped(table.note, "  ", "  ") if table.note and table.first >= len(table.rows) else ()


def to_markdown(summary: Summary) -> str:
    """The page without its figures: headline, leads, key figures, every section with what stands in it."""
    parts = ["## " + summary.sentence.replace("\n", " "), *summary.leads]
    if summary.keys:
        parts.append("\n".join(f"- {said}" for said in map(_key, summary.keys)))
    for section in summary.sections:
        found = [_markdown(one) for one in section.blocks if not isinstance(one, Drawing)] if section.page else []
        parts += [f"### {section.title}", *found] if found and section.title else found
    return _plain_markdown("\n\n".join(parts) + "\n")


def to_tables(summary: Summary) -> str:
    """Every section with its tables and lists alone, under the first lead, in Markdown."""
    parts = list(summary.leads[:1])
    for section in summary.sections:
        found = [_markdown(one) for one in section.blocks if isinstance(one, Bullets | Table)]
        parts += [f"### {section.title}", *(found or ["Nothing was asked for that has such a row."])]
    return _plain_markdown("\n\n".join(parts) + "\n")


def _plain_markdown(text: str) -> str:
    """Without control characters or tags: names of models and parts are the user's."""
    return TAG.sub("&lt;", "\n".join(map(printable, text.split("\n"))))


def _key(key: Key) -> str:
    """A key figure in a line."""
    interval = f" [{key.low}, {key.high}]" if key.low else ""
    control = f" ({key.control})" if key.control else ""
    return f"{key.value}{interval}{control}: {key.text}"


def _markdown(block: Controls | Text | Bullets | Facts | Table) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Controls):
        return "\n".join(f"- **{one.word}**: {one.name}. {one.text}".rstrip() for one in block.items)
    if isinstance(block, Facts | Bullets):
        items = block.items if isinstance(block, Bullets) else (f"{name}: {said}" for name, said in block.items)
        return "\n".join([*([f"**{block.title}**", ""] if block.title else []), *(f"- {said}" for said in items)])

    def part(name: str, rows: Iterable[Sequence[str]]) -> str:
        lines = (block.head, ["---"] * len(block.head), *rows)
        said = "\n".join("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
                         for line in lines)
        return f"**{name}**\n\n{said}" if name else said

    # Rows of a group do not say which it is.
    said = [part(name, rows) for name, rows in block.groups]
    return "\n\n".join([*([block.title] if block.title else []), *said, *([block.note] if block.note else [])])


def _wrapped(said: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(said, TERMINAL, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


