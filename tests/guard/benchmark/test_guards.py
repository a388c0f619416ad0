from __future__ import annotations

from typing import Any

import pytest

from discreet.core.errors import UsageError
from discreet.guard.benchmark import Prediction, open_guard
from discreet.guard.benchmark.adapters.regex import RegexGuard


@pytest.mark.parametrize("row", [
    {"score": 0.5, "action": "flag", "direct": True, "spans": [[0, 2, "age", "a", "third"], [3, 4, "x", None, None]]},
    {"score": None, "action": "failed", "direct": None, "spans": None},
    {"score": 0.0, "action": "safe", "direct": None, "spans": []}])
def test_a_prediction_comes_back(row: dict[str, Any]) -> None:
    assert Prediction.from_json(row).to_json() == row


@pytest.mark.parametrize(("action", "score"), [("safe", 0.0), ("flag", 1.0), ("abstain", 1.0), ("failed", None)])
def test_an_action_alone_is_enough(action: str, score: float | None) -> None:
    assert Prediction.from_json({"action": action}).score == score


@pytest.mark.parametrize(("change", "said"), [
    ({"action": "block"}, "is none of safe"), ({"score": "high"}, "no finite number"),
    ({"score": float("nan")}, "no finite number"), ({"direct": 1}, "neither true"),
    ({"spans": [[5, 2, "age"]]}, "offsets"), ({"spans": [[0, 2, "age", "a", "she"]]}, "is none of third")])
def test_what_is_no_prediction_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Prediction.from_json({"action": "flag", **change})


def test_a_guard_is_opened_by_name() -> None:
    assert isinstance(open_guard("regex"), RegexGuard)
    with pytest.raises(UsageError, match="no guard 'nobody'; expected one of discreet, http, langchain"):
        open_guard("nobody:x")
