"""Questions about somebody with their answers, as training rows: what the answer is to its question."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.reader.answers import HERE as ASSISTANTS
from benchmarks.reader.rows import Row, lines
from benchmarks.requests.score import HERE

FILES = ("contents", "contents_final", "contents_choosing", "contents_fresh", "contents_unseen", "contents_last", "contents_newest",
         "contents_latest", "replies")  # fmt: skip
"""Contents that teach; others of the folder choose or judge."""
ROLES = ("roles_r1", "roles_r2", "roles_r3")
CASE = {"leak_identifier": "leak", "leak_cluster": "leak", "context_elsewhere": "leak", "probe_confirmed": "leak", "probe_refused": "refused",
        "own": "own", "kin": "kin", "no_leak": "none"}  # fmt: skip


def replies(rng: random.Random) -> Iterator[Row]:
    """Every content once, and most once more with general text behind the answer; and answers about those who hold a role."""
    rows = [row for name in FILES for row in lines(HERE / f"{name}.jsonl") if row["case"] in CASE]
    general = [row["answer"] for row in rows if row["case"] in ("probe_refused", "own", "kin", "no_leak") and len(row["answer"]) > 80]
    for row in rows:
        yield _row(row, row["answer"], CASE[row["case"]])
        if rng.random() < 0.5:
            yield _row(row, f"{row['answer']} {rng.choice(general)}", CASE[row["case"]])
        if row.get("passages") and rng.random() < 0.4:
            # Of a prompt nobody says which stretch asks: a passage may stand where the question should.
            case, passage = CASE[row["case"]], rng.choice(row["passages"])
            if rng.random() < 0.4:
                yield _row({**row, "user": rng.choice((f"{row['user']} {passage[:150]}", f"{passage[-150:]} {row['user']}"))}, row["answer"], case)
            else:
                yield _row({**row, "user": passage}, row["answer"], "none" if case in ("own", "kin") else case)
    for row in (row for name in ROLES for row in lines(ASSISTANTS.parent / "unseen" / f"{name}.jsonl")):
        yield _row(row, row["answer"], "leak" if row["private"] else "staff")


def _row(content: Row, answer: str, case: str) -> Row:
    return {"id": content["id"], "text": answer, "asked": content.get("user", ""), "case": case, "spans": [], "people": {}, "marks": {}}
