from __future__ import annotations

import hashlib
import json
import stat
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scipy.stats import binomtest
from tests.audit.sealed.scenes import data
from tests.jsonl import jsonl

from discreet.audit.sealed import Datum, read_coins, read_data, seal
from discreet.audit.sealed.sealing import FILES
from discreet.core.errors import InputError, UsageError
from discreet.core.files import KeyedHash


def test_one_of_each_pair_is_trained_on_and_all_others() -> None:
    rows = data()
    sealed = seal(rows, 80, seed=1)
    keyed, inside = KeyedHash(sealed.key), {d.id for d in sealed.train}
    of = {keyed.of(d.id): d for d in rows}
    trained, left = sealed.opening.members()
    assert all(of[side[0]].id in inside for side in trained)
    assert not any(of[side[0]].id in inside for side in left)
    assert len(sealed.train) == 240 - 80
    assert [d for d in rows if d.id in inside] == sealed.train
    assert [d.id for d in sealed.probe] == [of[k].id for pair in sealed.opening.pairs for side in pair for k in side]
    assert all(of[a].label == of[b].label for (a,), (b,) in sealed.opening.pairs)
    assert sealed.facts["unpaired"] == 240 - 160
    assert 1.0 <= sealed.facts["length_ratio_median"] <= sealed.facts["length_ratio_most"] <= 2.0


def test_users_go_whole() -> None:
    rows = data(users=60)
    sealed = seal(rows, 20, seed=1)
    inside = Counter(d.group for d in sealed.train)
    assert set(inside.values()) == {4}
    assert len(inside) == 60 - 20
    assert sealed.opening.unit == "group"
    assert all(len(side) == 4 for pair in sealed.opening.pairs for side in pair)
    assert len(sealed.probe) == 20 * 2 * 4


def test_copies_of_a_text_are_in_no_pair() -> None:
    rows = data()
    twice = [*rows, *(Datum(f"c{i}", f"  {rows[i].text.upper()}", rows[i].label) for i in range(30))]
    sealed = seal(twice, 100, seed=1)
    copies = {f"r{i}" for i in range(30)} | {f"c{i}" for i in range(30)}
    assert not copies & {d.id for d in sealed.probe}
    assert copies <= {d.id for d in sealed.train}
    assert sealed.facts["copies_kept_out"] == 60


def test_canaries_alone_are_paired() -> None:
    rows, canaries = data(), [Datum(f"k{d.id}", d.text + "k", d.label) for d in data(60, seed=3)]
    sealed = seal(rows, 25, canaries=canaries, seed=1)
    assert {d.id for d in rows} <= {d.id for d in sealed.train}
    assert all(d.id.startswith("k") for d in sealed.probe)
    assert len(sealed.train) == 240 + 60 - 25
    with pytest.raises(InputError, match="240 ids of the canaries are ids of the data"):
        seal(rows, 25, canaries=rows)


def test_a_seed_repeats_and_says_so_and_the_system_does_neither() -> None:
    one, again, other = (seal(data(), 50, seed=s) for s in (3, 3, 4))
    assert (one.opening, one.key) == (again.opening, again.key)
    assert one.opening.coins != other.opening.coins
    assert one.opening.source == "seed"
    first, second = (seal(data(), 50).opening for _ in range(2))
    assert first.source == "os"
    assert first.salt != second.salt
    assert first.coins != second.coins


@pytest.mark.usefixtures("system_coins")
def test_coins_are_fair_whatever_stands_first() -> None:
    coins = "".join(seal(data(), 100).opening.coins for _ in range(30))
    assert binomtest(coins.count("1"), len(coins)).pvalue > 1e-6
    assert binomtest(sum(a != b for a, b in pairwise(coins)), len(coins) - 1).pvalue > 1e-6


def test_the_files(tmp_path: Path) -> None:
    sealed = seal([d.to_json("user") for d in data(users=60)], 20, group="user")
    sealed.save(tmp_path / "new" / "s")
    folder = tmp_path / "new" / "s"
    assert sorted(p.name for p in folder.iterdir()) == sorted(FILES)
    for name in ("coins.json", "train.jsonl"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "probe.jsonl").stat().st_mode) & 0o400
    assert [p.name for p in folder.parent.iterdir()] == ["s"]
    train = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    assert train == [d.to_json("user") for d in sealed.train]
    public = json.loads((folder / "commitment.json").read_text())
    assert public["commitment"] == sealed.opening.commitment()
    assert (public["pairs"], public["coins"], public["alpha"]) == (20, "operating system", 0.05)
    assert sealed.key.hex() not in (folder / "commitment.json").read_text()
    assert read_coins(folder)[0] == sealed.opening
    for name in ("commitment.json", "coins.json"):
        written = (folder / name).read_text()
        assert "MARK" not in written
        assert '"r1' not in written
    assert sealed.opening.salt not in (folder / "commitment.json").read_text()
    seal(data(), 20, seed=1).save(tmp_path / "seeded")
    for name, said in (("commitment.json", "coins"), ("coins.json", "note")):
        assert "not secret" in json.loads((tmp_path / "seeded" / name).read_text())[said]


def test_all_files_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    sealed = seal(data(), 20)
    monkeypatch.setattr("discreet.audit.sealed.sealing.os.fsync", broken)
    with pytest.raises(KeyboardInterrupt):
        sealed.save(tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_seal_is_never_written_over(tmp_path: Path) -> None:
    sealed = seal(data(), 20)
    (tmp_path / "empty").mkdir()
    sealed.save(tmp_path / "empty")
    with pytest.raises(UsageError, match="never written over"):
        sealed.save(tmp_path / "empty")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        sealed.save(tmp_path / "file")
    with pytest.raises(UsageError, match="cannot make the folder"):
        sealed.save(tmp_path / "file" / "below")


def test_what_cannot_be_sealed() -> None:
    with pytest.raises(InputError, match=r"500 pairs were asked for and about 1\d\d alike ones"):
        seal(data(), 500)
    with pytest.raises(UsageError, match="pairs is 0: expected"):
        seal(data(), 0)
    with pytest.raises(InputError, match="all 240 records have the same label"):
        seal([Datum(d.id, d.text, "x") for d in data()], 20)
    with pytest.raises(InputError, match="0 alike ones"):
        seal([Datum("a", "long enough", 0), Datum("b", "long enough", 1)], 1)


def test_level_and_key_are_committed_to() -> None:
    one, other = (seal(data(), 20, seed=3, alpha=alpha) for alpha in (0.05, 0.01))
    assert (one.opening.alpha, other.opening.alpha) == (0.05, 0.01)
    assert one.opening.coins == other.opening.coins
    assert one.opening.commitment() != other.opening.commitment()
    assert one.opening.key_hash == hashlib.sha256(one.key).hexdigest()
    for alpha in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="alpha is"):
            seal(data(), 20, alpha=alpha)


GOOD: dict[str, Any] = {"id": "a", "text": "MARK", "label": "x", "user": "u"}


def test_json_and_csv(tmp_path: Path) -> None:
    there = read_data(jsonl(tmp_path / "d.jsonl", [GOOD, {**GOOD, "id": 7, "label": 1, "user": 9, "more": 1}]), "user")
    assert there == [Datum("a", "MARK", "x", "u"), Datum("7", "MARK", 1, "9")]
    (tmp_path / "d.csv").write_text("id,text,label\na,MARK,x\n")
    assert read_data(tmp_path / "d.csv") == [Datum("a", "MARK", "x")]
    assert "MARK" not in repr(there)


def test_files_frames_and_mappings_are_one(tmp_path: Path) -> None:
    rows = [{"id": f"r{i}", "text": f"some text {i}", "label": i % 2} for i in range(12)]
    path = jsonl(tmp_path / "d.jsonl", rows)
    found = [seal(source, 3, seed=1).opening for source in (path, rows, pa.Table.from_pylist(rows), read_data(path))]
    assert found[0] == found[1] == found[2] == found[3]
    with pytest.raises(InputError, match="row 2: there is no 'text'"):
        seal([rows[0], {"id": "x", "label": 1}], 3)
    with pytest.raises(InputError, match="hold no rows"):
        read_data([])


@pytest.mark.parametrize(("change", "said"), [
    ({"text": None}, "'text' is null"), ({"text": "  "}, "'text' is empty"), ({"text": 3}, "'text' is a number"),
    ({"label": None}, "'label' is null"), ({"label": 0.5}, "'label' is a number"), ({"label": " "}, "'label' is empty"),
    ({"label": True}, "'label' is true or false"), ({"id": None}, "'id' is null"), ({"user": None}, "'user' is null"),
    ({"user": ""}, "'user' is empty"), ({"id": "b"}, "used before, in line 1")])
def test_bad_rows(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = jsonl(tmp_path / "d.jsonl", [{**GOOD, "id": "b"}, {**GOOD, **change}])
    with pytest.raises(InputError, match=said) as caught:
        read_data(path, "user")
    assert "line 2" in str(caught.value)
    assert "MARK" not in str(caught.value)


def test_missing_columns(tmp_path: Path) -> None:
    for column in GOOD:
        path = jsonl(tmp_path / "d.jsonl", [{key: value for key, value in GOOD.items() if key != column}])
        with pytest.raises(InputError, match=f"there is no '{column}'"):
            read_data(path, "user")
    with pytest.raises(InputError, match="group is 'label', one of"):
        read_data(jsonl(tmp_path / "d.jsonl", [GOOD]), "label")
