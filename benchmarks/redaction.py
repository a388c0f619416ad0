"""What redaction leaves of answers: for readers who look for people in it, beside the labels, and beside masking by Presidio on SPIA.

    python -m benchmarks.redaction write --items benchmarks/reader/unseen/confirm_i?.jsonl --output FOLDER
    python -m benchmarks.redaction read --items … --texts FOLDER/redacted.jsonl --readers FOLDER/reader_1.jsonl FOLDER/reader_2.jsonl
    python -m benchmarks.redaction spia --data DATA                              # Presidio with spaCy's small model

`write` redacts the leaks of some writers, each with its question declared, at the default point, and writes what goes out: readers get id and
text, nothing else. A reader says of each text how many attributes that count its most told-of private person has, and how many direct
identifiers of private persons there are. `read` gives the share of texts with two attributes of one person or an identifier, by each
reader, and how far they agree. A sentence counts as kept where it stands in what goes out; other sentences are those that hold no quote of the labels.

`spia` masks each document of SPIA's development half by redaction, which may withhold it, and by Presidio at a score of .5, and counts which of
the stated values of its subjects still stand there, letter for letter: a value that is stated in other words is not counted.

Prints JSON. Intervals are exact (Clopper–Pearson) at 95%, over texts.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import discreet
from benchmarks.reader.rows import COUNTED, lines
from benchmarks.reader.score_answers import share
from discreet.core.records import Answer
from discreet.guard.benchmark.adapters.presidio import PresidioGuard
from discreet.guard.text.doc import Doc

Row = dict[str, Any]
POINTS = ("conservative", "balanced")
STATED = 2
"""SPIA's hardness up to which a value is stated."""


def leaks(paths: Iterable[Path]) -> list[Row]:
    return [row for path in paths for row in lines(path) if row["kind"] == "leak"]


def sentences(text: str) -> list[str]:
    doc = Doc.of(text)
    spans = [(doc.tokens[first].start, doc.tokens[last - 1].end) for first, last in doc.sentences]
    return [doc.text[start:end] for start, end in spans if any(c.isalpha() for c in doc.text[start:end])]


def words(text: str) -> str:
    """The words of a text as rendered, so that bullets and the marks of tables do not count."""
    found = re.findall(r"[^\W_]+", Doc.of(text).text)
    return f" {' '.join(found)} "


def quotes(item: Row) -> list[str]:
    """What the labels quote of anybody that identifies: attributes that count, and direct identifiers."""
    return [quote for person in item["people"] for kind, quote in (*person["attributes"], *person["direct"])
            if kind in COUNTED or [kind, quote] in person["direct"]]


def write(items: list[Row], folder: Path) -> Row:
    folder.mkdir(parents=True, exist_ok=True)
    found: Row = {}
    for point in POINTS:
        guard = discreet.Guard("medical", point=point)
        done = [(item, guard.redact(Answer(item["id"], item["answer"], user_words=item["question"]))) for item in items]
        out = [(item, made.text) for item, made in done if made.outcome == "redacted" and made.text is not None]
        kept = [words(other) in words(text) for item, text in out for other in sentences(item["answer"]) if not any(q in other for q in quotes(item))]
        found[point] = {"outcomes": dict(Counter(made.outcome for _, made in done)), "other sentences kept": share(kept)}
        (folder / f"redacted_{point}.jsonl").write_text("".join(json.dumps({"id": item["id"], "text": text}) + "\n" for item, text in out), encoding="utf-8")
    return found


def read(texts: list[Row], readers: list[list[Row]]) -> Row:
    """Of what each reader found: two attributes of one person, or a direct identifier."""
    said = [{row["id"]: row["attributes"] > 1 or row["direct"] > 0 for row in rows} for rows in readers]
    ids = [row["id"] for row in texts]
    return {"texts": len(ids), "told by each reader": [share(one[i] for i in ids) for one in said],
            "told by both": share(all(one[i] for one in said) for i in ids), "agree": share(len({one[i] for one in said}) == 1 for i in ids)}  # fmt: skip


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
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--readers", type=Path, nargs="*", default=[])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    if args.what == "write":
        found = write(leaks(args.items), args.output)
    elif args.what == "read":
        found = read(list(lines(args.texts)), [list(lines(path)) for path in args.readers])
    else:
        found = spia(args.data)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
