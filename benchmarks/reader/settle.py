"""From independent readings to labels by offset, with the agreement of the readers.

    python -m benchmarks.reader.settle --texts T.jsonl --first A/*.jsonl --second B/*.jsonl [--third C/*.jsonl] --output labels.jsonl

A reading has a line a passage, in the form of `guide.md`. Spans become offsets. Where two readings differ in cluster, the
third decides by majority; without one, or with three answers, the passage is left out of what is judged. A span that both
readers mark (same class, overlapping, same kind of person) counts; one that a single reader marks is kept as undecided and
is neither a hit nor a false alarm. Passages with one reading keep it, marked so.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from discreet.guard.benchmark.passages import CLASSES
from discreet.stats import kappa_estimate

Row = dict[str, Any]


def offsets(text: str, quote: str, occurrence: int) -> tuple[int, int]:
    start = -1
    for _ in range(occurrence):
        start = text.find(quote, start + 1)
        if start < 0:
            raise SystemExit(
                f"a quote of {len(quote)} characters does not stand {occurrence} times in its passage: run the check again"
            )
    return start, start + len(quote)


def resolved(row: Row, text: str) -> Row:
    """A reading with offsets: spans as [start, end, class, person, flags]."""
    spans = []
    for kind, quote, person, *rest in row.get("spans", []):
        occurrence = next((x for x in rest if isinstance(x, int)), 1)
        flags = "".join(x for x in rest if isinstance(x, str))
        spans.append([*offsets(text, quote, occurrence), kind, int(person), flags])
    return {
        "people": {int(k): v for k, v in row.get("people", {}).items()},
        "spans": sorted(spans),
        "inferred": [[c, int(p)] for c, p in row.get("inferred", [])],
        "main": int(row["main"]),
        "cluster": row["cluster"],
    }


def read(paths: list[Path], texts: dict[str, str]) -> dict[str, Row]:
    rows = [
        json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    return {row["p"]: resolved(row, texts[row["p"]]) for row in rows}


def kind(reading: Row, person: int) -> str:
    return str(reading["people"].get(person, "nobody"))


def matches(span: list[Any], other: list[Any]) -> bool:
    return bool(span[2] == other[2] and span[0] < other[1] and other[0] < span[1])


def settle(readings: list[Row]) -> Row:
    """The label of a passage from one, two or three readings."""
    first, *others = readings
    if not others:
        return {**first, "settled": "one reading"}
    (cluster, votes), *_ = Counter(r["cluster"] for r in readings).most_common()
    chosen = next(r for r in readings if r["cluster"] == cluster)
    settled = "agreed" if first["cluster"] == others[0]["cluster"] else "third reading" if votes > 1 else "left out"
    rest = [r for r in readings if r is not chosen]
    spans = []
    for span in chosen["spans"]:
        same = any(matches(span, s) and kind(chosen, span[3]) == kind(r, s[3]) for r in rest for s in r["spans"])
        spans.append([*span, 2 if same else 1])
    for r in rest:
        spans += [[*s[:3], -1, s[4], 1] for s in r["spans"] if not any(matches(s, t) for t in spans)]
    return {
        **chosen,
        "spans": sorted(spans),
        "cluster": cluster if settled != "left out" else "unclear",
        "settled": settled,
    }


def counts(reading: Row) -> dict[str, int]:
    """Distinct attributes of the main person in each class, at most three."""
    main = reading["main"]
    found = Counter(s[2] for s in reading["spans"] if s[3] == main and main and "r" not in s[4])
    found.update(c for c, p in reading["inferred"] if p == main)
    return {c: min(found[c], 3) for c in CLASSES}


def agreement(pairs: list[tuple[Row, Row]]) -> Row:
    """Kappa of cluster, of the main person's kind and of each class, and the span F1 of one reader against the other."""
    columns = {
        "cluster": [(a["cluster"], b["cluster"]) for a, b in pairs],
        "cluster yes against the rest": [(a["cluster"] == "yes", b["cluster"] == "yes") for a, b in pairs],
        "main person": [(kind(a, a["main"]), kind(b, b["main"])) for a, b in pairs],
        **{c: [(counts(a)[c], counts(b)[c]) for a, b in pairs] for c in CLASSES},
    }
    out: Row = {}
    for name, values in columns.items():
        out[name] = kappa_estimate([a for a, _ in values], [b for _, b in values], unit="passage").to_json()
    for c in CLASSES:
        mine = [(s, b["spans"]) for a, b in pairs for s in a["spans"] if s[2] == c]
        theirs = sum(s[2] == c for _, b in pairs for s in b["spans"])
        hits = sum(any(matches(s, t) for t in spans) for s, spans in mine)
        out[f"{c}: spans"] = {
            "first": len(mine),
            "second": theirs,
            "f1": 2 * hits / (len(mine) + theirs) if mine or theirs else None,
        }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, nargs="+", required=True)
    for name in ("first", "second", "third"):
        parser.add_argument(f"--{name}", type=Path, nargs="*", default=[])
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    lines = [json.loads(line) for path in args.texts for line in path.read_text(encoding="utf-8").splitlines()]
    texts = {r["passage"]: r["text"] for r in lines}
    first, second, third = (read(paths, texts) for paths in (args.first, args.second, args.third))
    labels = {p: settle([r[p] for r in (first, second, third) if p in r]) for p in sorted(first)}
    args.output.write_text("".join(json.dumps({"passage": p, **r}) + "\n" for p, r in labels.items()), encoding="utf-8")
    print(
        f"{len(labels)} passages:",
        dict(Counter(r["settled"] for r in labels.values())),
        dict(Counter(r["cluster"] for r in labels.values())),
    )
    both = [(first[p], second[p]) for p in sorted(first) if p in second]
    if both:
        path = args.output.with_name(f"{args.output.stem}_agreement.json")
        path.write_text(json.dumps(agreement(both), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
