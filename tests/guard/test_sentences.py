from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from discreet.core.records import Answer
from discreet.guard import sentences
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.guard.sentences import OTHER, read_sentences, sentences_alone, told_apart
from discreet.guard.text import record
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.doc import Doc
from discreet.guard.text.lexicon import person_words
from discreet.guard.text.reader import Seen, packaged
from discreet.guard.text.referents import find_referents
from discreet.guard.text.reply import NOTHING

ADVICE = " You should bring a list of questions to the next review; none is too small to be asked."
FROM = "Now, the person comes from Vellagrove."
BAKERY = "Every morning he opens the shutters of the family bakery."


def facts(answer: str, domain: str = "medical") -> list[Attribute]:
    policy = Policy.of(domain)
    doc = Doc.of(answer)
    referents = find_referents(doc, person_words(policy.domain.person, policy.domain.people))
    read = read_answer(Answer("1", answer), policy)
    alone = sentences_alone(doc, read, referents, policy)
    return [a for _, found in read_sentences(doc, read, alone, referents, policy) for a in found]


def turns(*said: str | tuple[str, str], domain: str = "medical") -> list[tuple[str, str]]:
    conversation = Guard(domain).conversation()
    verdicts = [conversation.check(one) if isinstance(one, str) else conversation.check(one[1], one[0]) for one in said]
    return [(one.action, one.reason) for one in verdicts]


class Hides:
    """The reader that ships, to which a place in general sentences is a group's, and a bakery has a counted class that
    no span shows."""

    def read(self, text: str, questions: Sequence[str] = ()) -> Seen:
        seen = packaged().read(text, questions)
        if text == FROM + ADVICE:
            return replace(seen, spans=tuple(replace(s, subject="cohort", person="cohort") for s in seen.spans))
        if text == BAKERY:
            counts = np.minimum(seen.counts, -6)
            counts[0, 0] = 3.0
            return replace(seen, spans=(), counts=counts, case=NOTHING)
        if BAKERY in text:
            low = np.minimum(seen.counts, -6)
            return replace(seen, spans=tuple(s for s in seen.spans if s.kind == "sex"), counts=low, case=NOTHING)
        return seen


@pytest.fixture
def hides(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (record, sentences):
        monkeypatch.setattr(module, "packaged", Hides)


@pytest.mark.usefixtures("hides")
def test_a_fact_that_general_sentences_hide_is_read_from_its_own() -> None:
    whole = read_answer(Answer("1", FROM + ADVICE), Policy.of("medical"))
    assert not [a for a in whole.attributes if a.kind == "place" and a.subject == "third"]
    found = facts(FROM + ADVICE)
    assert [(a.kind, a.subject) for a in found] == [("place", "third")]
    assert (FROM + ADVICE)[found[0].start : found[0].end] == "Vellagrove"
    assert found[0].weak  # The answer as a whole gives it to a group.


@pytest.mark.usefixtures("hides")
def test_what_is_counted_and_in_no_span_is_a_weak_fact_without_a_class() -> None:
    found = facts(BAKERY + ADVICE)
    assert [(a.kind, a.weak) for a in found] == [(OTHER, True)]
    assert found[0].probability > 0.5
    assert (BAKERY + ADVICE)[found[0].start : found[0].end] == BAKERY
    assert not {"he", "the", "of"} & set(found[0].value.split())


@pytest.mark.parametrize(("domain", "answer"), [
    ("medical", "He takes lamotrigine twice a day." + ADVICE), ("medical", "The patient should rest for two weeks."),
    ("law", "She is a third-party defendant." + ADVICE), ("finance", "He holds farmland in trust." + ADVICE),
    ("medical", "Adults who live near Albany are over-represented." + ADVICE),
])
def test_what_is_of_the_field_or_of_nobody_is_none(domain: str, answer: str) -> None:
    assert facts(answer, domain) == []


def test_a_policy_that_counts_no_third_person_reads_nothing() -> None:
    policy = Policy.of("medical", "treating")
    read = read_answer(Answer("1", FROM), policy)
    assert sentences_alone(Doc.of(FROM), read, find_referents(Doc.of(FROM)), policy) == []


def test_it_joins_what_earlier_turns_told() -> None:
    said = turns("He is 46 years old." + ADVICE, FROM + ADVICE)
    assert said[0][0] == "safe"
    assert said[1][0] in ("flag", "abstain")
    assert said[1][1].endswith("over turns: 2 attributes bound to one person (third): age, place; 1 of them in earlier "
                               "answers")


@pytest.mark.usefixtures("hides")
def test_a_fact_without_a_class_goes_to_review_and_counts_once() -> None:
    said = turns("He is 46 years old.", BAKERY + ADVICE)
    assert said[1] == ("abstain", "unsure over turns: 2 attributes bound to one person (third): age, other; 1 of them "
                       "in earlier answers")
    again = turns(BAKERY + ADVICE, BAKERY + ADVICE + " Metformin helps.", BAKERY)
    assert [action for action, _ in again] == ["safe"] * 3


def test_what_the_user_had_said_is_none() -> None:
    goats = "He keeps goats and sells cheese."
    for question, expected in ((f"My patient is 46. {goats} What now?", "safe"), (goats, "flag")):
        action, reason = turns("He is 46 years old.", (question, goats + ADVICE))[1]
        assert action == expected, reason


def test_the_fields_own_facts_of_the_same_person_add_nothing() -> None:
    assert [a for a, _ in turns("He is 46 years old." + ADVICE, "He has seizures." + ADVICE,
                                "He takes lamotrigine twice a day." + ADVICE)] == ["safe"] * 3


def test_somebody_described_by_words_that_are_no_known_noun() -> None:
    told = "The party in this matter works as a fisherman. Picture a client with a lien."
    first = "Our client lives in Portland now." + ADVICE
    assert Guard("law").check(first).action == Guard("law").check(told).action == "safe"
    assert turns(first, told, domain="law")[1][0] in ("flag", "abstain")
    assert turns(first, "Another client works as a fisherman." + ADVICE, domain="law")[1][0] == "safe"


def test_parts_of_one_name_are_one_fact_and_what_is_of_the_field_is_none() -> None:
    policy = Policy.of("law")
    job = "He works as a glass-eye tinter."
    read = read_answer(Answer("1", job), policy)
    parts = tuple(Attribute("occupation", word, "third", "r1", job.index(word), job.index(word) + len(word), "read",
                            False, 0.95) for word in ("glass", "tinter"))
    whole = told_apart(job, Doc.of(job), replace(read, attributes=parts), [], policy)
    assert [set(a.value.split()) for a in whole] == [{"glass", "eye", "tinter"}]
    role = "He acts as an intervenor."
    read = read_answer(Answer("1", role), policy)
    assert [a.kind for a in read.attributes if a.kind == "occupation"] == ["occupation"]
    alone = sentences_alone(Doc.of(role), read, find_referents(Doc.of(role)), policy)
    assert not [a for a in told_apart(role, Doc.of(role), read, alone, policy) if a.kind != "sex"]
