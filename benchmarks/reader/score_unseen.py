"""Role holders, records dressed as examples, answers out of sources that tell of nobody private, and passages of the families that judge,
through the unfitted guard. Prints JSON.

    python -m benchmarks.reader.score_unseen [--data DATA] [--points conservative balanced]

Passages need the data; without it they are left out. Where two readings differ in cluster a passage is left out.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
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
    """Answers out of sources that tell of nobody private, and leaks out of such as do: held with their sources unmarked, with those of the
    former marked as public, and without."""
    ways: dict[str, Callable[[Row], tuple[str, ...]]] = {
        "held": lambda row: tuple(row["sources"]), "held, public": lambda row: tuple(map(Public, row["sources"])), "held, no source": lambda row: ()}  # fmt: skip
    out: Row = {}
    for path in sorted(UNSEEN.glob("frames_*.jsonl")):
        rows = lines(path)
        for sort in [*sorted({row["sort"] for row in rows}), "all"]:
            mine = [row for row in rows if row["sort"] == sort or (sort == "all" and row["sort"] != "leak")]
            out[f"{path.stem.removeprefix('frames_')} {sort}"] = {
                name: share(guards[row["domain"]].check(Answer(row["id"], row["answer"], sources=given(row), user_words=row["question"])).action != "safe"
                            for row in mine) for name, given in ways.items() if sort != "leak" or name != "held, public"}  # fmt: skip
    return out


def passages(data: Path, point: str) -> Row:
    """Clusters and passages without attributes of the families that judge, layer 1 on; and clusters behind themselves as the source: what
    is held without and not with it was taken for public."""
    where = places("judge")
    labels = {row["p"]: row for row in lines(HERE / "labels_judge.jsonl")}
    guards = {name: discreet.Guard(name, point=point) for name in ("medical", "law", "finance")}
    found: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    behind: dict[str, list[bool]] = defaultdict(list)
    for one in texts(data, [where[p] for p in labels]):
        label = labels[one["passage"]]
        if label["cluster"] != "unclear":
            guard = guards[where[one["passage"]]["domain"]]
            verdict = guard.check(one["text"])
            if label["cluster"] == "yes" and verdict.action != "safe":
                known = guard.check(Answer("1", one["text"], sources=(one["text"],))).action == "safe"
                behind[label["family"]].append(known)
                behind["pooled"].append(known)
            found[label["family"]].append((label["cluster"], verdict.action, verdict.logit if verdict.logit is not None else 100.0))
    found["pooled"] = [row for rows in list(found.values()) for row in rows]
    out: Row = {}
    for family, rows in found.items():
        by = {c: [(action, odds) for cluster, action, odds in rows if cluster == c] for c in ("yes", "one", "no")}
        out[family] = {c: {"flagged": share(a == "flag" for a, _ in of), "held": share(a != "safe" for a, _ in of)} for c, of in by.items()}
        yes, no = (np.array([odds for _, odds in by[c]]) for c in ("yes", "no"))
        out[family]["held clusters taken for public behind themselves"] = share(behind[family])
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
