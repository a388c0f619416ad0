from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import exp, inf, isfinite, log, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import DetectorError
from discreet.core.records import Subject
from discreet.guard.domains import IDENTIFYING, load_domain
from discreet.guard.guard import Guard
from discreet.guard.policy import POINTS, Policy
from discreet.guard.reading import REPEATS
from discreet.guard.score import (
    MOST,
    OVERLOOKED,
    SEEN,
    Combined,
    Parts,
    Shown,
    at_least,
    combined,
    parts,
    score,
)
from discreet.guard.text import record
from discreet.guard.text.attributes import Attribute
from discreet.guard.text.reader import TOLD, Seen
from discreet.guard.text.reply import Case

POLICY = Policy(load_domain("medical"), "public", 1, ("third", "speaker"), 2)
MODEL = Combined((-1.0, 0.5, 0.25, 0.125), (-1.5, 0.5, 0.25, 0.5), (-3.0, 0.5, 0.25, 1.0, 2.0),
                 (-4.0, 0.5, 0.25, 0.75, 1.0), (-2.0, 0.75), {"conservative": 0.0}, {"conservative": -2.0},
                 {"conservative": -1.0})
LOW, HIGH = -9.0, 9.0
HARMLESS = "The drug lowers the risk, and the dose depends on the weight."
Guards = Mapping[str, Guard]


def said(kind: str, value: str = "v", person: str = "r1", subject: Subject = "third", probability: float = 0.9,
         weak: bool = False) -> Attribute:
    return Attribute(kind, value, subject, person, 0, 1, "read", weak, probability)


def seen(counts: float | list[list[float]] = LOW, inferred: Mapping[str, float] | None = None,
         held: Mapping[tuple[str, Subject], float] | None = None) -> Seen:
    table = np.full((3, 4), counts, np.float32) if isinstance(counts, float) else np.array(counts, np.float32)
    each = {who: np.full(4, odds, np.float32) for who, odds in (held or {}).items()}
    return Seen((), table, each, inferred or {}, np.zeros(1, np.float32))


def answer(*attributes: Attribute, counts: float | list[list[float]] = LOW, inferred: Mapping[str, float] | None = None,
           held: Mapping[tuple[str, Subject], float] | None = None) -> Shown:
    return Shown(attributes, seen(counts, inferred, held))


persons = st.sampled_from([("r1", "third"), ("r2", "third"), ("speaker", "speaker"), ("cohort", "cohort"),
                           ("r3", "public"), ("nobody", "nobody")])
attributes = st.builds(lambda kind, value, who, p: said(kind, value, who[0], who[1], p),
                       st.sampled_from([*IDENTIFYING, "sex", "condition"]), st.sampled_from("abc"), persons,
                       st.floats(0, 1, exclude_max=True))
policies = st.builds(lambda cluster, rule: replace(POLICY, cluster=cluster, rule=rule), st.integers(1, 6),
                     st.sampled_from(["identifying", "paper", ("age", "place")]))
several = st.lists(attributes, max_size=6).map(tuple)


@given(st.lists(st.floats(0, 1, exclude_max=True), max_size=7), st.integers(1, 5))
def test_at_least_so_many_over_all_subsets(chances: list[float], least: int) -> None:
    facts = [said("age", str(i), probability=p) for i, p in enumerate(chances)]
    every = [*(min(p, 0.995) for p in chances), *[OVERLOOKED] * least]
    reached = sum(prod(p if there else 1 - p for p, there in zip(every, subset, strict=True))
                  for subset in product((0, 1), repeat=len(every)) if sum(subset) >= least)
    expected = 1 - 1e-9 if reached > 1 - 1e-9 else max(reached, 1e-9)
    assert at_least(facts, least) == pytest.approx(max(-MOST, min(MOST, log(expected / (1 - expected)))), abs=1e-5)


@given(several, attributes, st.integers(1, 5), st.floats(0, 1, exclude_max=True))
def test_a_fact_more_or_a_likelier_one_never_makes_it_less(found: tuple[Attribute, ...], more: Attribute, least: int,
                                                           chance: float) -> None:
    before = at_least(found, least)
    assert at_least([*found, more], least) >= before - 1e-9
    likelier = [replace(a, probability=max(a.probability, chance)) for a in found]
    assert at_least(likelier, least) >= before - 1e-9
    assert at_least([*found, *found], least) == before
    assert at_least(found, least + 1) <= before + 1e-9


def test_chances() -> None:
    """What a rule finds weakly is as good as not told; a fact said twice counts once, by the likelier."""
    assert at_least([said("age", probability=1.0, weak=True)], 1) == at_least([said("age", probability=0.5)], 1)
    assert at_least([said("age", probability=0.3, weak=True)], 1) == at_least([said("age", probability=0.3)], 1)
    assert at_least([said("age", probability=0.3), said("age", probability=0.8)], 2) == at_least(
        [said("age", probability=0.8)], 2)
    assert at_least([], 1) == pytest.approx(log(OVERLOOKED / (1 - OVERLOOKED)))


def test_the_weights_that_ship_can_only_raise_and_order_their_points() -> None:
    model = combined()
    assert model is combined()
    weights = (model.whole, model.asked, model.together, model.alone, model.spans)
    assert [len(one) for one in weights] == [4, 4, 5, 5, 2]
    assert min(w for one in weights for w in one[1:]) >= 0
    assert set(model.tau) == set(model.counted) == set(model.unsure) == set(POINTS)
    assert all(isfinite(v) for one in weights for v in one)
    assert all(isfinite(v) for v in (*model.tau.values(), *model.counted.values(), *model.unsure.values()))
    assert model.counted["conservative"] >= model.counted["balanced"] >= model.counted["strict"]
    assert model.tau["conservative"] >= model.tau["balanced"] >= model.tau["strict"]
    assert all(model.unsure[point] <= model.tau[point] for point in POINTS)
    assert (model.threshold("costs"), model.counted_above("costs"), model.unsure_above("costs")) == (
        model.tau["conservative"], model.counted["conservative"], model.unsure["conservative"])


@given(st.none() | st.floats(-30, 30), st.floats(-30, 30), st.floats(-30, 30), st.booleans(),
       st.none() | st.floats(-30, 30))
def test_the_log_odds_are_a_sum(counts: float | None, spans: float, tells: float, asked: bool,
                                together: float | None) -> None:
    s, t, k = (max(-MOST, min(MOST, p)) for p in (spans, tells, together or 0.0))
    expected = -2 + 0.75 * s
    if counts is not None:
        c = max(-MOST, min(MOST, counts))
        alone = -1.5 + 0.5 * t if asked else -1 + 0.125 * t
        both = -3 + t + 2 * k if asked else -4 + 0.75 * t + k
        expected = 0.5 * c + 0.25 * s + (alone if together is None else both)
    said = Parts(counts, 0.0, spans, None if counts is None else tells, None, together, asked=asked)
    assert MODEL.logit(said) == pytest.approx(expected)


@given(several, attributes, policies, st.floats(-5, 5), st.floats(0, 1, exclude_max=True))
def test_more_that_is_told_never_lowers_the_score(found: tuple[Attribute, ...], more: Attribute, policy: Policy,
                                                  counts: float, chance: float) -> None:
    for model in (MODEL, combined()):
        before = score(answer(*found, counts=counts), policy, model).logit
        likelier = tuple(replace(a, probability=max(a.probability, chance)) for a in found)
        for after in (answer(*found, more, counts=counts), answer(*likelier, counts=counts),
                      answer(*found, counts=counts + 1)):
            assert score(after, policy, model).logit >= before - 1e-9


@given(several, policies, st.floats(-5, 5))
def test_parts(found: tuple[Attribute, ...], policy: Policy, counts: float) -> None:
    read = answer(*found, counts=counts)
    made = parts(read, policy)
    spans, best = made.spans, made.best
    assert (made.text is not None) == (policy.rule == "identifying" and policy.cluster <= 4)
    assert made.counted == (inf if made.text is None else max(made.text, -MOST))
    mine: dict[str, list[Attribute]] = {}
    for a in found:
        if a.subject in policy.subjects and a.kind in policy.counted:
            mine.setdefault(a.person, []).append(a)
    assert spans == pytest.approx(max((at_least(m, policy.cluster) for m in mine.values()),
                                      default=at_least((), policy.cluster)))
    assert best is None or best.subject in policy.subjects


@pytest.mark.parametrize(("changed", "there"), [
    ({}, True),
    ({"rule": "paper"}, False),
    ({"rule": ("age", "place")}, False),
    ({"rule": tuple(reversed(IDENTIFYING))}, True),
    ({"cluster": 4}, True),
    ({"cluster": 5}, False),
    ({"subjects": ("asker", "cohort")}, False),
    ({"subjects": ("public",)}, True),
    ({"subjects": ()}, False),
])
def test_the_count_is_left_out_where_it_counts_something_else(changed: dict[str, Any], there: bool) -> None:
    policy = replace(POLICY, **changed)
    made = parts(answer(counts=HIGH), policy)
    assert made.text == (HIGH if there else None)
    # Whether a text tells of somebody private says nothing where others count.
    tells = HIGH if "subjects" in changed else -MOST
    assert score(answer(counts=HIGH), policy, MODEL).logit == pytest.approx(
        -1 + 0.5 * HIGH + 0.25 * made.spans + 0.125 * tells if there else -2 + 0.75 * made.spans)


def test_the_count_is_left_out_where_rules_decide_whose_it_is() -> None:
    assert parts(answer(replace(said("age", subject="cohort"), overruled=True), counts=HIGH), POLICY).text is None
    email: Any = object()
    for subject in ("third", "asker"):
        read = replace(answer(counts=HIGH), direct=((email, subject),))
        assert (parts(read, POLICY).text is not None) == (subject == "third")


def test_of_whom_and_how_many_the_count_speaks() -> None:
    table = [[float(10 * i + k) for k in range(4)] for i in range(3)]
    for i, subject in enumerate(TOLD):
        for cluster in range(1, 5):
            policy = replace(POLICY, subjects=(subject,), cluster=cluster)
            assert parts(answer(counts=table), policy).text == 10 * i + cluster - 1
    assert parts(answer(counts=table), replace(POLICY, subjects=TOLD)).text == 21


@pytest.mark.parametrize("inferred", [True, False])
def test_what_can_be_inferred_flags_where_the_policy_says_so(inferred: bool) -> None:
    policy, told = replace(POLICY, inferred=inferred), {"occupation": SEEN, "place": SEEN - 0.01, "age": 0.9}
    only = score(answer(counts=HIGH, inferred=told), policy, MODEL)
    assert only.flags(0) == inferred
    assert only.inferred == (("occupation", "age") if inferred else ())
    one = score(answer(said("age"), counts=HIGH, inferred=told), policy, MODEL)
    assert one.flags(0) == inferred
    assert one.inferred == (("occupation",) if inferred else ())
    shown = score(answer(said("age"), said("place"), counts=HIGH, inferred=told), policy, MODEL)
    assert shown.flags(0)
    assert shown.best is not None
    assert {a.kind for a in shown.best.attributes} == {"age", "place"}
    assert shown.inferred == (("occupation",) if inferred else ())


def test_the_count_of_one_person_may_flag() -> None:
    read = answer(said("age"), said("place"), counts=LOW, held={("r1", "third"): 1.0, ("r2", "public"): HIGH})
    assert parts(read, POLICY).counted == 1.0
    assert parts(read, replace(POLICY, subjects=TOLD)).counted == HIGH
    assert parts(answer(said("age"), said("place"), counts=2.0, held={("r1", "third"): 1.0}), POLICY).counted == 2.0


@given(several, st.floats(-5, 30), st.sampled_from(["identifying", "paper"]))
def test_nobody_s_attributes_are_never_flagged(found: tuple[Attribute, ...], counts: float, rule: str) -> None:
    told = score(answer(*found, counts=counts, inferred=dict.fromkeys(IDENTIFYING, 1.0)),
                 replace(POLICY, subjects=(), rule=rule), MODEL)
    assert not told.flags(-1e9)
    assert (told.best, told.inferred) == (None, ())


@pytest.mark.parametrize("counts", [np.nan, [[LOW] * 4, [np.nan] * 4, [LOW] * 4], [[np.nan] * 4, [LOW] * 4, [LOW] * 4]])
def test_a_count_that_is_no_number_is_an_error(counts: Any) -> None:
    with pytest.raises(DetectorError, match="no number"):
        score(answer(counts=counts), POLICY, MODEL)
    with pytest.raises(DetectorError, match="no number"):
        score(answer(said("age"), said("place"), counts=counts), POLICY, combined())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "0.5"])
def test_a_score_that_is_no_number_fails(monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    monkeypatch.setattr(Combined, "logit", lambda *_: value)
    verdict = Guard(POLICY).check(HARMLESS)
    assert (verdict.action, verdict.score) == ("failed", None)


class Told:
    """A reader that says of every text what it was told to."""

    def __init__(self, counts: float, job: float = 0.9) -> None:
        self.counts, self.job = counts, job

    def read(self, text: str, questions: Sequence[str] = ()) -> Seen:
        return seen(self.counts, {"occupation": self.job})


def judged(monkeypatch: pytest.MonkeyPatch, guard: Guard, counts: float, job: float = 0.9) -> tuple[str, float]:
    monkeypatch.setattr(record, "packaged", lambda: Told(counts, job))
    verdict = guard.check(HARMLESS)
    assert verdict.logit is not None
    return verdict.action, verdict.logit


@pytest.mark.parametrize("point", POINTS)
def test_flagged_unsure_or_safe(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    """By the log-odds: over τ and with a count over its own threshold flagged, over the lower one not decided, else
    safe."""
    guard, actions = Guard(POLICY, point=point), set()
    for counts in np.arange(-14.0, 14.0, 0.25):
        action, logit = judged(monkeypatch, guard, float(counts))
        assert action == ("flag" if logit > combined().threshold(point) and counts > combined().counted_above(point)
                          else "abstain" if logit > combined().unsure_above(point) else "safe")
        actions.add(action)
    assert actions >= {"flag", "safe"}


def test_where_nothing_is_shown_nothing_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """No words, no class that can be inferred: whatever the count says, a person decides."""
    assert judged(monkeypatch, Guard(POLICY), 30.0, job=0.1)[0] == "abstain"
    assert not score(answer(counts=HIGH), POLICY, MODEL).flags(-1e9)


def test_unsure_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(POLICY)
    monkeypatch.setattr(guard, "model", replace(MODEL, unsure={"conservative": -1e9}, tau={"conservative": 1e9}))
    guard.evidence_tau = 1e9
    monkeypatch.setattr(record, "packaged", lambda: Told(0.0))
    assert (guard.check(HARMLESS).action, "unsure" in guard.check(HARMLESS).reason) == ("abstain", True)


def test_a_policy_that_counts_nobody_is_not_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(replace(POLICY, subjects=()))
    for counts in (LOW, 0.0, 30.0):
        assert judged(monkeypatch, guard, counts)[0] == "safe"


def test_what_may_not_be_inferred_is_not_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, Guard(POLICY), 30.0)[0] == "flag"
    assert judged(monkeypatch, Guard(replace(POLICY, inferred=False)), 30.0)[0] == "abstain"


def test_a_verdict_s_score_is_the_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "packaged", lambda: Told(1.0))
    verdict = Guard(POLICY).check(HARMLESS)
    assert verdict.logit is not None
    assert verdict.score == pytest.approx(1 / (1 + exp(-verdict.logit)))


def test_spans_of_several_windows_outvote_what_no_count_sees_whole_but_not_the_classifier() -> None:
    clear = (said("age"), said("place"), said("family"))
    whole = replace(seen(LOW), case=Case(tells=LOW), apart=True)
    by_windows = score(Shown(clear, whole), POLICY, MODEL)
    assert by_windows.logit == MODEL.spans[0] + MODEL.spans[1] * at_least(clear, 2)
    together = replace(whole, asked=True, together=Case(tells=LOW))
    weights = MODEL.together
    assert score(Shown(clear, together), POLICY, MODEL).logit == pytest.approx(
        weights[0] + weights[1] * LOW + weights[2] * at_least(clear, 2) + weights[3] * LOW + weights[4] * LOW)


@pytest.mark.parametrize(("together", "stated_only"), [(None, True), (Case(tells=HIGH), False)])
def test_words_told_back_silence_what_is_implied_unless_both_were_read_together(together: Case | None,
                                                                                stated_only: bool) -> None:
    told = replace(seen(HIGH), case=Case(tells=HIGH), asked=True, together=together)
    found = score(Shown((said("age"),), told, repeats=REPEATS), POLICY, MODEL)
    assert (found.stated_only, found.cluster) == (stated_only, not stated_only)
