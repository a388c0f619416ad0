"""What teaches the reader and what chooses: labelled passages, passages written for it, and public annotated sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.reader.answers import answers, of_answer
from benchmarks.reader.canaries import canaries, reserved
from benchmarks.reader.long import windows
from benchmarks.reader.passages import HERE, shared_shingles, texts
from benchmarks.reader.rows import OLD, OLD_TEACH, Row, lines
from benchmarks.reader.settle import resolved
from benchmarks.real_text.passages import HERE as REAL

# Genres of GUM whose licence is not open, or is not named.
CLOSED = ("_speech_", "_conversation_", "_essay_", "_letter_", "_podcast_", "_vlog_")
SETS = ("clinical_case_spans", "knowledgenet", "crossner", "gum_entities", "nobody", "spia_dev", "silver_general", "silver_clinical")


DOMAINS = {"legal": "law", "European court": "law", "regulations and terms": "law", "finance": "finance", "finance advice": "finance"}
"""The domain of a register; others are medical."""


def places(which: str = "pool") -> dict[str, Row]:
    """Where each passage of a set comes from: family, register, domain, whether it may teach."""
    found = {p["passage"]: {**p, "domain": DOMAINS.get(p["register"], "medical")} for p in lines(HERE / "passages.jsonl") if p["set"] == which}
    if which != "pool":
        return found
    for p in lines(REAL / "passages.jsonl"):
        name = p["passage"].replace("p", "q")
        found[name] = {**p, "passage": name, "family": OLD[p["source"]], "register": f"real text, {p['domain']}",
                       "teaches": p["source"] in OLD_TEACH}
    for p in found.values():
        if p["family"] == "genres" and any(genre in p["document"] for genre in CLOSED):
            p["teaches"] = False
    return found


def labelled(data: Path, given: list[Path]) -> list[Row]:
    """The labelled passages of the pool with their texts; `given` are files of texts that were drawn before."""
    where = places()
    labels = [r for r in lines(HERE / "labels_pool.jsonl") if r["cluster"] != "unclear"]
    known = [row for path in given for row in lines(path)]
    said = {r["passage"]: r["text"] for r in (known or texts(data, [where[r["passage"]] for r in labels]))}
    kept = ("family", "register", "domain", "teaches", "document")
    return [{**r, **{k: where[r["passage"]].get(k, "") for k in kept}, "id": r["passage"], "text": said[r["passage"]]} for r in labels]


def written() -> list[Row]:
    """Passages that language models wrote, with labels, to teach the reader."""
    found = []
    for r in lines(HERE / "written.jsonl"):
        row = resolved(r, r["text"])
        people = {str(k): v for k, v in row["people"].items()}
        found.append({**row, "people": people, "id": r["p"], "text": r["text"], "family": "written", "teaches": True})
    return found


def teachers(folder: Path, without: set[str]) -> list[Row]:
    """Rows of `teachers.py` and `silver.py` that may teach, but for some documents."""
    found = []
    for row in (row for name in SETS for row in lines(folder / f"{name}.jsonl")):
        if not row["teaches"] or row["document"] in without:
            continue
        row["spans"] = [s for s in row["spans"] if "p" not in s[4]]
        if row.get("silver"):
            row["spans"] = [[s[0], s[1], "name", -1, ""] for s in row["entities"] if s[2] == "person"]
            row["marks"] = {"name": "all"}
        if "entities" in row and not all(row["entity_marks"].get(k) == "all" for k in ("person", "place", "organisation")):
            del row["entities"]
        if not row.get("subject"):
            row["people"], row["spans"] = {}, [[*s[:3], -1, s[4]] for s in row["spans"]]
        if row.get("cluster") != "no" and not row["id"].startswith("clinical_case_spans"):
            row["cluster"] = None
        found.append(row)
    return found


def corpus(data: Path, given: list[Path], folder: Path, refuse: Path,
           without: Sequence[str] = ()) -> tuple[list[Row], list[Row], list[Row], int]:  # fmt: skip
    """What teaches, the other labelled passages, what teachers give, and how many rows test text refused.

    The rows that the audit of the weights keeps for itself do not teach; its canaries do. Families `without` are left out
    of everything.
    """
    pool = [r for r in labelled(data, given) if r["family"] not in without]
    said = [part for r in map(of_answer, answers()) if r["teaches"] and "assistants" not in without for part in windows(r)]
    teach = [r for r in (*(r for r in pool if r["teaches"]), *written(), *said) if not reserved(r["id"])]
    overlaps = shared_shingles(refuse)
    kept = [r for r in teach if overlaps(r["text"]) < 2]
    others = [r for r in pool if not r["teaches"]]
    more = [r for r in teachers(folder, {r["document"] for r in pool}) if r["family"] not in without]
    return [*kept, *canaries()], others, more, len(teach) - len(kept)
