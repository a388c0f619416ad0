from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.records import Answer, Estimate, Evidence, Reason, Turn, Verdict, plain

MARK = "ZQXMARKER"
finite = st.floats(allow_nan=False, allow_infinity=False)
ESTIMATE_KEYS = ["value", "low", "high", "level", "n", "n_pos", "n_neg", "unit", "method", "reason"]
VERDICT_KEYS = ["id", "action", "layer", "score", "delta", "sigma_safe", "sigma_unsafe", "tau", "evidence", "policy",
                "reason", "latency_ms", "people", "logit", "threshold", "cause"]


def verdict(**keys: Any) -> Verdict:
    facts: dict[str, Any] = {"id": "1", "action": "safe", "layer": None, "score": 0.1, "delta": -2.0, "evidence": (),
                             "policy": "p", "reason": "r"}
    return Verdict(**{**facts, **keys})


class TestEstimate:
    @given(finite, st.floats(0, 1e9), st.floats(0, 1e9), st.integers(0, 10**9), st.text())
    def test_json_and_back(self, value: float, below: float, above: float, n: int, method: str) -> None:
        one = Estimate(value, value - below, value + above, 0.9, n, n, 0, "user", method)
        data = json.loads(json.dumps(one.to_json()))
        assert list(data) == ESTIMATE_KEYS
        assert Estimate.from_json(data) == one

    def test_an_unresolved_one_and_back(self) -> None:
        one = Estimate.unresolved("20 non-members; 100 would do", n=20, unit="user")
        assert (one.value, one.low, one.high, one.n, one.resolved) == (None, None, None, 20, False)
        assert Estimate.from_json(json.loads(json.dumps(one.to_json()))) == one
        assert str(one) == "unresolved (20 non-members; 100 would do)"

    def test_the_same_keys_always(self) -> None:
        assert list(Estimate.unresolved("x").to_json()) == list(Estimate(1.0, None, None).to_json()) == ESTIMATE_KEYS

    @pytest.mark.parametrize(("value", "low", "high"), [
        (float("nan"), 0, 1), (0.5, float("nan"), 1), (0.5, 0, float("nan")), (0.5, 0.6, 0.4)])
    def test_what_is_no_interval(self, value: float, low: float, high: float) -> None:
        with pytest.raises(ValueError, match=r"NaN|low <= high"):
            Estimate(value, low, high)

    def test_nothing_without_a_reason(self) -> None:
        with pytest.raises(ValueError, match="must say why"):
            Estimate(None, None, None)

    def test_an_infinite_bound_is_null_in_json(self) -> None:
        data = Estimate(1.0, 0.5, float("inf")).to_json()
        assert (data["low"], data["high"]) == (0.5, None)
        json.dumps(data, allow_nan=False)

    @pytest.mark.parametrize(("estimate", "text"), [
        (Estimate(0.5, 0.4, 0.6), "0.500 [0.400, 0.600]"), (Estimate(0.5, None, None), "0.500"),
        (Estimate.unresolved("too few"), "unresolved (too few)")])
    def test_words(self, estimate: Estimate, text: str) -> None:
        assert str(estimate) == text


class TestVerdict:
    def test_json_has_fixed_keys_and_no_words(self) -> None:
        one = verdict(action="flag", layer="direct", evidence=(Evidence("age", "third", 3, 5),), latency_ms=1.5)
        data = json.loads(json.dumps(one.to_json(), allow_nan=False))
        assert list(data) == VERDICT_KEYS
        assert data["evidence"] == [{"type": "age", "subject": "third", "start": 3, "end": 5}]
        assert (data["action"], data["layer"], data["latency_ms"]) == ("flag", "direct", 1.5)
        caused = verdict(cause=Reason("cluster", ("age", "place"), "third", 2)).to_json()["cause"]
        assert (caused["cause"], caused["kinds"], caused["attributes"]) == ("cluster", ["age", "place"], 2)
        assert [caused[key] for key in ("detail", "detector", "words", "facts")] == ["", "", None, None]

    def test_what_ranks_answers(self) -> None:
        assert (verdict(logit=3.0).rank, verdict(logit=3.0, delta=None).rank) == (-2.0, 3.0)
        assert verdict(action="failed", score=None, delta=None).rank is None

    @pytest.mark.parametrize("action", ["safe", "flag", "abstain"])
    def test_a_judgement_has_a_score(self, action: str) -> None:
        assert verdict(action=action).action == action
        with pytest.raises(ValueError, match="score is a number in every verdict but `failed`"):
            verdict(action=action, score=None)

    def test_a_failure_has_none(self) -> None:
        assert verdict(action="failed", score=None, delta=None).score is None
        with pytest.raises(ValueError, match="score is a number in every verdict but `failed`"):
            verdict(action="failed")

    @pytest.mark.parametrize(("action", "layer", "code"), [
        ("safe", None, "ok"), ("flag", "direct", "privacy/direct"), ("flag", "contextual", "privacy/contextual"),
        ("flag", "verbatim", "privacy/verbatim"),
        ("abstain", "contextual", "privacy/undecided"), ("failed", None, "privacy/not_judged")])
    def test_the_code_that_a_user_may_know(self, action: Any, layer: Any, code: str) -> None:
        assert verdict(action=action, layer=layer, score=None if action == "failed" else 0.5).code == code

    @pytest.mark.parametrize("action", ["SAFE", "ok", "", None])
    def test_an_unknown_action(self, action: Any) -> None:
        with pytest.raises(ValueError, match="action must be one of"):
            verdict(action=action)


@pytest.mark.parametrize("record", [Answer("1", MARK, MARK, (MARK,), (Turn("user", MARK),)), Turn("user", MARK)])
def test_no_record_shows_a_text(record: object) -> None:
    assert MARK not in repr(record) + str(record) + f"{record!r:>1}"


@pytest.mark.parametrize(("record", "name"), [
    (Answer("1", "x"), "answer"), (Turn("user", "x"), "text"), (Evidence("age", "third", 0, 1), "start"),
    (verdict(), "action"), (Estimate(1.0, None, None), "value")])
def test_records_are_frozen_and_travel(record: Any, name: str) -> None:
    with pytest.raises((FrozenInstanceError, AttributeError)):
        setattr(record, name, None)
    assert not hasattr(record, "__dict__")
    assert pickle.loads(pickle.dumps(record)) == record
    assert replace(record) == record


def test_equal_answers_are_equal() -> None:
    assert Answer("1", "x", "q") == Answer("1", "x", "q") != Answer("1", "y", "q")
    assert len({Answer("1", "x"), Answer("1", "x")}) == 1


def test_plain_values_all_the_way_down() -> None:
    one = Estimate(0.5, None, None)
    assert plain({"a": (one, 2), "b": [{"c": one}]}) == {"a": [one.to_json(), 2], "b": [{"c": one.to_json()}]}
