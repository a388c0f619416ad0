"""The tables between words and the survey's columns, which lie in `data/`: read on first use and kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from discreet.guard.domains import table_rows
from discreet.guard.text import lexicon as lex

Value = int | str
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")


def _table(name: str, columns: int) -> Iterator[list[str]]:
    return table_rows(files("discreet.guard.population").joinpath("data", f"{name}.tsv"), columns)


@cache
def groups() -> Mapping[str, str]:
    """The survey's detailed groups of occupations by code."""
    return {code: name for code, name in _table("occupation_groups", 2)}  # noqa: C416


@cache
def occupations() -> Mapping[str, tuple[tuple[str, ...], bool]]:
    """By word, canonical occupation or ending (*ologist): codes of groups, and whether the word is most of them."""
    return {word: (() if codes == "-" else tuple(codes.split(",")), flag == "=")
            for word, codes, flag in _table("occupations", 3)}


@cache
def origins() -> Mapping[str, tuple[tuple[str, frozenset[Value]], ...]]:
    """By people or nation: columns and their values."""
    found: dict[str, list[tuple[str, frozenset[Value]]]] = {}
    for name, column, values in _table("origins", 3):
        found.setdefault(name, []).append((column, frozenset(values.split(";"))))
    return {name: tuple(rows) for name, rows in found.items()}


@cache
def countries() -> Mapping[str, frozenset[Value]]:
    """Names of countries of birth by ISO 3166 code."""
    return {code: frozenset(names.split(";")) for code, names in _table("countries", 2)}


@cache
def towns() -> frozenset[str]:
    """Names of towns that many states have, and none of them before all others."""
    return frozenset(name for name, in _table("towns", 1))


@cache
def readings() -> Mapping[str, tuple[tuple[re.Pattern[str], str, str], ...]]:
    """By class: patterns over lower-case words, in order, each with column and values."""
    found: dict[str, list[tuple[re.Pattern[str], str, str]]] = {}
    for kind, pattern, column, values in _table("readings", 4):
        found.setdefault(kind, []).append((re.compile(pattern), column, values))
    return {kind: tuple(rows) for kind, rows in found.items()}


def job(said: str) -> tuple[tuple[str, ...], bool, bool]:
    """Codes of the groups that a job may belong to, whether they are hardly more than it, and whether it is listed."""
    told = WORD.findall(said.lower())
    heads = [" ".join(told[i:j]) for j in range(len(told), 0, -1) for i in range(j)]
    table = occupations()
    for phrase in heads[:40]:
        for form in dict.fromkeys((phrase, lex.singular(phrase))):
            term = lex.occupations().get(form)
            for key in ((form, term.canonical) if term else (form,)):
                if key in table:
                    codes, exact = table[key]
                    # A surface that only stands for a listed word is narrower: a litigator is one of the lawyers.
                    return codes, exact and key == form == phrase, True
    for word in reversed(told):
        for ending, (codes, _) in table.items():
            if ending[0] == "*" and len(word) > len(ending) + 1 and word.endswith(ending[1:]):
                return codes, False, True
    return (), False, False
