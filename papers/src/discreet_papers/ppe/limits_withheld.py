"""What the memory of withheld answers costs users who rewrite nothing: safe answers that it holds all the same.

Traffic is passages of documents cut into answers, as somebody gets who asks several questions about one document, and
answers of one writer of the grammar, whose few towns and trades come again by chance. A safe answer that restates what
was withheld of its own document speaks of the same person; one that does so of another document is a false alarm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from discreet.core.records import Answer
from discreet.guard.guard import Guard
from discreet.guard.judgement import Judgement
from discreet.guard.withheld import Withheld
from discreet.stats import rate_estimate
from discreet.synth import Draft
from discreet_papers.ppe.limits_quotes import Document
from discreet_papers.ppe.limits_rewrites import IDENTIFYING

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
WORDS, PARTS, LONGEST = 60, 4, 160
"""Words of an answer that is cut from a document, at least and at most, and how many are cut from one."""
SIZES = (10, 30, 100, 300)


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer about a document, and what the guard says of it."""

    document: str
    answer: Answer
    judgement: Judgement

    @property
    def safe(self) -> bool:
        """Whether it is safe by itself."""
        return self.judgement.verdict.action == "safe"


def _memory(most: int = 256) -> Withheld:
    return Withheld(most=most, clock=lambda: 0.0)  # Nothing expires, however slow the machine.


def parts_of(text: str) -> list[str]:
    """Whole sentences of at least `WORDS` words together; all of a text that has fewer."""
    found: list[str] = []
    words: list[str] = []
    for sentence in _SENTENCE.split(text):
        words += sentence.split()
        if len(words) >= WORDS:
            found.append(" ".join(words[:LONGEST]))
            words = []
        if len(found) == PARTS:
            break
    return found or [" ".join(words)]


def judged_parts(guard: Guard, documents: Iterable[Document], n: int) -> Iterator[Judged]:
    """The parts of the first document of each of `n` groups."""
    first: dict[str, Document] = {}
    for one in documents:
        first.setdefault(one.group, one)
    for one in [*first.values()][:n]:
        for number, part in enumerate(parts_of(one.text)):
            answer = Answer(f"{one.group}-{number}", part)
            yield Judged(one.group, answer, guard.judge(answer))


def judged_drafts(guard: Guard, drafts: Iterable[Draft]) -> Iterator[Judged]:
    """Drafts, each a document of its own."""
    for number, one in enumerate(drafts):
        answer = Answer(str(number), one.answer, one.question)
        yield Judged(str(number), answer, guard.judge(answer))


def measure_withheld(judged: Sequence[Judged], rng: Generator) -> Iterator[dict[str, Any]]:
    """The share of safe answers that are held: in this order, by what was withheld of the same document (`same`) and by
    that of others alone (`others`); then by so many withheld answers of other documents (`others`, `remembered`)."""
    whole, own = _memory(len(judged) + 1), dict[str, Withheld]()
    same, others = [], []
    for one in judged:
        mine = own.setdefault(one.document, _memory())
        by_all, by_own = (memory.judge(one.answer, one.judgement).verdict.action != "safe"
                          for memory in (whole, mine))
        if one.safe:
            same.append(by_own)
            others.append(by_all and not by_own)
    yield {"order": "as it comes", "remembered": len(whole), "same": rate_estimate(sum(same), len(same), unit="answer"),
           "others": rate_estimate(sum(others), len(others), unit="answer")}
    held = [one for one in judged if not one.safe]
    order = [held[int(k)] for k in rng.permutation(len(held))]
    for size in (n for n in SIZES if n <= len(whole)):
        memory, documents = _memory(len(judged) + 1), set[str]()
        for one in order:
            if len(memory) == size:
                break
            memory.judge(one.answer, one.judgement)
            documents.add(one.document)
        asked = [one for one in judged if one.safe and one.document not in documents]
        wrong = sum(memory.judge(one.answer, one.judgement).verdict.action != "safe" for one in asked)
        yield {"order": "drawn", "remembered": size, "others": rate_estimate(wrong, len(asked), unit="answer")}


def measure_without_facts(guard: Guard, drafts: Iterable[Draft]) -> dict[str, Any]:
    """Held answers from which every sentence with an identifying value is taken: what a user ought to send next. Of
    those that are then safe by themselves the share that the memory holds."""
    asked = held = 0
    for one in drafts:
        first = Answer("", one.answer, one.question)
        judgement = guard.judge(first)
        kept = Answer("", without_facts(one), one.question)
        if judgement.verdict.action == "safe" or (again := guard.judge(kept)).verdict.action != "safe":
            continue
        memory = _memory()
        memory.judge(first, judgement)
        asked += 1
        held += memory.judge(kept, again).verdict.action != "safe"
    return {"order": "without the facts", "remembered": 1, "others": rate_estimate(held, asked, unit="answer")}


def without_facts(draft: Draft) -> str:
    """A draft without the sentences in which an identifying slot stands."""
    ends = [m.end() for m in _SENTENCE.finditer(draft.answer)]
    kept = []
    for start, end in zip([0, *ends], [*ends, len(draft.answer)], strict=True):
        if not any(slot.qi in IDENTIFYING and slot.start < end and start < slot.end for slot in draft.slots):
            kept.append(draft.answer[start:end])
    return "".join(kept)
