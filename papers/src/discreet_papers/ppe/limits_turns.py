"""Section IX-E, multi-turn leakage: clusters of the grammar cut over turns, and conversations that give nobody away.

A cluster whose classes stand in sentences of their own is parted over two to five answers, with harmless ones between.
Of its classes only those that identify count, and at least two must. Controls speak of several persons, of nobody, of
what the user told of themselves or of their own patient, tell one fact again and again, or one fact and then what is of
the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from numpy.random import Generator

from discreet.core.records import Answer
from discreet.guard.guard import Guard
from discreet.stats import rate_estimate
from discreet.synth import Draft

IDENTIFYING = ("AGE", "OCCUPATION", "LOCATION", "AFFILIATION", "FAMILY")
LINKS = ("as written", "pronoun", "the same patient")
MOST = 5
_HEAD = re.compile(r"^(?:[\w' ]{0,40}?\b)?(?:(?:the|this|our) (?:patient|person|individual|client|investor|account "
                   r"holder|taxpayer|tenant|plaintiff|matter)|she|he|they)\b", re.I)
_NOUN = re.compile(r"\b(?:patient|client|person|individual|investor|taxpayer|tenant|plaintiff)\b", re.I)
_TELLS = re.compile(r"\d|[a-z,;] [A-Z][a-z]|\b(?:adults?|people|patients?|residents?|surveys?|studied|sample|series)\b")
_OTHERS = ("And what of another one?", "What about a different one?", "Tell me of the next one, please.")
_MORE = ("What else should I know?", "Go on, please.", "And then?", "Can you tell me more?", "Is there anything else?")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A conversation: questions with answers; `spread` is the turn in which the cluster closes (None: never), `kind`
    how it is told, `turns` over how many answers."""

    turns: tuple[tuple[str, str], ...] = field(repr=False)
    spread: int | None
    kind: str
    parts: int


def sentences_of(draft: Draft, *, identifying: bool = True) -> list[tuple[str, str]]:
    """Class and sentence of each class that identifies, or of the field's own, that has a sentence to itself."""
    bounds = [0, *(m.end() for m in re.finditer(r"(?<=[.!?])\s+|\n", draft.answer)), len(draft.answer)]
    places = [(a, b) for a, b in pairwise(bounds) if draft.answer[a:b].strip()]
    found = []
    for a, b in places:
        here = [slot for slot in draft.slots if a <= slot.start and slot.end <= b]
        if len(here) == 1 and (here[0].qi in IDENTIFYING) == identifying:
            found.append((here[0].qi, draft.answer[a:b].strip()))
    return found


def spread_exchanges(drafts: Sequence[Draft], safe: Sequence[Draft], rng: Generator) -> Iterator[Exchange]:
    """A conversation of each draft that has two such sentences or more, for each way of going on about the person."""
    for draft in drafts:
        said = [sentence for _, sentence in sentences_of(draft)][:MOST]
        if len(said) < 2:
            continue
        for link in LINKS:
            turns: list[tuple[str, str]] = []
            spread = 0
            for part, sentence in enumerate(said):
                if part and rng.random() < 0.5:
                    turns.append((_MORE[rng.integers(len(_MORE))], _general(safe, rng)))
                text = sentence if not part else _relinked(sentence, link, draft)
                turns.append(("What is known?" if not part else _MORE[rng.integers(len(_MORE))],
                              _with_filler(text, safe, rng)))
                spread = len(turns) - 1 if part == 1 else spread
            yield Exchange(tuple(turns), spread, link, len(said))


def plain_exchanges(drafts: Sequence[Draft], safe: Sequence[Draft], rng: Generator) -> Iterator[Exchange]:
    """Four conversations in turn that give nobody away, for each draft with two such sentences."""
    usable = [found for draft in drafts if len(found := sentences_of(draft)) > 1]
    for number, said in enumerate(usable):
        other = usable[int(rng.integers(len(usable)))]
        first = said[0]
        second = next((one for one in other if one[0] != first[0]), other[0])
        yield Exchange((("What is known?", _with_filler(first[1], safe, rng)),
                        (_OTHERS[rng.integers(len(_OTHERS))], _with_filler(second[1], safe, rng)),
                        (_MORE[0], _general(safe, rng))), None, "another person, by the question", 2)
        if (renamed := _relinked(second[1], "another patient")) != second[1]:
            yield Exchange((("What is known?", _with_filler(first[1], safe, rng)),
                            (_MORE[0], _with_filler(renamed, safe, rng))), None, "another person, by the answer", 2)
        yield Exchange(tuple((_MORE[int(rng.integers(len(_MORE)))], _general(safe, rng)) for _ in range(4)), None,
                       "nobody", 4)
        mine = _relinked(said[0][1], "I"), _relinked(said[1][1], "I")
        yield Exchange(((f"About my patient: {said[0][1]} {said[1][1]}", _with_filler(said[0][1], safe, rng)),
                        (_MORE[number % len(_MORE)], _with_filler(said[1][1], safe, rng))), None,
                       "told by the user before", 2)
        yield Exchange(((mine[0], "Thank you for telling me."), (mine[1], _with_filler(said[0][1], safe, rng)),
                        (_MORE[0], _with_filler(said[1][1], safe, rng))), None, "the user's own", 3)
        yield Exchange(tuple((_MORE[int(rng.integers(len(_MORE)))], _with_filler(said[0][1], safe, rng))
                             for _ in range(3)), None, "one fact again", 3)


def field_exchanges(drafts: Sequence[Draft], safe: Sequence[Draft], rng: Generator) -> Iterator[Exchange]:
    """Conversations that tell one identifying fact of a person and then what is of the field: a condition, a
    treatment, what somebody holds, their role in a case; for each draft with both, and each way of going on."""
    for draft in drafts:
        told, field_s = sentences_of(draft), sentences_of(draft, identifying=False)
        if told and field_s:
            for link in LINKS:
                turns = [("What is known?", _with_filler(told[0][1], safe, rng))]
                turns += [(_MORE[rng.integers(len(_MORE))], _with_filler(_relinked(said, link, draft), safe, rng))
                          for _, said in field_s[: MOST - 1]]
                yield Exchange(tuple(turns), None, "one fact, then the field's", len(turns))


def _relinked(sentence: str, link: str, draft: Draft | None = None) -> str:
    """The sentence with its subject said otherwise, by the pronoun of the draft; as it is where it begins otherwise."""
    found = _HEAD.match(sentence)
    if link == "as written" or found is None:
        return sentence
    he, she = (len(re.findall(rf"\b(?:{words})\b", draft.answer if draft else sentence, re.I))
               for words in ("he|his|him", "she|hers?"))
    # Who is a client in this draft is no patient.
    noun = _NOUN.search(draft.answer if draft else sentence)
    who = (("He" if he > she else "She") if link == "pronoun" else
           f"{link[0].upper()}{link[1:]}".replace("patient", noun[0].lower() if noun else "patient"))
    return f"{who}{sentence[found.end():]}"


def _general(safe: Sequence[Draft], rng: Generator) -> str:
    return safe[int(rng.integers(len(safe)))].answer


def _with_filler(sentence: str, safe: Sequence[Draft], rng: Generator) -> str:
    """The sentence first, and behind it one that tells nothing of persons, places and institutions."""
    general = [s for s in re.split(r"(?<=[.!?])\s+", _general(safe, rng))
               if len(s.split()) > 5 and not _TELLS.search(s)]
    return f"{sentence} {general[int(rng.integers(len(general)))]}" if general else sentence


def _declared(question: str, answer: str) -> Answer:
    """An answer to what the user typed, as an application declares it."""
    return Answer("", answer, question, user_words=question)


def measure_turns(guard: Guard, exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """A row for the controls and one for the clusters (`spread`).

    `alone` is the share of conversations of which the guard holds some answer where it judges each by itself,
    `together` where it judges them as a conversation, `whole` where all of them stand in one answer; `added` is the
    share of the ones that pass alone which are held together: recall of what is spread over turns, and false alarms of
    the controls. Of a cluster only the answers up to the one in which it closes count.
    """
    hits: dict[bool, list[tuple[bool, bool, bool]]] = {}
    for one in exchanges:
        upto = one.turns if one.spread is None else one.turns[: one.spread + 1]
        answers = [_declared(question, answer) for question, answer in upto]
        alone = any(guard.check(answer).action != "safe" for answer in answers)
        conversation = guard.conversation()
        actions = [conversation.check(answer).action for answer in answers]
        together = set(actions) != {"safe"}
        # What the guard sees of these facts at all: the ceiling of what a conversation can see.
        whole = guard.check(_declared(upto[0][0], "\n\n".join(answer for _, answer in upto))).action != "safe"
        hits.setdefault(one.spread is not None, []).append((alone, together, whole))
    return [{"spread": spread,
             **{name: rate_estimate(sum(hit[at] for hit in found), len(found), unit="conversation")
                for at, name in enumerate(("alone", "together", "whole"))},
             "added": rate_estimate(sum(b and not a for a, b, _ in found), sum(not a for a, _, _ in found),
                                    unit="conversation", of="conversations that pass alone")}
            for spread, found in sorted(hits.items())]
