from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.guard.benchmark.made import judged, passage

from discreet.guard.benchmark.figures import (
    Judged,
    abstention,
    calibration,
    classes,
    counts,
    detection,
    figures_of,
    latency,
    people,
    risk_coverage,
    spans,
    subjects,
)
from discreet.stats import clopper_pearson

SPEAKER = {1: "speaker"}


def many(n: int, action: str, score: float, cluster: str, **further: Any) -> list[Judged]:
    direct = further.pop("direct", None)
    return [judged(passage(f"{cluster}-{action}-{score}-{k}", cluster=cluster, **further), action, score, direct=direct)
            for k in range(n)]


CASES = [*many(6, "flag", 0.9, "yes"), *many(2, "abstain", 0.6, "yes"), *many(2, "safe", 0.2, "yes"),
         *many(1, "flag", 0.8, "no"), *many(18, "safe", 0.1, "no"), *many(1, "abstain", 0.4, "no"),
         *many(2, "flag", 0.7, "one"), *many(2, "safe", 0.3, "one"),
         *many(3, "flag", 0.9, "yes", people={1: "public"})]


def test_who_is_counted() -> None:
    assert counts(CASES) == {"passages": 37, "positive": 10, "negative": 20, "one": 4, "apart": 3}


def test_flagged_and_held() -> None:
    found = detection(CASES)
    assert {name: found[name].value for name in ("flagged_positives", "held_positives", "flagged_negatives",
                                                 "held_negatives", "flagged_one", "failed")} == {
        "flagged_positives": 0.6, "held_positives": 0.8, "flagged_negatives": 0.05, "held_negatives": 0.1,
        "flagged_one": 0.5, "failed": 0.0}
    assert (found["held_positives"].low, found["held_positives"].high) == pytest.approx(clopper_pearson(8, 10))
    # Against 20 negatives: 6 positives over all, 2 over all but the .8, 2 over all but the .8 and the .4.
    assert found["auroc"].value == pytest.approx((6 * 20 + 2 * 19 + 2 * 18) / 200)
    assert found["recall_at_held_negatives"].value == 1.0
    assert "held_positives_with_direct" not in found


def test_direct_identifiers_are_a_column_of_their_own() -> None:
    cases = [*many(2, "safe", 0.1, "yes", direct=True), *many(2, "flag", 0.9, "yes", direct=False),
             *many(2, "safe", 0.1, "no", direct=False)]
    found = detection(cases)
    assert (found["flagged_positives"].value, found["flagged_positives_with_direct"].value) == (0.5, 1.0)
    assert found["held_negatives_with_direct"].value == 0.0


def test_a_failure_is_held_and_has_no_score() -> None:
    cases = [*CASES, judged(passage("f", cluster="yes"), "failed"), judged(passage("g"), "failed")]
    found = detection(cases)
    assert found["held_positives"].value == pytest.approx(9 / 11)
    assert found["auroc"].n == 30
    assert found["failed"].value == pytest.approx(2 / 39)


def test_documents_are_resampled() -> None:
    cases = [judged(passage(f"{k}", cluster="yes" if k % 4 < 2 else "no", document=f"d{k // 2}"), "flag", k % 4 / 4)
             for k in range(40)]
    assert {one.unit for one in detection(cases).values() if one.resolved} == {"document"}


def test_people_stated_and_inferred() -> None:
    stated = [(0, 5, "age", 1), (10, 15, "family", 1)]
    bound = [(0, 5, "age", "a", "third"), (10, 15, "family", "a", "third")]
    cases = [judged(passage("a", cluster="yes", spans=stated), "flag", 0.9, spans=bound),
             judged(passage("b", cluster="yes", spans=stated), "safe", 0.5, spans=[bound[0]]),
             judged(passage("c", cluster="yes", spans=stated[:1], inferred=[("place", 1)]), "safe", 0.1, spans=[])]
    first = many(20, "safe", 0.3, "no", people=SPEAKER)
    found = people(cases, first)
    assert found["first_person_negatives"] == 20
    assert {(name, how): found[name][how].value for name in ("stated", "inferred")
            for how in ("held", "held_at_threshold", "bound")} == {
        ("stated", "held"): 0.5, ("stated", "held_at_threshold"): 1.0, ("stated", "bound"): 0.5,
        ("inferred", "held"): 0.0, ("inferred", "held_at_threshold"): 0.0, ("inferred", "bound"): 0.0}
    # Without negatives of other sets its own are taken.
    assert people([*cases, *first])["first_person_negatives"] == 20
    assert people(cases)["stated"]["held_at_threshold"].value is None


def test_classes_spans_and_subjects() -> None:
    labels = [(0, 5, "age", 1), (10, 15, "place", 1)]
    right = [(0, 5, "age", "a", "third"), (10, 12, "place", "a", "speaker")]
    cases = [judged(passage(str(k), cluster="yes", spans=labels), "flag", spans=right if k else []) for k in range(4)]
    found = classes(cases)
    assert set(found) == {"age", "place", "identifying"}
    assert (found["age"]["recall"].value, found["age"]["precision"].value, found["age"]["positives"]) == (0.75, 1.0, 4)
    assert found["place"]["recall"].value == 0.75  # the speaker is the same person by the assignment
    f1 = spans(cases)
    assert (f1["age"]["overlap"].value, f1["place"]["exact"].value) == (pytest.approx(2 * 0.75 / 1.75), 0.0)
    assert f1["identifying"]["labelled"] == 8
    assert {name: one.value for name, one in subjects(cases).items()} == {"all": 0.5, "third": 0.5}


def test_calibration_counts_one_attribute_as_no_cluster() -> None:
    found = calibration(CASES)
    by_low = {round(b["low"], 1): b for b in found["bins"]}
    assert (by_low[0.7]["observed"].value, by_low[0.9]["observed"].n, by_low[0.5]["mean"]) == (0.0, 6, None)
    assert found["error"].value is not None
    assert 0 < found["control"] < found["error"].value + 0.2


def test_errors_of_the_abstained_are_what_the_score_would_have_decided() -> None:
    found = abstention(CASES, 0.5, probability=True)
    # Abstained: two clusters at .6 (right), one negative at .4 (right). Kept: two missed, one false.
    assert (found["errors_abstained"].value, found["errors_kept"].value) == (0.0, pytest.approx(3 / 27))
    assert abstention(CASES, 0.65)["errors_abstained"].value == pytest.approx(2 / 3)
    assert abstention(CASES, 0.65)["ratio"].value == pytest.approx(6.0)
    assert abstention([], 0.5)["ratio"].value is None
    assert found["curve"][-1] == {"coverage": 1.0, "risk": pytest.approx(0.1)}


def test_risk_falls_where_sureness_knows() -> None:
    curve = risk_coverage(list(np.linspace(1, 0, 100)), np.arange(100) >= 80)
    assert [p["risk"] for p in curve[:16]] == [0.0] * 16
    assert curve[-1]["risk"] == pytest.approx(0.2)
    level = risk_coverage([1.0] * 10, [True] * 5 + [False] * 5)
    assert {p["risk"] for p in level} == {0.5}
    assert risk_coverage([], []) == []


def test_latency_by_length() -> None:
    cases = [judged(passage(str(n), text="x" * n), ms=ms) for n, ms in ((10, 1.0), (20, 3.0), (5000, 9.0))]
    assert latency(cases) == {"0 to 249": {"n": 2, "p50": 2.0, "p95": pytest.approx(2.9)},
                              "4000 or more": {"n": 1, "p50": 9.0, "p95": 9.0}}


def test_a_guard_that_binds_nobody_has_no_figures_of_persons() -> None:
    cases = [judged(passage("a", cluster="yes", spans=[(0, 5, "age", 1)], register="notes"), "flag",
                    spans=[(0, 5, "age")]), judged(passage("b", register="posts"))]
    found = figures_of(cases)
    assert {"spans", "registers"} <= set(found)
    assert not {"classes", "subjects", "calibration", "abstention"} & set(found)
    assert "bound" not in found["people"]["stated"]
    assert {name: one["counts"]["passages"] for name, one in found["registers"].items()} == {"notes": 1, "posts": 1}


def test_the_order_of_a_file_changes_nothing() -> None:
    options: Any = {"threshold": 0.5, "probability": True}
    assert figures_of(CASES, **options) == figures_of(CASES[::-1], **options)
