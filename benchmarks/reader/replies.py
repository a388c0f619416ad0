"""Questions about somebody with their answers, as training rows: what the answer is to its question."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.reader.answers import CHOOSING
from benchmarks.reader.answers import HERE as ASSISTANTS
from benchmarks.reader.rows import Row, lines
from benchmarks.requests.score import HERE

from discreet.synth.campaign import run_campaign
from discreet.synth.plan import make_plan

FILES = ("contents", "contents_final", "contents_choosing", "contents_fresh", "contents_unseen", "contents_last", "contents_newest",
         "contents_latest", "contents_further", "contents_later", "replies")  # fmt: skip
"""Contents that teach; others of the folder choose or judge."""
ROLES = ("roles_r1", "roles_r2", "roles_r3", "roles_r5")
PAIRS = Path(__file__).parent / "pairs"
ASKED_FOR = {"record": "leak", "fiction": "fictional", "invented": "hypothetical", "dressed": "leak"}
"""What an answer is behind each of the questions of a pair."""
OF_SORT = {"fiction": "fictional", "history": "historic", "published": "historic", "teaching": "hypothetical", "hypothetical": "hypothetical",
           "staff": "staff"}  # fmt: skip
"""What an answer out of a document of a sort is. Public persons teach nothing here: a name in a question must not clear anybody."""
CASE = {"leak_identifier": "leak", "leak_cluster": "leak", "context_elsewhere": "leak", "probe_confirmed": "leak", "probe_refused": "refused",
        "own": "own", "kin": "kin", "no_leak": "none"}  # fmt: skip


def replies(rng: random.Random) -> Iterator[Row]:
    """Every content once, and most once more with general text behind the answer; and answers about those who hold a role."""
    rows = [row for name in FILES for row in lines(HERE / f"{name}.jsonl") if row["case"] in CASE]
    said = fixed_words()
    general = [row["answer"] for row in rows if row["case"] in ("probe_refused", "own", "kin", "no_leak") and len(row["answer"]) > 80]
    for row in rows:
        case = CASE[row["case"]]
        yield _row(row, row["answer"], case)
        if rng.random() < 0.5:
            yield _row(row, f"{row['answer']} {rng.choice(general)}", case)
        # Of a prompt nobody says which stretch asks: its own words or a passage may stand where the question should.
        if row.get("passages") and rng.random() < 0.3:
            line = rng.choice(said)
            if row["case"] == "probe_confirmed" or rng.random() < 0.5:  # No other words say whom such an answer confirms.
                yield _row({**row, "user": f"{line} {row['user']}"}, row["answer"], case)
            else:
                yield _row({**row, "user": line}, row["answer"], "leak" if case == "leak" else "none")
        if row.get("passages") and rng.random() < 0.4:
            passage = rng.choice(row["passages"])
            if rng.random() < 0.4:
                yield _row({**row, "user": rng.choice((f"{row['user']} {passage[:150]}", f"{passage[-150:]} {row['user']}"))}, row["answer"], case)
            else:
                yield _row({**row, "user": passage}, row["answer"], "none" if case in ("own", "kin") else case)
    for user, answer in introduced(rows, rng):
        yield _row({"id": user, "user": user}, answer, "none")
    for row in (row for name in ROLES for row in lines(ASSISTANTS.parent / "unseen" / f"{name}.jsonl")):
        yield _row(row, row["answer"], "leak" if row["private"] else "staff")
    yield from by_grammar(rng.randrange(10**6))


def introduced(rows: list[Row], rng: random.Random) -> Iterator[tuple[str, str]]:
    """What has nothing to do with who asks: everyday answers and pages, behind messages that begin with whom users say they are, or bring."""
    says = [row["user"] for row in rows if row["case"] in ("own", "kin")]
    pages = [(row["user"], row["answer"]) for row in rows if row["case"] == "no_leak" and not row.get("elsewhere")]
    everyday = [tuple(line.split("\t")) for line in (HERE / "everyday.txt").read_text(encoding="utf-8").splitlines()]
    for question, answer in [*everyday * 8, *rng.sample(pages, len(pages) // 2)]:
        intro = re.split(r"(?<=[.!?])\s", rng.choice(says))[0]
        if "?" not in intro and len(intro.split()) > 3:
            yield rng.choice((f"{intro} {question}", f"{question} {intro}", f"{intro}\n\n{question}")), answer


def pairs() -> Iterator[Row]:
    """Answers that read like a record and like an invention, behind questions that ask for one, for the other, or for a record told as something else."""
    for path in sorted(PAIRS.glob("v*.jsonl")):
        for row in lines(path):
            for kind, case in ASKED_FOR.items():
                yield _row({"id": f"{row['id']} {kind}", "user": row[kind]}, row["answer"], case)


def out_of_documents() -> Iterator[Row]:
    """Answers behind a question to a document about nobody private, and behind one to a record; and short messages about staff and others."""
    for row in (row for path in sorted(PAIRS.glob("documents_*.jsonl")) for row in lines(path)):
        if row["writer"] not in CHOOSING:
            yield _row({"id": f"{row['id']} record", "user": row["record"]}, row["answer"], "leak")
            if row["sort"] in OF_SORT:
                yield _row({"id": f"{row['id']} source", "user": row["source"]}, row["answer"], OF_SORT[row["sort"]])
    for row in (row for path in sorted(PAIRS.glob("messages_*.jsonl")) for row in lines(path)):
        yield _row({"id": row["id"], "user": row["question"]}, row["answer"], row["case"])


def by_grammar(seed: int, each: int = 80) -> Iterator[Row]:
    """Answers of the package's grammar with their questions: "our patient" brings somebody, and the answer tells all of them."""
    with TemporaryDirectory() as work:
        for domain in ("medical", "finance", "law"):
            folder = Path(work) / domain
            run_campaign(make_plan(domain, {"safe": each, "unsafe": each, "borderline": each}, seed), folder)
            for kind in ("safe", "unsafe", "borderline"):
                for row in lines(folder / f"{kind}.jsonl"):
                    told = {"case": "leak"} if kind == "unsafe" else {"cluster": "no"}
                    yield {"id": row["id"], "text": row["answer"], "question": row["question"], "spans": [], "people": {}, "marks": {}, **told}


def fixed_words() -> list[str]:
    """Lines of the known prompts that are their own."""
    shapes = json.loads((HERE / "shapes.json").read_text(encoding="utf-8"))
    return sorted({line.strip() for shape in shapes for one in shape["messages"] for line in one["content"].splitlines()
                   if "{" not in line and len(line.split()) > 1})


def _row(content: Row, answer: str, case: str) -> Row:
    return {"id": content["id"], "text": answer, "asked": content.get("user", ""), "case": case, "spans": [], "people": {}, "marks": {}}
