from __future__ import annotations

import random
from dataclasses import replace
from math import exp

import pytest
from discreet.guard.text.evidence.mentions import IDENTIFYING, Attribute, classes_of
from hypothesis import given
from hypothesis import strategies as st

from discreet import Guard
from discreet.core.records import SUBJECTS
from discreet.guard import reading
from discreet.guard.domains import load_domain
from discreet.guard.policy import POINTS, Policy
from discreet.guard.score import (
    FEATURES,
    Cluster,
    Logistic,
    clusters,
    features,
    fitted,
    probability,
    score_evidence,
)
from discreet.guard.text import record
from discreet.guard.text.reader import packaged

POLICY = Policy(load_domain("medical"), "public", 1, ("third", "speaker"), 2)


def said(kind: str, value: str = "v", person: str = "p1", subject: str = "third", weak: bool = False) -> Attribute:
    return Attribute(kind, value, subject, person, 0, 1, "a rule", weak)  # type: ignore[arg-type]


persons = st.sampled_from([("p1", "third"), ("p2", "third"), ("speaker", "speaker"), ("cohort", "cohort"),
                           ("addressee", "asker"), ("p9", "public"), ("nobody", "nobody")])
attributes = st.builds(lambda kind, value, who, weak: said(kind, value, who[0], who[1], weak),
                       st.sampled_from(classes_of("medical")), st.sampled_from("abc"), persons, st.booleans())
policies = st.builds(lambda cluster, rule: replace(POLICY, cluster=cluster, rule=rule), st.integers(1, 4),
                     st.sampled_from(["identifying", "paper"]))
models = st.just(fitted()) | st.builds(lambda b, w: Logistic(b, tuple(w), {}), st.floats(-5, 0),
                                       st.lists(st.floats(0, 3), min_size=len(FEATURES), max_size=len(FEATURES)))


def delta(found: list[Attribute], policy: Policy = POLICY, model: Logistic | None = None) -> float:
    return score_evidence(found, policy, model or fitted()).logit


@given(st.floats(-1e300, 1e300) | st.floats(-30, 30))
def test_a_probability_is_the_logistic_function(logit: float) -> None:
    assert 0 <= probability(logit) <= 1
    assert probability(logit) + probability(-logit) == pytest.approx(1)
    if abs(logit) < 30:
        assert probability(logit) == pytest.approx(exp(logit) / (1 + exp(logit)))


def test_the_fitted_model_can_only_grow_and_orders_its_points() -> None:
    model = fitted()
    assert len(model.weights) == len(FEATURES)
    assert min(model.weights) >= 0
    assert set(model.tau) == set(POINTS)
    assert 0.0 == model.tau["conservative"] >= model.tau["balanced"] >= model.tau["strict"]


@given(st.lists(attributes, max_size=8), attributes, policies, models)
def test_a_further_attribute_never_lowers_the_score(found: list[Attribute], more: Attribute, policy: Policy,
                                                    model: Logistic) -> None:
    assert delta([*found, more], policy, model) >= delta(found, policy, model) - 1e-12


@given(st.lists(attributes, max_size=8), policies, st.integers(0, 99))
def test_order_repetition_and_who_does_not_count_do_not_matter(found: list[Attribute], policy: Policy,
                                                               seed: int) -> None:
    expected = delta(found, policy)
    counting = [a for a in found if a.subject in policy.subjects]
    for changed in (random.Random(seed).sample(found, len(found)), [*found, *found], counting):
        assert delta(changed, policy) == expected
    assert {c.subject for c in clusters(found, policy)} <= set(policy.subjects)


@given(st.lists(attributes, min_size=1, max_size=8))
def test_counts_are_those_of_distinct_facts(found: list[Attribute]) -> None:
    for c in clusters(found, POLICY):
        mine = [a for a in found if a.person == c.person and a.kind in IDENTIFYING]
        strong = {(a.kind, a.value) for a in mine if not a.weak}
        every = {(a.kind, a.value) for a in mine}
        assert (c.strong, c.strong + c.weak, c.classes) == (len(strong), len(every), len({k for k, _ in every}))
        assert 0 <= c.facts <= 3
        assert c.person_told in (0, 1)


@pytest.mark.parametrize("kind", IDENTIFYING)
@pytest.mark.parametrize("point", POINTS)
def test_one_attribute_is_no_cluster(kind: str, point: str) -> None:
    facts = [said("sex"), said("condition", "a"), said("treatment", "b"), said("visit", "c")]
    assert delta([said(kind)]) <= fitted().tau["conservative"]
    assert delta([said(kind), *facts]) <= fitted().tau["conservative"]
    assert delta(facts) <= fitted().tau[point]


@pytest.mark.parametrize(("one", "two"), [(a, b) for a in IDENTIFYING for b in IDENTIFYING])
def test_two_attributes_of_one_person_are_a_cluster(one: str, two: str) -> None:
    assert delta([said(one, "a"), said(two, "b")]) > fitted().tau["conservative"]


def test_two_attributes_of_two_persons_are_none() -> None:
    assert delta([said("age", person="p1"), said("place", person="p2")]) <= 0
    assert delta([said("age"), said("place", person="speaker", subject="speaker")]) <= 0


@pytest.mark.parametrize("cluster", [1, 2, 3, 4])
def test_a_policy_may_ask_for_more_or_for_one(cluster: int) -> None:
    policy = replace(POLICY, cluster=cluster)
    kinds = [said(kind) for kind in IDENTIFYING]
    assert delta(kinds[: cluster - 1], policy) <= 0
    assert delta(kinds[:cluster], policy) > 0


def test_domain_facts_are_a_cluster_under_the_paper_s_rule_only() -> None:
    found = [said("condition", "asthma"), said("treatment", "albuterol")]
    assert delta(found) <= 0
    assert delta(found, replace(POLICY, cluster=1)) <= 0
    assert delta(found, replace(POLICY, rule="paper")) > 0


def test_the_best_person_is_the_one_with_most() -> None:
    found = [said("age", person="p2"), said("age"), said("place"), said("family", person="p3")]
    best = score_evidence(found, POLICY, fitted()).best
    assert best is not None
    assert best.person == "p1"
    assert {a.kind for a in best.attributes} == {"age", "place"}


def test_features_in_their_order() -> None:
    [c] = clusters([said("age"), said("place", weak=True), said("person"), said("condition"), said("visit")], POLICY)
    assert dict(zip(FEATURES, features(c, POLICY), strict=True)) == {
        "strong": 1, "total": 2, "two": 1, "two_strong": 0, "classes": 2, "person": 1, "facts": pytest.approx(2 / 3)}
    model = Logistic(-1.0, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0), {})
    assert model.logit((1, 1, 0, 0, 2, 0, 0.5)) == pytest.approx(-1 + 1 + 2 + 10 + 3.5)


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if s not in ("third", "speaker")])
def test_echoed_public_and_cohort_do_not_count(subject: str) -> None:
    for found in ([], [said("age", subject=subject), said("place", subject=subject)]):
        assert (delta(found), score_evidence(found, POLICY, fitted()).best) == (fitted().intercept, None)


@pytest.mark.parametrize("cluster", [1, 2, 3])
def test_no_operating_point_depends_on_rounding(cluster: int) -> None:
    """A score that counts can reach lies on one side of every point, not on it: 1e-9 must not decide who is flagged."""
    policy = replace(POLICY, cluster=cluster)
    reached = {
        fitted().logit(features(Cluster("p", "third", (), strong, weak, classes, sex, facts), policy))
        for strong in range(6)
        for weak in range(6)
        for classes in range(min(strong + weak, 1), min(strong + weak, len(IDENTIFYING)) + 1)
        for sex in (0, 1)
        for facts in range(4)
    }
    for point, tau in fitted().tau.items():
        assert min(abs(logit - tau) for logit in reached) > 1e-9, point


@pytest.mark.parametrize(("answer", "question", "reads"), [
    ("Metformin lowers blood glucose.", "I am a 52-year-old litigator from Omaha. What helps?", 1),
    ("At 52, ask a doctor in Omaha.", "I am a 52-year-old litigator from Omaha. What helps?", 1),
    ("I cannot say.", "Was the 52-year-old litigator from Omaha treated here?", 1),
    ("Yes, she was.", "Was the 52-year-old litigator from Omaha treated here?", 2)])
def test_a_question_is_read_where_the_answer_may_confirm_it(
        answer: str, question: str, reads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, texts = packaged(), []

    class Counting:
        def read(self, text: str, asked: str = "") -> object:
            texts.append(text)
            return shipped.read(text, asked)

    monkeypatch.setattr(reading, "packaged", Counting)
    monkeypatch.setattr(record, "packaged", Counting)
    verdict = Guard("medical").check(answer, question)
    assert verdict.action == ("safe" if reads == 1 else "flag")
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
