from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.audit.labels.attacks.reference import ReferenceCalibrated
from discreet.audit.labels.view import References, View


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


def test_no_references(make_view: Any) -> None:
    attack = ReferenceCalibrated()
    empty = References((), np.zeros((0, 40, 3)), np.zeros((0, 40), dtype=np.int64))
    for view in (make_view(models=0), View(make_view().log_p, empty)):
        assert attack.needs(view) == "it needs references with draws of their own and none were brought"
        with pytest.raises(ValueError, match="no references"):
            attack.guess(view)
    assert attack.needs(make_view()) is None
