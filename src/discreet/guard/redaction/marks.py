"""Marks for direct identifiers, stable within one answer: `[name 1]`, `[phone 1]`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from discreet.guard.policy import Policy, plain_name
from discreet.guard.reading import Finding, Reading
from discreet.guard.redaction.wording import Edit
from discreet.guard.text.lexicon import is_name_shaped
from discreet.guard.text.render import render
from discreet.guard.text.resources import given_names

MARK = re.compile(r"\[([a-z][a-z ]*) (\d+)\]")
NUMBER = "number"
"""The type of what is written like the number of a record."""
_NUMBER = re.compile(r"(?<![\w.,:/@$£€¥#-])(?<![$£€¥] )#?(?:[A-Z]{1,5}[-/ ]{0,2})?\d+"
                     r"(?:[-/]\d+| \d{3,})*(?![\w%]|[.,:/-]\d)")
_DATE = re.compile(r"\d{1,3}/\d{1,3}|(?:19|20)\d\d(?:[-/](?:\d\d){1,2}){0,2}|\d{1,2}[-/]\d{1,2}[-/](?:\d\d){1,2}")
_DIGITS, _CODE_DIGITS = 5, 2
"""From so many digits on a number may be that of a record; and one behind letters ("K-07") or a noun ("case 5518")."""
_CODE = re.compile(r"([A-Z]{1,5})(?:-\d{2}|/\d{3}|\d{4})")
_KNOWN = frozenset("BS CA CD COVID DIN DSM EN GMT GPT HIV ICD IL ISO PM RFC SARS UTC".split())
"""Letters before a number that is no record's ("COVID-19")."""
_COUNTED = ("account|appeal|application|candidate|card|case|certificate|chart|claim|client|complaint|customer|docket|"
            "dossier|file|grievance|incident|learner|loan|matter|member|patient|policy|pupil|record|ref|reference|"
            "student|ticket")
_OF_RECORD = re.compile(rf"(?<![^\W_])(?:{_COUNTED})(?:[ .]+(?:no|nr|number|id|ref)\b)?[ .:(#*_`№]*$", re.IGNORECASE)
_NEAR = 40
"""Characters before a number in which such a noun stands."""
_WORD = r"[A-Z][^\W\d_]+(?:[-'’][^\W\d_]+)?"
_ALONE = re.compile(rf"(?:^|[|:>*_#•–—-])[ \t*_>#]*({_WORD}(?: {_WORD}| [A-Z]\b\.?){{,2}})(?=[ \t]*(?:[|*_:,.–—]|$))",
                    re.MULTILINE)
"""Capitalised words that stand alone in a cell, a heading or before a colon, perhaps with an initial."""
_INITIAL = re.compile(rf"(?<!\w)[A-Z]\. ({_WORD})\b")
_AFFAIR = re.compile(rf"\b[Ee]states? of (?P<of>{_WORD})\b|\b(?P<own>{_WORD}) (?:case|estate|file|matter|trust)\b")
"""Whose a matter is: "the Lund matter", "Estate of Quispe"."""
_MONEY = re.compile(r"(?:EUR|USD|GBP|CHF|NOK|SEK|DKK|PLN|AUD|CAD|NZD|HKD|SGD|JPY|CNY|INR|ZAR|KES|NGN|BRL|MXN|R) ?")
_AMOUNT = re.compile(r" ?[a-z£$€¥]")
_POSSESSIVE = re.compile(r"['’]s$")
_NAME = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def marks_of(text: str, findings: Iterable[Finding]) -> list[tuple[Edit, str]]:
    """Marks for the direct identifiers that count, with the type of each: one mark for one value.

    Two names are one where all words of one stand in the other: "Mrs Ortiz" and "Ana Ortiz", not "Luis Ortiz". Words of
    a name that stand elsewhere in the text with a capital get its mark too.
    """
    direct = [one for one in findings if one.layer == "direct"]
    spans = sorted({(one.start, one.end, one.type) for one in direct if one.counts})
    others = [(one.start, one.end) for one in direct if not one.counts]
    used = Counter[str]()
    for m in MARK.finditer(text):
        used[m[1]] = max(used[m[1]], int(m[2]))
    marks: dict[tuple[str, str], str] = {}
    found: list[tuple[Edit, str]] = []
    for start, end, kind in spans:
        noun = "name" if kind.startswith("person_name") else re.sub(r"[^a-z]+", " ", kind.lower()).strip()
        value = _value(text[start:end], noun)
        key = next((one for one in reversed(marks) if one[0] == noun and _same(one[1], value, noun)), None)
        if key is None:
            used[noun] += 1
            marks[noun, value] = mark = f"[{noun} {used[noun]}]"
        else:
            mark = marks.pop(key)
            marks[noun, max(key[1], value, key=len)] = mark
        owner = _POSSESSIVE.search(text[start:end])
        found.append((Edit(start, end - (len(owner[0]) if owner and noun == "name" else 0), mark), kind))
    taken = [*others, *((edit.start, edit.end) for edit, _ in found)]
    words = {word: mark for (noun, value), mark in marks.items() if noun == "name" for word in value.split()}
    for m in _NAME.finditer(text):
        bare = _POSSESSIVE.sub("", m[0])
        if (bare.lower() in words and bare[0].isupper() and len(bare) > 2
                and not any(start < m.end() and m.start() < end for start, end in taken)):
            found.append((Edit(m.start(), m.start() + len(bare), words[bare.lower()]), "person_name"))
    return sorted(found, key=lambda one: (one[0].start, one[0].end))


def further_of(reading: Reading, findings: Iterable[Finding], policy: Policy) -> list[Finding]:
    """What redaction marks though it does not make an answer a flag: names that the reader gives to private persons,
    names that stand alone in a cell or a heading, have an initial or say whose a matter is, and what is written like
    the number of a record ("IP 20881/7", "case K-07")."""
    text = reading.answer.answer
    found = [("person_name", *reading.doc.prepared.span(s.start, s.end)) for s in reading.seen.spans
             if s.kind == "name" and s.subject in policy.subjects]
    found += [("person_name", *m.span(1)) for m in _ALONE.finditer(text) if _is_name(m[1].split())]
    found += [("person_name", *m.span()) for m in _INITIAL.finditer(text) if is_name_shaped([m[1]], sure=True)]
    found += [("person_name", *m.span(m.lastgroup or 0)) for m in _AFFAIR.finditer(text)
              if is_name_shaped([m[m.lastgroup or 0]], sure=True)]
    found += [(NUMBER, *m.span()) for m in _NUMBER.finditer(text) if _is_of_record(m, text)]
    taken = [(one.start, one.end) for one in findings if one.layer == "direct"]
    new: list[Finding] = []
    for kind, start, end in found:
        if not any(a < end and start < b for a, b in taken):
            new.append(Finding(kind, "third", "", start, end, "", "direct", True))
            taken.append((start, end))
    return new


def _is_name(spelt: list[str]) -> bool:
    """Whether capitalised words that stand alone are a name: a given name that is no other word, or one with a surname,
    or any with an initial ("Colm T.")."""
    bare = [word.rstrip(".") for word in spelt]
    if len(bare) > 1 and len(bare[1]) == 1:
        return is_name_shaped(bare[:1], sure=True)
    known = given_names().get(bare[0].lower())
    return known == "-" or (known is not None and len(bare) > 1 and is_name_shaped(bare[1:]))


def _is_of_record(found: re.Match[str], text: str) -> bool:
    """Whether a number is neither too short, nor a date, an amount or a quantity."""
    said, digits = found[0], sum(map(str.isdigit, found[0]))
    code = _CODE.match(said)
    coded = code is not None and code[1] not in _KNOWN
    if digits >= _CODE_DIGITS and (coded or _OF_RECORD.search(text, max(0, found.start() - _NEAR), found.start())):
        return True
    if digits < _DIGITS or _DATE.fullmatch(said):
        return False
    return not (_MONEY.match(said) or (said.isdigit() and _AMOUNT.match(text, found.end())))


def _value(said: str, noun: str) -> str:
    """What of an identifier tells it from another."""
    plain = render(said).text
    if noun == "name":
        return plain_name(_POSSESSIVE.sub("", plain)) or plain.lower()
    return "".join(c for c in plain.casefold() if c.isalnum()) or plain


def _same(known: str, value: str, noun: str) -> bool:
    """Whether two values are one identifier's; of names also where one is part of the other."""
    if known == value or noun != "name":
        return known == value
    a, b = known.split(), value.split()
    return set(a) <= set(b) or set(b) <= set(a)
