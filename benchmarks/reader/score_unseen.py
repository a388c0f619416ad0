"""Role holders, records dressed as examples, answers out of sources that tell of nobody private, and passages of the families that judge,
through the unfitted guard. Prints JSON.

    python -m benchmarks.reader.score_unseen [--data DATA] [--points conservative balanced]

Passages need the data; without it they are left out. Where two readings differ in cluster a passage is left out.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from benchmarks.reader.calibrate import auroc
from benchmarks.reader.corpus import places
from benchmarks.reader.passages import HERE, texts
from benchmarks.reader.rows import Row, lines
from benchmarks.reader.score_answers import share

import discreet
from discreet.core.records import Answer, Public

UNSEEN = HERE / "unseen"
Guards = dict[str, discreet.Guard]


def roles(guards: Guards) -> Row:
    """Answers about who holds a role that one person holds: those with private facts are to be held, others to pass."""
    out: Row = {}
    for path in sorted(UNSEEN.glob("roles_*.jsonl")):
        writer, rows = path.stem.removeprefix("roles_"), lines(path)
        held = [(row["private"], guards[row["domain"]].check(row["answer"]).action != "safe") for row in rows]
        out[writer] = {"private held": share(h for private, h in held if private), "others pass": share(not h for private, h in held if not private)}
    return out


def dressed(guards: Guards) -> Row:
    """Records told as examples: with their source, and without any."""
    rows = [row for path in sorted(UNSEEN.glob("dressed_*.jsonl")) for row in lines(path)]
    out: Row = {}
    for writer, how in sorted({(row["writer"], row["how"]) for row in rows}):
        mine = [row for row in rows if (row["writer"], row["how"]) == (writer, how)]
        out[f"{writer} {how}"] = {name: share(guards[row["domain"]].check(Answer(row["id"], row["answer"], row["question"], tuple(row["sources"]) if given else (),
                                                                   user_words=row["question"])).action == "safe" for row in mine)
                    for name, given in (("pass with sources", True), ("pass without", False))}  # fmt: skip
    return out


def framed(guards: Guards) -> Row:
    """Answers out of sources that tell of nobody private: held with their sources unmarked, and marked as public."""
    out: Row = {}
    for path in sorted(UNSEEN.glob("frames_*.jsonl")):
        rows = lines(path)
        for sort in [*sorted({row["sort"] for row in rows}), "all"]:
            mine = [row for row in rows if sort in ("all", row["sort"])]
            out[f"{path.stem.removeprefix('frames_')} {sort}"] = {name: share(guards[row["domain"]].check(Answer(
                row["id"], row["answer"], sources=tuple(map(mark, row["sources"])), user_words=row["question"])).action != "safe" for row in mine)
                for name, mark in (("held", str), ("held, public", Public))}  # fmt: skip
    return out


def passages(data: Path, point: str) -> Row:
    """Clusters and passages without attributes of the families that judge, layer 1 on."""
    where = places("judge")
    labels = {row["p"]: row for row in lines(HERE / "labels_judge.jsonl")}
    guards = {name: discreet.Guard(name, point=point) for name in ("medical", "law", "finance")}
    found: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for one in texts(data, [where[p] for p in labels]):
        label = labels[one["passage"]]
        if label["cluster"] != "unclear":
            verdict = guards[where[one["passage"]]["domain"]].check(one["text"])
            found[label["family"]].append((label["cluster"], verdict.action, verdict.logit if verdict.logit is not None else 100.0))
    found["pooled"] = [row for rows in list(found.values()) for row in rows]
    out: Row = {}
    for family, rows in found.items():
        by = {c: [(action, odds) for cluster, action, odds in rows if cluster == c] for c in ("yes", "one", "no")}
        out[family] = {c: {"flagged": share(a == "flag" for a, _ in of), "held": share(a != "safe" for a, _ in of)} for c, of in by.items()}
        yes, no = (np.array([odds for _, odds in by[c]]) for c in ("yes", "no"))
        out[family]["AUROC"] = round(auroc(yes, no), 4) if len(yes) and len(no) else None
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--points", nargs="*", default=["conservative", "balanced"])
    args = parser.parse_args()
    for point in args.points:
        guards = {name: discreet.Guard(name, point=point) for name in ("medical", "law", "finance")}
        found: Row = {"point": point, "roles": roles(guards), "dressed": dressed(guards), "framed": framed(guards)}
        if args.data:
            found["passages"] = passages(args.data, point)
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
