from __future__ import annotations

from collections.abc import Callable
from math import log
from statistics import mean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.labels.attacker_view import References, View, all_attacks
from discreet.audit.labels.attacks.lia_threshold import CUTS, LiaThreshold, Likeliest, best_class
from discreet.audit.labels.attacks.reference import ReferenceCalibrated

P1 = st.lists(st.sampled_from([0.01, 0.2, 0.4999, 0.5, 0.5001, 0.7, 0.93, 1.0 - 1e-9]), min_size=1, max_size=30)


def view_of(p1: list[float]) -> View:
    given = np.array(p1)
    return View(np.log(np.stack([1.0 - given, given], axis=1)))


def algorithm_1(p1: list[float], kind: str | float) -> list[int]:
    taus: dict[str, Callable[[list[float]], float]] = {"fixed": lambda _: 0.5, "mean": mean, "median": median}
    tau = taus[kind](p1) if isinstance(kind, str) else kind
    found = []
    for one in p1:
        if one >= tau:
            found.append(1)
        else:
            found.append(0)
    return found


@given(P1, st.sampled_from(["fixed", "median", 0.3, 0.6]))
def test_as_the_algorithm(p1: list[float], kind: Any) -> None:
    exact = np.exp(view_of(p1).log_p[:, 1]).tolist()
    assert LiaThreshold(kind).guess(view_of(p1)).label.tolist() == algorithm_1(exact, kind)


def test_the_mean_is_over_the_rows_at_hand() -> None:
    p1 = [0.9, 0.81, 0.7, 0.95, 0.65]
    assert LiaThreshold("mean").guess(view_of(p1)).label.tolist() == algorithm_1(p1, "mean") == [1, 1, 0, 1, 0]


def test_a_probability_on_the_threshold_is_a_one_and_confidence_is_the_way_from_it_in_log_odds() -> None:
    even = View(np.log([[0.5, 0.5]]))
    assert LiaThreshold().guess(even).label.tolist() == Likeliest().guess(even).label.tolist() == [1]
    found = best_class(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    assert (found.label.tolist(), found.confidence.tolist()) == ([1, 2], [0.0, 0.0])
    assert LiaThreshold("median").guess(view_of([0.1, 0.2, 0.3])).label.tolist() == [0, 1, 1]
    assert LiaThreshold(0.25).guess(view_of([0.25, 0.5, 0.1])).confidence == pytest.approx([0.0, log(3.0), log(3.0)])
    for tau in (0.0, 1.0):
        end = LiaThreshold(tau).guess(view_of([0.2, 0.9]))
        assert end.label.tolist() == [1 - int(tau)] * 2
        assert np.isfinite(end.confidence).all()


@pytest.mark.parametrize("kind", ["fixed", "mean", "median"])
@pytest.mark.parametrize("classes", [2, 3, 6])
def test_as_an_obvious_loop(make_view: Any, kind: Any, classes: int) -> None:
    view = make_view(classes=classes)
    p = np.exp(view.log_p)
    found = Likeliest(kind).guess(view)
    for row, one in enumerate(p):
        tau = {"fixed": [1 / classes] * classes, "mean": [np.mean(p[:, k]) for k in range(classes)],
               "median": [np.median(p[:, k]) for k in range(classes)]}[kind]
        leads = [one[k] - tau[k] for k in range(classes)]
        assert found.label[row] == max(range(classes), key=lambda k: leads[k])
        assert found.confidence[row] == pytest.approx(sorted(leads)[-1] - sorted(leads)[-2])


@pytest.mark.parametrize("kind", ["fixed", "mean", "median"])
@pytest.mark.parametrize("seed", range(5))
def test_of_two_classes_it_is_the_paper_s_attack(make_view: Any, kind: Any, seed: int) -> None:
    view = make_view(seed, n=41, classes=2)
    # The row at the median itself is a tie, which rounding may break.
    kept = np.arange(41) != int(np.argsort(view.log_p[:, 1])[20])
    assert (Likeliest(kind).guess(view).label[kept] == LiaThreshold(kind).guess(view).label[kept]).all()


def test_two_classes_or_more_and_thresholds_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="3 classes"):
        LiaThreshold().guess(View(np.log(np.full((2, 3), 1 / 3))))
    for kind, wrong in ((Likeliest, "half"), *((LiaThreshold, one) for one in ("half", -0.1, 1.1, float("nan")))):
        with pytest.raises(ValueError, match="threshold is"):
            kind(wrong)  # type: ignore[arg-type]
    for name, of in (("lia_threshold", 2), ("likeliest", 3)):
        printed = {k: [one.settings.threshold for one in all_attacks(k) if one.settings.attack == name] for k in (2, 3)}
        assert printed == {of: ["fixed", "mean", "median"], 5 - of: []}
    assert CUTS[0] == 0.5
    assert len(set(CUTS)) == len(CUTS) == 49


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("centred", [False, True])
def test_references_as_an_obvious_loop(make_view: Any, classes: int, centred: bool) -> None:
    view = make_view(classes=classes, models=3)
    leads = [[target[k] - sum(reference[row][k] for reference in view.references.log_p) / 3 for k in range(classes)]
             for row, target in enumerate(view.log_p)]
    if centred:
        level = [[one - sum(lead) / classes for one in lead] for lead in leads]
        middle = [median([lead[k] for lead in level]) for k in range(classes)]
        leads = [[lead[k] - middle[k] for k in range(classes)] for lead in level]
    found = ReferenceCalibrated(centred).guess(view)
    assert found.label.tolist() == [int(np.argmax(lead)) for lead in leads]
    assert found.confidence == pytest.approx([sorted(lead)[-1] - sorted(lead)[-2] for lead in leads])


def test_no_references(make_view: Any) -> None:
    attack = ReferenceCalibrated()
    empty = References((), np.zeros((0, 40, 3)), np.zeros((0, 40), dtype=np.int64))
    for view in (make_view(models=0), View(make_view().log_p, empty)):
        assert attack.needs(view) == "it needs references with draws of their own and none were brought"
        with pytest.raises(ValueError, match="no references"):
            attack.guess(view)
    assert attack.needs(make_view()) is None
