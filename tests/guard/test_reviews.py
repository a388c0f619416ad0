from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.jsonl import jsonl

from discreet.core.errors import InputError, UsageError
from discreet.guard.reviews import Review, calibrate_on_reviews, read_reviews

ROW = {"id": "a", "guard": "medical", "policy": "medical/public@1", "decision": "release", "action": "abstain",
       "layer": None, "logit": -0.4, "why": "unsure", "recheck": None}


def drawn(n: int, rng: np.random.Generator, *, steep: float = 4.0) -> list[Review]:
    """Decisions whose leaks follow a logistic of the score."""
    logits = rng.uniform(-3, 3, n)
    leaks = rng.random(n) < 1 / (1 + np.exp(-steep * logits))
    return [Review(str(i), "medical", "unsure", float(x), bool(y)) for i, (x, y) in
            enumerate(zip(logits, leaks, strict=True))]


def test_thresholds_lie_where_decisions_are_all_but_sure() -> None:
    found = calibrate_on_reviews(drawn(4000, np.random.default_rng(1)))["medical"]
    assert found.unsure_above is not None
    assert found.evidence_tau is not None
    assert -1.5 < found.unsure_above < -0.2
    assert 0.2 < found.evidence_tau < 1.5
    assert [one.n for one in found.below] == sorted(one.n for one in found.below)
    assert found.below[-1].n == found.above[0].n == 4000
    edge = next(one for one in found.below if one.at == found.unsure_above)
    assert edge.leaks.high is not None
    assert edge.leaks.high <= 0.05
    assert edge.nearest <= 0.05
    assert found.saved == edge.n + next(one.n for one in found.above if one.at == found.evidence_tau)
    assert found.note is None


@pytest.mark.slow
def test_a_proposal_is_wrong_no_more_often_than_it_says() -> None:
    # Leaks that the score knows nothing of, at just more than may be missed: every proposal is a mistake.
    rng, wrong = np.random.default_rng(2), 0
    for _ in range(400):
        logits, leaks = rng.normal(size=300), rng.random(300) < 0.0501
        rows = [Review(str(i), "m", "unsure", float(x), bool(y)) for i, (x, y) in
                enumerate(zip(logits, leaks, strict=True))]
        wrong += calibrate_on_reviews(rows)["m"].unsure_above is not None
    assert wrong <= 400 * .05


def test_few_decisions_support_nothing_and_say_what_would() -> None:
    few = calibrate_on_reviews(drawn(19, np.random.default_rng(3)))["medical"]
    assert (few.unsure_above, few.evidence_tau, few.below) == (None, None, ())
    assert "19 decisions" in str(few.note)
    some = calibrate_on_reviews(drawn(60, np.random.default_rng(3)))["medical"]
    assert some.unsure_above is None
    assert "it takes 131 releases in a row" in str(some.note)
    row = [Review(str(i), "m", "unsure", i / 200, leaks=False) for i in range(132)]
    assert calibrate_on_reviews(row)["m"].unsure_above == 131 / 200


def test_what_was_held_for_another_reason_moves_no_threshold() -> None:
    rows = [Review(str(i), "m", held, 0.0, leaks=i % 2 == 0) for i, held in enumerate(["language", "direct"] * 50)]
    found = calibrate_on_reviews(rows)["m"]
    assert (found.held["language"].value, found.held["direct"].value) == (1.0, 0.0)
    assert "0 decisions" in str(found.note)


def test_blind_second_decisions_say_how_far_reviewers_agree() -> None:
    rows = [Review(str(i), "m", "unsure", 0.0, leaks=i < 10, again=i < 10 if i else False) for i in range(20)]
    found = calibrate_on_reviews(rows)["m"]
    assert (found.agreement.value, found.agreement.n) == (0.95, 20)
    assert found.kappa.value == pytest.approx(0.9)
    assert calibrate_on_reviews(rows[:0]) == {}
    none = calibrate_on_reviews([Review("a", "m", "unsure", 0.0, leaks=True)])["m"]
    assert not none.kappa.resolved
    assert not none.agreement.resolved


@pytest.mark.parametrize("shares", [{"most_missed": 0.0}, {"most_false": 1.0}])
def test_shares_that_cannot_be_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        calibrate_on_reviews([], **shares)


def test_who_could_not_tell_judged_no_leak(tmp_path: Path) -> None:
    rows = [{**ROW, "id": str(k), "decision": "block", "reason": reason}
            for k, reason in enumerate(("cannot_tell", "sensitive", None))]
    assert [one.id for one in read_reviews(jsonl(tmp_path / "reviews.jsonl", rows))] == ["1", "2"]


def test_decisions_are_read(tmp_path: Path) -> None:
    rows = (ROW, {**ROW, "id": "b", "decision": "release_edited", "action": "flag", "layer": "contextual"},
            {**ROW, "id": "c", "decision": "block", "logit": None, "recheck": "release"})
    assert read_reviews(jsonl(tmp_path / "reviews.jsonl", rows)) == [
        Review("a", "medical (medical/public@1)", "unsure", -0.4, leaks=False),
        Review("b", "medical (medical/public@1)", "contextual", -0.4, leaks=True),
        Review("c", "medical (medical/public@1)", "unsure", None, leaks=True, again=False)]


@pytest.mark.parametrize(("change", "said"), [
    ({"decision": "maybe"}, "'decision'"), ({"logit": "high"}, "'logit'"), ({"logit": "nan"}, "'logit'"),
    ({"guard": None}, "'guard'"), ({"id": ""}, "'id'")])
def test_rows_that_cannot_be_are_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=rf"line 1.*{said}"):
        read_reviews(jsonl(tmp_path / "reviews.jsonl", [{**ROW, **change}]))
