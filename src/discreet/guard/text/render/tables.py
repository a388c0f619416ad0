"""Tables: a record of cells to a block of "Header: value." lines, so that its cells belong together.

Markdown and box tables are told by their bars, CSV, TSV and columns apart by blanks by a header of short names over
rows of as many cells. A table of two columns whose first one names what the second one holds is one record. Where no
person is listed (wages of trades, strata with totals), cells are only set apart, and only those are read that by
themselves tell of a person. The labels of all records together have at most `MAX_LABELS` times the characters of the
text; `Edits.beyond` says whether cells were left without theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from discreet.guard.text.render.words import NOBODY, PROSE, READ, RECORD, Edit, Edits, label, labelled, stop
from discreet.guard.text.resources import given_names, rows, words

_WORD = re.compile(r"[^\W\d_]+")
_PRONOUN = re.compile(r"(?<!he or )(?<!his or )(?<!him or )(?<![\w/])(?:he|she|his|hers?|him)\b"
                      r"(?! or (?:she|hers?)\b)(?!/)", re.IGNORECASE)
_TENS = "(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-[a-z]{3,5})?"
_NUMBER = rf"(?:\d{{1,3}}|{_TENS})"
_YEARS_OLD = re.compile(rf"\b{_NUMBER}[ -]?(?:years?|yrs?)[ -]old\b|\b\d{{1,3}} ?(?:yo|y/o)\b", re.IGNORECASE)
_NO_BAND = r"(?![\w+-]| ?(?:[-+%]|to\b|or\b|years? of\b|and (?:over|older|above|under|up)\b))"
_AGE = re.compile(rf"\b(?:aged?|is|am|turned) {_NUMBER}{_NO_BAND}|(?:^|, ){_NUMBER}(?=,|$)", re.IGNORECASE)
_FEW = 3


@cache
def person_nouns() -> frozenset[str]:
    """Nouns of one person: "patient", "employee", "widow"."""
    said = words("referents")
    return frozenset[str]().union(*(said[f"person nouns{of}"] for of in ("", " m", " f")))


@cache
def person_words() -> frozenset[str]:
    """Words of one person: nouns, pronouns, relatives and occupations."""
    said = words("referents")
    jobs = {surface for surface, _, flag in rows("occupations", 3) if "w" not in flag and " " not in surface}
    kin = {surface for surface, *_ in rows("kin", 3)}
    return person_nouns().union(jobs, kin, said["he"], said["she"])


def is_sentence(text: str) -> bool:
    """Whether it reads as a sentence: more than three words, with a full stop."""
    return text.rstrip("\"'")[-1:] in ".!?" and len(text.split(None, _FEW)) > _FEW


def tells_of_one(text: str) -> bool:
    """Whether it reads as prose about one person: a word of a person with "… years old" among four words or more, or
    with another form of an age or a pronoun among seven or more. A band of ages ("40 to 49", "65 or older") is none."""
    number = len(text.split(None, PROSE))
    if number <= PROSE and not (number > PROSE // 2 and _YEARS_OLD.search(text)):
        return False
    if _PRONOUN.search(text):
        return True
    aged = _YEARS_OLD.search(text) or _AGE.search(text)
    return bool(aged) and any(word.lower() in person_words() for word in _WORD.findall(text))


MAX_LABELS, ALWAYS_LABELLED = 4, 20_000
"""A short text may always have so many characters of labels."""
_FIELDS = dict(rows("field_labels", 2))
_LABELS = _FIELDS.keys() | frozenset(
    "sex gender name diagnosis id patient client job title".split())
_BAR = re.compile("[|│┃║]")
_BARS = re.compile(r"(?<!\\)[|│┃║]")
_RULE = re.compile(r"[\s|+:=─━═┼╪╬├┤┌┐└┘┬┴╞╡╭╮╰╯│┃║╔╗╚╝╠╣╦╩┏┓┗┛┣┫┳┻╋╇╈┡┩┠┨-]*")
_DASHES = re.compile(r"[-─━═=]{2}|-\|")
_NAME = re.compile(r"[\"']?[A-Za-z][\w ()/%#&.'-]{0,30}?[\"']?")
_CELL = {mark: re.compile(rf"[ ]*+(?:\"((?:[^\"\n]|\"\")*+)\"[ ]*+(?={mark}|$)|([^{mark}\n]*+))(?:{mark}|$)")
         for mark in ("\t", ",", ";")}
# Between two blanks nothing is quoted: the first group never takes part.
_CELL["  "] = re.compile(r"[ ]*+(?:(?!)()|((?:[^ \n]| (?! ))*+))(?:[ ]{2,}|$)")
# What lists persons has one of these, or a word for a person; strata next to totals are no persons.
_STRATA = frozenset("age sex gender race ethnicity nationality religion".split()) | {"marital status"}
_OWN = frozenset("attendee birthday birthdate birthplace born children contact dependents dob email family firstname "
                 "forename forenames fullname guest handle holder hometown household initials invitee lastname learner "
                 "lodger mobile name nickname occupant offender owner patronymic payee payer phone player pt pupil px "
                 "residence sender speaker surname trainee user username volunteer who witness".split()) | {
    "date of birth", "year of birth", "place of birth", "birth date", "lives in", "native language",
    "number of children", "next of kin", "service user", "staff member", "insured person", "head of household",
    "assigned to", "bill to", "deliver to", "occupied by", "ship to"}
_NAMED = frozenset("family first full given last legal maiden middle preferred".split())
"""Words before "name" that make it a person's."""
_EITHER = frozenset("contact handle holder household name owner sender user username".split())
_GOODS = re.compile(r"\b(?:brand|calories|cost|model|price|qty|quantity|rating|sku|stock|version)\b")
"""Labels that are no person's where others are those of goods."""
_NUMBERED = frozenset("case file id ref reference record".split())
"""Labels of what rows are told apart by: they list persons where one has a job, say, and nothing is totalled."""
_TOTALS = re.compile(r"\b(?:median|mean|average|rate|share|percent(?:age)?|count|number(?! of children)|cases|"
                     r"population|deaths|prevalence|incidence|participants|patients|employees|wages?|premiums?)\b|%|^n$",
                     re.IGNORECASE)
_BAND = re.compile(r"\d+\s*(?:-|to|and)\s*\d+|(?:over|under|[<>≤≥])\s*\d+|\d+\s*\+|\d+ (?:or|and) (?:over|older)")

Row = list[tuple[int, int]]
"""The spans of the cells of one row."""


def tables(text: str) -> Edits:
    """Every table of a text."""
    budget = _Labels(max(ALWAYS_LABELLED, MAX_LABELS * len(text)))
    edits = [edit for block in _blocks(text) for edit in _table(text, block, budget)]
    return Edits(edits, beyond=budget.beyond)


@dataclass(slots=True)
class _Labels:
    """How many characters of labels may still be written, and whether some were left out."""

    left: int
    beyond: bool = False

    def of(self, name: str, value: str) -> str:
        """The label of a value, empty where it has none or the labels are used up."""
        if len(name) > self.left:
            self.beyond = True
            return ""
        self.left -= len(name)
        return labelled(name, value) if name else ""


def _blocks(text: str) -> Iterator[list[Row]]:
    """The rows of every table, the header first; rules between them are left out."""
    block: list[Row] = []
    mark = ""  # "|", or what parts the cells of the open block
    sure = False
    for start, end in _lines(text):
        line = text[start:end]
        if "|" in (mark, *line) and _is_rule(line):
            sure = sure or mark == "|"
            continue
        cells = _between(text, start, end)
        if cells is not None and mark != "|":
            found: tuple[str, Row] | None = ("|", cells)
        elif mark and (cells := cells if mark == "|" else _delimited(text, start, end, mark)) is not None and (
                mark == "|" or len(cells) == len(block[0])):
            block.append(cells)
            continue
        else:
            found = _header(text, start, end)
        if sure and len(block) > 1:
            yield block
        mark, block = (found[0], [found[1]]) if found is not None else ("", [])
        sure = bool(mark) and (mark != "|" or bool(_BAR.match(line.strip()[0]) or _BAR.match(line.strip()[-1])))
    if sure and len(block) > 1:
        yield block


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _is_rule(line: str) -> bool:
    return bool(_RULE.fullmatch(line) and _DASHES.search(line))


def _between(text: str, start: int, end: int) -> Row | None:
    """The trimmed cells between the bars of a line, without what stands outside; None where it has no bar."""
    bars = [m.start() for m in _BARS.finditer(text, start, end)]
    if not bars:
        return None
    cells = [_trimmed(text, a + 1, b) for a, b in pairwise([start - 1, *bars, end])]
    line = text[start:end].strip()
    return cells[_BAR.match(line) is not None : len(cells) - (_BAR.match(line[-1]) is not None)]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _delimited(text: str, start: int, end: int, mark: str) -> Row:
    """The cells of a line that a mark parts; a quoted cell may hold the mark."""
    cells: Row = []
    at = start
    while (m := _CELL[mark].match(text, at, end)) is not None:
        cells.append(m.span(1) if m[1] is not None else _trimmed(text, *m.span(2)))
        at = m.end()
        if not m[0].endswith(mark):
            break
    return cells


def _header(text: str, start: int, end: int) -> tuple[str, Row] | None:
    """The mark and cells of a line that may head CSV or TSV: short names, of which prose would not be made."""
    line = text[start:end]
    if not 2 < len(line) <= 600:
        return None
    for mark in _CELL:
        if mark not in line:
            continue
        cells = _delimited(text, start, end, mark)
        names = [text[a:b] for a, b in cells]
        if len(names) < 2 or not all(_NAME.fullmatch(name) and len(name.split()) <= 4 for name in names):
            continue
        known = sum(label(name).lower() in _LABELS for name in names)
        sure = {",": ", " not in line and not line.endswith("."), "  ": False}.get(mark, known > 0)
        if known > 1 or sure:
            return mark, cells
    return None


def _table(text: str, block: list[Row], budget: _Labels) -> list[Edit]:
    head, *body = block
    names = [label(text[start:end]) for start, end in head]
    lowered = [name.lower() for name in names]
    known = [name in _LABELS for name in lowered]
    named = sum(bool(row) and label(text[slice(*row[0])]).lower() in _LABELS for row in body)
    upright = len(head) == 2 and (not any(known) or (known[0] and not known[1] and named > 0))
    if upright or len(head) == 1 or (len(head) > 2 and named > 1 and sum(known) < 2):
        # The first column names what the others hold.
        return _rows(text, block, lambda row, k: ("", ": ")[k] if k < 2 else "; ", ".\n")
    goods = any(map(_GOODS.search, lowered))
    own = any(_of_person(name) and not (goods and name in _EITHER) for name in lowered) or _names_people(text, body)
    strata = not _STRATA.isdisjoint(lowered) or (
        not _NUMBERED.isdisjoint(lowered) and any(_FIELDS.get(name, "place") != "place" for name in lowered))
    strange = not own and (any(map(_TOTALS.search, names)) or (len(body) > 1 and not strata))
    ages = [text[slice(*row[k])] for k, name in enumerate(lowered) if name == "age" for row in body if k < len(row)]
    if strange or (not own and any(map(_BAND.fullmatch, ages))) or (ages and all(map(_BAND.fullmatch, ages))):
        marks = _apart(text, body)
        return _rows(text, block, lambda row, k: marks.get(row[k], ", " if k else ""), ".\n")

    def before(row: Row, k: int) -> str:
        if row is head:
            return ", " if k else ""
        return ("\n" if k else "") + (budget.of(names[k], text[slice(*row[k])]) if k < len(names) else "")

    return _rows(text, block, before, f".{RECORD}")


def _of_person(name: str) -> bool:
    """Whether a lower-case label is that of a column of persons: a word for one, or for what only a person has."""
    first, _, rest = name.partition(" ")
    is_noun = first in person_nouns()
    return name in _OWN or (is_noun and rest in ("", "id", "name", "no")) or (first in _NAMED and rest == "name")


def _names_people(text: str, body: list[Row]) -> bool:
    """Whether most rows begin with a person's name, whatever the column is called."""
    first, given = [text[slice(*row[0])].split() for row in body if row], given_names()
    named = sum(len(said) in (2, 3) and said[0].lower() in given and all(word[0].isupper() for word in said[:2])
                for said in first)
    return 2 * named > len(body)


def _apart(text: str, body: list[Row]) -> dict[tuple[int, int], str]:
    """What stands before a cell of a table that is no list of persons, where that is not a comma alone: marks around
    cells that tell of a person and around sentences; each row about a person after the first one is a record of its
    own, and rows of sentences go on about the one before."""
    marks: dict[tuple[int, int], str] = {}
    persons = 0
    for row in body:
        said = [(k, cell, text[slice(*cell)]) for k, cell in enumerate(row) if cell[0] < cell[1]]
        told = any(tells_of_one(value) for *_, value in said)
        filled = [(k, cell, tells_of_one(value) or is_sentence(value)) for k, cell, value in said]
        before: bool | None = None
        for k, cell, tells in filled:
            comma = ", " if k else ""
            if before is None:
                marks[cell] = (RECORD[1:] if told and persons else "") + ("" if tells else NOBODY) + comma
            elif tells != before:
                marks[cell] = comma + (READ if tells else NOBODY)
            before = tells
        persons += told
    return marks


def _rows(text: str, block: list[Row], before: Callable[[Row, int], str], apart: str) -> list[Edit]:
    """Edits from the end of each filled cell to the start of the next; `before` says what stands before cell k of a
    row, `apart` what parts two rows. A cell on a line of its own ends with a full stop."""
    edits: list[Edit] = []
    last, value = -1, ""
    for row in block:
        fresh = True
        for k, (start, end) in enumerate(row):
            if start == end:
                continue
            new = before(row, k)
            if last < 0:
                last = text.rfind("\n", 0, start) + 1
                new = ""
            elif fresh:
                new = (apart if stop(value) else apart[1:]) + new.lstrip("\n")
            elif new.startswith("\n"):
                new = stop(value) + new
            if last < start:
                edits.append((last, start, new))
            last, value, fresh = end, text[start:end], False
    finish = text.find("\n", last)
    finish = len(text) if finish < 0 else finish
    return [*edits, (last, finish, stop(value))] if 0 <= last < finish else edits
