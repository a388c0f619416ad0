"""Word lists, patterns and tables that lie as files in `data/`, read on first use and kept.

A file of `data/words/` or `data/patterns/` has sections, each headed by its name in brackets; a line that begins with
"# " is a comment. A word list holds words apart by blanks, "_" standing for the blank in a phrase. A pattern is one
regular expression: its lines are joined as they stand (a blank at either end of a line is written "[ ]"), and `{name}`
is replaced by the section of that name that stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from discreet.core.errors import InputError
from discreet.guard.domains import table_rows

_HEADING = re.compile(r"\[([a-z][a-z0-9 -]*)\]")
_REFERENCE = re.compile(r"\{([a-z][a-z ]*)\}")


def _sections(path: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in files("discreet.guard.text").joinpath("data", path).read_text("utf-8").split("\n"):
        if heading := _HEADING.fullmatch(line):
            lines = found.setdefault(heading[1], [])
        elif line and not line.startswith("# "):
            lines.append(line)
    return found


@cache
def words(name: str) -> Mapping[str, frozenset[str]]:
    """The word lists of `data/words/<name>.txt` by section, lower-case."""
    sections = _sections(f"words/{name}.txt")
    return MappingProxyType({section: frozenset(word.replace("_", " ") for line in lines for word in line.split())
                             for section, lines in sections.items()})


class Patterns(dict[str, re.Pattern[str]]):
    """Regular expressions by name, each compiled when it is first asked for; `texts` holds them as written."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def __missing__(self, name: str) -> re.Pattern[str]:
        pattern = self[name] = re.compile(self.texts[name])
        return pattern


@cache
def patterns(name: str) -> Patterns:
    """The regular expressions of `data/patterns/<name>.txt` by section; InputError for a reference to nothing."""
    found: dict[str, str] = {}
    for section, lines in _sections(f"patterns/{name}.txt").items():
        try:
            found[section] = _REFERENCE.sub(lambda reference: found[reference[1]], "".join(lines))
        except KeyError as error:
            raise InputError(
                f"patterns/{name}.txt, [{section}]: no section {error.args[0]!r} stands before it; define it first"
            ) from None
    return Patterns(MappingProxyType(found))


def as_compared(text: str) -> str:
    """A text as patterns for lower case compare it: with straight quotes and single blanks."""
    return " ".join(text.replace("’", "'").lower().split())


def rows(table: str, columns: int) -> Iterator[list[str]]:
    """The rows of the tab-separated `data/<table>.tsv`; raises InputError where one has another number of columns."""
    return table_rows(files("discreet.guard.text").joinpath("data", f"{table}.tsv"), columns)


@cache
def given_names() -> Mapping[str, str]:
    """Given names (lower-case) to their flag, `w` for one that is a word, a place or a brand too, or `-`."""
    return MappingProxyType(dict(rows("given_names", 2)))
