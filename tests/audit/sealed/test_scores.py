from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log, log10
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.special import log_softmax
from tests.audit.sealed.scenes import audit, data, scored
from tests.jsonl import jsonl

from discreet.audit.scores.table import Examples, Model, ScoreTable
from discreet.audit.sealed import Datum, Scores, Sealed, findings, read_scores, reveal, seal, under_seal
from discreet.core.errors import InputError
from discreet.core.files import KeyedHash
from discreet.core.types import FloatArray
from discreet.stats.epsilon import anytime_epsilon, detection_power, least_rate, one_run_epsilon
from discreet.stats.evalues import log_e_average
from discreet.stats.intervals import clopper_pearson


def test_scores_as_they_are(tmp_path: Path) -> None:
    found = read_scores(jsonl(tmp_path / "s.jsonl", [{"id": "1", "score": 2, "text": "M"}, {"id": "b", "score": -0.5}]))
    assert (found.names, found.ids, found.values.tolist()) == (("score",), ("1", "b"), [[2.0], [-0.5]])
    several = read_scores(jsonl(tmp_path / "t.jsonl", [{"id": "a", "score_b": 1, "score": 2, "logit_0": 3}]))
    assert (several.names, several.values.tolist()) == (("score", "score_b"), [[2.0, 1.0]])


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_logits_to_log_p_and_margin(tmp_path: Path, suffix: str) -> None:
    logits = np.array([[2.0, -1.0, 0.5], [0.1, 50.0, -3.0], [1.0, 1.0, 0.0]])
    rows = [{"id": f"r{i}", "label": i % 3, **{f"logit_{k}": v for k, v in enumerate(row)}}
            for i, row in enumerate(logits)]
    path = tmp_path / f"s.{suffix}"
    if suffix == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == "csv":
        path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, r.values())) for r in rows)]) + "\n")
    else:
        jsonl(path, rows)
    found = read_scores(path)
    assert found.names == ("log_p", "margin")
    np.testing.assert_allclose(found.values[:, 0], log_softmax(logits, axis=1)[range(3), range(3)], atol=1e-14)
    np.testing.assert_allclose(found.values[:, 1], [1.5, 49.9, -1.0])
    # A saturated model still orders its losses.
    rows = [{"id": str(x), "label": "no", "logit_no": x, "logit_yes": 0.0} for x in (60.0, 61.0)]
    low, high = read_scores(jsonl(tmp_path / "t.jsonl", rows)).values[:, 0]
    assert low < high < 0.0


def test_probabilities_and_named_classes(tmp_path: Path) -> None:
    rows = [{"id": "a", "label": "unsafe", "prob_safe": 0.2, "prob_unsafe": 0.8},
            {"id": "b", "label": "safe", "prob_safe": 0.0, "prob_unsafe": 1.0}]
    found = read_scores(jsonl(tmp_path / "s.jsonl", rows)).values
    np.testing.assert_allclose(found[0], [log(0.8), log(4)])
    assert np.isfinite(found).all()
    assert found[1].max() < -600
    # Rounded ones are probabilities.
    rows = [{"id": "a", "label": 0, "prob_0": 0.333, "prob_1": 0.333, "prob_2": 0.333},
            {"id": "b", "label": 0, "prob_0": 0.601, "prob_1": 0.3, "prob_2": 0.1}]
    assert np.isfinite(read_scores(jsonl(tmp_path / "t.jsonl", rows)).values).all()


GOOD = {"id": "a", "label": 0, "logit_0": 1.0, "logit_1": 2.0}


@pytest.mark.parametrize(("rows", "said"), [
    ([{"id": "a"}], "neither 'score' nor 'logit_…'"), ([{"score": 1}], "there is no 'id'"),
    ([{"id": "a", "score": "x"}], "'score' is a string; expected a number"),
    ([{"id": "a", "score": True}], "true or false"),
    ([{"id": "a", "score": None}], "'score' is NaN, infinite or null"), ([{"id": "a", "score": float("nan")}], "NaN"),
    ([{"id": "a", "score": 1e200}], "expected a finite number"),
    ([{"id": "a", "score": 10**400}], "expected a finite number"),
    ([{"id": "a", "score": 1}, {"id": "a", "score": 1}], "row 2: the id of this row was used before"),
    ([{"id": "a", "score": 1}, {"id": "b", "score": 1, "score_2": 2}], "row 1: 'score_2' is NaN, infinite or null"),
    ([{"id": "", "score": 1}], "'id' is empty"), ([{**GOOD, "label": 2}], "no column"),
    ([{**GOOD, "label": None}], "no column"), ([{"id": "a", "logit_0": 1, "logit_1": 2}], "no 'label'"),
    ([{"id": "a", "label": 0, "logit_0": 1}], "one for every class"),
    ([{"id": "a", "label": 0, "prob_0": 1.2, "prob_1": 0}], "not between 0 and 1"),
    ([{"id": "a", "label": 0, "prob_0": 0.6, "prob_1": 0.6}],
     "probs do not sum to 1 here, and so in 1 row; expected a sum within 0.01 of 1"),
    ([{"id": "a", "label": 0, "prob_0": 0.6, "prob_1": 0.389}], "do not sum to 1")])
def test_bad_scores(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_scores(jsonl(tmp_path / "s.jsonl", rows))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("users", [0, 60])
def test_differences_are_trained_minus_left_out(users: int) -> None:
    sealed = seal(data(users=users), 20, seed=2)
    scores = scored(sealed, 1.0, names=("one", "two"))
    inside, value = {d.id for d in sealed.train}, dict(zip(scores.ids, scores.values, strict=True))
    size, slow = (4 if users else 1), []
    for start in range(0, len(sealed.probe), 2 * size):
        sides = [sealed.probe[start : start + size], sealed.probe[start + size : start + 2 * size]]
        first, second = (np.mean([value[d.id] for d in side], axis=0) for side in sides)
        slow.append(first - second if sides[0][0].id in inside else second - first)
    more = Scores(scores.names, (*scores.ids, "stranger"), np.vstack([scores.values, [[9.0, 9.0]]]))
    found = reveal(sealed.opening, KeyedHash(sealed.key), more)
    np.testing.assert_allclose(found.differences(), np.array(slow).T)
    assert found.differences().shape == (2, 20)
    assert len(found.scores) == len(sealed.probe)


def test_every_member_needs_a_score() -> None:
    sealed = seal(data(), 20, seed=2)
    scores, keyed = scored(sealed, 1.0), KeyedHash(sealed.key)
    fewer = Scores(scores.names, scores.ids[:11] + scores.ids[13:], np.delete(scores.values, [11, 12], axis=0))
    with pytest.raises(InputError, match=r"F has no score for 2 members of the 20 pairs \(the first in pair 6\)"):
        reveal(sealed.opening, keyed, fewer, "F")
    with pytest.raises(InputError, match="its ids are those of other records; expected"):
        reveal(sealed.opening, keyed, Scores(("score",), ("a", "b"), np.ones((2, 1))), "F")


def test_the_same_scores_under_other_names_are_others() -> None:
    one, again, named = audit(0.0), audit(0.0), audit(0.0, names=("score_a",))
    assert one.scores_hash() == again.scores_hash() != named.scores_hash()
    assert replace(one, scores=dict(reversed(list(one.scores.items())))).scores_hash() == one.scores_hash()


def table_of(sealed: Sealed, records: Sequence[Datum], planted: int = 0) -> ScoreTable:
    """A target that was trained on train.jsonl and a control model; the first `planted` records are planted ones."""
    inside, n = {d.id for d in sealed.train}, len(records)
    trained = np.array([d.id in inside for d in records], dtype=np.int8)
    examples = Examples(np.array([d.id for d in records], dtype=object), np.zeros(n, dtype=np.int64),
                        (np.arange(n) < planted).astype(np.int64), split=np.array([None] * n, dtype=object))
    return ScoreTable((Model("f", "target"), Model("p", "control")), examples,
                      np.random.default_rng(0).normal(size=(2, n, 1, 2)), np.stack([trained, np.zeros_like(trained)]))


def check(sealed: Sealed, table: ScoreTable) -> tuple[ScoreTable, int]:
    return under_seal(table, sealed.opening, KeyedHash(sealed.key), "F")


@pytest.mark.usefixtures("system_coins")
@pytest.mark.parametrize("users", [0, 60])
def test_only_what_coins_decided_is_judged(users: int) -> None:
    records = data(users=users)
    sealed = seal(records, 20)
    kept, left_out = check(sealed, table_of(sealed, records))
    probed = {d.id for d in sealed.probe}
    assert set(kept.examples.id) == probed
    assert left_out == 240 - len(probed)
    assert int((kept.member[0] == 1).sum()) == len(probed) // 2
    assert kept.logits.shape[1] == len(probed)
    alone = table_of(sealed, sealed.probe)
    assert check(sealed, alone) == (alone, 0)
    # Planted records and the population stay.
    table = table_of(sealed, records, planted=10)
    assert table.examples.split is not None
    table.examples.split[-10:] = "population"
    kept, left_out = check(sealed, table)
    stay = probed | {d.id for d in (*records[:10], *records[-10:])}
    assert set(kept.examples.id) == stay
    assert left_out == 240 - len(stay)


@pytest.mark.usefixtures("system_coins")
def test_what_the_coins_contradict_is_refused() -> None:
    sealed, other = seal(data(), 20), seal(data(), 20)
    table = table_of(sealed, sealed.probe)
    member = table.member.copy()
    member[0, :2] = 1 - member[0, :2]
    with pytest.raises(InputError, match=r"^F: 'member' of target 'f' is not what the coins say for 2 of 40 sealed"):
        check(sealed, replace(table, member=member))
    # Other models may have been trained on anything.
    member = table.member.copy()
    member[1] = 1
    assert check(sealed, replace(table, member=member))[1] == 0
    with pytest.raises(InputError, match=r"in the pairs of the seal have no scores|is not what the coins say"):
        check(other, table)
    # Nobody is left out by choice.
    with pytest.raises(InputError, match=r"^F: 1 record of the 40 in the pairs of the seal has no scores; score every"):
        check(sealed, table_of(sealed, sealed.probe[1:]))
    with pytest.raises(InputError, match=r"^F: 40 records of the 40 .* have no scores"):
        under_seal(table, sealed.opening, KeyedHash(bytes(32)), "F")
    seeded = seal(data(), 20, seed=1)
    with pytest.raises(InputError, match="came from a seed and were no secret"):
        check(seeded, table_of(seeded, seeded.probe))


def found(rows: FloatArray, **more: Any) -> dict[str, Any]:
    names = [f"s{i}" for i in range(len(rows))]
    return findings(rows, names, unit="record", source="os", **more)


def test_a_leak() -> None:
    rows = np.random.default_rng(0).normal(1.0, 1, (2, 120))
    said = findings(rows, ["a", "b"], unit="group", source="os", alpha=0.1)
    path = log_e_average(rows)
    assert said["e_value"] == pytest.approx(exp(path[-1]))
    assert said["log10_e_value"] == pytest.approx(log10(said["e_value"]))
    assert said["rejected_at"] == int(np.argmax(path >= np.log(10))) + 1
    assert said["p_value"] == pytest.approx(exp(-path.max()))
    assert (said["rejected"], said["verdict"], said["pairs"]) == (True, "fail", 120)
    wins = (rows > 0).sum(axis=1)
    for name, won in zip("ab", wins, strict=True):
        rate = said["win_rate"][name]
        assert (rate["low"], rate["high"]) == pytest.approx(clopper_pearson(int(won), 120, 0.95))
    source = said["epsilon_from"]
    assert said["epsilon_lower"] == pytest.approx(one_run_epsilon(source["correct"], source["guesses"], 0.1 / 8))
    assert said["epsilon_lower_add_remove"] == said["epsilon_lower"] / 2
    assert said["epsilon_lower_anytime"] == anytime_epsilon(rows, 0.1)
    assert said["power"] == detection_power(120, 0.55, 2 * 2 / 0.1)
    assert said["least_win_rate"] == least_rate(120, 40)
    assert said["least_epsilon"] == pytest.approx(np.log(said["least_win_rate"] / (1 - said["least_win_rate"])))
    assert said["claim_codes"] == ["false_findings", "what_leaks", "largest_epsilon", "blind_scorer"]
    assert "user" in said["claims"][1]


def test_a_finding_stays_where_the_evidence_sinks_again() -> None:
    said = found(np.array([[1.0] * 12 + [-1.0] * 30]))
    assert said["rejected"]
    assert said["e_value"] < 20 <= said["e_value_max"]
    assert said["p_value"] == pytest.approx(1 / said["e_value_max"])
    assert said["log10_e_value_max"] == pytest.approx(log10(said["e_value_max"]))


def test_a_pass_needs_power_and_a_low_win_rate() -> None:
    even = np.tile([1.0, -1.0], 1_500)[None, :]
    assert found(even)["verdict"] == "pass"
    assert found(even[:, :200])["verdict"] == "inconclusive"
    assert found(even[:, :200])["power"] < 0.8
    assert found(even[:, :700], tolerance=0.6)["verdict"] == "pass"
    assert "no_proof_of_privacy" in found(even)["claim_codes"]


def test_a_win_rate_that_may_be_too_high_is_inconclusive() -> None:
    # Losses first, so that the evidence never stands high enough, and a win rate of .56 at the end.
    row = np.concatenate([-np.ones(220), np.ones(280)])[None, :]
    said = found(row, tolerance=0.6)
    assert not said["rejected"]
    assert said["power"] > 0.8
    assert said["verdict"] == "inconclusive"
    assert said["reason_code"] == "win_rate_unclear"


def test_constant_scores_show_nothing() -> None:
    said = found(np.zeros((2, 50)))
    assert (said["verdict"], said["e_value"], said["epsilon_lower"], said["power"]) == ("inconclusive", 1.0, 0.0, 0.0)
    assert said["epsilon_ceiling"] is said["least_win_rate"] is said["least_epsilon"] is None
    assert said["win_rate"]["s0"]["value"] is None
    assert said["pairs_untied"] == {"s0": 0, "s1": 0}


def test_overwhelming_evidence_stays_a_number() -> None:
    said = found(np.linspace(1, 2, 4_000)[None, :])
    assert 8e307 < said["e_value"] < 1e308
    assert said["log10_e_value"] > 1_000
    assert said["p_value"] == 0.0


def test_delta_lowers_the_bound_and_a_seed_is_named() -> None:
    said = findings(np.ones((1, 20)), ["s"], unit="record", source="seed")
    assert (said["coins_from"], said["claim_codes"][-1]) == ("seed: not secret", "seeded")
    rows = np.random.default_rng(0).normal(2.0, 1, (1, 200))
    assert found(rows, delta=1e-4)["epsilon_lower"] < found(rows)["epsilon_lower"]


def test_further_openings_share_the_evidence() -> None:
    rows = np.random.default_rng(0).normal(0.4, 1, (1, 80))
    alone = found(rows)
    assert (alone["openings"], alone["e_value_average"]) == (1, pytest.approx(alone["e_value"]))
    said = findings(rows, ["s0"], unit="record", source="os", others=[-1.0, 0.0, 1.5])
    assert said["openings"] == 4
    assert said["e_value_average"] == pytest.approx((alone["e_value"] + 0.1 + 1.0 + 10**1.5) / 4)
    assert said["log10_e_value_average"] == pytest.approx(log10(said["e_value_average"]))
    claim = said["claims"][said["claim_codes"].index("several_openings")]
    assert "4 different files of scores" in claim
    assert "at most 0.2" in claim
    same = {"openings", "e_value_average", "log10_e_value_average", "claims", "claim_codes"}
    assert {k: v for k, v in said.items() if k not in same} == {k: v for k, v in alone.items() if k not in same}
