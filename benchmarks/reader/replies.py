"""Questions about somebody with their answers, as training rows: whether the answer tells something of whom the question describes."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.reader.answers import CHOOSING, answers
from benchmarks.reader.model import CASES
from benchmarks.reader.rows import Row, lines
from benchmarks.requests.score import HERE

FILES = ("contents", "contents_final", "contents_choosing", "contents_fresh", "contents_unseen", "contents_last", "contents_newest", "contents_latest")
"""Contents that teach; others of the folder judge."""
OF_NOBODY = ("hypothetical", "fictional", "public", "historic", "group", "rule", "organisation")
OTHERS = 600


def replies(rng: random.Random) -> Iterator[Row]:
    """Every content once, and most once more with general text behind the answer; and some answers of `assistants` that
    tell of nobody private, whatever was asked."""
    rows = [row for name in FILES for row in lines(HERE / f"{name}.jsonl") if row["case"] in CASES]
    general = [row["answer"] for row in rows if row["case"] in CASES[2:]]
    for row in rows:
        yield _row(row, row["answer"])
        if rng.random() < 0.6:
            yield _row(row, f"{row['answer']} {rng.choice(general)}")
    others = [one for one in answers() if one["question"] and one["writer"] not in CHOOSING and (one["kind"] == "benign" or one["subtype"] in OF_NOBODY)]
    for one in rng.sample(others, min(OTHERS, len(others))):
        yield {"id": one["id"], "text": one["answer"], "asked": one["question"], "case": "no_leak", "spans": [], "people": {}, "marks": {}}


def _row(content: Row, answer: str) -> Row:
    return {"id": content["id"], "text": answer, "asked": content["user"], "case": content["case"], "spans": [], "people": {}, "marks": {}}
