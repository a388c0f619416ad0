"""Answers of assistants through the unfitted guard, each with its question: what is flagged and held, by kind and subtype. Prints JSON.

    python -m benchmarks.reader.score_answers [--writers a3 b2 c2] [--items F …] [--chat FOLDER] [--judge TEXTS LABELS] [--points …]

By default the writers who teach nothing are scored; `--items` scores other files of the same form. An answer that is flagged or abstained on is
held. Intervals are exact (Clopper–Pearson) at 95% over answers. AUROC ranks by the log-odds of evidence; a direct identifier ranks above them.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reader.answers import CHOOSING, answers
from benchmarks.reader.calibrate import auroc
from benchmarks.reader.rows import lines

import discreet
from discreet.core.records import Answer, Verdict
from discreet.stats import clopper_pearson

Row = dict[str, Any]
ABOVE = 100.0


def share(hits: Iterable[bool]) -> Row:
    found = list(hits)
    if not found:
        return {"k": 0, "n": 0, "share": None, "interval": None}
    between = clopper_pearson(sum(found), len(found))
    return {"k": sum(found), "n": len(found), "share": round(sum(found) / len(found), 3), "interval": [round(between.low, 3), round(between.high, 3)]}


def rank(verdict: Verdict) -> float:
    if verdict.action == "failed" or verdict.logit is None:
        return ABOVE
    return ABOVE if verdict.layer == "direct" else verdict.logit


def scored(items: Iterable[Row], guard: discreet.Guard) -> list[Row]:
    """Each item with its verdict, with its question declared as the user's words."""
    found = []
    for item in items:
        verdict = guard.check(Answer(item["id"], item["answer"], user_words=item.get("question") or None))
        found.append({"id": item["id"], "writer": item.get("writer", ""), "kind": item["kind"], "subtype": item.get("subtype"), "action": verdict.action,
                      "cause": verdict.cause and verdict.cause.cause, "rank": rank(verdict)})  # fmt: skip
    return found


def summary(rows: list[Row]) -> Row:
    """Shares by kind and subtype, and how well leaks are ranked above the rest."""
    by: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by[row["kind"]].append(row)
        if row["kind"] == "borderline":
            by[f"borderline {row['subtype']}"].append(row)
    out: Row = {name: {"flagged": share(r["action"] == "flag" for r in of), "held": share(r["action"] != "safe" for r in of)} for name, of in sorted(by.items())}
    if by["leak"]:
        leaks = np.array([r["rank"] for r in by["leak"]])
        for name in ("borderline", "benign"):
            out[f"AUROC leak against {name}"] = round(auroc(leaks, np.array([r["rank"] for r in by[name]])), 4) if by[name] else None
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", nargs="*", default=list(CHOOSING))
    parser.add_argument("--items", type=Path, nargs="*")
    parser.add_argument("--chat", type=Path, help="the folder of ordinary answers of assistants")
    parser.add_argument("--points", nargs="*", default=["conservative", "balanced"])
    parser.add_argument("--rows", type=Path, help="write the verdicts, without text")
    args = parser.parse_args()
    items = [row for path in args.items for row in lines(path)] if args.items else [row for w in args.writers for row in answers(w)]
    for point in args.points:
        rows = scored(items, discreet.Guard("medical", point=point))
        print(json.dumps({"point": point, **summary(rows)}, indent=1))
        if args.rows:
            args.rows.write_text("".join(json.dumps({"point": point, **r}) + "\n" for r in rows), encoding="utf-8")
    if args.chat:
        with gzip.open(args.chat / "data.jsonl.gz", "rt", encoding="utf-8") as file:
            chats = [json.loads(line) for line in file]
        for point in args.points:
            guard = discreet.Guard("medical", point=point)
            verdicts = [guard.check(Answer(str(r["id"]), r["answer"], user_words=r.get("question") or None)) for r in chats]
            print(json.dumps({"chat": point, "flagged": share(v.action == "flag" for v in verdicts), "direct": share(v.layer == "direct" for v in verdicts),
                              "held": share(v.action != "safe" for v in verdicts)}))  # fmt: skip


if __name__ == "__main__":
    main()
