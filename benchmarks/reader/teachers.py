"""Public annotated sets as rows that teach the reader; what each gives is in README.md.

    python -m benchmarks.reader.teachers --data DATA --refuse REFUSE.PY --output FOLDER [--sets case_reports ...] [--pool keep]

A row is a passage of whole sentences with `spans` [start, end, class, person, flags], `people` {person: kind}, and `marks`,
which says for a class whether the annotation is complete in this text ("all": what is unmarked is a negative), partial
("some": what is unmarked says nothing) or absent (unknown). `entities` [start, end, type] are bound to nobody (`entity_marks` as
above), `mentions` [start, end, person] are mentions of people, `inferred` [class, person] is what no span states. `subject`
says whether the kinds of people can be trusted, `cluster` is null where it cannot be told. Person -1 is unknown.

Texts come from the data folder and go to `--output`, outside of the repository. Documents of labelled passages are left out
(`--pool flag` keeps their other passages with `labelled_document`, `--pool keep` keeps everything, to compare with the labels), and
so is what shares two 8-word shingles with test text, or six with a labelled passage.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.reader.passages import SENTENCE_END, shared_shingles
from benchmarks.real_text.passages import rows

HERE = Path(__file__).parent
COUNTED = ("age", "ethnicity", "place", "occupation", "family", "affiliation")
# The guide marks nothing else of public people; what a set has of them in other classes has the flag `p`.
OF_PUBLIC = ("name", "occupation", "affiliation", "place")
MOST = 4000
# The folders that are read here; no family that judges is among them.
FOLDERS = (
    "clinical_case_spans",
    "clinical_vignettes",
    "conll04_relations",
    "counsel_chat",
    "crossner",
    "gum_entities",
    "knowledgenet",
    "medical_case_reports",
    "medquad",
    "mmlu_law_med_fin",
    "offmychest_disclosure",
    "persona_attributes",
    "policy_terms_negatives",
    "pubmedqa",
    "rag_triplets",
    "spia_dev",
    "wiki_bio_anonymised",
)
Row = dict[str, Any]


def parts(text: str, kept: list[tuple[int, int]], rng: random.Random, longest: int) -> Iterator[tuple[int, int]]:
    """A short text whole, else runs of whole sentences of 350, 600 or `longest` characters; no cut falls into a span of `kept`."""
    ends = [m.end() for m in SENTENCE_END.finditer(text)]
    ends = [e for e in ends if not any(s < e < x for s, x in kept)] + [len(text)]
    begin = 0
    while begin < len(text):
        limit = len(text) if len(text) <= longest else begin + rng.choice([350, 600, longest])
        end = max((e for e in ends if begin < e <= limit), default=min(e for e in ends if e > begin))
        yield begin, end
        begin = end


def passages(whole: Row, longest: int = 1000, shortest: int = 60) -> Iterator[Row]:
    """The passages of a document with their own offsets; flags: `r` a repeated mention, `p` outside of the guide for the public."""
    text, rng = whole["text"], random.Random(whole["id"])
    kept = [(s[0], s[1]) for s in [*whole["spans"], *whole.get("mentions", []), *whole.get("entities", [])]]
    for low, high in parts(text, kept, rng, longest):
        begin = low + len(text[low:high]) - len(text[low:high].lstrip())
        end = begin + len(text[begin:high].rstrip())
        if not shortest <= end - begin <= longest:
            continue
        row = {**whole, "id": f"{whole['id']}:{begin}", "text": text[begin:end], "marks": dict(whole["marks"])}
        for key in ("spans", "mentions", "entities"):
            if key in whole:
                inside = sorted({tuple(s) for s in whole[key] if begin <= s[0] and s[1] <= end and s[0] < s[1]})
                row[key] = [[s - begin, e - begin, *rest] for s, e, *rest in inside]
        seen: set[tuple[str, int, str]] = set()
        for span in row["spans"]:
            span[4] += "p" if whole["people"].get(span[3]) == "public" and span[2] not in OF_PUBLIC else ""
            said = (span[2], span[3], row["text"][span[0] : span[1]].casefold())
            span[4] += "r" if said in seen and span[3] != -1 else ""
            seen.add(said)
        used = {s[3] for s in row["spans"]} | {s[2] for s in row.get("mentions", [])}
        used |= {p for _, p in row.get("inferred", [])}
        row["people"] = {str(k): v for k, v in whole["people"].items() if int(k) in used}
        yield row


def attributes(row: Row) -> dict[int, set[tuple[str, str]]]:
    """Distinct counted attributes of each person: stated ones by their words, inferred ones once a class."""
    found: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for start, end, kind, person, flags in row["spans"]:
        if kind in COUNTED and "p" not in flags and person > 0:
            found[person].add((kind, row["text"][start:end].casefold()))
    for kind, person in row.get("inferred", []):
        found[person].add((kind, ""))
    return found


def cluster(row: Row, complete: bool) -> str | None:
    """By the person with the most counted attributes: two say yes; fewer say something only where nothing is unmarked."""
    most = max((len(v) for v in attributes(row).values()), default=0)
    return "yes" if most >= 2 else ("no", "one")[most] if complete else None


def shingles(text: str) -> set[str]:
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i : i + 8]) for i in range(len(words) - 7)}


class Labelled:
    """What is labelled already: ids and documents by folder, and shingles of passages that teach or choose."""

    def __init__(self, data: Path, pool: str) -> None:
        drawn = [r for f in (HERE, HERE.parent / "real_text") for r in rows(f / "passages.jsonl")]
        self.keys = {(r["source"], str(key)) for r in drawn for key in (r["id"], r["document"].partition("/")[2])}
        self.shingles: set[str] = set()
        self.pool = pool
        files: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for r in drawn:
            if r["source"] in FOLDERS:
                files[r["source"], r["file"]].append(r)
        for (source, file), wanted in files.items():
            texts = {r["id"]: r for r in rows(data / source / file)}
            for r in wanted:
                if r["id"] in texts and isinstance(texts[r["id"]].get(r["field"]), str):
                    self.shingles |= shingles(texts[r["id"]][r["field"]][r["start"] : r["end"]])

    def document(self, folder: str, *keys: Any) -> bool:
        return any((folder, str(k)) in self.keys for k in keys)

    def near(self, text: str) -> bool:
        return self.pool != "keep" and sum(s in self.shingles for s in shingles(text)) >= 6


class Source:
    """Rows of a data folder without the documents that are labelled already."""

    def __init__(self, data: Path, labelled: Labelled) -> None:
        self.data, self.labelled, self.left_out = data, labelled, Counter[str]()

    def read(self, folder: str, file: str = "data.jsonl.gz", group: str = "id") -> Iterator[Row]:
        if folder not in FOLDERS:
            raise SystemExit(f"{folder} is not a folder that teaches: name one of FOLDERS")
        for row in rows(self.data / folder / file):
            if not self.labelled.document(folder, row["id"], row.get(group)):
                yield row
            elif self.labelled.pool == "drop":
                self.left_out["documents labelled already"] += 1
            else:
                yield row | {"labelled_document": True}


def admitted(found: Iterator[Row], source: Source, overlaps: Callable[[str], int]) -> Iterator[Row]:
    texts: set[str] = set()
    for row in found:
        if overlaps(row["text"]) >= 2:
            source.left_out["refused: overlaps test text"] += 1
        elif source.labelled.near(row["text"]):
            source.left_out["near a labelled passage"] += 1
        elif row["text"] not in texts:
            texts.add(row["text"])
            yield row


def summary(name: str, kept: list[Row], left_out: Counter[str]) -> Row:
    """Counts alone, no text."""
    return {
        "set": name,
        "rows": len(kept),
        "teaching rows": sum(r["teaches"] for r in kept),
        "documents": len({r["document"] for r in kept}),
        **left_out,
        "spans": dict(Counter(s[2] for r in kept for s in r["spans"]).most_common()),
        "bound spans": sum(s[3] > 0 for r in kept for s in r["spans"]),
        "inferred": dict(Counter(c for r in kept for c, _ in r.get("inferred", [])).most_common()),
        "mentions": sum(len(r.get("mentions", [])) for r in kept),
        "entities": dict(Counter(e[2] for r in kept for e in r.get("entities", [])).most_common()),
        "cluster": dict(Counter(str(r["cluster"]) for r in kept)),
        "marks": dict(Counter(f"{c} {m}" for r in kept for c, m in r["marks"].items()).most_common()),
        "kinds": dict(Counter(k for r in kept for k in r["people"].values())),
    }


def main() -> None:
    from benchmarks.reader.teachers_entities import ENTITY_SETS
    from benchmarks.reader.teachers_facts import FACT_SETS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sets: dict[str, Callable[[Source], Iterator[Row]]] = {**FACT_SETS, **ENTITY_SETS}
    for option in ("--data", "--refuse", "--output"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(sets), choices=list(sets))
    parser.add_argument("--pool", choices=("drop", "flag", "keep"), default="drop")
    args = parser.parse_args()
    if HERE.parents[1] in args.output.resolve().parents:
        raise SystemExit(f"--output {args.output} lies in the repository, where no text of the data may be: choose another")
    overlaps = shared_shingles(args.refuse)
    args.output.mkdir(parents=True, exist_ok=True)
    labelled = Labelled(args.data, args.pool)
    for name in args.sets:
        source = Source(args.data, labelled)
        kept = list(admitted(sets[name](source), source, overlaps))
        random.Random(name).shuffle(kept)
        kept = kept[:MOST]
        with open(args.output / f"{name}.jsonl", "w", encoding="utf-8") as handle:
            handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        print(json.dumps(summary(name, kept, source.left_out)), flush=True)


if __name__ == "__main__":
    main()
