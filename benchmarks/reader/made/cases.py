"""Sentences with spans, made from frames and values with a generator of their own seed; typing errors.

    python -m benchmarks.reader.made.cases      # counts, and the SHA-256 of all cases as JSON Lines
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

HERE = Path(__file__).parent
Row = dict[str, Any]
Span = tuple[int, int]
LETTERS = str.maketrans({"ß": "ss", "ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "ı": "i", "đ": "d", "’": "'"})
SLOT = re.compile(r"\{([A-Za-z.]+)\}")
FIRST = re.compile(r"(?:^|\n)(?:- |\d\. |\| )?$|[.!?]\s+$")
KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
NEGATIVES_OF = {"name": "names_negative", "address": "addresses_negative", "phone": "phones_negative"}
FRAMES_OF = {"name": "names", "name_lower": "names_lower", "address": "addresses", "postal": "postal", "phone": "phones"}


@dataclass(frozen=True)
class Case:
    """A text, what it is a case of, and where its values stand (`spans`, by slot, half-open, in characters)."""

    id: str
    kind: str
    group: str
    text: str
    spans: Mapping[str, tuple[Span, ...]]
    folded: bool = False


def load(name: str) -> Row:
    text = (HERE / name).read_text(encoding="utf-8")
    loaded: Row = yaml.safe_load(text) if name.endswith("yaml") else json.loads(text)
    return loaded


def fold(text: str) -> str:
    """ASCII letters for letters with accents, as a keyboard without them types."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.translate(LETTERS)) if ord(c) < 128)


def fill(frame: str, values: Mapping[str, str]) -> tuple[str, dict[str, tuple[Span, ...]]]:
    """The frame with its slots filled, and the spans of each slot; of a value with `|` only what stands behind it counts."""
    text, at = "", 0
    spans: dict[str, tuple[Span, ...]] = {}
    for slot in SLOT.finditer(frame):
        text += frame[at : slot.start()]
        before, _, core = values[slot[1]].rpartition("|")
        is_first = FIRST.search(text) is not None
        opened = before + core
        start = len(text) + len(before)
        text += opened[0].upper() + opened[1:] if is_first and slot[1] != "N" else opened
        spans[slot[1]] = (*spans.get(slot[1], ()), (start, len(text)))
        at = slot.end()
    return text + frame[at:], spans


def direct_cases() -> Iterator[Case]:
    """Names, addresses, postal codes and phones of twelve locales, as spelled and in ASCII letters."""
    frames, values = load("frames.yaml"), load("values.json")
    rng = np.random.default_rng(frames["seed"])
    for locale, kinds in values.items():
        for kind, given in kinds.items():
            of_kind = frames[FRAMES_OF[kind]]
            order = rng.permutation(len(of_kind))
            for i, value in enumerate(given):
                slots = dict.fromkeys("ACT", value if isinstance(value, str) else "")
                if not isinstance(value, str):
                    first, last = (v.lower() for v in value) if kind == "name_lower" else value
                    slots = {"N": f"{first} {last}", "R": f"{last}, {first}"}
                frame = of_kind[order[i % len(order)]]
                spelled = {s: v for s, v in slots.items() if f"{{{s}}}" in frame}
                for folded in (False, True):
                    shown = {s: fold(v) for s, v in spelled.items()} if folded else spelled
                    if not folded or shown != spelled:
                        text, spans = fill(frame, shown)
                        yield Case(f"{locale}-{kind}-{i}{'-ascii' * folded}", kind, locale, text, {"value": next(iter(spans.values()))}, folded)


def negative_cases() -> Iterator[Case]:
    """The same kind of frame around things that are no name, address or phone; each thing in three frames."""
    frames = load("frames.yaml")
    rng = np.random.default_rng(frames["seed"] + 1)
    for kind, key in NEGATIVES_OF.items():
        things = frames[key]["things"]
        for sort, listed in (things if isinstance(things, dict) else {kind: things}).items():
            for i, thing in enumerate(listed):
                for frame in rng.choice(frames[key]["frames"], 3, replace=False):
                    text, spans = fill(str(frame), {"X": str(thing)})
                    yield Case(f"{sort}-{i}-{spans['X'][0][0]}", kind, sort, text, {"value": spans["X"]})


def said(people: Row, rng: np.random.Generator) -> list[tuple[str, dict[str, str]]]:
    """Two attributes of different classes (nationality and religion count as one), each in its forms."""
    while True:
        names = [str(n) for n in rng.choice(list(people["classes"]), 2, replace=False)]
        if set(names) != {"nationality", "religion"}:
            break
    out = []
    for name in names:
        of_class = people["classes"][name]
        value = of_class["values"][rng.integers(len(of_class["values"]))]
        out.append((name, {form: pattern.format(*value) for form, pattern in of_class["forms"].items()}))
    return out


def two_cases(each: int = 6) -> Iterator[Case]:
    """Two people with one attribute each: nothing binds a cluster to anybody."""
    people = load("people.yaml")
    rng = np.random.default_rng(people["seed"])
    for i, frame in enumerate(people["two"]):
        for turn in range(each):
            values = {"P": str(rng.choice(people["women"])), "Q": str(rng.choice(people["men"]))}
            pair = said(people, rng)
            values |= {f"{slot}.{form}": v for slot, (_, forms) in zip("ab", pair, strict=True) for form, v in forms.items()}
            text, spans = fill(frame, values)
            yield Case(f"two-{i}-{turn}", "two", "+".join(sorted(c for c, _ in pair)), text, spans)


def swapped_cases(each: int = 10) -> Iterator[tuple[Case, Case, Case]]:
    """Three texts of the same words: both attributes are the first person's, both the second's, or one each."""
    people = load("people.yaml")
    rng = np.random.default_rng(people["seed"] + 1)
    for i, frame in enumerate(people["swapped"]):
        for turn in range(each):
            one, other = people["pairs"][turn % len(people["pairs"])]
            names = [str(rng.choice(people["women"])), str(rng.choice(people["men"]))] if one == "P" else [one, other]
            pair = said(people, rng)
            base = {slot: forms["vp"] for slot, (_, forms) in zip("ab", pair, strict=True)} | {"n": str(rng.choice(people["neutral"]))}
            made = []
            for name, (x, y) in {"both": (0, 1), "swapped": (1, 0), "split": (0, 1)}.items():
                pronouns = {"x": ("she", "he")[x], "y": ("she", "he")[y]}
                values = base | {"X": names[x], "Y": names[y]} | pronouns | {"C" + p: v.capitalize() for p, v in pronouns.items()}
                text, spans = fill(frame["split" if name == "split" else "both"], values)
                made.append(Case(f"swapped-{i}-{turn}-{name}", name, "+".join(sorted(c for c, _ in pair)), text, spans))
            yield made[0], made[1], made[2]


def mistyped(word: str, rng: np.random.Generator) -> str:
    """One typing error: two letters change places, one is lost, doubled, or hit beside its key."""
    at = int(rng.integers(len(word)))
    row = next((r for r in KEYS if word[at].lower() in r), "")
    if rng.integers(4) == 0 and row:
        near = row.index(word[at].lower()) + (1 if rng.integers(2) else -1)
        return word[:at] + row[near if 0 <= near < len(row) else len(row) - 2] + word[at + 1 :]
    how = rng.integers(3)
    if how == 0 and len(set(word)) > 1:
        at = min(at, len(word) - 2)
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if how == 1 else word[:at] + word[at] + word[at:]


def corrupt(text: str, rng: np.random.Generator, one_in: int = 8) -> str:
    """The text with an error in one of `one_in` words of three letters or more, at least in one."""
    words = [m.span() for m in re.finditer(r"[^\W\d_]{3,}", text)]
    if not words:
        return text
    chosen = rng.choice(len(words), max(1, round(len(words) / one_in)), replace=False)
    for start, end in sorted((words[int(i)] for i in chosen), reverse=True):
        text = text[:start] + mistyped(text[start:end], rng) + text[end:]
    return text


def styles() -> list[Row]:
    return [json.loads(line) for line in (HERE / "styles.jsonl").open(encoding="utf-8")]


def main() -> None:
    cases = [*direct_cases(), *negative_cases(), *two_cases(), *(c for three in swapped_cases() for c in three)]
    print(dict(Counter(c.kind for c in cases)), len({c.text for c in cases}))
    print(hashlib.sha256("".join(json.dumps(asdict(c)) + "\n" for c in cases).encode()).hexdigest())


if __name__ == "__main__":
    main()
