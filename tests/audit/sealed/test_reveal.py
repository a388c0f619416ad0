from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.audit.sealed import Datum, Scores, read_coins, reveal, seal_data
from discreet.audit.sealed.reveal import known_commitment, read_commitment
from discreet.core.errors import InputError
from discreet.core.files import KeyedHash

Data = Callable[..., list[Datum]]
Score = Callable[..., Scores]


@pytest.mark.parametrize("users", [0, 60])
def test_differences_are_trained_minus_left_out(data: Data, scored: Score, users: int) -> None:
    sealed = seal_data(data(users=users), 20, seed=2)
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
    sealed = seal_data(data(), 20, seed=2)
    scores = scored(sealed, 1.0)
    fewer = Scores(scores.names, scores.ids[:11] + scores.ids[13:], np.delete(scores.values, [11, 12], axis=0))
    with pytest.raises(InputError, match=r"F has no score for 2 members of the 20 pairs \(the first in pair 6\)"):
        reveal(sealed.opening, KeyedHash(sealed.key), fewer, "F")


@pytest.mark.parametrize("part", ["coins", "pairs", "salt", "source", "alpha", "key_hash"])
def test_coins_altered_after_the_seal(data: Data, tmp_path: Path, part: str) -> None:
    seal_data(data(), 20, seed=2).write(tmp_path / "s")
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
        seal_data(data(), 20, seed=seed).write(tmp_path / str(seed))
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
    seal_data(data(), 20, seed=2).write(tmp_path / "s")
    path = tmp_path / "s" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=said):
        read_coins(tmp_path / "s")


def test_the_published_hash(data: Data, tmp_path: Path) -> None:
    sealed = seal_data(data(), 20)
    sealed.write(tmp_path / "s")
    assert read_commitment(tmp_path / "s" / "commitment.json") == sealed.opening.commitment()
    with pytest.raises(InputError, match="cannot read"):
        read_commitment(tmp_path)


def test_an_altered_key_is_not_blamed_on_the_scores(data: Data, tmp_path: Path) -> None:
    seal_data(data(), 20, seed=2).write(tmp_path / "s")
    path = tmp_path / "s" / "coins.json"
    value = json.loads(path.read_text())
    value["key"] = value["key"][::-1]
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"coins\.json: 'key' is not the key of the commitment") as caught:
        read_coins(tmp_path / "s")
    assert "\n" not in str(caught.value)


def test_nor_in_an_old_seal_that_does_not_hold_its_hash(data: Data, scored: Score) -> None:
    sealed = seal_data(data(), 20, seed=2)
    old, other = replace(sealed.opening, alpha=None, key_hash=None), KeyedHash(sealed.key[::-1])
    with pytest.raises(InputError, match=r"F has no score for any of the 40 members .* or the 'key' in coins\.json"):
        reveal(old, other, scored(sealed, 1.0), "F")
    strangers = Scores(("score",), ("a", "b"), np.ones((2, 1)))
    with pytest.raises(InputError, match="its ids are those of other records; expected"):
        reveal(sealed.opening, KeyedHash(sealed.key), strangers, "F")


def test_the_public_level_is_the_committed_one(data: Data, tmp_path: Path) -> None:
    seal_data(data(), 20, seed=2).write(tmp_path / "s")
    path = tmp_path / "s" / "commitment.json"
    for alpha in ("0.5", "null"):
        path.write_text(path.read_text().replace('"alpha": 0.05', f'"alpha": {alpha}'))
        with pytest.raises(InputError, match=r"commitment\.json: 'alpha' is not the 0\.05"):
            read_coins(tmp_path / "s")
        path.write_text(path.read_text().replace(f'"alpha": {alpha}', '"alpha": 0.05'))
    read_coins(tmp_path / "s")


def test_seals_of_the_first_schema_are_read(data: Data, tmp_path: Path) -> None:
    sealed = seal_data(data(), 20, seed=2)
    old = replace(sealed, opening=replace(sealed.opening, alpha=None, key_hash=None))
    old.write(tmp_path / "s")
    path = tmp_path / "s" / "commitment.json"
    public = json.loads(path.read_text())
    del public["alpha"]
    path.write_text(json.dumps(public))
    assert read_coins(tmp_path / "s")[0] == old.opening
    assert json.loads((tmp_path / "s" / "coins.json").read_text())["opened"]["schema"] == 1


def test_a_hash_is_known_in_any_spelling(data: Data, tmp_path: Path) -> None:
    sealed = seal_data(data(), 20)
    sealed.write(tmp_path / "s")
    plain, path = sealed.opening.commitment(), tmp_path / "s" / "commitment.json"
    assert {known_commitment(given) for given in (plain, plain.upper(), f" {plain}\n", str(path))} == {plain}
    path.write_text(path.read_text().replace(plain, plain.upper()), encoding="utf-8-sig")
    assert read_commitment(path) == known_commitment(str(path)) == plain
    read_coins(tmp_path / "s")
    with pytest.raises(InputError, match="there is no file"):
        known_commitment(plain[:-1])
