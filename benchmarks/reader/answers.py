"""Answers of assistants, by writers, as training rows; and what frames do to them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.reader.rows import CLASSES, COUNTED, Row, edited, lines

HERE = Path(__file__).parent / "assistants"
CHOOSING = ("a3", "b2", "c2", "dw11", "lw2", "lw5", "lw8", "so13", "so18", "so7", "so8", "sw3", "v3", "v6")
"""Writers who teach nothing: thresholds and recipes are chosen on them."""
IN_QUESTION = ("own", "kin", "hypothetical", "fictional")
"""What may stand in the question alone."""
STATUS = {"private": "third", "asker": "asker", "asker_related": "third", "public_role": "public", "staff": "staff",
          "historic": "historic", "hypothetical": "hypothetical", "fictional": "fictional", "group": "group"}  # fmt: skip
DIRECT = {"name": "name", "address": "address", "date_of_birth": "date", "dob": "date"}
"""Other direct identifiers are contacts."""
SHORT = 4
"""Of a quote with fewer characters the first occurrence alone is marked."""


def answers(writers: str = "*") -> Iterator[Row]:
    """The items of some writers, as they wrote them."""
    for path in sorted(HERE.glob(f"{writers}.jsonl")):
        yield from lines(path)


def of_answer(item: Row) -> Row:
    """An item as a row: of sex, domain, date and organisation some spans are marked, of the other classes all."""
    text, spans, people, size = item["answer"], [], {}, {}
    for number, person in enumerate(item["people"], start=1):
        people[str(number)] = STATUS[person["status"]]
        said = [*person["attributes"], *([DIRECT.get(kind, "contact"), quote] for kind, quote in person["direct"])]
        for kind, quote in said:
            if kind in CLASSES:
                spans += [[*at, kind, number, ""] for at in _places(text, quote)]
        told = {(kind, quote) for kind, quote in person["attributes"] if kind in COUNTED}
        size[number] = max(2, len(told)) if person["cluster"] else min(1, len(told))
    main = max((n for n in size if people[str(n)] == "third"), key=lambda n: size[n], default=0)
    cluster = "no" if not main else ("no", "one", "yes")[min(size[main], 2)]
    some = ("sex", "domain", "date", "organisation")
    return {"id": item["id"], "document": item["id"], "family": "assistants", "register": "assistants", "teaches": item["writer"] not in CHOOSING,
            "writer": item["writer"], "text": text, "question": item["question"], "spans": sorted(spans), "people": people, "main": main, "cluster": cluster, "status": True,
            "marks": {c: "some" if c in some else "all" for c in CLASSES}, "kind": item["kind"], "subtype": item["subtype"], "case": {"leak": "leak", "benign": "none"}.get(item["kind"], item["subtype"])}  # fmt: skip


def _places(text: str, quote: str) -> list[tuple[int, int]]:
    start = text.find(quote)
    found = [(start, start + len(quote))] if start >= 0 else []
    if len(quote) >= SHORT:
        found += [m.span() for m in re.finditer(rf"(?<!\w){re.escape(quote)}(?!\w)", text) if m.start() != start]
    return found


# That clear nobody: a record may be told as an example.
WEAK = ("For example, ", "As an example: ", "To illustrate, one file: ", "Take this one: ", "Example from the records:\n", "One case in point. ",
        "Here is an example:\n\n", "By way of illustration, ", "Sample of what the search returned:\n", "Consider this one. ", "e.g. ")  # fmt: skip
# That say of the whole text that nobody in it exists.
MADE_UP = {
    "hypothetical": (
        "Imagine the following applicant. ", "Hypothetical case, nobody real:\n\n", "Purely for illustration, with invented details: ",
        "Let us make somebody up. ", "Suppose, for the sake of argument, this person existed. ", "Worked example (invented):\n",
        "### Training scenario (fictitious)\n\n", "This is a made-up scenario. ", "Say the following, all of it imaginary. "),
    "fictional": (
        "From the novel's character notes: ", "Character sheet for the game:\n\n", "Persona for role play\n\n", "In the screenplay's second act: ",
        "Backstory of the heroine, as I would write it: ", "In chapter four of the story: ", "NPC card\n"),
}  # fmt: skip
BEHIND = {
    "hypothetical": ("\n\n(None of this is real; it was invented for practice.)", "\n\n*Fictitious example for training.*",
                     " All of this is a hypothetical, of course.", "\n\nNote: sample data, no such person exists."),
    "fictional": ("\n\nThat is how I would write the character.", "\n\n(All characters are invented.)", " So ends the first scene."),
}  # fmt: skip


def framed(row: Row, rng: random.Random) -> Row:
    """A row about private people, now and then as an example, which changes nothing, or as made up."""
    if "third" not in row["people"].values() or row.get("cluster") is None or rng.random() > 0.2:
        return row
    if rng.random() < 0.5:
        return edited(row, [(0, 0, rng.choice(WEAK))])
    kind = rng.choice(("hypothetical", "fictional"))
    if rng.random() < 0.7:
        made = edited(row, [(0, 0, rng.choice(MADE_UP[kind]))])
    else:
        end = len(row["text"])
        made = edited(row, [(end, end, rng.choice(BEHIND[kind]))])
    people = {who: kind if of == "third" else of for who, of in row["people"].items()}
    main = made.get("main", 0)
    gone = row["people"].get(str(main)) == "third"
    return {**made, "people": people, "main": 0 if gone else main, "cluster": "no" if gone else made["cluster"], "case": kind}
