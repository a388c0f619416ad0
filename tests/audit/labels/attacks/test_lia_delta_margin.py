from __future__ import annotations

from math import inf, log
from typing import Any

import numpy as np
import pytest

from discreet.audit.labels.attacker_view import OracleView, PrivilegedView, all_attacks
from discreet.audit.labels.attacks.lia_delta_margin import (
    LOSS_LABELS,
    MARGINS,
    RATIOS,
    TUNED,
    DeltaMargin,
    delta_margin,
    delta_margins,
)

RNG = np.random.default_rng


def algorithm_2(p: list[float], label: int, alpha: float, beta: float, margin: str) -> int:
    second = sorted(p)[-2]
    m = (p[1] if margin == "p1-second" else max(p)) - second
    loss = -log(p[label])
    s = alpha * m - beta * loss
    if s > 0:
        return 1
    return 0


@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.1), (1.0, 1.0), (2.0, 5.0)])
def test_as_the_algorithm(make_view: Any, margin: Any, alpha: float, beta: float) -> None:
    view = make_view(n=300, classes=2)
    labels = RNG(1).integers(0, 2, 300)
    slow = [algorithm_2(p.tolist(), label, alpha, beta, margin)
            for p, label in zip(np.exp(view.log_p), labels, strict=True)]
    assert delta_margin(view.log_p, labels, alpha, beta, margin).label.tolist() == slow
    assert 0 < sum(slow) < 300


def test_a_score_of_zero_is_no_one() -> None:
    log_p = np.log([[1e-300, 1.0], [0.5, 0.5]])
    found = delta_margin(log_p, np.array([1, 1]), 1.0, 1.0, "p1-second")
    assert found.label.tolist() == [1, 0]
    # Certain of class 1 and of nothing else: margin 1, loss 0; certain of class 0: margin and loss 0.
    assert delta_margin(np.log([[1.0, 1e-300]]), np.array([0]), 1.0, 1.0, "p1-second").label.tolist() == [0]


@pytest.mark.parametrize("margin", MARGINS)
def test_many_classes(make_view: Any, margin: Any) -> None:
    view = make_view(n=300, classes=5)
    labels = RNG(2).integers(0, 5, 300)
    found = delta_margin(view.log_p, labels, 1.0, 0.4, margin)
    for row, log_p in enumerate(view.log_p):
        p = np.exp(log_p).tolist()
        order = [k for _, k in sorted((-value, k) for k, value in enumerate(p))]
        s = p[order[0]] - p[order[1]] + 0.4 * log(p[labels[row]])
        assert found.label[row] == (order[0] if s > 0 else order[1])
        assert found.confidence[row] == pytest.approx(abs(s))


def test_each_source_takes_its_own_labels(make_view: Any) -> None:
    view = make_view(n=200, classes=2)
    original, secret, trained = RNG(3).integers(0, 2, (3, 200))
    predicted = np.argmax(view.log_p, axis=1)
    oracle = OracleView(view, secret, trained)
    found = {
        "predicted": DeltaMargin("predicted").guess(view),
        "original": DeltaMargin("original").guess(PrivilegedView(view, original)),
        "canary": DeltaMargin("canary").guess(oracle),
        "trained": DeltaMargin("trained").guess(oracle),
    }
    for source, labels in {"predicted": predicted, "original": original, "canary": secret, "trained": trained}.items():
        expected = delta_margin(view.log_p, labels, 1.0, 1.0, "p1-second")
        assert found[source].label.tolist() == expected.label.tolist()
    assert len({tuple(one.label.tolist()) for one in found.values()}) == 4


def test_what_is_printed_and_what_is_tried() -> None:
    assert [DeltaMargin(one).access for one in LOSS_LABELS] == ["outputs", "privileged", "oracle", "oracle"]
    two, ten = ([one.settings for one in all_attacks(k) if one.settings.attack == "lia_delta_margin"] for k in (2, 10))
    assert len(two) == 2 * len(ten) == 4 * 2 * len(RATIOS)
    assert {(one.loss_labels, one.margin, one.alpha, one.beta) for one in two} == {
        (source, margin, 1.0, ratio) for source in LOSS_LABELS for margin in MARGINS for ratio in RATIOS}
    assert delta_margins("predicted", 2)[0] == DeltaMargin("predicted")
    assert [len(set(delta_margins("canary", k))) for k in (2, 3)] == [2 * len(TUNED), len(TUNED)]


@pytest.mark.parametrize("bad", [{"alpha": 0.0}, {"beta": -1.0}, {"beta": inf}, {"alpha": float("nan")},
                                 {"margin": "top"}, {"loss_labels": "guessed"}])
def test_settings_that_cannot_be(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        DeltaMargin(**{"loss_labels": "predicted", **bad})
