"""One person described across an answer, attributes N words apart: which way of cutting a stream sees them?

The detector is the same in every window, the guard of discreet for medicine, so only the cutting differs. Each peer's is
written from its source, as named below; a token is a word with the space after it (tokens of models are shorter, so
windows of 200 tokens are shorter there). An answer leaks if what had gone out, when the first window was flagged or the
stream ended, is flagged when it is judged whole.

    python -m benchmarks.windowing [--answers 40] [--gaps 0,100] [--seed 0] [--service URL --key KEY]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import urllib.request
from collections.abc import Callable, Iterator
from functools import lru_cache

from benchmarks.page import machine
from discreet import Guard
from discreet.stats.intervals import wilson

GAPS = (0, 25, 50, 100, 200, 400, 800, 1600)
OCCUPATIONS = ("litigator", "welder", "librarian", "roofer", "dentist", "beekeeper", "violinist", "surveyor", "farrier",
               "plumber", "baker", "bus driver", "translator", "midwife", "locksmith", "geologist")
TOWNS = ("Omaha", "Tulsa", "Duluth", "Fresno", "Boise", "Toledo", "Spokane", "Wichita", "Tacoma", "Laredo", "Akron",
         "Fargo")
FACTS = (
    "Metformin lowers the production of glucose in the liver.",
    "Blood pressure varies over the day and is lowest during sleep.",
    "Inhaled corticosteroids reduce inflammation of the airways.",
    "A balanced diet contains vegetables, whole grains and enough protein.",
    "Vaccines train the immune system without causing the disease.",
    "Regular exercise improves sleep, mood and the sensitivity to insulin.",
    "Antibiotics act against bacteria and have no effect on viruses.",
    "Statins lower cholesterol and with it the risk of a heart attack.",
    "Dehydration may cause headache, dizziness and a fast pulse.",
    "The half-life of a drug says how fast its concentration falls.",
    "Migraine attacks may last from four hours to three days.",
    "Hand washing is the simplest way to prevent many infections.",
    "Iron deficiency is a frequent cause of tiredness and pallor.",
    "Beta blockers slow the heart and reduce its need for oxygen.",
    "Ultrasound uses sound waves and no ionising radiation.",
    "Allergic reactions range from a mild rash to anaphylaxis.",
    "Vitamin D is formed in the skin under the influence of sunlight.",
    "Paracetamol relieves pain and fever but not inflammation.",
    "Wounds heal faster when they are kept clean and moist.",
    "The thyroid gland controls how fast the body uses energy.",
    "Asthma control is judged by symptoms, sleep and the use of relievers.",
    "A fever is a sign that the body responds to an infection.",
    "Kidney stones often cause sudden and severe pain in the flank.",
    "Good posture and short breaks help against pain in the back.",
)
MARKS = ("patient", "year-old", "works as", "lives in", "children", *OCCUPATIONS, *TOWNS)
Step = tuple[int, str, int]
"""Characters that are out before a window is judged, the window, characters that are out once it passes."""


def words(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


def whole(text: str) -> Iterator[Step]:
    """discreet: the answer, once."""
    yield 0, text, len(text)


def look_back(text: str, kept: int = 128) -> Iterator[Step]:
    """langchain 1.4.7, `_PIIStreamTransformer`: each delta with the 128 characters held; at the end the whole block."""
    end = 0
    for word in words(text):
        start, end = max(0, end - kept), end + len(word)
        yield start, text[start:end], max(0, end - kept)
    yield max(0, end - kept), text, len(text)


def overlapping(text: str, size: int = 1024, overlap: int = 256) -> Iterator[Step]:
    """agentgateway 057f6ae, streaming_guardrails.rs: at 1,024 new bytes, with the 256 before them (text here is ASCII)."""
    tail, pending, out = "", "", 0
    for word in words(text):
        pending += word
        if len(pending) >= size:
            window = tail + pending
            yield out, window, out + len(pending)
            out, pending, tail = out + len(pending), "", window[-overlap:]
    if pending:
        yield out, tail + pending, len(text)


def rolling(text: str, size: int = 200, context: int = 50, *, stream_first: bool) -> Iterator[Step]:
    """nemoguardrails 0.24.1, `RollingBuffer`: 200 tokens of which 50 were judged before; shown first by default."""
    buffer: list[str] = []
    out = total = 0
    for word in words(text):
        buffer.append(word)
        total += len(word)
        if len(buffer) >= size:
            yield total if stream_first else out, "".join(buffer), total
            out, buffer = total, buffer[-context:]
    if buffer:
        yield total if stream_first else out, "".join(buffer), total


def sentences(text: str) -> Iterator[Step]:
    """guardrails-ai 0.11.0, `Validator._chunking_function`: one sentence at a time (texts here have plain ends)."""
    out = 0
    for sentence in re.findall(r"[^.]+\.\s*", text):
        yield out, sentence, out + len(sentence)
        out += len(sentence)


def growing(text: str, every: int = 100) -> Iterator[Step]:
    """openai-guardrails 0.3.6, `_stream_with_guardrails`: all so far, at every 100th chunk; chunks go out meanwhile."""
    end = 0
    for number, word in enumerate(words(text), start=1):
        before, end = end, end + len(word)
        if number % every == 0:
            yield before, text[:end], end
    yield len(text), text, len(text)


CUTS: dict[str, Callable[[str], Iterator[Step]]] = {
    "discreet: the whole answer": whole,
    "LangChain: 128 characters look-back": look_back,
    "agentgateway: 1,024 bytes, 256 overlap": overlapping,
    "NeMo: 200 tokens, 50 context (shown first, default)": lambda text: rolling(text, stream_first=True),
    "NeMo: 200 tokens, 50 context (judged first)": lambda text: rolling(text, stream_first=False),
    "Guardrails AI: one sentence": sentences,
    "OpenAI guardrails: all so far, every 100 chunks": growing,
}


def filler(draw: random.Random, least: int) -> str:
    """General facts, of `least` words or a few more; none for 0."""
    found: list[str] = []
    while sum(len(one.split()) for one in found) < least:
        found += draw.sample(FACTS, len(FACTS)) if not found else [draw.choice(FACTS)]
        while len(found) > 1 and sum(len(one.split()) for one in found[:-1]) >= least:
            found.pop()
    return " ".join(found)


def person(draw: random.Random) -> list[str]:
    """Four sentences of one attribute each, in any order after the first."""
    who = draw.choice(("woman", "man"))
    rest = [f"The patient works as a {draw.choice(OCCUPATIONS)}.", f"The patient lives in {draw.choice(TOWNS)}.",
            f"The patient has {draw.choice(('two', 'three', 'four', 'five'))} children."]
    draw.shuffle(rest)
    return [f"The patient is a {draw.randint(22, 88)}-year-old {who}.", *rest]


def answer(draw: random.Random, gap: int) -> str:
    parts = [filler(draw, 30)]
    for sentence in person(draw):
        parts += [sentence, filler(draw, gap)]
    return " ".join(part for part in [*parts, filler(draw, 30)] if part)


def by_service(url: str, key: str) -> Callable[[str], bool]:
    def flagged(text: str) -> bool:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/v1/check", json.dumps({"text": text}).encode(), headers)
        with urllib.request.urlopen(request) as reply:
            return str(json.load(reply)["code"]) in {"privacy/direct", "privacy/contextual"}

    return flagged


def outcome(steps: Iterator[Step], text: str, flagged: Callable[[str], bool]) -> tuple[bool, bool]:
    """Whether any window was flagged, and whether what had gone out by then is flagged when it is judged whole."""
    for before, window, _after in steps:
        # A window without a word on the person holds general facts only; `main` makes sure that those are not flagged.
        if any(mark in window for mark in MARKS) and flagged(window):
            return True, bool(text[:before].strip()) and flagged(text[:before])
    return False, flagged(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gaps", default=",".join(map(str, GAPS)), help="N, in words")
    parser.add_argument("--service", help="judge by this service too, such as http://127.0.0.1:8300")
    parser.add_argument("--key", default=os.environ.get("DISCREET_KEY", "none"))
    options = parser.parse_args()
    guard, gaps = Guard("medical"), [int(gap) for gap in options.gaps.split(",")]

    @lru_cache(maxsize=200_000)
    def flagged(text: str) -> bool:
        return guard.check(text).action == "flag"

    quiet = [fact for fact in FACTS if flagged(fact)]
    assert not quiet, quiet
    assert not flagged(filler(random.Random(options.seed), 400))
    judges = {"": flagged} | ({" (by the service)": by_service(options.service, options.key)} if options.service else {})
    print(f"{machine()}; {options.answers} answers a cell, seed {options.seed}\n")
    print("| windows | measure | " + " | ".join(f"N = {gap:,}" for gap in gaps) + " |", flush=True)
    print("|---|---|" + "---|" * len(gaps))
    for name, cut in CUTS.items():
        for label, judge in judges.items():
            if label and cut is not whole:
                continue
            seen, leaked = [], []
            for gap in gaps:
                draw = random.Random(f"{options.seed}-{gap}")
                texts = [answer(draw, gap) for _ in range(options.answers)]
                found = [outcome(cut(text), text, judge) for text in texts]
                seen.append(sum(one for one, _ in found))
                leaked.append(sum(two for _, two in found))
            for measure, counts in (("seen", seen), ("leaked", leaked)):
                print(f"| {name}{label} | {measure} | " + " | ".join(f"{n}/{options.answers}" for n in counts) + " |",
                      flush=True)
    interval = wilson(options.answers, options.answers)
    print(f"\n{options.answers} of {options.answers}: at least {interval.low:.2f} with 95% confidence (Wilson)")


if __name__ == "__main__":
    main()
