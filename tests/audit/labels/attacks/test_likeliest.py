from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.likeliest import Likeliest, best_class
from discreet.audit.labels.view import View, all_attacks


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


def test_of_equals_the_last() -> None:
    found = best_class(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    assert found.label.tolist() == [1, 2]
    assert found.confidence.tolist() == [0.0, 0.0]
    assert Likeliest().guess(View(np.log([[0.5, 0.5]]))).label.tolist() == [1]


def test_for_more_than_two_classes() -> None:
    assert [len([one for one in all_attacks(k) if one.settings.attack == "likeliest"]) for k in (2, 3)] == [0, 3]
    with pytest.raises(ValueError, match="threshold is"):
        Likeliest("half")  # type: ignore[arg-type]
