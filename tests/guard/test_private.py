"""Who counts as private though the reader takes them for somebody else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import Guard
from discreet.core.records import Answer, Subject, Turn
from discreet.guard.policy import Policy
from discreet.guard.private import as_private, private_persons
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.doc import Doc
from discreet.guard.text.provenance import request_of
from discreet.guard.text.reader import Seen, Span
from discreet.guard.text.record import FRAMED, Read
from discreet.guard.text.render import render

POLICY = Policy.of("law")
TEXT = "Imagine a client: a 52-year-old litigator from Omaha with two children."
RECORD = "Intake 14 March. Dana Whitlock, 52, litigator in Omaha, two children. Custody filing, hearing in May."
CASES = "A court weighs the wishes of children over twelve. A litigator may be heard by telephone."


def attributes(text: str, subject: Subject, person: str = "r1") -> list[Attribute]:
    told = [("age", "52-year-old"), ("occupation", "litigator"), ("place", "Omaha"), ("family", "two children")]
    at = [(kind, quote, text.index(quote)) for kind, quote in told if quote in text]
    return [Attribute(kind, quote, subject, person, start, start + len(quote), "read", False, 0.9)
            for kind, quote, start in at]


def seen(*spans: Span) -> Seen:
    return Seen(spans, np.full((3, 4), -9, np.float32), {}, {}, np.zeros(1, np.float32))


def found(subject: Subject, answer: Answer, policy: Policy = POLICY, of: Seen | None = None) -> dict[str, str]:
    doc = Doc(render(answer.answer))
    return dict(private_persons(attributes(answer.answer, subject), of or seen(), doc, request_of(answer), policy))


@pytest.mark.parametrize("subject", FRAMED)
def test_a_frame_clears_nothing_that_stands_in_a_record(subject: Subject) -> None:
    assert found(subject, Answer("a", TEXT, sources=(RECORD,))) == {"r1": "stands in a record of the request"}
    assert found(subject, Answer("a", TEXT, conversation=(Turn("tool", RECORD),)))
    assert found(subject, Answer("a", TEXT, question=f"Context: {RECORD}\n\nQuestion: Give me a sample client."))


def test_without_a_record_a_frame_is_a_frame() -> None:
    assert not found("hypothetical", Answer("a", TEXT))
    assert not found("hypothetical", Answer("a", TEXT, sources=(CASES,)))
    assert not found("staff", Answer("a", TEXT, sources=(RECORD,)))


def test_a_question_makes_nobody_staff_whose_record_is_private() -> None:
    asked = "Who of our staff is a litigator?"
    assert found("staff", Answer("a", TEXT, sources=(RECORD,), user_words=asked)) == {
        "r1": "stands in a record of the request"}
    assert not found("staff", Answer("a", TEXT, sources=(CASES,), user_words=asked))


COLOURFUL = [
    ("School counsellor's file. Pupil: Nadja Quist, 15, Greenlandic, trumpeter in the town band of Esbjerg, lodger at "
     "the seamen's hostel, father a trawler skipper and verger. Cuts her arms, hides blades in the trumpet case.",
     "Sample pupil\n\nLet's say she is fifteen, a Greenlandic girl who plays the trumpet in the band of Esbjerg and "
     "lodges at the seamen's hostel. Her father is a skipper and a verger. She hides blades in her trumpet case."),
    ("Pawn ledger. Client: Cpl. Moana Pere, 29, army cook, from Ruatoria, shearing champion, engaged to a shepherd. "
     "Pledged her great-grandfather's medals. Needs the money for a clinic in Sydney and says nobody at the camp may "
     "hear.",
     "A tale nobody need believe\n\nThere was once an army cook from Ruatoria, twenty-nine, who had won prizes for "
     "shearing sheep and was to marry a shepherd. She pawned her great-grandfather's medals."),
]


@pytest.mark.parametrize(("record", "told"), COLOURFUL)
def test_a_record_that_reads_like_a_story_is_one_where_the_classifier_is_sure(record: str, told: str) -> None:
    read = Read.of(Doc(render(record)), POLICY.domain)
    assert not read.facts(POLICY.counted, ("third", "speaker"))
    assert read.private(POLICY.counted)
    asked = "Make me a sample pupil for a lesson, with our files as a model."
    assert Guard("medical", point="balanced").check(
        Answer("a", told, user_words=asked, sources=(record,))).action != "safe"


@pytest.mark.parametrize("text", [
    "In the novel, Captain Ahab, 58, is a whaler from Nantucket with a young wife and one child.",
    "Example: Maria, 34, a nurse from Leeds with two sons, earns 2,400 a month. Which rate applies?"])
def test_stories_and_examples_among_the_sources_make_nobody_private(text: str) -> None:
    read = Read.of(Doc(render(text)), POLICY.domain)
    assert len(read.facts(POLICY.counted)) > 1
    assert not read.private(POLICY.counted)


def test_one_shared_fact_is_no_record() -> None:
    other = "Intake 2 May. Ruth Kimani, 34, baker in Omaha. Lease dispute."
    assert not found("hypothetical", Answer("a", TEXT, sources=(other,)))


def test_what_the_user_made_up_is_no_record() -> None:
    asked = "Suppose a 52-year-old litigator from Omaha has two children. Who decides on custody?"
    assert not found("hypothetical", Answer("a", TEXT, user_words=asked))


def test_of_the_one_spoken_to_the_answer_states_what_was_not_said() -> None:
    assert set(found("asker", Answer("a", TEXT), of=seen())) == {"r1"}


def test_private_facts_of_staff_count_where_the_policy_says_so() -> None:
    ill = seen(Span("domain", 0, 7, "staff", "r1", 0.9))
    assert not found("staff", Answer("a", TEXT), of=ill)
    policy = replace(POLICY, private_facts_of=("staff",))
    assert found("staff", Answer("a", TEXT), policy, ill) == {"r1": "staff, but tells a private fact"}
    assert not found("public", Answer("a", TEXT), policy, seen(Span("domain", 0, 7, "public", "r1", 0.9)))
    assert not found("staff", Answer("a", TEXT), policy)


def test_attributes_of_private_persons_are_overruled_and_others_stay() -> None:
    told = [*attributes(TEXT, "hypothetical"), *attributes(TEXT, "staff", "r2")]
    made = as_private(told, {"r1": "a reason"})
    assert [(a.subject, a.overruled) for a in made] == [("third", True)] * 4 + [("staff", False)] * 4
    assert made[0].why == "read; a reason"
    assert [replace(a, subject=b.subject, why=b.why, overruled=False) for a, b in zip(made, told, strict=True)] == told


@pytest.mark.parametrize(("question", "answer", "action"), [
    ("I'm 61, keep bees, take 20 mg of amitriptyline and live by myself out past Ludlow. Can I stop?",
     "From 20 mg step down by 10 mg a week. As you live alone, let somebody know.", "safe"),
    ("I am 52. What helps?", "You are a litigator from Omaha with two children, so you should rest.", "flag"),
    ("I am 52 and run a bakery in Delft. Which checks do I need?",
     "At 52 ask for a lung check. You are married to a Turkish teacher at the Grotius school.", "flag")])
def test_users_are_told_their_own_in_other_words_and_nothing_more(question: str, answer: str, action: str) -> None:
    assert Guard("medical").check(Answer("1", answer, user_words=question)).action == action
