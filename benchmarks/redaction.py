"""What redaction leaves of answers: for readers who look for people in it, and beside masking by Presidio on SPIA.

    python -m benchmarks.redaction write --items benchmarks/reader/unseen/confirm_bb?.jsonl --labels benchmarks/reader/unseen/pieces_bb.jsonl --output FOLDER
    python -m benchmarks.redaction read --readers benchmarks/reader/unseen/redacted_bb.jsonl
    python -m benchmarks.redaction spia --data DATA                              # Presidio with spaCy's small model

`write` redacts the leaks of some writers, each with its question declared, and writes what goes out: readers get id and text, mixed with
answers as they were. `--labels` holds, for each answer, which of its pieces (`guard/redaction/pieces.py`) two readers say tell anything of a
private person; the other ones are to be kept. Headers of tables, and pieces without a letter, are not counted.

`read` counts what two readers found in the texts: how many attributes that count the private person has who is told of most, and how many
direct identifiers there are. `kind` is `redacted`, or `as it was` and `ordinary` for the controls.

`spia` masks each document of SPIA's development half by redaction, which may withhold it, and by Presidio at a score of .5, and counts which of
the stated values of its subjects still stand there, letter for letter: a value that is stated in other words is not counted.

Prints JSON. Intervals are exact (Clopper–Pearson) at 95%, over texts or pieces.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import discreet
from benchmarks.reader.rows import lines
from benchmarks.reader.score_answers import share
from discreet.core.records import Answer
from discreet.guard.benchmark.adapters.presidio import PresidioGuard
from discreet.guard.redaction.pieces import Pieces
from discreet.guard.redaction.redact import Redaction

Row = dict[str, Any]
POINTS = ("conservative", "balanced")
STATED = 2
"""SPIA's hardness up to which a value is stated."""


def leaks(paths: Iterable[Path]) -> list[Row]:
    return [row for path in paths for row in lines(path) if row["kind"] == "leak"]


def write(items: list[Row], labels: list[Row], folder: Path) -> Row:
    folder.mkdir(parents=True, exist_ok=True)
    tells = {row["id"]: row["tells"] for row in labels}
    found: Row = {}
    for point in POINTS:
        guard = discreet.Guard("medical", point=point)
        done = [(item, guard.redact(Answer(item["id"], item["answer"], user_words=item["question"]))) for item in items]
        out = [(item, made) for item, made in done if made.outcome == "redacted" and made.text is not None]
        kept = [pair for item, made in out if item["id"] in tells for pair in others(item["answer"], made, tells[item["id"]])]
        found[point] = {"outcomes": dict(Counter(made.outcome for _, made in done)), "other pieces kept": share(stays for stays, _ in kept),
                        "… by the first reader alone": share(stays for stays, mine in kept if 0 in mine), "… by the second": share(stays for stays, mine in kept if 1 in mine)}  # fmt: skip
        (folder / f"redacted_{point}.jsonl").write_text("".join(json.dumps({"id": item["id"], "text": made.text}) + "\n" for item, made in out), encoding="utf-8")
    return found


def others(text: str, made: Redaction, tells: list[list[int]]) -> Iterator[tuple[bool, set[int]]]:
    """Of each piece that some reader says tells nothing of a private person: whether it stays as it was, and whose word that is."""
    pieces = Pieces.of(text)
    for i, piece in enumerate(pieces.pieces):
        said = {reader for reader, of in enumerate(tells) if i not in of}
        if said and pieces.blocks[piece.block].kind != "header" and any(c.isalpha() for c in text[piece.start : piece.end]):
            inner = piece.start + len(text[piece.start : piece.end].rstrip())
            yield not any(change.start < inner and piece.start < change.end for change in made.changes), said


def read(rows: list[Row]) -> Row:
    """Of what each reader found: two attributes of one person, a direct identifier, either."""
    found: Row = {}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        mine = [row for row in rows if row["kind"] == kind]
        two, direct = ([[row[name][k] > least for row in mine] for k in (0, 1)] for name, least in (("attributes", 1), ("direct", 0)))
        told = [[a or b for a, b in zip(*pair, strict=True)] for pair in zip(two, direct, strict=True)]
        found[kind] = {"texts": len(mine), "told": [share(one) for one in told], "two attributes": [share(one) for one in two],
                       "an identifier": [share(one) for one in direct], "told by both": share(a and b for a, b in zip(*told, strict=True)),
                       "agree": share(a == b for a, b in zip(*told, strict=True))}  # fmt: skip
    return found


def by_presidio() -> Callable[[str], str]:
    guard = PresidioGuard()

    def mask(text: str) -> str:
        for span in sorted(guard.predict(text, None).spans or (), key=lambda s: -s.start):
            text = f"{text[: span.start]}[{span.kind}]{text[span.end :]}"
        return text

    return mask


def by_redaction(point: str) -> Callable[[str], str]:
    guard = discreet.Guard("law", point=point)
    return lambda text: guard.redact(Answer("spia", text)).text or ""


def spia(data: Path) -> Row:
    """Of each way to mask: subjects of whom no stated value, and fewer than two, are left; values left; letters left; documents withheld."""
    with gzip.open(data / "spia_dev" / "data.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    ways: dict[str, Callable[[str], str]] = {"as it is": str, "redaction": by_redaction(POINTS[0]), "Presidio": by_presidio()}
    found: Row = {}
    for category in ("panorama", "tab"):
        rows = [row for row in documents if row["category"] == category]
        for name, mask in ways.items():
            left = [(row, mask(row["text"])) for row in rows]
            people = [_left(subject, row["text"], text) for row, text in left for subject in ast.literal_eval(str(row["subjects"]))]
            people = [(stated, still) for stated, still in people if stated]
            found[f"{category}, {name}"] = {
                "documents": len(rows), "withheld": sum(not text for _, text in left), "subjects": len(people),
                "no value left": share(still == 0 for _, still in people), "fewer than two left": share(still < 2 for _, still in people),
                "values left": share(k < still for stated, still in people for k in range(stated)),
                "characters left": round(sum(len(text) for _, text in left) / sum(len(row["text"]) for row in rows), 3)}  # fmt: skip
    return found


def _left(subject: Row, before: str, after: str) -> tuple[int, int]:
    """How many of a subject's stated values stand in a text, and in what is left of it."""
    stated = {a["keyword"] for a in subject["attributes"] if a["hardness"] <= STATED and _stands(a["keyword"], before)}
    return len(stated), sum(_stands(value, after) for value in stated)


def _stands(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", text, re.IGNORECASE) is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "read", "spia"))
    parser.add_argument("--items", type=Path, nargs="*", default=[])
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--readers", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    if args.what == "write":
        found = write(leaks(args.items), lines(args.labels) if args.labels else [], args.output)
    elif args.what == "read":
        found = read(lines(args.readers))
    else:
        found = spia(args.data)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
