from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from discreet.core.errors import DetectorError, InputError, UsageError
from discreet.core.records import Answer, Estimate
from discreet.guard import Guard
from discreet.guard import stress_figures as figures
from discreet.guard.stress import StressResult, gate, guard_scores, stress_scores, stress_test

MARK = "MARKEDWORD"
SCORES = st.lists(st.integers(-4, 4), min_size=2, max_size=30)
CHECKS = {"control": True, "planted": True, "direction": True}
Rows = np.ndarray[Any, np.dtype[np.float64]]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few resamples, for tests of everything but intervals."""
    monkeypatch.setattr(figures, "RESAMPLES", 50)


def rows(n: int = 60) -> tuple[Rows, Rows, Rows]:
    """Content in column 0, style in column 1: borderline has the style of unsafe, and the content of safe."""
    rng = np.random.default_rng(5)
    means = ((2.0, 2.0), (-2.0, -2.0), (-2.0, 2.0))
    unsafe, safe, borderline = (rng.normal(mean, 1.0, (n, 2)) for mean in means)
    return unsafe, safe, borderline


def fitted(classifier: Any, labels: tuple[Any, Any] = (1, 0)) -> Any:
    unsafe, safe, _ = rows()
    return classifier.fit(np.vstack((unsafe, safe)), np.repeat(labels, len(unsafe)))


@pytest.mark.usefixtures("few")
class TestClassifiers:
    @pytest.mark.parametrize(("classifier", "method"), [
        (LogisticRegression(), "decision_function"), (SVC(), "decision_function"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "decision_function"),
        (GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3), "decision_function"),
        (GaussianNB(), "predict_proba"), (RandomForestClassifier(10, random_state=0), "predict_proba"),
        (CalibratedClassifierCV(LinearSVC(), cv=3), "predict_proba"),
    ], ids=lambda c: type(c).__name__)
    def test_a_decision_function_is_compared_else_a_probability(self, classifier: Any, method: str) -> None:
        model, threshold = fitted(classifier), 0.0 if method == "decision_function" else 0.5
        scores = [getattr(model, method)(x) for x in rows()]
        scores = [s if s.ndim == 1 else s[:, 1] for s in scores]
        found = stress_test(model, *rows(), threshold=threshold)
        assert found == replace(stress_scores(*scores, threshold=threshold), score=method)

    @pytest.mark.parametrize("classifier", [LogisticRegression(), GaussianNB()])
    def test_the_class_that_means_unsafe(self, classifier: Any) -> None:
        right = stress_test(fitted(classifier, ("unsafe", "safe")), *rows())
        turned = fitted(classifier, ("leak", "ok"))
        assert stress_test(turned, *rows(), unsafe_label="leak").within == right.within
        wrong = stress_test(turned, *rows(), max_borderline_fpr=0.2)
        assert not wrong.checks["direction"]
        assert right.checks["direction"]
        assert "higher score must mean unsafe" in wrong.reason
        assert wrong.verdict == "fail"

    def test_texts_arrays_sparse_and_generators(self) -> None:
        words = ["alpha", "beta", "gamma", "delta"]
        unsafe = [f"the client {w} {v} owes a sum" for w in words for v in words for _ in range(2)]
        safe = [f"a rule says {w} {v}" for w in words for v in words for _ in range(2)]
        near = [f"the client reads a rule {w} {v}" for w in words for v in words]
        pipe = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(unsafe + safe, [1] * 32 + [0] * 32)
        found = stress_test(pipe, unsafe, safe, near)
        again = stress_test(pipe, (t for t in unsafe), np.array(safe, dtype=object), tuple(near))
        assert found == again
        matrix = pipe[0].transform
        assert stress_test(pipe[1], matrix(unsafe), matrix(safe), matrix(near)) == found

    @pytest.mark.parametrize("shape", [list, np.asarray, lambda x: np.asarray(x, dtype=np.float32),
                                       lambda x: np.asarray(x) > 0])
    def test_a_callable(self, shape: Callable[[Any], Any]) -> None:
        found = stress_test(lambda x: shape(x[:, 0]), *rows())
        assert (found.borderline["auroc"].value or 0) > 0.9
        assert found == replace(stress_scores(*(shape(x[:, 0]) for x in rows())), score="callable")

    def test_a_score_that_reads_style_fails_and_one_that_reads_content_passes(self) -> None:
        sets = rows(300)
        style = stress_test(lambda x: x[:, 1], *sets, max_borderline_fpr=0.1)
        content = stress_test(lambda x: x[:, 0], *sets, max_borderline_fpr=0.1)
        assert style.verdict == "fail"
        assert not style.checks["planted"]
        assert content.verdict == "pass", content.reason
        for found in (style, content):
            assert (found.within["auroc"].low or 0) > 0.95
            assert found.checks["control"]
        assert (style.difference.low or 0) > 0.4
        assert (content.difference.low or 0) < 0.0 < (content.difference.high or 0.0)


class TestRefusals:
    @pytest.mark.parametrize(("classifier", "label", "said"), [
        (LogisticRegression(), None, "has no classes_"), (IsolationForest(), None, "has no classes_"),
        (make_pipeline(HashingVectorizer(), LinearSVC()), None, "has no classes_"),
        (LinearRegression(), None, "neither decision_function nor predict_proba"), (LogisticRegression, None, "type"),
        (None, None, "NoneType has neither"),
        (LogisticRegression().fit(np.vstack(rows()), np.repeat([0, 1, 2], 60)), 1, "3 classes; expected a classifier"),
        (fitted(LogisticRegression()), "unsafe", "unsafe_label is none of them"),
    ])
    def test_what_is_no_classifier_of_two_classes(self, classifier: Any, label: Any, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            stress_test(classifier, *rows(), unsafe_label=label)

    @pytest.mark.parametrize(("options", "said"), [
        ({"max_borderline_fpr": 0.0}, "max_borderline_fpr is 0"), ({"max_borderline_fpr": 5.0}, "is 5"),
        ({"tpr": 1.0}, "tpr is 1"), ({"tpr": float("nan")}, "tpr is nan"),
        ({"threshold": float("inf")}, "threshold is inf"), ({"subtypes": ["a"]}, "1 subtypes for 60"),
        ({"subtypes": [1] * 60}, "not strings"),
    ])
    def test_options(self, options: dict[str, Any], said: str) -> None:
        calls: list[Any] = []
        with pytest.raises(UsageError, match=said):
            stress_test(calls.append, *rows(), **options)
        assert not calls

    @pytest.mark.parametrize("kind", [0, 1, 2])
    @pytest.mark.parametrize(("wrong", "error", "said"), [
        ([], InputError, "there are no {} rows"), ("a text", UsageError, "{} is a str"), (5, UsageError, "{} is a int"),
        ({"a": 1}, UsageError, "{} is a dict"),
    ])
    def test_inputs(self, kind: int, wrong: Any, error: type[Exception], said: str) -> None:
        sets: list[Any] = list(rows())
        sets[kind] = wrong
        with pytest.raises(error, match=said.format(("unsafe", "safe", "borderline")[kind])):
            stress_test(fitted(LogisticRegression()), *sets)

    @pytest.mark.parametrize(("give", "said"), [
        (lambda x: x[:5, 0], "gave 5 scores for 60"), (lambda x: x, r"shape \(60, 2\)"), (lambda _: 0.5, "shape"),
        (lambda x: np.where(x[:, 0] > 0, np.nan, 0.0), r"unsafe scores\[\d+\] is nan"),
        (lambda x: [None] * len(x), "object"), (lambda x: ["1"] * len(x), "<U1"),
    ])
    def test_scores(self, give: Callable[[Any], Any], said: str) -> None:
        with pytest.raises(InputError, match=said):
            stress_test(give, *rows())

    def test_what_a_classifier_says_when_it_breaks_is_not_passed_on(self) -> None:
        texts = [f"{MARK} {n}" for n in range(9)]
        with pytest.raises(InputError, match="failed with ValueError on the unsafe") as caught:
            stress_test(fitted(LogisticRegression()), texts, texts, texts)
        assert MARK not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        with pytest.raises(DetectorError):  # ours say nothing that they should not
            stress_test(Mock(side_effect=DetectorError("names", "KeyError"), spec=["__call__"]), *rows())


@pytest.mark.usefixtures("few")
class TestResult:
    def test_json_is_whole_and_every_figure_an_estimate(self) -> None:
        found = stress_test(lambda x: x[:, 0], *rows(), subtypes=["a", "b", None] * 20, threshold=0.0,
                            max_borderline_fpr=0.1)
        record = json.loads(json.dumps(found.to_json(), allow_nan=False))
        assert list(record) == list(StressResult.__slots__)
        assert [list(rates) for rates in record["subtypes"].values()] == [["fpr_at_tpr", "fpr_at_threshold"]] * 2
        assert list(record["within"]) == ["auroc", "fpr95", "fpr90", "fpr_at_tpr", "fpr_at_threshold"]
        for table in (record["within"], record["borderline"], record["controls"], *record["subtypes"].values()):
            assert all(Estimate.from_json(e).to_json() == e for e in table.values())
        assert Estimate.from_json(record["tpr_at_threshold"]).value == np.mean(rows()[0][:, 0] >= 0)

    def test_the_same_seed_gives_the_same_result(self) -> None:
        sets = [x[:, 1] for x in rows()]
        first = stress_scores(*sets, rng=np.random.default_rng(3))
        assert stress_scores(*sets, rng=np.random.default_rng(3)) == first == stress_scores(*sets, rng=3)
        assert stress_scores(*sets) == stress_scores(*sets, rng=42)
        other = stress_scores(*sets, rng=4)
        assert (other.controls == first.controls, other.within == first.within) == (False, True)

    def test_subtypes_against_counting(self) -> None:
        unsafe, safe, borderline = (x[:, 1] for x in rows(200))
        names = [("a", "b", None, "")[n % 4] for n in range(200)]
        found = stress_scores(unsafe, safe, borderline, subtypes=names, tpr=0.9, threshold=2.5)
        assert list(found.subtypes) == ["a", "b"]
        assert np.mean(unsafe >= found.threshold_at_tpr) == 0.9
        for name, at in (("a", 0), ("b", 1)):
            rates = found.subtypes[name]
            assert rates["fpr_at_tpr"].value == np.mean(borderline[at::4] >= found.threshold_at_tpr)
            assert rates["fpr_at_threshold"].value == np.mean(borderline[at::4] >= 2.5)
            assert rates["fpr_at_tpr"].n_neg == 50
        by_tpr = stress_scores(unsafe, safe, borderline).borderline["fpr_at_tpr"]
        assert by_tpr.value == np.mean(borderline >= np.sort(unsafe)[::-1][189])

    @settings(max_examples=25, deadline=None)
    @given(SCORES, SCORES, SCORES, st.sampled_from([0.5, 0.9, 0.95]))
    def test_only_the_order_of_scores_counts(self, unsafe: list[int], safe: list[int], borderline: list[int],
                                             tpr: float) -> None:
        sets = [np.array(scores, dtype=float) for scores in (unsafe, safe, borderline)]
        plain = stress_scores(*sets, tpr=tpr, threshold=1.0, max_borderline_fpr=0.3)
        bent = stress_scores(*(np.exp(scores) for scores in sets), tpr=tpr, threshold=float(np.exp(1.0)),
                             max_borderline_fpr=0.3)
        assert bent.threshold_at_tpr == np.exp(plain.threshold_at_tpr)
        assert replace(bent, threshold=plain.threshold, threshold_at_tpr=plain.threshold_at_tpr) == plain


class TestDegenerate:
    @pytest.mark.parametrize("n", [2, 30, 120])
    def test_a_constant_score(self, n: int) -> None:
        found = stress_scores([1.0] * n, [1.0] * n, [1.0] * n, max_borderline_fpr=0.5)
        assert (found.within["auroc"].value, found.borderline["auroc"].value, found.difference.value) == (0.5, 0.5, 0)
        assert found.checks == {"control": True, "planted": False, "direction": True}
        assert found.verdict == "inconclusive"
        everybody = stress_scores([1.0] * n, [1.0] * n, [1.0] * n, threshold=1.0, max_borderline_fpr=0.5)
        assert everybody.verdict == ("inconclusive" if n == 2 else "fail")

    def test_one_of_each(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = stress_scores([1.0], [0.0], [0.0], max_borderline_fpr=0.5, subtypes=["a"])
        assert found.verdict == "inconclusive"
        unresolved = [*found.within.values(), *found.borderline.values(), found.difference,
                      found.controls["planted_fpr"], found.subtypes["a"]["fpr_at_tpr"]]
        assert not any(e.resolved for e in unresolved)
        assert all("needed" in str(e.reason) for e in unresolved)

    def test_a_threshold_that_flags_nobody_or_everybody(self) -> None:
        sets = [x[:, 0] for x in rows(200)]
        nobody = stress_scores(*sets, threshold=99.0, max_borderline_fpr=0.1)
        assert nobody.borderline["fpr_at_threshold"].value == 0.0
        assert (nobody.borderline["fpr_at_threshold"].high or 1.0) < 0.1
        assert (nobody.verdict, nobody.checks["planted"]) == ("inconclusive", False)
        assert "planted" in nobody.reason
        assert stress_scores(*sets, threshold=-99.0, max_borderline_fpr=0.1).verdict == "fail"
        # At the threshold is flagged.
        found = stress_scores([1.0, 2.0], [0.0, 1.0], [0.0, 0.0, 1.0, 3.0], threshold=1.0)
        assert found.borderline["fpr_at_threshold"].value == 0.5
        assert getattr(found.tpr_at_threshold, "value", None) == 1.0


class TestGate:
    @pytest.mark.parametrize(("ends", "checks", "verdict"), [
        ((0.0, 0.05), {}, "pass"), ((0.01, 0.1), {}, "pass"), ((0.01, 0.1001), {}, "inconclusive"),
        ((0.1, 0.2), {}, "inconclusive"), ((0.1001, 0.2), {}, "fail"), ((0.1001, 0.2), {"planted": False}, "fail"),
        ((0.1001, 0.2), {"direction": False}, "fail"), ((0.1001, 0.2), {"control": False}, "inconclusive"),
        ((0.0, 0.05), {"planted": False}, "inconclusive"), ((0.0, 0.05), {"control": False}, "inconclusive"),
        ((0.0, 0.05), {"direction": False}, "inconclusive"),
    ])
    def test_where_the_interval_lies(self, ends: tuple[float, float], checks: dict[str, bool], verdict: str) -> None:
        fpr = Estimate(sum(ends) / 2, *ends)
        assert gate(fpr, 0.1, CHECKS | checks)[0] == verdict
        assert gate(fpr, None, CHECKS | checks)[0] is None

    def test_what_is_unresolved_is_inconclusive(self) -> None:
        verdict, reason = gate(Estimate.unresolved("20 needed"), 0.1, CHECKS)
        assert verdict == "inconclusive"
        assert "20 needed" in reason
        assert gate(Estimate(0.01, None, None), 0.1, CHECKS)[0] == "inconclusive"

    @pytest.mark.slow
    @pytest.mark.parametrize("threshold", [None, 0.0])
    def test_a_classifier_just_above_the_limit_rarely_passes_and_one_at_it_rarely_fails(
        self, threshold: float | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(figures, "RESAMPLES", 2)
        rng = np.random.default_rng(9)
        runs, said = 250, {"pass": 0, "fail": 0, "inconclusive": 0}
        # At 0 the TPR is 95%, and the FPR of the borderline 20%: exactly the limit.
        for _ in range(runs):
            sets = [rng.normal(mean, 1, 150) for mean in (1.6449, -3.0, -0.8416)]
            said[str(stress_scores(*sets, threshold=threshold, max_borderline_fpr=0.2, rng=rng).verdict)] += 1
        assert said["pass"] <= binom.ppf(0.999, runs, 0.025)
        assert said["fail"] <= binom.ppf(0.999, runs, 0.025)


def test_scores_of_a_guard_are_at_or_above_0_exactly_where_it_flags(fitted_guard: Guard) -> None:
    said = ["", "Metformin is often used for gout.", "She is a nurse.", "Mail jane.roe@example.com for advice.",
            "The patient is a 52-year-old welder from Omaha with two children.", "Er ist zu Hause und hat Hunger."]
    answers = [Answer(str(i), text) for i, text in enumerate(said)]
    for guard in (Guard("medical"), fitted_guard):
        flagged = [guard.check(answer).action == "flag" for answer in answers]
        scores = guard_scores(guard, answers)
        assert [score >= 0 for score in scores] == flagged
        assert (any(flagged), all(flagged)) == (True, False)
        assert int(np.argmax(scores)) == 4


def test_a_guard_that_fails_has_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard("medical")
    monkeypatch.setattr(guard, "model", None)
    with pytest.raises(InputError, match="failed on the answer '7'"):
        guard_scores(guard, [Answer("7", MARK)])
