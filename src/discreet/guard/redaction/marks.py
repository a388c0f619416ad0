"""Marks for direct identifiers, stable within one answer: `[name 1]`, `[phone 1]`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping

from discreet.guard.policy import Policy, plain_name
from discreet.guard.reading import Finding, Reading
from discreet.guard.redaction.wording import Edit
from discreet.guard.text.lexicon import is_domain_term, is_name_shaped
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
_KNOWN = frozenset("BS CA CD COVID DASS DIN DSM EN GMT GPT HIV HPV ICD IL ISO PM RFC SARS SF SPF UTC".split())
"""Letters before a number that is no record's ("COVID-19")."""
_COMMON = frozenset("B-12 K-12 U-100 U-500".split())
_PUBLISHED = re.compile(r"(?:§|\b(?:[Ss]ections?|[Ss]ec|[Aa]rt(?:icle)?s?|[Rr]ules?|[Rr]egulations?|[Dd]irectives?|"
                        r"[Cc]hapters?|Public Law|Pub\. ?L|P\.L|ISBN|ISSN|ISO|PMID|RFC))[ .:]*"
                        r"(?:\((?:EU|EC|EEC)\) )?(?:No\.? )?$"
                        r"|\b[Ff]orms?(?: is)?(?: [A-Z]{1,4}-\d+(?:,| and| or))* [A-Z]{1,4}-$")
"""What before a number says that it is that of a law, a book or a form that everybody has ("§ 11101", "Form I-130")."""
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
_FAMILY = re.compile(rf"(?<!\b[Ii]n )(?<!\b[Oo]n )\b[Tt]he ({_WORD}(?<=s)(?<![ius]s))\b(?! [A-Z])")
"""A whole family ("the Ortizes"); in what one is, is a place ("in the Falklands")."""
_MONEY = re.compile(r"(?:EUR|USD|GBP|CHF|NOK|SEK|DKK|PLN|AUD|CAD|NZD|HKD|SGD|JPY|CNY|INR|ZAR|KES|NGN|BRL|MXN|R) ?")
_AMOUNT, _UNITS = re.compile(r" ?[a-z£$€¥]"), re.compile(r" ?IU\b")
_DECIDED = re.compile(rf"{_WORD}(?: {_WORD}){{0,4}} vs?\.? {_WORD}(?: (?:{_WORD}|of|and|&)){{0,6}},? "
                      r"(?:[\[(](?:19|20)\d\d[\])]|\d+ [A-Z])")
"""The citation of a decided case, whose parties are public."""
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr)\.?")
"""No name by itself: the first one of "Mr. and Mrs. Ortiz"."""
_COUPLE = re.compile(rf"\b{_TITLE.pattern} (?:and|&) $")
_POSSESSIVE = re.compile(r"['’]s$")
_WORDS = re.compile(r"\w(?:.*\w)?(?:(?<=\b\w)\.)?", re.DOTALL)
_NAME = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


def marks_of(text: str, findings: Iterable[Finding]) -> list[tuple[Edit, str]]:
    """Marks for the direct identifiers that count, with the type of each: one mark for one value.

    Two names are one where all words of one stand in the other: "Mrs Ortiz" and "Ana Ortiz", not "Luis Ortiz". Words of
    a name that stand elsewhere in the text with a capital get its mark too.
    """
    direct = [one for one in findings if one.layer == "direct"]
    spans = sorted({(one.start, one.end, one.type) for one in direct
                    if one.counts and not _TITLE.fullmatch(text, one.start, one.end)})
    others = [(one.start, one.end) for one in direct if not one.counts]
    named = {word for start, end, kind in spans if kind.startswith("person_name")
             for word in _value(text[start:end], "name").split()}
    used = Counter[str]()
    for m in MARK.finditer(text):
        used[m[1]] = max(used[m[1]], int(m[2]))
    marks: dict[tuple[str, str], str] = {}
    found: list[tuple[Edit, str]] = []
    for start, end, kind in spans:
        noun = "name" if kind.startswith("person_name") else re.sub(r"[^a-z]+", " ", kind.lower()).strip()
        value = _value(text[start:end], noun)
        if noun == "name":
            value = _member(text, start, value, named)
        key = next((one for one in reversed(marks) if one[0] == noun and _same(one[1], value, noun)), None)
        if key is None:
            used[noun] += 1
            marks[noun, value] = mark = f"[{noun} {used[noun]}]"
        else:
            mark = marks.pop(key)
            marks[noun, max(key[1], value, key=len)] = mark
        first, last = start, end
        if noun == "name":
            if couple := _COUPLE.search(text, max(0, start - 12), start):
                first = couple.start()
            if owner := _POSSESSIVE.search(text[start:end]):
                last -= len(owner[0])
        found.append((Edit(first, last, mark), kind))
    taken = [*others, *((edit.start, edit.end) for edit, _ in found)]
    found += [(edit, "person_name") for edit in _again(text, marks) if not any(
        start < edit.end and edit.start < end for start, end in taken)]
    return sorted(found, key=lambda one: (one[0].start, one[0].end))


def _again(text: str, marks: Mapping[tuple[str, str], str]) -> Iterator[Edit]:
    """Words of marked names that stand in the text with a capital, several in a row as one name ("ANA ORTIZ"), and a
    whole family ("the Ortizes")."""
    names = {mark: frozenset(value.split()) for (noun, value), mark in marks.items() if noun == "name"}
    of_word: dict[str, list[str]] = {}
    for mark, words in names.items():
        for word in words:
            of_word.setdefault(word, []).append(mark)
    runs: list[tuple[int, int, list[str]]] = []
    for m in _NAME.finditer(text):
        bare = _POSSESSIVE.sub("", m[0])
        word = _member(text, m.start(), bare.lower(), of_word)
        if word not in of_word or not bare[0].isupper() or len(bare) <= 2:
            continue
        end = m.start() + len(bare)
        follows = bool(runs) and text[runs[-1][1] : m.start()] == " "
        both = [mark for mark in runs[-1][2] if word in names[mark]] if follows else []
        if both:
            runs[-1] = (runs[-1][0], end, both)
        else:
            runs.append((m.start(), end, of_word[word]))
    for start, end, found in runs:
        yield Edit(start, end, found[0])


def _member(text: str, at: int, word: str, known: Container[str]) -> str:
    """Of a word at a place the name that one of a family has, where that is known: "ortiz" of "the Ortizes"."""
    if text[max(0, at - 4) : at].lower() != "the ":
        return word
    return next((one for one in (word.removesuffix("es"), word.removesuffix("s")) if one in known), word)


def further_of(reading: Reading, findings: Iterable[Finding], policy: Policy) -> list[Finding]:
    """What redaction marks though it does not make an answer a flag: names that the reader gives to private persons,
    names that stand alone in a cell or a heading, have an initial, are a family's or say whose a matter is, and what is
    written like the number of a record ("IP 20881/7", "case K-07")."""
    text = reading.answer.answer
    read = [reading.doc.prepared.span(s.start, s.end) for s in reading.seen.spans
            if s.kind == "name" and s.subject in policy.subjects]
    # A span of the reader may begin at the point of "Dr."
    found = [("person_name", *m.span()) for span in read if (m := _WORDS.search(text, *span))
             and not is_domain_term(m[0])]
    found += [("person_name", *m.span(1)) for m in _ALONE.finditer(text) if _is_name(m[1].split())]
    found += [("person_name", *m.span()) for m in _INITIAL.finditer(text) if is_name_shaped([m[1]], sure=True)]
    found += [("person_name", *m.span(1)) for m in _FAMILY.finditer(text) if is_name_shaped([m[1][:-1]], sure=True)
              and is_name_shaped([m[1]], sure=True)]
    found += [("person_name", *m.span(m.lastgroup or 0)) for m in _AFFAIR.finditer(text)
              if is_name_shaped([m[m.lastgroup or 0]], sure=True)]
    found += [(NUMBER, *m.span()) for m in _NUMBER.finditer(text) if _is_of_record(m, text)]
    taken = [*((one.start, one.end) for one in findings if one.layer == "direct"),
             *(m.span() for m in _DECIDED.finditer(text))]
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
    """Whether a number is neither too short, nor a date, an amount, a quantity or that of something published."""
    said, digits = found[0], sum(map(str.isdigit, found[0]))
    first = found.start() + next(i for i, c in enumerate(said) if c.isdigit())
    if said in _COMMON or _UNITS.match(text, found.end()) or _PUBLISHED.search(text, max(0, first - _NEAR), first):
        return False
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
