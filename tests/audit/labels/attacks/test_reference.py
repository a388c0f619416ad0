from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
import pytest

from discreet.audit.labels.attacker_view import References, View
from discreet.audit.labels.attacks.reference import ReferenceCalibrated


@pytest.mark.parametrize("classes", [2, 4])
def test_as_an_obvious_loop(make_view: Any, classes: int) -> None:
    view = make_view(classes=classes, models=3)
    found = ReferenceCalibrated().guess(view)
    for row, target in enumerate(view.log_p):
        leads = [target[k] - sum(reference[row][k] for reference in view.references.log_p) / 3 for k in range(classes)]
        assert found.label[row] == max(range(classes), key=lambda k: leads[k])
        assert found.confidence[row] == pytest.approx(sorted(leads)[-1] - sorted(leads)[-2])


def test_it_sees_through_what_all_models_think() -> None:
    """All prefer class 0; the target a little less than the others."""
    view = View(np.log([[0.7, 0.3]]), References(("r",), np.log([[[0.8, 0.2]]]), np.array([[0]])))
    assert ReferenceCalibrated().guess(view).label.tolist() == [1]


@pytest.mark.parametrize("classes", [2, 4])
def test_centred_as_an_obvious_loop(make_view: Any, classes: int) -> None:
    view = make_view(classes=classes, models=3)
    found = ReferenceCalibrated(centred=True).guess(view)
    leads = [[target[k] - sum(reference[row][k] for reference in view.references.log_p) / 3 for k in range(classes)]
             for row, target in enumerate(view.log_p)]
    level = [[one - sum(lead) / classes for one in lead] for lead in leads]
    middle = [median([lead[k] for lead in level]) for k in range(classes)]
    for row, lead in enumerate(level):
        assert found.label[row] == max(range(classes), key=lambda k: lead[k] - middle[k])


def test_centring_takes_away_what_all_rows_share(make_view: Any) -> None:
    """References that are surer of one class everywhere: plain leads are all of the other class, centred ones are
    those of references that are not."""
    view = make_view(classes=2, models=3)
    surer = view.references.log_p + np.array([0.0, 9.0])
    surer -= np.log(np.exp(surer).sum(axis=2, keepdims=True))
    moved = View(view.log_p, References(view.references.names, surer, view.references.label))
    assert set(ReferenceCalibrated().guess(moved).label.tolist()) == {0}
    assert (ReferenceCalibrated(centred=True).guess(moved).label
            == ReferenceCalibrated(centred=True).guess(view).label).all()


def test_no_references(make_view: Any) -> None:
    attack = ReferenceCalibrated()
    empty = References((), np.zeros((0, 40, 3)), np.zeros((0, 40), dtype=np.int64))
    for view in (make_view(models=0), View(make_view().log_p, empty)):
        assert attack.needs(view) == "it needs references with draws of their own and none were brought"
        with pytest.raises(ValueError, match="no references"):
            attack.guess(view)
    assert attack.needs(make_view()) is None
