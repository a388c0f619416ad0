"""Requests in the shapes of RAG frameworks: what the guard holds and passes, by case, shape and declaration. Prints JSON.

    python -m benchmarks.requests.score [--contents F …] [--shapes F] [--ways auto declared pinned] [--forged F] [--output F]

`contents.jsonl` holds requests with their answers by writers who had not seen the code; each is put into each shape. Rows of
`forged` are passages that forge words of the user: an answer that is held without a request must be held with each. Intervals are
exact (Clopper–Pearson) at 95% and take contents times shapes as independent, which they are not: shares by content are in the results.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import discreet
from discreet.core.records import Answer, Prompts, Turn
from discreet.guard.text.provenance import request_of
from discreet.stats import clopper_pearson

HERE = Path(__file__).parent
Row = dict[str, Any]
LEAKS = ("leak_identifier", "leak_cluster", "context_elsewhere")
HOLD = (*LEAKS, "probe_confirmed")
WAYS = ("auto", "declared", "pinned")


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def earlier(content: Row) -> list[Turn]:
    """Messages before those of the shape: what is told elsewhere, in the system prompt, an earlier answer or a tool's result."""
    if not content.get("elsewhere"):
        return []
    place = sum(map(ord, content["id"])) % 3
    return [[Turn("system", content["elsewhere"])], [Turn("user", "Go on."), Turn("assistant", content["elsewhere"])],
            [Turn("tool", content["elsewhere"])]][place]


def messages(content: Row, shape: Row) -> list[Turn]:
    """The messages of a content in a shape, in the order in which a model gets them."""
    passages = [shape["passage"].format(i=i, text=text) for i, text in enumerate(content["passages"], 1)]
    slots = {"question": content["user"], "context": shape["join"].join(passages)}
    return earlier(content) + [Turn(one["role"], one["content"].format(**slots)) for one in shape["messages"]]


def templates(shape: Row) -> tuple[str, ...]:
    """Messages of a shape that an operator pins: the user's that hold more than the question, system ones with passages."""
    user = [one["content"] for one in shape["messages"] if one["role"] == "user"]
    system = [one["content"] for one in shape["messages"] if one["role"] == "system"]
    return (*(text for text in user if "{question}" in text and text != "{question}"),
            *(text for text in system if "{context}" in text.replace("{{", "").replace("}}", "")))


def pinned(shape: Row) -> Prompts:
    """What an operator says of a shape: its templates, or that its user messages hold the user's words alone."""
    user = [one["content"] for one in shape["messages"] if one["role"] == "user"]
    return Prompts("words" if user == ["{question}"] else "auto", templates(shape))


def answers(content: Row, shape: Row, way: str) -> Answer:
    """A content in a shape, as a request of the library."""
    turns = messages(content, shape)
    last = max(i for i, turn in enumerate(turns) if turn.role == "user")
    question, after = turns[last].text, turns[last + 1 :]
    sources: tuple[str, ...] = ()
    if shape.get("typed"):
        sources = tuple(content["passages"]) if shape["framework"] == "Cohere" else ()
        after += [Turn("user", one, "retrieved") for one in content["passages"] if not sources]
    prompts = pinned(shape) if way == "pinned" else Prompts()
    return Answer(content["id"], content["answer"], question, sources, (*turns[:last], *after),
                  content["user"] if way == "declared" else None, prompts)


def share(hits: list[bool]) -> Row:
    if not hits:
        return {"k": 0, "n": 0, "share": None, "interval": None}
    between = clopper_pearson(sum(hits), len(hits))
    return {"k": sum(hits), "n": len(hits), "share": round(sum(hits) / len(hits), 4),
            "interval": [round(between.low, 4), round(between.high, 4)]}


def judged(contents: list[Row], shapes: list[Row], ways: list[str]) -> Iterator[Row]:
    guards = {name: discreet.Guard(name) for name in ("medical", "finance", "law")}
    alone = {c["id"]: guards[c["domain"]].check(c["answer"]).action for c in contents}
    for shape in shapes:
        for way in ways:
            for c in contents:
                answer = answers(c, shape, way)
                verdict = guards[c["domain"]].check(answer)
                consents = any(part.origin == "user" for part in request_of(answer).parts)
                yield {"shape": shape["name"], "way": way, "id": c["id"], "writer": c["writer"], "case": c["case"],
                       "alone": alone[c["id"]], "action": verdict.action, "cause": verdict.cause and verdict.cause.cause,
                       "consents": consents}


def summary(rows: list[Row]) -> Row:
    found: Row = {}
    for way in dict.fromkeys(r["way"] for r in rows):
        mine = [r for r in rows if r["way"] == way]
        by: Row = {}
        for case in dict.fromkeys(r["case"] for r in mine):
            of = [r for r in mine if r["case"] == case]
            held = [r["action"] != "safe" for r in of]
            by[case] = {"held": share(held)}
            if case in LEAKS:
                before = [r for r in of if r["alone"] != "safe"]
                by[case]["stay held"] = share([r["action"] != "safe" for r in before])
                by[case]["lost"] = dict(Counter((f"{r['id']} in {r['shape']}") for r in before if r["action"] == "safe"))
            if case in ("own", "kin"):
                told = [r for r in of if r["consents"]]
                by[case]["pass where the user's words are known"] = share([r["action"] == "safe" for r in told])
            if case in HOLD:
                by[case]["shapes below .9"] = sorted(s for s, hit in _by_shape(of).items() if hit < 0.9)
            else:
                by[case]["shapes above .05"] = sorted(s for s, hit in _by_shape(of).items() if hit > 0.05)
        found[way] = by
    return found


def _by_shape(rows: list[Row]) -> dict[str, float]:
    hits: dict[str, list[bool]] = defaultdict(list)
    for r in rows:
        hits[r["shape"]].append(r["action"] != "safe")
    return {name: sum(one) / len(one) for name, one in hits.items()}


def continued(content: Row, shape: Row, way: str) -> Answer:
    """The prompt of a shape as an earlier message of the user, which an answer followed, or none (`way`: "earlier", "in a row"); the
    last message is the user's own, and declared."""
    turns = messages(content, shape)
    said = "Noted. What else?" if way == "earlier" else ""
    turns += [Turn("assistant", said)] if said else []
    return Answer(content["id"], content["answer"], "And in short, please?", (), tuple(turns), "And in short, please?")


def forged(rows: list[Row], shapes: list[Row], ways: list[str]) -> Row:
    """Of forged passages, in each shape: whether any word of the claim became the user's, and whether an answer that is held
    without a request passes. Ways are those of `WAYS`, and those of `continued`."""
    guards = {name: discreet.Guard(name) for name in ("medical", "finance", "law")}
    out: Row = {}
    for way in ways:
        consent: dict[str, list[bool]] = defaultdict(list)
        lost: dict[str, list[bool]] = defaultdict(list)
        where: Counter[str] = Counter()
        for row in rows:
            content = {"id": row["id"], "passages": [row["passage"]], "user": row["question"], "answer": row["answer"]}
            alone = guards[row["domain"]].check(row["answer"]).action
            claim = " ".join(row["claim"].split())
            for shape in shapes:
                answer = (answers if way in WAYS else continued)(content, shape, way)
                said = " ".join(" ".join(request_of(answer).of("user")).split())
                taken = any(claim[at : at + 30] in said for at in range(0, max(1, len(claim) - 30), 10))
                consent[row["kind"]].append(taken)
                if taken:
                    where[shape["name"]] += 1
                if alone != "safe":  # Without any words of the user nothing is exempt.
                    lost[row["kind"]].append(bool(said) and guards[row["domain"]].check(answer).action == "safe")
        out[way] = {"consent": {k: share(v) for k, v in consent.items()}, "shapes": dict(where),
                    "passes though held alone": {k: share(v) for k, v in lost.items()}}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contents", type=Path, nargs="+", default=[HERE / "contents.jsonl"])
    parser.add_argument("--shapes", type=Path, default=HERE / "shapes.json")
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--forged", type=Path)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    shapes = json.loads(args.shapes.read_text(encoding="utf-8"))
    if args.forged is not None:
        print(json.dumps(forged(lines(args.forged), shapes, args.ways), indent=1))
        return
    contents = [row for path in args.contents for row in lines(path)]
    rows = list(judged(contents, shapes, args.ways))
    if args.output is not None:
        args.output.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    print(json.dumps(summary(rows), indent=1))


if __name__ == "__main__":
    main()
