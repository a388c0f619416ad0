from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.records import Answer, Estimate, Verdict
from discreet.guard.decide import Judgement
from discreet.guard.domains import builtin_domains, load_domain
from discreet.guard.evaluate import COHORT, PLANTED, evaluate, in_second_person
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.reading import Finding
from discreet.inputs.answers import LabelledAnswer


class Scripted:
    """Holds what its text says: `flag`, `direct`, `abstain`, `failed`, else safe; `d=…` is the log-odds."""

    policy = Policy.of("medical")
    point = "conservative"

    def judge(self, answer: Answer) -> Judgement:
        words = answer.answer.split()
        action: Any = next((w for w in words if w in ("flag", "direct", "abstain", "failed")), "safe")
        delta = None if action == "failed" else float(next((w[2:] for w in words if w.startswith("d=")), "0"))
        layer: Any = {"flag": "contextual", "direct": "direct"}.get(action)
        if action == "direct":
            action = "flag"
        findings = tuple(Finding(w[5:], "third", "person 1", i, i + 1, "a rule", "contextual", True)
                         for i, w in enumerate(words) if w.startswith("kind="))
        score = None if delta is None else 0.5
        return Judgement(Verdict(answer.id, action, layer, score, delta, (), "p", "r"), findings)

    def check(self, answer: Answer) -> Verdict:
        return self.judge(answer).verdict


def row(text: str, cluster: Any = "yes", **more: Any) -> LabelledAnswer:
    return LabelledAnswer(Answer("1", text), cluster, **more)


def run(rows: list[LabelledAnswer]) -> dict[str, Any]:
    return evaluate(rows, lambda _: Scripted(), "medical")  # type: ignore[arg-type, return-value]


def leaves(data: Any) -> Iterator[Estimate]:
    for value in data.values():
        if isinstance(value, Estimate):
            yield value
        else:
            yield from leaves(value)


def repeated(n: int, text: str, cluster: Any = "yes", **more: Any) -> list[LabelledAnswer]:
    return [row(text, cluster, **more)] * n


ROWS = [
    *repeated(6, "flag d=3", subject="third", register="professional", counts={"age": 1, "sex": 1}),
    *repeated(2, "safe d=-1", subject="third", register="professional", counts={"age": 1}),
    *repeated(2, "direct d=-2", subject="speaker", register="conversational"),
    row("flag d=2", "no", register="professional", counts={"age": 0}),
    *repeated(9, "safe d=-3", "no", register="advice", counts={"age": 0}),
    *repeated(4, "flag d=1", "no", register="conversational"), row("flag d=1", "one"),
    *repeated(3, "safe d=0", "one"), *repeated(50, "flag d=9", "unclear"),
    *repeated(2, "flag d=4", subject="public"), row("safe d=4", subject="public"), row("abstain d=0", "one"),
    row("failed", subject="third"),
]


def test_rates_are_those_of_the_rows() -> None:
    overall = run(ROWS)["overall"]
    assert overall["tpr_point"].value == pytest.approx(9 / 11)
    assert overall["fpr_point"].value == pytest.approx(1 / 10)
    assert overall["contextual_fpr_point"].value == pytest.approx(1 / 10)
    assert overall["fpr_point_any_register"].value == pytest.approx(5 / 14)
    assert overall["held_with_one_attribute"].value == pytest.approx(2 / 5)
    n = len([r for r in ROWS if r.cluster != "unclear"])
    assert overall["abstain"].value == pytest.approx(1 / n)
    assert overall["failed"].value == pytest.approx(1 / n)
    assert (overall["tpr_point"].n, overall["fpr_point"].n) == (11, 10)


def test_the_auroc_is_over_positives_and_negatives_with_a_score() -> None:
    scores = [(3, 1)] * 6 + [(-1, 1)] * 2 + [(-2, 1)] * 2 + [(2, 0)] + [(-3, 0)] * 9
    pairs = [(p, n) for p, a in scores if a for n, b in scores if not b]
    slow = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p, n in pairs) / len(pairs)
    assert run(ROWS)["overall"]["auroc"].value == pytest.approx(slow)


def test_every_figure_has_an_interval_or_a_reason() -> None:
    result = run(ROWS)
    figures = [e for name, part in result.items() if name not in ("point", "policy") for e in leaves(part)]
    assert len(figures) > 30
    for figure in figures:
        if figure.value is None:
            assert figure.reason
        else:
            assert (figure.low if figure.low is not None else 9) <= figure.value <= (figure.high or 0)


def test_subjects_are_told_apart() -> None:
    subjects = run(ROWS)["subjects"]
    held = {who: figures["held"].value for who, figures in subjects.items()}
    assert held == {"third": pytest.approx(7 / 9), "speaker": 1.0, "public": pytest.approx(2 / 3), "asker": None}
    assert subjects["speaker"]["held_contextual"].value == 0.0


def test_classes_are_compared_with_the_readers() -> None:
    rows = [row("kind=age kind=place", counts={"age": 1, "place": 0}), row("kind=age", counts={"age": 2, "place": 1}),
            row("safe", "no", counts={"age": 0, "place": 0}), row("safe", counts={"age": 1, "place": 0}),
            row("kind=age", subject="public", counts={"age": 0})]
    found = {kind: (f["precision"].value, f["recall"].value) for kind, f in run(rows)["classes"].items()}
    assert found == {"age": (1.0, pytest.approx(2 / 3)), "place": (0.0, 0.0)}


def test_unclear_rows_count_nowhere_and_order_does_not_matter() -> None:
    others = [r for r in ROWS if r.cluster != "unclear"]
    assert run(ROWS) == run(others) == run(ROWS[::-1])


def test_rows_of_one_document_are_one_unit() -> None:
    grouped = [replace(r, document=f"d{i // 2}") for i, r in enumerate(ROWS)]
    rate = run(grouped)["overall"]["tpr_point"]
    assert (rate.unit, (rate.n or 99) < 11) == ("document", True)
    assert run(ROWS)["overall"]["tpr_point"].unit == "answer"


def test_nothing_to_measure_is_unresolved() -> None:
    overall = run([row("safe", "no", register="professional")])["overall"]
    assert (overall["tpr_point"].value, overall["auroc"].value) == (None, None)
    assert overall["auroc"].reason
    assert all(figure.value is None for figure in leaves(run([])["overall"]))


def test_domains_are_told_apart_and_judged_by_their_guard() -> None:
    rows = [row("The plaintiff, a 71-year-old widow, lives in Fresno.", domain="law"),
            row("She is a 52-year-old welder from Omaha."), row("Rest helps.", "no")]
    result = evaluate(rows, Guard, "medical")
    assert set(result["domains"]) == {"law", "medical"}
    assert result["domains"]["law"]["tpr_point"].value == 1.0
    assert result["policy"] == {d: Policy.of(d).label() for d in ("law", "medical")}
    assert result["point"] == "conservative"


def test_the_controls_of_a_guard_that_works(guards: Mapping[str, Guard]) -> None:
    rows = [row(f"I am a 52-year-old {job} from Omaha and have two children.", subject="speaker")
            for job in ("nurse", "welder", "litigator", "teacher")]
    rows += [row(text, "no", register="professional") for text in (
        "Rest and fluids help most people.", "The dose depends on the weight.", "A scan shows the stone.")]
    controls = evaluate(rows, guards.__getitem__, "medical")["controls"]
    assert {name: (figure.value, figure.n) for name, figure in controls.items()} == {
        "told_back_verbatim_flagged": (0.0, 4), "told_back_second_person_flagged": (0.0, 4),
        "cohort_flagged": (0.0, 3), "planted_held": (1.0, 3)}


def test_the_controls_of_a_guard_that_flags_everything() -> None:
    class Loud(Scripted):
        def judge(self, answer: Answer) -> Judgement:
            return super().judge(Answer(answer.id, "safe" if answer.answer == "quiet" else "flag"))

    rows = [row("I am 52.", subject="speaker"), row("quiet", "no", register="professional")]
    controls = evaluate(rows, lambda _: Loud(), "law")["controls"]  # type: ignore[arg-type, return-value]
    assert {name: figure.value for name, figure in controls.items()} == dict.fromkeys(controls, 1.0)


@pytest.mark.parametrize("domain", builtin_domains())
def test_the_planted_sentence_is_a_cluster_and_the_cohort_sentence_none(guards: Mapping[str, Guard],
                                                                        domain: str) -> None:
    who = load_domain(domain)
    said = [sentence.format(person=who.person, people=who.people) for sentence in (PLANTED, COHORT)]
    assert [verdict.action for verdict in guards[domain].check_many(said)] == ["flag", "safe"]


@pytest.mark.parametrize(("first", "second"), [
    ("I am 52 and my wife left me.", "You are 52 and your wife left you."),
    ("We're from Omaha. I've two kids.", "You're from Omaha. You've two kids."),
    ("I live in the US with our son.", "You live in the US with your son."),
    ("Am I liable? It is mine.", "Are you liable? It is yours."), ("I’m a nurse", "You're a nurse"),
    ("Nothing to change here.", "Nothing to change here."), ("", ""),
])
def test_echoed_in_the_second_person(first: str, second: str) -> None:
    assert in_second_person(first) == second


@given(st.text() | st.lists(st.sampled_from(["I", "we", "My", "am I", "US", ".", "x", "our", "I've"])).map(" ".join))
def test_no_first_person_singular_is_left(text: str) -> None:
    left = in_second_person(text).replace("’", "'").split()
    assert not {"I", "my", "me", "I've", "I'm", "mine"} & set(left)
