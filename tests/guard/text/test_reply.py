"""What a text is to its question, from the network's logits."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guard.text.tables import CASES

from discreet.guard.text.reply import ASKED, Case, inputs_of

logits = st.lists(st.floats(-15, 15, width=32), min_size=len(CASES), max_size=len(CASES))


def log_odds(values: list[float], *cases: str) -> float:
    mine = sum(exp(v) for v, name in zip(values, CASES, strict=True) if name in cases)
    return log(mine / (sum(map(exp, values)) - mine))


@given(logits)
def test_log_odds_are_those_of_sums_of_probabilities(values: list[float]) -> None:
    case = Case.of(np.array(values, np.float32), CASES)
    assert case.tells == pytest.approx(log_odds(values, "leak"), abs=1e-3)
    assert case.theirs == pytest.approx(log_odds(values, "own", "kin"), abs=1e-3)
    everybody_else = [name for name in CASES if name not in ("leak", "none")]
    assert case.others == pytest.approx(log_odds(values, *everybody_else), abs=1e-3)


@pytest.mark.parametrize(("likely", "status"), [
    ("own", None), ("kin", None), ("organisation", None), ("staff", "staff"), ("fictional", "fictional"),
    ("historic", "historic")])
def test_of_a_person_it_says_who_that_is(likely: str, status: str | None) -> None:
    assert Case.of(np.array([5.0 * (name == likely) for name in CASES], np.float32), CASES).status == status


def test_a_long_text_tells_what_any_window_tells_and_is_about_others_where_all_are() -> None:
    whole = Case.whole([Case(3.0, -1.0, 4.0, "staff"), Case(-2.0, 2.0, 1.0, "fictional")])
    assert whole == Case(3.0, -1.0, 1.0, "fictional")


@given(st.lists(st.lists(st.integers(5, 99), max_size=130), max_size=4))
def test_questions_stand_one_after_the_other(said: list[list[int]]) -> None:
    given_ = inputs_of([[101, *ids, 102] for ids in said])
    assert given_["heads"].tolist() == [i for i, at in enumerate(given_["places"][0]) if at == 0]
    for number, ids in enumerate(said, 1):
        mine = given_["block"][0] == number
        assert given_["asked"][0][mine].tolist() == [101, *ids[-ASKED:], 102]
        assert given_["places"][0][mine].tolist() == list(range(len(ids[-ASKED:]) + 2))
