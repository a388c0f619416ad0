"""Rebuild the labelled real passages: offsets and ids live here, the text stays with the data.

    python -m benchmarks.real_text.passages --data DATA --half held_out --output F

Joins offsets, settled labels and text into the file that `discreet guard evaluate` reads. One person's passages never
fall into both halves.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.guard.benchmark.passages import texts_of

HERE = Path(__file__).parent
LONGEST = 1000
SENTENCE_END = re.compile(r"[.!?][\"')\]]?\s+")
Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def cut(text: str, near: int, longest: int = LONGEST, sentence_end: re.Pattern[str] = SENTENCE_END) -> tuple[int, int]:
    """A run of whole sentences of at most `longest` characters that begins at or before `near`."""
    if len(text) <= longest:
        return 0, len(text)
    starts = [0, *(m.end() for m in sentence_end.finditer(text))]
    begin = max(s for s in starts if s <= near)
    limit = min(len(text), begin + longest)
    ends = [s for s in starts if begin < s <= limit]
    return begin, len(text) if limit == len(text) else ends[-1] if ends else limit


def assemble(data: Path, half: str | None) -> Iterator[dict[str, Any]]:
    """Passages with their text and, where `labels.jsonl` has them, their settled labels."""
    labels = {r["passage"]: r for r in rows(HERE / "labels.jsonl")}
    chosen = [p for p in rows(HERE / "passages.jsonl") if not half or p["half"] == half]
    texts = texts_of(data, chosen)
    for p in chosen:
        yield {**labels.get(p["passage"], {}), **p, "id": p["passage"], "answer": texts[p["passage"]]}


def write(records: list[dict[str, Any]], path: Path) -> None:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    print(f"{len(records)} passages -> {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=["tune", "held_out"])
    parser.add_argument("--output", type=Path, default=Path("labelled.jsonl"))
    args = parser.parse_args()
    write(list(assemble(args.data, args.half)), args.output)


if __name__ == "__main__":
    main()
