from __future__ import annotations

import hashlib
import json
import stat
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from scipy.stats import binomtest

from discreet.audit.sealed import Datum, plan, read_coins, seal_data
from discreet.core.errors import InputError, UsageError
from discreet.core.files import KeyedHash

Data = Callable[..., list[Datum]]


def test_one_of_each_pair_is_trained_on_and_all_others(data: Data) -> None:
    rows = data()
    sealed = seal_data(rows, 80, seed=1)
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


def test_users_go_whole(data: Data) -> None:
    rows = data(users=60)
    sealed = seal_data(rows, 20, seed=1)
    inside = Counter(d.group for d in sealed.train)
    assert set(inside.values()) == {4}
    assert len(inside) == 60 - 20
    assert sealed.opening.unit == "group"
    assert all(len(side) == 4 for pair in sealed.opening.pairs for side in pair)
    assert len(sealed.probe) == 20 * 2 * 4


def test_copies_of_a_text_are_in_no_pair(data: Data) -> None:
    rows = data()
    twice = [*rows, *(Datum(f"c{i}", f"  {rows[i].text.upper()}", rows[i].label) for i in range(30))]
    sealed = seal_data(twice, 100, seed=1)
    copies = {f"r{i}" for i in range(30)} | {f"c{i}" for i in range(30)}
    assert not copies & {d.id for d in sealed.probe}
    assert copies <= {d.id for d in sealed.train}
    assert sealed.facts["copies_kept_out"] == 60


def test_canaries_alone_are_paired(data: Data) -> None:
    rows, canaries = data(), [Datum(f"k{d.id}", d.text + "k", d.label) for d in data(60, seed=3)]
    sealed = seal_data(rows, 25, canaries=canaries, seed=1)
    assert {d.id for d in rows} <= {d.id for d in sealed.train}
    assert all(d.id.startswith("k") for d in sealed.probe)
    assert len(sealed.train) == 240 + 60 - 25
    with pytest.raises(InputError, match="240 ids of the canaries are ids of the data"):
        seal_data(rows, 25, canaries=rows)


def test_a_seed_repeats_and_says_so_and_the_system_does_neither(data: Data) -> None:
    one, again, other = (seal_data(data(), 50, seed=s) for s in (3, 3, 4))
    assert (one.opening, one.key) == (again.opening, again.key)
    assert one.opening.coins != other.opening.coins
    assert one.opening.source == "seed"
    first, second = (seal_data(data(), 50).opening for _ in range(2))
    assert first.source == "os"
    assert first.salt != second.salt
    assert first.coins != second.coins


@pytest.mark.usefixtures("system_coins")
def test_coins_are_fair_whatever_stands_first(data: Data) -> None:
    coins = "".join(seal_data(data(), 100).opening.coins for _ in range(30))
    assert binomtest(coins.count("1"), len(coins)).pvalue > 1e-6
    assert binomtest(sum(a != b for a, b in pairwise(coins)), len(coins) - 1).pvalue > 1e-6


def test_the_files(data: Data, tmp_path: Path) -> None:
    sealed = seal_data(data(users=60), 20)
    sealed.write(tmp_path / "new" / "s", "user")
    folder = tmp_path / "new" / "s"
    assert sorted(p.name for p in folder.iterdir()) == sorted(plan.FILES)
    assert stat.S_IMODE((folder / "coins.json").stat().st_mode) == 0o600
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


def test_a_seeded_seal_is_marked(data: Data, tmp_path: Path) -> None:
    seal_data(data(), 20, seed=1).write(tmp_path / "s")
    assert "not secret" in json.loads((tmp_path / "s" / "commitment.json").read_text())["coins"]
    assert "not secret" in json.loads((tmp_path / "s" / "coins.json").read_text())["note"]


def test_all_files_or_none(data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    sealed = seal_data(data(), 20)
    monkeypatch.setattr("discreet.audit.sealed.plan.os.fsync", broken)
    with pytest.raises(KeyboardInterrupt):
        sealed.write(tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_seal_is_never_written_over(data: Data, tmp_path: Path) -> None:
    sealed = seal_data(data(), 20)
    (tmp_path / "empty").mkdir()
    sealed.write(tmp_path / "empty")
    with pytest.raises(UsageError, match="never written over"):
        sealed.write(tmp_path / "empty")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        sealed.write(tmp_path / "file")
    with pytest.raises(UsageError, match="cannot make the folder"):
        sealed.write(tmp_path / "file" / "below")


def test_what_cannot_be_sealed(data: Data) -> None:
    with pytest.raises(InputError, match=r"500 pairs were asked for and about 1\d\d alike ones"):
        seal_data(data(), 500)
    with pytest.raises(UsageError, match="--pairs is 0"):
        seal_data(data(), 0)
    with pytest.raises(InputError, match="all 240 records have the same label"):
        seal_data([Datum(d.id, d.text, "x") for d in data()], 20)
    with pytest.raises(InputError, match="0 alike ones"):
        seal_data([Datum("a", "long enough", 0), Datum("b", "long enough", 1)], 1)


def test_level_and_key_are_committed_to(data: Data) -> None:
    one, other = (seal_data(data(), 20, seed=3, alpha=alpha) for alpha in (0.05, 0.01))
    assert (one.opening.alpha, other.opening.alpha) == (0.05, 0.01)
    assert one.opening.coins == other.opening.coins
    assert one.opening.commitment() != other.opening.commitment()
    assert one.opening.key_hash == hashlib.sha256(one.key).hexdigest()
    for alpha in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="--alpha is"):
            seal_data(data(), 20, alpha=alpha)
