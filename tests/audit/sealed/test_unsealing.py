from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.sealed import (
    Datum,
    Revealed,
    Scores,
    Sealed,
    known_commitment,
    make_certificate,
    read_coins,
    read_openings,
    record_opening,
    reveal,
    seal,
    under_seal,
    unseal,
)
from discreet.audit.sealed.opening import OPENINGS_FILE, are_openings
from discreet.core.errors import InputError, UsageError
from discreet.core.files import KeyedHash
from discreet.scores.table import Examples, Model, ScoreTable

Audit = Callable[..., Revealed]
Data = Callable[..., list[Datum]]
Score = Callable[..., Scores]
pytestmark = pytest.mark.usefixtures("system_coins")


@pytest.mark.parametrize("users", [0, 60])
def test_differences_are_trained_minus_left_out(data: Data, scored: Score, users: int) -> None:
    sealed = seal(data(users=users), 20, seed=2)
    scores = scored(sealed, 1.0, names=("one", "two"))
    inside, value = {d.id for d in sealed.train}, dict(zip(scores.ids, scores.values, strict=True))
    size = 4 if users else 1
    slow = []
    for start in range(0, len(sealed.probe), 2 * size):
        sides = [sealed.probe[start : start + size], sealed.probe[start + size : start + 2 * size]]
        first, second = (np.mean([value[d.id] for d in side], axis=0) for side in sides)
        slow.append(first - second if sides[0][0].id in inside else second - first)
    more = Scores(scores.names, (*scores.ids, "stranger"), np.vstack([scores.values, [[9.0, 9.0]]]))
    found = reveal(sealed.opening, KeyedHash(sealed.key), more)
    np.testing.assert_allclose(found.differences(), np.array(slow).T)
    assert found.differences().shape == (2, 20)
    assert len(found.scores) == len(sealed.probe)


def test_every_member_needs_a_score(data: Data, scored: Score) -> None:
    sealed = seal(data(), 20, seed=2)
    scores = scored(sealed, 1.0)
    fewer = Scores(scores.names, scores.ids[:11] + scores.ids[13:], np.delete(scores.values, [11, 12], axis=0))
    with pytest.raises(InputError, match=r"F has no score for 2 members of the 20 pairs \(the first in pair 6\)"):
        reveal(sealed.opening, KeyedHash(sealed.key), fewer, "F")


@pytest.mark.parametrize("part", ["coins", "pairs", "salt", "source", "alpha", "key_hash"])
def test_coins_altered_after_the_seal(data: Data, tmp_path: Path, part: str) -> None:
    seal(data(), 20, seed=2).save(tmp_path / "s")
    path = tmp_path / "s" / "coins.json"
    value = json.loads(path.read_text())
    opened = value["opened"]
    given = {"source": "os", "salt": "0" * 64, "alpha": 0.5, "key_hash": "0" * 64}
    opened[part] = given.get(part) or opened[part][::-1]
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match="altered after the seal"):
        read_coins(tmp_path / "s")


def test_another_commitment(data: Data, tmp_path: Path) -> None:
    for seed in (1, 2):
        seal(data(), 20, seed=seed).save(tmp_path / str(seed))
    (tmp_path / "1" / "commitment.json").write_bytes((tmp_path / "2" / "commitment.json").read_bytes())
    with pytest.raises(InputError, match="does not open the commitment"):
        read_coins(tmp_path / "1")


@pytest.mark.parametrize(("name", "content", "said"), [
    ("coins.json", None, "there is no file"), ("commitment.json", None, "there is no file"),
    ("coins.json", "{", "is not JSON"), ("coins.json", "[]", "holds no JSON object"),
    ("coins.json", "{}", "holds no coins"),
    ("commitment.json", '{"kind": "discreet.commitment", "commitment": "x"}', "holds no commitment"),
    ("commitment.json", '{"a": NaN}', "is not JSON"), ("coins.json", "\x00\xff", "is not JSON"),
])
def test_files_that_are_not_those_of_a_seal(
    data: Data, tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    seal(data(), 20, seed=2).save(tmp_path / "s")
    path = tmp_path / "s" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=said):
        read_coins(tmp_path / "s")


def test_an_altered_key_is_not_blamed_on_the_scores(data: Data, tmp_path: Path) -> None:
    seal(data(), 20, seed=2).save(tmp_path / "s")
    path = tmp_path / "s" / "coins.json"
    value = json.loads(path.read_text())
    value["key"] = value["key"][::-1]
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"coins\.json: 'key' is not the key of the commitment") as caught:
        read_coins(tmp_path / "s")
    assert "\n" not in str(caught.value)


def test_nor_in_an_old_seal_that_does_not_hold_its_hash(data: Data, scored: Score) -> None:
    sealed = seal(data(), 20, seed=2)
    old, other = replace(sealed.opening, alpha=None, key_hash=None), KeyedHash(sealed.key[::-1])
    with pytest.raises(InputError, match=r"F has no score for any of the 40 members .* or the 'key' in coins\.json"):
        reveal(old, other, scored(sealed, 1.0), "F")
    strangers = Scores(("score",), ("a", "b"), np.ones((2, 1)))
    with pytest.raises(InputError, match="its ids are those of other records; expected"):
        reveal(sealed.opening, KeyedHash(sealed.key), strangers, "F")


def test_the_public_level_is_the_committed_one(data: Data, tmp_path: Path) -> None:
    seal(data(), 20, seed=2).save(tmp_path / "s")
    path = tmp_path / "s" / "commitment.json"
    for alpha in ("0.5", "null"):
        path.write_text(path.read_text().replace('"alpha": 0.05', f'"alpha": {alpha}'))
        with pytest.raises(InputError, match=r"commitment\.json: 'alpha' is not the 0\.05"):
            read_coins(tmp_path / "s")
        path.write_text(path.read_text().replace(f'"alpha": {alpha}', '"alpha": 0.05'))
    read_coins(tmp_path / "s")


def test_seals_of_the_first_schema_are_read(data: Data, tmp_path: Path) -> None:
    sealed = seal(data(), 20, seed=2)
    old = replace(sealed, opening=replace(sealed.opening, alpha=None, key_hash=None))
    old.save(tmp_path / "s")
    path = tmp_path / "s" / "commitment.json"
    public = json.loads(path.read_text())
    del public["alpha"]
    path.write_text(json.dumps(public))
    assert read_coins(tmp_path / "s")[0] == old.opening
    assert json.loads((tmp_path / "s" / "coins.json").read_text())["opened"]["schema"] == 1


def test_a_hash_is_known_in_any_spelling(data: Data, tmp_path: Path) -> None:
    sealed = seal(data(), 20)
    sealed.save(tmp_path / "s")
    plain, path = sealed.opening.commitment(), tmp_path / "s" / "commitment.json"
    assert {known_commitment(given) for given in (plain, plain.upper(), f" {plain}\n", str(path))} == {plain}
    path.write_text(path.read_text().replace(plain, plain.upper()), encoding="utf-8-sig")
    assert known_commitment(str(path)) == plain
    read_coins(tmp_path / "s")
    with pytest.raises(InputError, match="there is no file"):
        known_commitment(plain[:-1])
    with pytest.raises(InputError, match="cannot read"):
        known_commitment(str(tmp_path))


def table_of(sealed: Sealed, records: Sequence[Datum], planted: int = 0) -> ScoreTable:
    """A target that was trained on train.jsonl and a placebo; the first `planted` records are planted ones."""
    inside = {d.id for d in sealed.train}
    trained = np.array([d.id in inside for d in records], dtype=np.int8)
    examples = Examples(np.array([d.id for d in records], dtype=object), np.zeros(len(records), dtype=np.int64),
                        (np.arange(len(records)) < planted).astype(np.int64),
                        split=np.array([None] * len(records), dtype=object))
    logits = np.random.default_rng(0).normal(size=(2, len(records), 1, 2))
    return ScoreTable((Model("f", "target"), Model("p", "placebo")), examples, logits,
                      np.stack([trained, np.zeros(len(records), dtype=np.int8)]))


def check(sealed: Sealed, table: ScoreTable) -> tuple[ScoreTable, int]:
    return under_seal(table, sealed.opening, KeyedHash(sealed.key), "F")


@pytest.mark.parametrize("users", [0, 60])
def test_only_what_coins_decided_is_judged(data: Data, users: int) -> None:
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


def test_planted_records_and_the_population_stay(data: Data) -> None:
    records = data()
    sealed = seal(records, 20)
    probed = {d.id for d in sealed.probe}
    table = table_of(sealed, records, planted=10)
    assert table.examples.split is not None
    table.examples.split[-10:] = "population"
    kept, left_out = check(sealed, table)
    ends = {d.id for d in (*records[:10], *records[-10:])}
    assert set(kept.examples.id) == probed | ends
    assert left_out == 240 - len(probed | ends)


def test_a_member_that_the_coins_left_out_is_refused(data: Data) -> None:
    sealed = seal(data(), 20)
    table = table_of(sealed, sealed.probe)
    member = table.member.copy()
    member[0, :2] = 1 - member[0, :2]
    with pytest.raises(InputError, match=r"^F: 'member' of target 'f' is not what the coins say for 2 of 40 sealed"):
        check(sealed, replace(table, member=member))
    # Other models may have been trained on anything.
    member = table.member.copy()
    member[1] = 1
    assert check(sealed, replace(table, member=member))[1] == 0


def test_the_table_of_another_seal_is_refused(data: Data) -> None:
    one, other = (seal(data(), 100) for _ in range(2))
    with pytest.raises(InputError, match=r"in the pairs of the seal have no scores|is not what the coins say"):
        check(other, table_of(one, one.probe))


def test_nobody_is_left_out_by_choice(data: Data) -> None:
    sealed = seal(data(), 20)
    with pytest.raises(InputError, match=r"^F: 1 record of the 40 in the pairs of the seal has no scores; score every"):
        check(sealed, table_of(sealed, sealed.probe[1:]))
    with pytest.raises(InputError, match=r"^F: 40 records of the 40 .* have no scores"):
        under_seal(table_of(sealed, sealed.probe), sealed.opening, KeyedHash(bytes(32)), "F")


def test_coins_from_a_seed_decide_nothing(data: Data) -> None:
    sealed = seal(data(), 20, seed=1)
    with pytest.raises(InputError, match="came from a seed and were no secret"):
        check(sealed, table_of(sealed, sealed.probe))



def rows_of(scores: Scores) -> list[dict[str, Any]]:
    return [{"id": name, **dict(zip(scores.names, row, strict=True))}
            for name, row in zip(scores.ids, scores.values.tolist(), strict=True)]


def test_every_opening_is_counted_once(data: Data, scored: Score, tmp_path: Path) -> None:
    sealed, folder = seal(data(), 100, seed=5), tmp_path / "s"
    sealed.save(folder)
    first, second = (rows_of(scored(sealed, shift, seed)) for shift, seed in ((0.0, 1), (1.0, 2)))
    found = [unseal(folder, rows) for rows in (first, first, second, first)]
    assert [one["openings"] for one in found] == [1, 1, 2, 2]
    kept = read_openings(folder, sealed.opening.commitment())
    assert [one["scores"] for one in kept] == [found[0]["scores_hash"], found[2]["scores_hash"]]
    assert kept[0]["log10_e_value"] == found[0]["log10_e_value"]
    assert (kept[1]["when"], kept[1]["alpha"], kept[1]["rejected"]) == (found[2]["made"], 0.05, found[2]["rejected"])
    assert found[2]["other_openings"] == [{name: kept[0][name] for name in ("when", "scores", "log10_e_value")}]
    assert found[3]["other_openings"][0]["scores"] == kept[1]["scores"]
    assert found[2]["e_value_average"] == pytest.approx((found[0]["e_value"] + found[2]["e_value"]) / 2)
    assert [one.problems() for one in found] == [[]] * 4
    assert not (folder / "certificate.json").exists()


def test_a_certificate_is_no_file_of_the_seal(data: Data, scored: Score, tmp_path: Path) -> None:
    sealed, folder = seal(data(), 20, seed=5), tmp_path / "s"
    sealed.save(folder)
    rows = rows_of(scored(sealed, 0.0))
    for name in ("coins.json", OPENINGS_FILE):
        with pytest.raises(UsageError, match="is a file of the seal"):
            unseal(folder, rows, out=folder / name)
    with pytest.raises(UsageError, match="a tolerance between"):
        unseal(folder, rows, tolerance=0.5)
    assert unseal(folder, rows, out=tmp_path / "c.json") == json.loads((tmp_path / "c.json").read_text())


def test_the_same_scores_under_other_names_are_others(audit: Audit) -> None:
    one, again, named = audit(0.0), audit(0.0), audit(0.0, names=("score_a",))
    assert one.scores_hash() == again.scores_hash() != named.scores_hash()
    assert replace(one, scores=dict(reversed(list(one.scores.items())))).scores_hash() == one.scores_hash()


GOOD = {"when": "2026-01-01", "scores": "a" * 64, "log10_e_value": 0.5}


@pytest.mark.parametrize("change", [
    {"kind": "x"}, {"schema": 2}, {"commitment": "0" * 64}, {"openings": None}, {"openings": [1]},
    {"openings": [{**GOOD, "scores": "A" * 64}]}, {"openings": [{**GOOD, "log10_e_value": "1"}]},
    {"openings": [{**GOOD, "log10_e_value": True}]}, {"openings": [{**GOOD, "when": 1}]}, {"openings": [GOOD, GOOD]},
])
def test_a_record_that_is_none_is_not_taken_for_no_opening(
    audit: Audit, tmp_path: Path, change: dict[str, Any]
) -> None:
    revealed = audit(0.0)
    record_opening(tmp_path, [], make_certificate(revealed))
    path = tmp_path / OPENINGS_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=r"opened\.json is no record of the openings of this seal") as caught:
        read_openings(tmp_path, revealed.opening.commitment())
    assert "\n" not in str(caught.value)


def test_no_certificate_where_the_opening_cannot_be_recorded(audit: Audit, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        record_opening(tmp_path / "gone", [], make_certificate(audit(0.0)))


def test_an_average_beyond_all_floats(audit: Audit) -> None:
    made = make_certificate(audit(0.0), others=[{**GOOD, "log10_e_value": 4_000.0}])
    assert made["log10_e_value_average"] == pytest.approx(4_000.0, abs=0.31)
    assert 8e307 < made["e_value_average"] < 1e308
    assert are_openings([GOOD, {**GOOD, "scores": "b" * 64, "log10_e_value": -3}])
    assert not are_openings([{**GOOD, "log10_e_value": float("nan")}])
