from __future__ import annotations

from typing import Any

import pytest

from discreet.train import TrainingPlan


@pytest.mark.parametrize("odd", [
    {"rate": 0.0}, {"rate": float("nan")}, {"epochs": 0}, {"batch": 0}, {"micro_batch": 0, "batch": 4},
    {"batch": 12, "micro_batch": 8}, {"micro_batch": 8}, {"decay": -1.0}, {"decay": float("inf")}, {"warmup": 1.5},
    {"clip": float("inf")}, {"clip": 0.0}, {"eval_every": 0}, {"patience": 0}, {"until_accuracy": 0.0},
    {"until_accuracy": 1.01},
])
def test_impossible_plans(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r" is .*: expected") as caught:
        TrainingPlan(**{"rate": 0.1, **odd})
    assert any(name in str(caught.value) for name in odd)


def test_a_trainer_refuses_what_it_does_not_follow() -> None:
    plan = TrainingPlan(0.1, epochs=3, patience=2)
    plan.refuse_others("lookers", "epochs", "patience", "eval_every")
    with pytest.raises(ValueError, match="patience is 2: hurriers follow only rate, epochs; leave it out"):
        plan.refuse_others("hurriers", "epochs")
