from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
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
from discreet.audit.sealed import Datum, Scores, Sealed, read_scores, reveal, seal, under_seal
from discreet.core.errors import InputError
from discreet.core.files import KeyedHash


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
