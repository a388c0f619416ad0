from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Guard
from discreet.core.records import SUBJECTS, Answer
from discreet.guard.domains import ALWAYS, IDENTIFYING, load_domain
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.guard.score import clusters, combined, probability, score
from discreet.guard.text import classifier, record
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.reader import packaged
from discreet.guard.text.reply import Case

MEDICAL = load_domain("medical")
POLICY = Policy(MEDICAL, "public", 1, ("third", "speaker"), 2)


def said(kind: str, value: str = "v", person: str = "p1", subject: str = "third", weak: bool = False) -> Attribute:
    return Attribute(kind, value, subject, person, 0, 1, "read", weak)  # type: ignore[arg-type]


persons = st.sampled_from([("p1", "third"), ("p2", "third"), ("speaker", "speaker"), ("cohort", "cohort"),
                           ("addressee", "asker"), ("p9", "public"), ("nobody", "nobody")])
attributes = st.builds(lambda kind, value, who, weak: said(kind, value, who[0], who[1], weak),
                       st.sampled_from((*MEDICAL.shared, *MEDICAL.own, *ALWAYS)), st.sampled_from("abc"), persons,
                       st.booleans())
policies = st.builds(lambda cluster, rule: replace(POLICY, cluster=cluster, rule=rule), st.integers(1, 4),
                     st.sampled_from(["identifying", "paper"]))


@given(st.floats(-1e300, 1e300) | st.floats(-30, 30))
def test_a_probability_is_the_logistic_function(logit: float) -> None:
    assert 0 <= probability(logit) <= 1
    assert probability(logit) + probability(-logit) == pytest.approx(1)
    if abs(logit) < 30:
        assert probability(logit) == pytest.approx(exp(logit) / (1 + exp(logit)))


@given(st.lists(attributes, max_size=8), policies, st.integers(0, 99))
def test_order_repetition_and_who_does_not_count_do_not_matter(found: list[Attribute], policy: Policy,
                                                               seed: int) -> None:
    def sizes(of: list[Attribute]) -> list[tuple[str, int, int, int]]:
        return [(c.person, c.strong, c.weak, c.facts) for c in clusters(of, policy)]

    counting = [a for a in found if a.subject in policy.subjects]
    for changed in (random.Random(seed).sample(found, len(found)), [*found, *found], counting):
        assert sizes(changed) == sizes(found)
    assert {c.subject for c in clusters(found, policy)} <= set(policy.subjects)


@given(st.lists(attributes, min_size=1, max_size=8))
def test_counts_are_those_of_distinct_facts(found: list[Attribute]) -> None:
    for c in clusters(found, POLICY):
        mine = [a for a in found if a.person == c.person and a.kind in IDENTIFYING]
        strong = {(a.kind, a.value) for a in mine if not a.weak}
        every = {(a.kind, a.value) for a in mine}
        assert (c.strong, c.size) == (len(strong), len(every))
        assert 0 <= c.facts <= 3


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if s not in ("third", "speaker")])
def test_echoed_public_and_cohort_do_not_count(subject: str) -> None:
    assert clusters([said("age", subject=subject), said("place", subject=subject)], POLICY) == []


def test_domain_facts_count_under_the_paper_s_rule_only() -> None:
    found = [said("condition", "asthma"), said("treatment", "albuterol")]
    assert [c.size for c in clusters(found, POLICY)] == [0]
    assert [c.size for c in clusters(found, replace(POLICY, rule="paper"))] == [2]


@pytest.mark.parametrize(("answer", "question", "reads"), [
    ("Metformin lowers blood glucose.", "What lowers blood glucose?", 1),
    ("You may ask for a leaflet.", "I am a 52-year-old litigator from Omaha. Is there something to read?", 2),
    ("Since you run a bakery, bring your papers.", "I am 52 and run a bakery in Delft. Is there something to read?", 2),
    ("I cannot say.", "Was the 52-year-old litigator from Omaha treated here?", 1),
    ("Yes, she was.", "Was the 52-year-old litigator from Omaha treated here?", 2)])
def test_an_answer_and_its_question_are_read_in_one_pass(
        answer: str, question: str, reads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom a question describes is read where the answer may tell something of them."""
    shipped, texts = packaged(), []

    class Counting:
        def read(self, text: str, questions: Sequence[str] = ()) -> object:
            texts.append(text)
            return shipped.read(text, questions)

    monkeypatch.setattr(record, "packaged", Counting)
    verdict = Guard("medical").check(answer, question)
    assert verdict.action == ("flag" if answer.startswith("Yes") else "safe")
    assert len(texts) == reads


@pytest.mark.parametrize(("text", "action"), [
    ("For example, the patient is a 47-year-old dentist from Boise with two children.", "flag"),
    ("For example, our patient on bed 4 is a 47-year-old dentist from Boise with two children.", "flag"),
    ("A 45-year-old nurse who lives in Tulsa would need a permit.", "safe"),
    ("If a 52-year-old teacher from Omaha with two children applies, another rule holds.", "safe"),
    ("Imagine a 47-year-old dentist from Boise with two children. She would be advised to rest.", "safe"),
])
def test_records_told_as_examples_and_conditions(text: str, action: str) -> None:
    assert Guard("medical").check(text).action == action


@pytest.mark.parametrize("question", ["Invent a character for my novel.", "What does the general guideline say?",
                                      "What is typical of people in our cohort?", "The gate is green. " * 30])
@pytest.mark.parametrize("source", ["A sister from abroad stays with her.", "Overdose again; taught Sunday school."])
def test_a_question_clears_nobody_of_whom_anything_stands_in_the_request(question: str, source: str) -> None:
    held = "She runs the chapel Sunday school and has had a second overdose; her sister came from abroad to stay."
    policy = Policy.of("medical")
    alone = score(read_answer(Answer("1", held, sources=(source,)), policy), policy, combined())
    told = [read_answer(Answer("1", held, user_words=question, sources=sources), policy)
            for sources in ((), ("Letters take ten days.",), (source,))]
    assert [one.seen.together is not None for one in told[:2]] == [True, True]
    recorded, together = score(told[2], policy, combined()).logit, told[2].seen.together
    if together is None:
        assert recorded == pytest.approx(alone.logit, abs=0.2)
    else:  # A leak with its question too, so that no record is looked up.
        assert together.tells > 4.0
        assert recorded > alone.logit - 0.2


@pytest.mark.parametrize(("sources", "asked"), [((), True), (("Letters take ten days.",), True),
                                               (("She runs the Sunday school; her sister stays.",), False)])
def test_the_classifier_reads_an_answer_without_a_question_too(sources: tuple[str, ...], asked: bool,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    """And has no say about whom a text of the request tells of, unless it takes the answer for a leak."""
    read = list[str]()

    class Told:
        def read(self, text: str, question: str) -> Case:
            read.append(question)
            return Case(tells=-3.0, others=3.0, status="fictional")

    monkeypatch.setattr(classifier, "packaged_classifier", Told)
    found = read_answer(Answer("1", "She runs the chapel Sunday school; her sister came to stay.", sources=sources),
                        Policy.of("medical"))
    assert read == [""]
    assert (found.seen.together is not None, found.seen.asked) == (asked, False)


def test_what_a_domain_calls_its_persons_is_no_occupation() -> None:
    domain = replace(MEDICAL, person="policyholder", people="policyholders")
    text = "The policyholder from Omaha asked about hail."
    told = [{a.kind for a in read_answer(Answer("1", text), replace(POLICY, domain=one)).attributes}
            for one in (MEDICAL, domain)]
    assert told[1] == {"place"} < told[0]
