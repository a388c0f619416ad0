"""How often a guard calls safe what is not English, and how often it takes English for another language.

    python benchmarks/language.py --foreign FILE --notes FILE --controls FILE [--seed 0]

JSON Lines: foreign passages with the columns lang and text (n is a number of the passage), English notes with text,
English controls with kind and text. Passages are checked alone and with one or two sentences of the notes before, after
and around. Prints shares with Wilson intervals (95 %) and the time of the language guess.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Guard
from discreet.guard.text.doc import Doc
from discreet.guard.text.language import guess_language
from discreet.stats.intervals import wilson


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def sentences(notes: list[dict[str, Any]]) -> list[str]:
    """The sentences of the notes, of eight words and more."""
    found = []
    for note in notes:
        doc = Doc.of(note["text"])
        for first, last in doc.sentences:
            if last - first >= 8:
                found.append(doc.text[doc.tokens[first].start : doc.tokens[last - 1].end])
    return found


def forms(text: str, english: list[str], rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    one, two = (english[int(i)] for i in rng.choice(len(english), 2, replace=False))
    yield "alone", text
    yield "one before", f"{one} {text}"
    yield "two before", f"{one} {two} {text}"
    yield "one after", f"{text} {one}"
    yield "two after", f"{text} {one} {two}"
    yield "inside", f"{one} {text} {two}"
    yield "quoted", f'{one} The record says: "{text}" {two}'


def share(count: int, n: int) -> str:
    low, high = wilson(count, n)
    return f"{count / n:.4f} [{low:.4f}, {high:.4f}] ({count} of {n})"


def of_foreign(guard: Guard, passages: list[dict[str, Any]], english: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    safe: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    by_language: dict[str, Counter[str]] = defaultdict(Counter)
    for row in passages:
        for form, text in forms(row["text"], english, rng):
            called_safe = guard.check(text).action == "safe"
            safe[form] += called_safe
            missed[form] += guess_language(Doc.of(text)).english
            by_language[row["lang"]]["safe"] += called_safe
            by_language[row["lang"]]["n"] += 1
    for form in safe:
        print(f"foreign, {form:<11} safe {share(safe[form], len(passages))}; "
              f"taken for English {share(missed[form], len(passages))}")
    for code, counts in sorted(by_language.items()):
        if counts["safe"]:
            print(f"foreign, {code:<11} safe {share(counts['safe'], counts['n'])}")


def of_controls(guard: Guard, controls: list[dict[str, Any]]) -> None:
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in controls:
        by_kind[row["kind"]].append(row)
    by_kind["all"] = controls
    for kind, members in by_kind.items():
        other = sum(not guess_language(Doc.of(row["text"])).english for row in members)
        safe = sum(guard.check(row["text"]).action == "safe" for row in members)
        print(f"control, {kind:<20} not English {share(other, len(members))}; safe {share(safe, len(members))}")


def of_time(texts: list[str]) -> None:
    docs = [Doc.of(text) for text in texts]
    tokens = sum(len(doc.tokens) for doc in docs)
    assert all(len(doc.sentences) >= 0 for doc in docs)
    started = time.process_time()
    for doc in docs:
        guess_language(doc)
    print(f"guess_language: {(time.process_time() - started) / tokens * 1e5:.3f} ms of CPU per 100 tokens")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foreign", type=Path, required=True)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--controls", type=Path, required=True)
    parser.add_argument("--domain", default="medical")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    started = time.perf_counter()
    guard = Guard(args.domain)
    guard.check("Das Museum ist am Montag geschlossen, und die Karten gibt es nur an der Kasse neben dem Eingang.")
    print(f"first verdict: {time.perf_counter() - started:.2f} s after the import")
    notes, controls = rows(args.notes), rows(args.controls)
    of_foreign(guard, rows(args.foreign), sentences(notes), args.seed)
    of_controls(guard, [*controls, *({"kind": "notes", **note} for note in notes)])
    of_time([row["text"] for row in (*controls, *notes)])


if __name__ == "__main__":
    main()
