"""Long answers as training rows: an answer, or a sentence or two of it, among paragraphs in which nobody is described.

What assistants say is mostly longer than what was written to teach. In a long answer about other things a little may tell of somebody, and
capitals, numbers and places of such an answer tell of nobody. Behind a question about staff or somebody known a line may slip in that tells of
somebody private (`slipped`): whom an answer tells of is asked of its stretches too. A private person may be a namesake of a known one (`namesake`).
"""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import pairwise
from typing import Any

from benchmarks.reader.rows import COUNTED, Row, edited

from discreet.guard.text.resources import rows as table

AROUND = ("none", "rule", "organisation", "group")
"""Answers of these cases describe nobody, whatever else a text holds."""
BESIDE = ("public", "historic", "staff")
"""Answers of these cases may be put next to a leak too: that they are known makes nobody else known."""
HOSTS = (*AROUND, *BESIDE, "own")
"""Answers of these cases may hold a line about somebody private that makes them a leak: no word of theirs can mean whom it tells of."""
LONGEST = 1400
"""Characters of a long answer: what one window of the networks holds."""
DIRECT = {"name", "address", "contact", "date"}
_GAP = ("\n\n", "\n\n", "\n\n", "\n", " ", "\n\n---\n\n")
_HEADED = ("", "", "", "### Notes\n\n", "**Other points**\n\n", "## Background\n\n", "In short:\n\n", "- ", "2. ", "Also: ", "Please note: ")
_MEANT = re.compile(r"\W*(?:he|she|they|it|his|her|hers|their|its|this|that|these|both|him|them)\b", re.I)
"""What begins with one of these means whoever was named before."""
_WHO = ("patient", "patient", "client", "tenant", "customer", "pupil", "resident", "member", "claimant", "guest", "donor", "caller", "applicant", "witness")
_OF = ("Her", "His", "Our", "Our", "The", "Their", "My", "One", "Another", "Former")
_REACHED = ("{name} can be reached on {contact}.", "Contact: {contact}", "Tel. {contact}", "Call {name} back on {contact}.", "{name} writes from {contact}.", "({contact})",
            "Best reached at {contact}.", "Replies to {contact}.", "Lives at {house}, phone {contact}.", "Address: {house}")  # fmt: skip
_BRIEF = ("{title} {last} ({fact}) is on {contact}.", "{last}: {fact}, {contact}", "{title} {last}, {fact}, lives at {house}.", "{fact}: {last}, {contact}",
          "Ring {title} {last} about the {fact}: {contact}.", "Discharged today: {title} {last}, {house} ({fact}).", "cc: {last} ({contact}), {fact}",
          "{title} {last} asked again about the {fact} and can be reached on {contact}.")  # fmt: skip
_TITLES, _STREETS = ("Mr", "Mrs", "Ms", "Miss", "Frau", "Herr", "Señora", "Mme"), ("Elm Road", "Quay Street", "Birch Close", "Mill Lane", "Rue Haute", "Calle Sol", "Hauptstraße", "Station Rd")
_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")


def around(rows: list[Row]) -> list[Row]:
    """The answers among which others may be put."""
    return [row for row in rows if row.get("case") in (*AROUND, *BESIDE) and not row.get("main") and row.get("marks")]


def in_long(row: Row, others: list[Row], rng: random.Random) -> Row:
    """An answer, or a part of it that tells as much, among others; as it is where no part may stand for it."""
    part = row if rng.random() < 0.4 else fragment(row, rng)
    pieces, size = [part], len(part["text"])
    while size < rng.uniform(0.4, 1.0) * LONGEST:
        one = rng.choice(others)
        if one["case"] in BESIDE and row["case"] != "leak":
            continue
        one = _stretch(one, rng) if len(one["text"]) > 500 or rng.random() < 0.3 else one
        if size + len(one["text"]) > LONGEST:
            break
        pieces.insert(rng.randrange(len(pieces) + 1), one)
        size += len(one["text"])
    return joined(pieces, part, rng)


def slipped(host: Row, leak: Row, rng: random.Random) -> list[Row]:
    """An answer with a line of a leak between its sentences, and that line alone, both to the question of the answer; none where that would
    be too long or the line speaks of somebody named before."""
    line = _reached(fragment(leak, rng), rng)
    if _MEANT.match(line["text"]) or len(line["text"]) > LONGEST // 3 or len(line["text"]) + len(host["text"]) > LONGEST:
        return []
    at = rng.choice(_cuts(host["text"]))
    pieces = [*(() if at == 0 else (_only(host, 0, at),)), line, *(() if at == len(host["text"]) else (_only(host, at, len(host["text"])),))]
    of = {"question": host.get("question"), "case": "leak"}
    return [{**joined(pieces, line, rng), **of}, {**line, **of}]


def namesake(row: Row, rng: random.Random) -> Row:
    """A leak about somebody with a name, of whom a known person is a namesake; text and question alone."""
    full = max((row["text"][s[0] : s[1]] for s in row["spans"] if s[2] == "name" and s[3] == row["main"]), key=len)
    first, last = rng.choice(_known())
    swaps = {full: f"{first} {last}"}
    if len(parts := full.split()) > 1 and len(parts[-1]) > 2:
        swaps |= {parts[-1]: last, parts[0]: first}
    name = re.compile("|".join(rf"(?<!\w){re.escape(part)}(?!\w)" for part in sorted(swaps, key=len, reverse=True)))
    return {**row, **{key: name.sub(lambda m: swaps[m.group()], row[key] or "") for key in ("text", "question")}}


@cache
def _known() -> list[list[str]]:
    names = (name.title().split() for [name] in table("known_names", 1))
    return [name for name in names if len(name) == 2 and all(map(str.isalpha, name))]


def _reached(line: Row, rng: random.Random) -> Row:
    """A line of a leak, if it gives a name now and then with whose patient, client or guest that is, and where they are reached, which
    makes nobody staff; or in few words."""
    names = [s for s in line["spans"] if s[2] == "name" and s[3] == line["main"] and s[1] - s[0] > 3]
    if not names or rng.random() < 0.4:
        return line
    start, end = names[0][:2]
    name = line["text"][start:end]
    last, first = name.split()[-1], name.split()[0]
    mail = re.sub(r"[^a-z.]", "", f"{first}.{last}".lower())
    said = {"name": name, "last": last, "title": rng.choice(_TITLES), "house": f"{rng.randrange(1, 190)} {rng.choice(_STREETS)}",
            "contact": rng.choice((f"{rng.randrange(201, 990)}-555-01{rng.randrange(10, 99)}", f"0{rng.randrange(113, 199)} 496 0{rng.randrange(100, 999)}",
                                   f"+{rng.randrange(20, 99)} {rng.randrange(10, 99)} {rng.randrange(10**6, 10**7)}", f"{mail}@{rng.choice(('mail', 'post', 'web'))}.com",
                                   f"{first.lower()}{rng.randrange(10, 99)}@{rng.choice(('inbox', 'example'))}.org"))}  # fmt: skip
    facts = [line["text"][s[0] : s[1]] for s in line["spans"] if s[2] == "domain" and s[3] == line["main"] and s[1] - s[0] < 30]
    if facts and rng.random() < 0.4:
        return {**line, "text": rng.choice(_BRIEF).format(fact=rng.choice(facts), **said), "spans": []}
    edits = [(len(line["text"].rstrip()), len(line["text"]), " " + rng.choice(_REACHED).format(**said))] if rng.random() < 0.7 else []
    if rng.random() < 0.6 and not line["text"][:start].strip(" *-•"):
        edits.append((start, start, f"{rng.choice(_OF)} {rng.choice(_WHO)} "))
    return edited(line, edits)


def stretches(row: Row, rng: random.Random) -> list[Row]:
    """A few sentences of an answer that say something of somebody, as what the answer is."""
    found = _stretch(row, rng)
    return [found] if any(s[3] for s in found["spans"]) and len(found["text"]) < len(row["text"]) else []


def windows(row: Row) -> list[Row]:
    """A row that is longer than the networks read at once, in stretches; of a leak's stretch that does not hold all that makes one, what it is stays open."""
    cuts, starts = [*_cuts(row["text"])], [0]
    if len(row["text"]) <= LONGEST:
        return [row]
    for before, at in pairwise(cuts):
        if at - starts[-1] > LONGEST:
            starts.append(before)
    return [_told(_only(row, start, end)) for start, end in zip(starts, [*starts[1:], len(row["text"])], strict=True)]


def _told(part: Row) -> Row:
    if part.get("case") != "leak" or len(_facts(part, 0, len(part["text"]))) > 1:
        return part
    return {**part, "case": None, "cluster": None}


def _facts(row: Row, start: int, end: int) -> set[tuple[str, str]]:
    """What the chief person of a row is told to be in a stretch."""
    return {(s[2], row["text"][s[0] : s[1]]) for s in row["spans"]
            if s[2] in COUNTED and s[3] == row.get("main", 0) and start <= s[0] and s[1] <= end}


def _names(row: Row, start: int, end: int) -> bool:
    """Whether a stretch tells the chief person's name, address or contact, and something else of them."""
    told = {s[2] for s in row["spans"] if s[3] == row.get("main") and start <= s[0] and s[1] <= end}
    return bool(told & DIRECT) and len(told) > 1


def _cuts(text: str) -> list[int]:
    return [0, *(m.end() for m in _ENDS.finditer(text)), len(text)]


def joined(pieces: list[Row], chief: Row, rng: random.Random) -> Row:
    """One row of several: the text of all, the question and case of the chief one, people told apart."""
    text, main, spans, people = "", 0, list[list[Any]](), dict[str, str]()
    for one in pieces:
        text += (rng.choice(_GAP) if text else "") + rng.choice(_HEADED)
        numbers = {key: len(people) + n for n, key in enumerate(one["people"], start=1)}
        people |= {str(numbers[key]): kind for key, kind in one["people"].items()}
        spans += [[s[0] + len(text), s[1] + len(text), s[2], numbers.get(str(s[3]), 0), s[4]] for s in one["spans"]]
        if one is chief:
            main = numbers.get(str(one.get("main", 0)), 0)
        text += one["text"].rstrip()
    return {**chief, "text": text, "spans": spans, "people": people, "main": main}


def fragment(row: Row, rng: random.Random) -> Row:
    """A stretch of sentences in which somebody private is told as much of as makes the case of the row; the row itself where
    there is none."""
    if row.get("case") != "leak" or not row.get("main"):
        return row
    cuts = _cuts(row["text"])
    places = [(cuts[first], cuts[first + size]) for size in (1, 2) for first in range(len(cuts) - size)]
    found = [place for place in places if len(_facts(row, *place)) > 1 or _names(row, *place)]
    return _only(row, *rng.choice(found)) if found else row


def _stretch(row: Row, rng: random.Random) -> Row:
    """Some sentences in a row of one."""
    cuts = _cuts(row["text"])
    first = rng.randrange(len(cuts) - 1)
    return _only(row, cuts[first], cuts[min(len(cuts) - 1, first + rng.randrange(1, 6))])


def _only(row: Row, start: int, end: int) -> Row:
    return edited(row, [(0, start, ""), (end, len(row["text"]), "")])
