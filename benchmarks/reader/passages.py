"""Draw the passages that teach, choose and judge the reader: ids and offsets live here, the text stays with the data.

    python -m benchmarks.reader.passages draw --data DATA --refuse REFUSE.PY     # once; writes passages.jsonl
    python -m benchmarks.reader.passages texts --data DATA --set confirm --output F

`plan.yaml` says which family is for what. Families that judge are fixed there before anything is labelled. A document
(note, case, conversation) gives one passage, so that one person stands in one family only. Enrichment uses the plain word
list below, never a detector. `--refuse` is a script with `overlaps(text)`, which says how many 8-word shingles a text shares with
test text: what shares two or more is not drawn, and counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml
from benchmarks.real_text.passages import Row, cut, rows, write

from discreet.guard.benchmark.passages import texts_of

HERE = Path(__file__).parent
SENTENCE_END = re.compile(r"[.!?][\"')\]]?\s+|\n+")
PERSONAL = re.compile(
    r"\b(?:my (?:wife|husband|son|daughter|mother|father|parents|job|boss|school)|I(?:'m| am) (?:an?|in my|\d)|I live in|I work|"
    r"years? old|\d-year-old|we have .{0,12}(?:kids|children)|(?:his|her|their) (?:wife|husband|sons?|daughters?|mother|father|children)|"
    r"lives? (?:in|with)|works? (?:as|at|for)|worked (?:as|at|for)|employed|retired|married|divorced|widow(?:er|ed)?|resident of|born in)\b",
    re.IGNORECASE,
)


def anchor(text: str, rule: str, rng: random.Random) -> int | None:
    """Where a passage begins at the latest; None where the rule finds no place in the text."""
    if rule == "anywhere":
        return rng.randrange(len(text))
    if rule == "personal":
        places = [m.start() for m in PERSONAL.finditer(text)]
        return rng.choice(places) if places else None
    return 0


def draw(data: Path, plan: Row, overlaps: Callable[[str], int], refused: Counter[str]) -> Iterator[Row]:
    for name, family in plan["families"].items():
        rng = random.Random(f"{plan['seed']}:{name}")
        used: Counter[str] = Counter()
        for step in family["draws"]:
            field, rule, left = step.get("field", "text"), step.get("anchor", "start"), step["count"]
            pool = rows(data / step["folder"] / step["file"])
            rng.shuffle(pool)
            for row in pool:
                text = row.get(field)
                document = f"{name}/{row.get(step.get('group', 'id'))}"
                if (
                    not isinstance(text, str)
                    or len(text) < plan["shortest"]
                    or used[document] >= step.get("per_document", 1)
                ):
                    continue
                if "category" in step and row["category"] not in step["category"]:
                    continue
                near = anchor(text, rule, rng)
                if near is None:
                    continue
                start, end = cut(text, near, rng.choice([350, 600, plan["longest"]]), SENTENCE_END)
                if end - start < plan["shortest"]:
                    continue
                if overlaps(text[start:end]) >= 2:
                    refused[name] += 1
                    continue
                used[document] += 1
                left -= 1
                yield {
                    "family": name,
                    "set": family["set"],
                    "register": family["register"],
                    "source": step["folder"],
                    "file": step["file"],
                    "id": row["id"],
                    "field": field,
                    "start": start,
                    "end": end,
                    "document": document,
                    "stratum": rule,
                    "teaches": step.get("teaches", family["teaches"]),
                    "seen": family.get("seen", False),
                    "turn": step.get("turn", 1),
                }
                if not left:
                    break


def texts(data: Path, passages: list[Row]) -> Iterator[Row]:
    """Each passage with its text and nothing that says where it comes from."""
    for name, text in texts_of(data, passages).items():
        yield {"passage": name, "text": text}


def shared_shingles(script: Path) -> Callable[[str], int]:
    """The function `overlaps` of a script that knows the test texts by hashes."""
    spec = importlib.util.spec_from_file_location("refuse", script)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{script} is no Python file: name the script that knows the test texts")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    overlaps: Callable[[str], int] = module.overlaps
    return overlaps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["draw", "texts"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--refuse", type=Path)
    parser.add_argument("--set", choices=["confirm", "pool", "judge"])
    parser.add_argument("--output", type=Path, default=HERE / "passages.jsonl")
    args = parser.parse_args()
    if args.what == "texts":
        chosen = [p for p in rows(HERE / "passages.jsonl") if p["set"] == args.set]
        write(list(texts(args.data, chosen)), args.output)
        return
    plan, refused = yaml.safe_load((HERE / "plan.yaml").read_text(encoding="utf-8")), Counter[str]()
    drawn = list(draw(args.data, plan, shared_shingles(args.refuse), refused))
    turns = [[p for p in drawn if p["turn"] == turn] for turn in (1, 2, 3, 4, 5)]
    for given in turns:
        random.Random(plan["seed"]).shuffle(given)
        given.sort(key=lambda p: p["set"])
    drawn = [p for given in turns for p in given]
    write([{"passage": f"{p['set'][0]}{i:04d}", **p} for i, p in enumerate(drawn)], args.output)
    counts = Counter((p["set"], p["register"]) for p in drawn)
    print(f"{len(drawn)} passages; refused for overlap: {dict(refused)}")
    for (which, register), n in sorted(counts.items()):
        print(f"{which:8} {register:22} {n}")


if __name__ == "__main__":
    main()
