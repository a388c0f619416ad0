"""Training rows of the reader: labels and teachers in one form, and what notes do to them.

A row is `{"id", "family", "text", "spans": [[start, end, class, person, flags]], "people": {person: kind}, ...}` with, where a
teacher marks in part, `"marks": {class: "all" | "some"}`; labels mark every class.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

CLASSES = ("age", "sex", "ethnicity", "place", "occupation", "family", "affiliation", "domain", "name", "address",
           "contact", "date", "organisation")  # fmt: skip
COUNTED = ("age", "ethnicity", "place", "occupation", "family", "affiliation")
KINDS = ("third", "speaker", "public", "group", "nobody", "asker", "staff", "historic", "hypothetical", "fictional")
PERSONS = ("third", "public", "staff", "historic", "hypothetical", "fictional")
"""The kinds of which a text may tell of several."""
COARSE = {"public": ("public", "staff", "historic"), "nobody": ("nobody", "group", "staff", "hypothetical")}
"""What a kind may mean where a row does not tell the status of people (`status`)."""
ENTITIES = ("person", "place", "organisation", "ethnicity", "date")
Row = dict[str, Any]
OLD = {"counsel_chat": "counselling", "dreaddit": "reddit", "finqa_like": "money_advice", "fiqa": "money_advice",
       "legal_posts": "reddit", "legalbench": "regulations", "medical_case_reports": "case_reports", "medquad": "reference",
       "mmlu_law_med_fin": "vignettes", "pubmedqa": "reference"}  # fmt: skip
OLD_TEACH = ("counsel_chat", "medical_case_reports", "medquad", "mmlu_law_med_fin", "pubmedqa")


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def held(row: Row) -> dict[str, int] | None:
    """How many counted attributes each person has; None where the row does not tell."""
    if row.get("cluster") is None:
        return None
    found: Counter[str] = Counter()
    for s in row["spans"]:
        if s[2] in COUNTED and not set(s[4]) & {"r", "w"}:
            found[str(s[3])] += 1
    if row.get("status"):  # A quote may stand in several places.
        found = Counter(str(who) for _, _, who in {(s[2], row["text"][s[0] : s[1]], s[3]) for s in row["spans"] if s[2] in COUNTED})
    found.update(str(p) for _, p in row.get("inferred", []))
    main = str(row.get("main", 0))
    if main in row["people"]:
        least, most = {"yes": (2, 9), "one": (1, 1), "no": (0, 0)}[row["cluster"]]
        found[main] = min(max(found[main], least), most)
    elif row["cluster"] != "no":
        return None
    return {person: found[person] for person in row["people"]}


def counts(row: Row) -> dict[str, int] | None:
    """How many counted attributes the fullest person of each kind has; None where the row does not tell."""
    each = held(row)
    if each is None:
        return None
    told = dict.fromkeys(KINDS[:3], 0)
    for person, kind in row["people"].items():
        if kind in told:
            told[kind] = max(told[kind], each[person])
    return told


_SUBJECTS = re.compile(r"(?:(?<=[.!?] )|(?<=\n)|^)(?:She|He|The patient|Patient|Pt|I) (?:is |was |has been |am |'m )?(?=[a-z])")
_SHORT = [(re.compile(p, re.I), r) for p, r in [
    (r"[- ]years?[- ]old\b", [" yo", "yo", " y/o", "-yr-old", " y.o."]), (r"\bwith\b", ["w/"]), (r"\bpatient\b", ["pt"]),
    (r"\bhistory\b", ["hx"]), (r"\b(?:woman|female)\b", ["F", "female", "woman", "lady"]), (r"\b(?:man|male)\b", ["M", "male", "gentleman"]),
    (r"\band\b", ["&"]), (r"\bwithout\b", ["w/o"]), (r"\bmonths?\b", ["mo"]), (r"\b(?:the|a|an) ", [""]), (r"\bhusband\b", ["spouse", "hubby"]),
    (r"\bdiagnosed\b", ["dx"]), (r"\bpresents\b", ["p/w"])]]  # fmt: skip
_WORD = re.compile(r"[A-Za-z]{4,}")


def edited(row: Row, edits: list[tuple[int, int, str]]) -> Row:
    """A row whose text has some stretches replaced; a span that loses all its characters goes."""
    text, out, last, shift = row["text"], [], 0, []
    for start, end, new in sorted(edits):
        if start < last:
            continue
        out += [text[last:start], new]
        shift.append((start, end, len(new)))
        last = end
    out.append(text[last:])

    def moved(at: int, closing: bool) -> int:
        offset = 0
        for start, end, size in shift:
            if at >= end and not (closing and at == start):
                offset += size - (end - start)
            elif at > start:
                return start + offset + (size if closing else 0)
        return at + offset

    new_text = "".join(out)
    spans = [[moved(s[0], False), moved(s[1], True), *s[2:]] for s in row["spans"]]
    entities = [[moved(s[0], False), moved(s[1], True), *s[2:]] for s in row.get("entities", [])]
    return {**row, "text": new_text, "spans": [s for s in spans if s[1] > s[0]], "entities": [s for s in entities if s[1] > s[0]]}


def typo(word: str, rng: random.Random) -> str:
    i = rng.randrange(len(word) - 1)
    return rng.choice([word[:i] + word[i + 1 :], word[:i] + word[i + 1] + word[i] + word[i + 2 :], word[: i + 1] + word[i:],
                       word[:i] + rng.choice("aeiourstnl") + word[i + 1 :]])  # fmt: skip


def augmented(row: Row, rng: random.Random) -> Row:
    """What notes do: no subject, abbreviations, missing articles and stops, lists, typing errors."""
    text, edits = row["text"], []
    roll = rng.random()
    if roll < 0.35:
        return row
    if rng.random() < 0.35:
        kept = {s[0] for s in row["spans"]}
        edits += [(m.start(), m.end(), "") for m in _SUBJECTS.finditer(text) if rng.random() < 0.7 and m.start() not in kept]
    if rng.random() < 0.4:
        for pattern, choices in _SHORT:
            if rng.random() < 0.5:
                edits += [(m.start(), m.end(), rng.choice(choices)) for m in pattern.finditer(text) if rng.random() < 0.6]
    if rng.random() < 0.25:
        mark = rng.choice(["; ", "\n", "\n- ", ", ", " "])
        edits += [(m.start(), m.end(), mark) for m in re.finditer(r"\. (?=[A-Z])", text)]
    if rng.random() < 0.3:
        share = rng.choice([0.03, 0.06, 0.12])
        edits += [(m.start(), m.end(), typo(m.group(), rng)) for m in _WORD.finditer(text) if rng.random() < share]
    return edited(row, edits) if edits else row


class Swaps:
    """Other words of the same kind for spans that a list knows: towns for towns, jobs for jobs, nationalities, names."""

    def __init__(self, names: list[str]) -> None:
        from discreet.guard.text import lexicon as lex

        self.kinds: dict[tuple[str, str], tuple[str, str]] = {}
        self.lists: dict[tuple[str, str], list[str]] = {}
        for kind, table in (("place", lex.places()), ("ethnicity", lex.demonyms()), ("occupation", lex.occupations())):
            for surface, term in table.items():
                if getattr(term, "flag", "-") == "a":
                    continue
                key = (kind, str(term.kind))
                self.kinds[kind, surface] = key
                self.lists.setdefault(key, []).append(surface)
        self.names = names

    def of(self, row: Row, rng: random.Random, share: float = 0.5) -> Row:
        edits = []
        taken: dict[str, str] = {}
        for start, end, kind, *_ in row["spans"]:
            said = row["text"][start:end]
            if said.lower() in row.get("question", "").lower():  # What the text repeats stays what its question said.
                continue
            crowded = sum(s[0] < end and start < s[1] for s in row["spans"]) > 1
            if crowded or rng.random() > share:
                continue
            if kind == "name" and self.names and said.count(" ") == 1 and said.replace(" ", "").isalpha():
                new = taken.setdefault(said, rng.choice(self.names))
            else:
                key = self.kinds.get((kind, said.lower()))
                if key is None:
                    continue
                new = taken.setdefault(said, rng.choice(self.lists[key]))
            edits.append((start, end, new))
        return edited(row, edits) if edits else row
