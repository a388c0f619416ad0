"""Choose and rebuild the labelled real passages: offsets and ids live here, the text stays with the data.

    python -m benchmarks.real_text.passages sample --data DATA      # once; writes passages.jsonl
    python -m benchmarks.real_text.passages assemble --data DATA --half held_out --output F

`sample` draws passages with a fixed seed, by document, so that one person's passages never fall into both
halves. `assemble` joins offsets, settled labels and text into the file `discreet guard evaluate` reads.
Enrichment for the rarer first-person answers uses the plain word list below, never the detector under test.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.guard.benchmark.passages import texts_of

HERE = Path(__file__).parent
SEED = 20261120
LONGEST = 1000
SENTENCE_END = re.compile(r"[.!?][\"')\]]?\s+")
PERSONAL = re.compile(
    r"\b(my (wife|husband|son|daughter|mother|father|parents|job|boss)|I(?:'m| am) (?:a|an|in my|\d)|"
    r"years? old|my (?:early|mid|late) |we have .{0,12}(?:kids|children)|I live in|I work)\b",
    re.I,
)

# (source, file, field, domain, register, number of passages, filter)
PLAN: list[tuple[str, str, str, str, str, int, str]] = [
    ("medical_case_reports", "all.jsonl.gz", "text", "medical", "case", 53, "case"),
    ("medical_case_reports", "all.jsonl.gz", "text", "medical", "case", 27, "anywhere"),
    ("counsel_chat", "all.jsonl.gz", "question", "medical", "personal", 50, ""),
    ("counsel_chat", "all.jsonl.gz", "answer", "medical", "advice", 40, ""),
    ("medquad", "all.jsonl.gz", "answer", "medical", "professional", 30, ""),
    ("pubmedqa", "all.jsonl.gz", "context", "medical", "professional", 25, ""),
    ("mmlu_law_med_fin", "medicine.jsonl.gz", "question", "medical", "vignette", 40, "category=professional_medicine"),
    ("fiqa", "qa.jsonl.gz", "answer", "finance", "advice", 70, ""),
    ("fiqa", "qa.jsonl.gz", "answer", "finance", "advice", 50, "personal"),
    ("dreaddit", "train.jsonl.gz", "text", "finance", "personal", 40, "category=assistance|homeless|almosthomeless"),
    ("mmlu_law_med_fin", "finance.jsonl.gz", "question", "finance", "vignette", 25, "category=professional_accounting"),
    ("finqa_like", "tatqa.jsonl.gz", "context", "finance", "professional", 15, ""),
    ("legal_posts", "all.jsonl", "text", "law", "personal", 80, ""),
    ("mmlu_law_med_fin", "law.jsonl.gz", "question", "law", "vignette", 50, "category=professional_law"),
    ("legalbench", "legal_qa.jsonl.gz", "answer", "law", "professional", 30, "category=us_court_docs"),
    ("legalbench", "legal_qa.jsonl.gz", "answer", "law", "professional", 30, "category!us_court_docs"),
]

# A second draw, made when the first held too few clusters to resolve FPR95 in medicine and finance (20 are needed).
SECOND: list[tuple[str, str, str, str, str, int, str]] = [
    ("medical_case_reports", "all.jsonl.gz", "text", "medical", "case", 53, "age"),
    ("counsel_chat", "all.jsonl.gz", "question", "medical", "personal", 35, "personal"),
    ("fiqa", "qa.jsonl.gz", "answer", "finance", "advice", 40, "personal"),
    (
        "dreaddit",
        "train.jsonl.gz",
        "text",
        "finance",
        "personal",
        50,
        "category=assistance|homeless|almosthomeless+personal",
    ),
]
AGE = re.compile(r"\b\d{1,3}[- ](?:years?|months?|weeks?)[- ]old\b|\baged? \d", re.I)


Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def document(source: str, row: dict[str, Any]) -> str:
    """The unit that is never split over the halves: the person or document that a passage comes from."""
    if source == "counsel_chat":
        return f"{source}/{row['question_id']}"
    return f"{source}/{row.get('post_id') or row['id']}"


def half_of(name: str) -> str:
    return "tune" if hashlib.sha256(f"{SEED}:{name}".encode()).digest()[0] % 2 else "held_out"


def cut(text: str, near: int, longest: int = LONGEST, sentence_end: re.Pattern[str] = SENTENCE_END) -> tuple[int, int]:
    """A run of whole sentences of at most `longest` characters that begins at or before `near`."""
    if len(text) <= longest:
        return 0, len(text)
    starts = [0, *(m.end() for m in sentence_end.finditer(text))]
    begin = max(s for s in starts if s <= near)
    limit = min(len(text), begin + longest)
    ends = [s for s in starts if begin < s <= limit]
    return begin, len(text) if limit == len(text) else ends[-1] if ends else limit


def anchor(row: dict[str, Any], text: str, rule: str, rng: random.Random) -> int:
    if rule == "case":
        cases = [e["start"] for e in row["entities"] if e["type"] == "case"]
        return rng.choice(cases) if cases else 0
    if rule == "age":
        places = [m.start() for m in AGE.finditer(text)]
        return rng.choice(places) if places else 0
    if rule == "anywhere":
        return rng.randrange(max(1, len(text) - LONGEST))
    return 0


def wanted(row: dict[str, Any], text: str, rule: str) -> bool:
    if len(text) < 80:
        return False
    if rule.startswith("category="):
        category, _, more = rule.removeprefix("category=").partition("+")
        return row["category"] in category.split("|") and wanted(row, text, more)
    if rule.startswith("category!"):
        return str(row["category"]) != rule.split("!")[1]
    return bool(PERSONAL.search(text)) if rule == "personal" else True


def sample(
    data: Path, plan: list[tuple[str, str, str, str, str, int, str]], seed: int, before: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Passages of a plan that overlap none of those drawn before."""
    rng = random.Random(seed)
    used = {(b["source"], b["document"], b["field"]): (b["start"], b["end"]) for b in before}
    taken: set[tuple[str, str, int]] = set()
    for source, file, field, domain, register, count, rule in plan:
        pool = [r for r in rows(data / source / file) if isinstance(r[field], str) and wanted(r, r[field], rule)]
        rng.shuffle(pool)
        seen: set[str] = set()
        for row in pool:
            name = document(source, row)
            text = row[field]
            start, end = cut(text, anchor(row, text, rule, rng))
            span = used.get((source, name, field), (0, 0))
            if max(start, span[0]) < min(end, span[1]):
                continue
            if name in seen or (name, field, start) in taken or end - start < 80:
                continue
            seen.add(name)
            taken.add((name, field, start))
            yield {
                "source": source,
                "file": file,
                "id": row["id"],
                "field": field,
                "start": start,
                "end": end,
                "document": name,
                "domain": domain,
                "register": register,
                "stratum": rule
                if rule in ("personal", "case", "anywhere", "age")
                else "personal"
                if "+personal" in rule
                else "random",
                "half": half_of(name),
            }
            if len(seen) == count:
                break


def load(name: str) -> list[dict[str, Any]]:
    return rows(HERE / name)


def assemble(data: Path, half: str | None) -> Iterator[dict[str, Any]]:
    """Passages with their text and, where `labels.jsonl` has them, their settled labels."""
    labels = {r["passage"]: r for r in load("labels.jsonl")} if (HERE / "labels.jsonl").exists() else {}
    chosen = [p for p in load("passages.jsonl") if not half or p["half"] == half]
    texts = texts_of(data, chosen)
    for p in chosen:
        yield {**labels.get(p["passage"], {}), **p, "id": p["passage"], "answer": texts[p["passage"]]}


def write(records: list[dict[str, Any]], path: Path) -> None:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    print(f"{len(records)} passages -> {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sample", "assemble"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=["tune", "held_out"])
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    if args.what == "sample":
        drawn: list[dict[str, Any]] = []
        for turn, plan in enumerate((PLAN, SECOND)):
            fresh = list(sample(args.data, plan, SEED + 7 * turn, drawn))
            random.Random(SEED + 1 + turn).shuffle(fresh)
            drawn += fresh
        write([{"passage": f"p{i:04d}", **r} for i, r in enumerate(drawn)], args.output or HERE / "passages.jsonl")
    else:
        write(list(assemble(args.data, args.half)), args.output or Path("labelled.jsonl"))


if __name__ == "__main__":
    main()
