"""Sets whose spans are entities and mentions, bound or not; sentences labelled for disclosure; text about nobody; text for silver."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.reader.passages import PERSONAL
from benchmarks.reader.teachers import Row, Source, passages
from benchmarks.reader.teachers_facts import AGE, PRONOUN, REFERRING, RELATIVE, whole

PEOPLE = ("person", "politician", "writer", "musicalartist", "scientist", "researcher")
TYPES = {
    **dict.fromkeys(PEOPLE, "person"),
    **dict.fromkeys(("location", "country"), "place"),
    **dict.fromkeys(("organisation", "politicalparty", "university", "band"), "organisation"),
}
# Genres of GUM whose texts may teach (CC BY, CC BY-SA); essays, letters and podcasts are non-commercial, and its licence names
# no terms for conversation, speech and vlog.
OPEN_GENRES = ("news", "interview", "court", "bio", "voyage")
DEMONYM = re.compile(r"(?:[A-Z][a-z]+[- ])?[A-Z][a-z]+(?:ans?|ish|ese|ch|[aeg]li|aqi|ani|eek|wiss|elsh|utch|oatian)")


def crossner(source: Source) -> Iterator[Row]:
    """Names are complete; places and organisations are bound to nobody. A name that shares its last word is the same person."""
    for raw in source.read("crossner"):
        found = [(e["start"], e["end"], TYPES[e["type"]]) for e in raw["entities"] if e["type"] in TYPES]
        numbers: dict[str, int] = {}
        spans = [
            [s, e, "name", numbers.setdefault(raw["text"][s:e].split()[-1].casefold(), len(numbers) + 1), ""]
            for s, e, kind in found
            if kind == "person"
        ]
        rest = {
            "entities": [list(f) for f in found],
            "entity_marks": dict.fromkeys(("person", "place", "organisation"), "all"),
            "mentions": [[s[0], s[1], s[3]] for s in spans],
            "people": dict.fromkeys(numbers.values(), "public"),
            "subject": True,
            "marks": {"name": "all"},
        }
        yield from passages(whole("crossner", "wikipedia", raw, "id", spans=spans, **rest))


def proper(text: str) -> bool:
    """A name: capitals but for small words, no determiner or pronoun first."""
    words = re.sub(r"['’]s$", "", text).split()
    small = ("of", "de", "la", "van", "von", "der", "and", "al", "the", "in")
    return bool(words) and len(words) < 6 and words[0][0].isupper() and all(w[0].isupper() or w in small for w in words)


def name_in(text: str, common: set[str]) -> tuple[int, int] | None:
    """Where a personal name stands in a mention: without titles and other words that are also written small, None where nothing is left."""
    words = list(re.finditer(r"[^\W_]+(?:[-.'’][^\W_]+)*\.?", re.sub(r"['’]s$", "", text)))
    rare = [m[0].rstrip(".").casefold() not in common for m in words]
    if not any(rare) or not proper(text) or DEMONYM.fullmatch(text):
        return None
    first = next((n for n in range(len(words) - 1, 0, -1) if not rare[n - 1]), 0)
    first = first if any(rare[first:]) else rare.index(True)
    return words[first].start(), words[-1].end()


def kind_of(texts: list[str], genre: str) -> str:
    """The kind of a person by how the person is referred to: a guess, whose rows say that kinds cannot be trusted."""
    said = {t.casefold() for t in texts}
    if genre in ("bio", "news", "interview", "speech") and any(proper(t) and not REFERRING.fullmatch(t) for t in texts):
        return "public"
    if said & {"i", "my", "me", "myself", "mine"}:
        return "speaker"
    return "group" if said & {"we", "you", "our", "they", "them", "their", "people", "everyone"} else "third"


def genres(source: Source) -> Iterator[Row]:
    """Mentions of people with coreference; names, relatives with whose they are, and proper names of places and organisations."""
    kinds = {"place": "place", "organization": "organisation", "time": "date"}
    found = list(source.read("gum_entities", group="group"))
    common = {w for raw in found for w in re.findall(r"(?<!\w)[a-z]+", raw["text"])} | {"mr", "mrs", "ms", "dr", "i"}
    for raw in found:
        people: dict[str, list[Row]] = defaultdict(list)
        for e in raw["entities"]:
            if e["type"] == "person":
                people[e["entity_id"]].append(e)
        number = {key: n for n, key in enumerate(people, 1)}
        mentions = [[e["start"], e["end"], number[key]] for key, group in people.items() for e in group]
        spans: list[list[Any]] = []
        for start, end, person in mentions:
            text = raw["text"][start:end]
            if place := name_in(text, common):
                spans.append([start + place[0], start + place[1], "name", person, ""])
            owner = re.match(r"(?:his|her|their|my|our|your|\w+['’]s)\b", text, re.IGNORECASE)
            relation = RELATIVE.search(text)
            if owner and relation and relation.end() - owner.end() < 25:
                whose = [p for s, e, p in mentions if s == start and e <= start + owner.end()]
                spans.append([start, start + relation.end(), "family", whose[0] if whose else -1, ""])
        others = [(e["start"], e["end"], kinds[e["type"]], e["text"]) for e in raw["entities"] if e["type"] in kinds]
        entities = [[s, e, k] for s, e, k, t in others if k == "date" or proper(re.sub(r"^[Tt]he ", "", t))]
        entities += [[s[0], s[1], "person"] for s in spans if s[2] == "name"]
        rest = {
            "teaches": raw["category"] in OPEN_GENRES,
            "genre": raw["category"],
            "entities": [x for x in entities if x[2] == "date" or not any(y != x and x[0] <= y[0] and y[1] <= x[1] for y in entities)],
            "entity_marks": {"person": "some", "place": "some", "organisation": "some", "date": "some"},
            "mentions": mentions,
            "people": {number[key]: kind_of([e["text"] for e in group], raw["category"]) for key, group in people.items()},
            "marks": {"name": "some", "family": "some"},
        }
        yield from passages(whole("gum_entities", "genres", raw, "group", spans=spans, **rest))


def biographies(source: Source) -> Iterator[Row]:
    """Wikipedia biographies annotated for anonymisation; they only choose (no licence is stated)."""
    types = {"PERSON": "person", "LOC": "place", "ORG": "organisation", "DATETIME": "date"}
    for raw in source.read("wiki_bio_anonymised"):
        spans: list[list[Any]] = []
        for e in raw["entities"]:
            text, start, end = e["text"], e["start"], e["end"]
            main = e["type"] == "PERSON" and e["identifier"] == "DIRECT"
            if e["type"] == "PERSON":
                spans.append([start, end, "name", 1 if main else -1, ""])
            elif e["type"] == "DEM":
                kind = "ethnicity" if DEMONYM.fullmatch(text) else "family" if RELATIVE.fullmatch(text) else "occupation"
                spans.append([start, end, kind, -1 if kind == "family" else 1, ""])
        rest = {
            "entities": [[e["start"], e["end"], types[e["type"]]] for e in raw["entities"] if e["type"] in types],
            "entity_marks": dict.fromkeys(types.values(), "all"),
            "people": {1: "public"},
            "subject": True,
            "marks": {"name": "all", "ethnicity": "some", "occupation": "some", "family": "some"},
        }
        yield from passages(whole("wiki_bio_anonymised", "wikipedia", raw, "group", teaches=False, spans=spans, **rest))


def disclosure(source: Source) -> Iterator[Row]:
    """Sentences that crowd workers judged to tell a fact of the writer, or not; no spans."""
    for raw in source.read("offmychest_disclosure", group="group"):
        tells = raw["category"] == "information_disclosure"
        base = whole("offmychest_disclosure", "offmychest", raw, "group", disclosure=tells)
        yield from passages(base, shortest=25)


ABOUT_NOBODY = (
    ("medquad", "all.jsonl.gz", "answer", "reference", (), 580),
    ("pubmedqa", "all.jsonl.gz", "context", "reference", (), 350),
    ("rag_triplets", "all.jsonl.gz", "context", "reference", ("legal", "medical"), 250),
    ("policy_terms_negatives", "data.jsonl.gz", "text", "regulations", ("privacy_policy",), 250),
    ("policy_terms_negatives", "data.jsonl.gz", "text", "regulations", ("regulation_text", "regulation_interpretation"), 300),
    ("mmlu_law_med_fin", "medicine.jsonl.gz", "question", "vignettes", ("clinical_knowledge", "nutrition", "virology", "medical_genetics"), 180),
    ("mmlu_law_med_fin", "law.jsonl.gz", "question", "vignettes", ("jurisprudence", "international_law"), 100),
    ("mmlu_law_med_fin", "finance.jsonl.gz", "question", "vignettes", (), 150),
)
SOMEBODY = re.compile(
    r"\b(?:I|my|me|plaintiff|defendant|testator|landowner|seller|buyer|man|woman|boy|girl|Mr|Mrs|Ms|Dr|Senator|President|"
    r"Minister|professor|student|owner|driver|officer|case report|we report)\b",
)


def nobody(source: Source) -> Iterator[Row]:
    """Reference text, terms and rules, without what hints at an individual: weak, for a passage that binds nothing."""
    for folder, file, field, family, categories, most in ABOUT_NOBODY:
        pool = [r for r in source.read(folder, file) if not categories or r["category"] in categories]
        random.Random(f"nobody {folder} {file}").shuffle(pool)
        taken = 0
        for raw in pool:
            if taken == most or not isinstance(raw.get(field), str):
                continue
            base = whole(folder, family, {**raw, "text": raw[field]}, "id", weak=True, cluster="no")
            told = [r for r in passages(base) if not any(p.search(r["text"]) for p in (PERSONAL, PRONOUN, AGE, RELATIVE, SOMEBODY))]
            for row in told[:1]:
                taken += 1
                yield row | {"marks": dict.fromkeys(("sex", "affiliation"), "all")}


UNLABELLED = (
    ("clinical_vignettes", "data.jsonl.gz", "text", "vignettes", "id", 1400),
    ("medquad", "all.jsonl.gz", "answer", "reference", "id", 400),
    ("pubmedqa", "all.jsonl.gz", "context", "reference", "id", 300),
    ("counsel_chat", "all.jsonl.gz", "question", "counselling", "question_id", 900),
    ("offmychest_disclosure", "data.jsonl.gz", "text", "offmychest", "group", 500),
    ("rag_triplets", "all.jsonl.gz", "context", "reference", "id", 600),
    ("mmlu_law_med_fin", "law.jsonl.gz", "question", "vignettes", "id", 500),
    ("mmlu_law_med_fin", "medicine.jsonl.gz", "question", "vignettes", "id", 300),
    ("knowledgenet", "data.jsonl.gz", "text", "wikipedia", "group", 900),
    ("crossner", "data.jsonl.gz", "text", "wikipedia", "id", 500),
    ("gum_entities", "data.jsonl.gz", "text", "genres", "group", 500),
)


def unlabelled(source: Source, clinical: bool) -> Iterator[Row]:
    """Passages of families that teach, at most two a document, for silver.py."""
    for folder, file, field, family, group, most in UNLABELLED:
        if clinical != (folder in ("clinical_vignettes", "medquad", "pubmedqa", "mmlu_law_med_fin")):
            continue
        pool = list(source.read(folder, file, group))
        random.Random(f"unlabelled {folder} {file}").shuffle(pool)
        used: Counter[str] = Counter()
        for raw in pool:
            document = str(raw.get(group))
            if sum(used.values()) >= most or not isinstance(raw.get(field), str) or used[document] >= 2:
                continue
            if folder == "gum_entities" and raw["category"] not in OPEN_GENRES:
                continue
            base = whole(folder, family, {**raw, "id": f"silver/{raw['id']}", "text": raw[field]}, group)
            found = list(passages(base))
            for row in random.Random(base["id"]).sample(found, min(len(found), 2 - used[document])):
                used[document] += 1
                yield row


ENTITY_SETS: dict[str, Callable[[Source], Iterator[Row]]] = {
    "crossner": crossner,
    "gum_entities": genres,
    "wiki_bio_anonymised": biographies,
    "offmychest_disclosure": disclosure,
    "nobody": nobody,
    "unlabelled_clinical": lambda source: unlabelled(source, True),
    "unlabelled_general": lambda source: unlabelled(source, False),
}
