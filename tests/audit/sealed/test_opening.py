from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.audit.sealed.scenes import audit, data

from discreet.audit.sealed import known_commitment, make_certificate, read_coins, read_openings, seal
from discreet.audit.sealed.opening import OPENINGS_FILE, Opening, are_openings, canonical, record_opening
from discreet.core.errors import InputError, UsageError

A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)
OPENING = Opening("0" * 64, "record", "os", (((A,), (B,)), ((C,), (D,))), "01", 0.05, "e" * 64)


def test_canonical_is_one_byte_string() -> None:
    assert canonical({"b": [1, 0.1], "a": "é"}) == b'{"a":"\\u00e9","b":[1,0.1]}'
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        canonical(float("nan"))


def test_commitment_is_sha256_of_the_opening() -> None:
    text = json.dumps(OPENING.to_json(), sort_keys=True, separators=(",", ":"))
    assert OPENING.commitment() == hashlib.sha256(text.encode()).hexdigest()
    assert A not in repr(OPENING)
    # A seal hashes alike on every machine and for ever.
    assert OPENING.commitment() == "2aa8700db9898e25e0f60e5cd2485efb3f51f99bd05dda66425fc7cdbd1c8a1f"


@pytest.mark.parametrize("change", [{"coins": "11"}, {"salt": "1" * 64}, {"unit": "group"}, {"source": "seed"},
                                    {"pairs": OPENING.pairs[::-1]}, {"pairs": (((B,), (A,)), ((C,), (D,)))},
                                    {"pairs": (((A,), (B,)), ((C,), ("e" * 64,)))}, {"alpha": 0.1},
                                    {"key_hash": "f" * 64}])
def test_every_part_is_bound(change: dict[str, Any]) -> None:
    assert replace(OPENING, **change).commitment() != OPENING.commitment()


def test_members_follow_the_coins() -> None:
    assert OPENING.members() == ([(A,), (D,)], [(B,), (C,)])


def test_round_trip() -> None:
    assert Opening.from_json(json.loads(json.dumps(OPENING.to_json())), "f") == OPENING


@pytest.mark.parametrize(("change", "said"), [
    ({"kind": "x"}, "no opened seal"), ({"schema": 1}, "no opened seal"), ({"more": 1}, "does not write"),
    ({"alpha": 1.0}, "'alpha' is not what"), ({"alpha": "0.05"}, "'alpha'"), ({"alpha": 0}, "'alpha'"),
    ({"alpha": None}, "'alpha'"), ({"key_hash": None}, "'key_hash'"), ({"key_hash": "E" * 64}, "'key_hash'"),
    ({"salt": "zz"}, "'salt'"),
    ({"salt": 1}, "'salt'"), ({"unit": "word"}, "'unit'"), ({"source": None}, "'source'"),
    ({"coins": "012"}, "'coins'"), ({"coins": "0"}, "'coins'"), ({"coins": [0, 1]}, "'coins'"),
    ({"pairs": []}, "'pairs'"), ({"pairs": [[[A], []]]}, "'pairs'"), ({"pairs": [[[A], [B], [C]]]}, "'pairs'"),
    ({"pairs": [[[A], ["no"]]]}, "'pairs'"),
    ({"pairs": [[[A], [A]], [[C], [D]]]}, "pair 1 stands in another pair or on both sides"),
    ({"pairs": [[[A], [B]], [[C, B], [D]]]}, "pair 2 stands in another")])
def test_no_opening(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Opening.from_json({**OPENING.to_json(), **change}, "f.json")
    assert str(caught.value).startswith("f.json")
    with pytest.raises(InputError, match="no opened seal"):
        Opening.from_json([1], "f.json")
    short = OPENING.to_json()
    del short["alpha"]
    with pytest.raises(InputError, match="does not write"):
        Opening.from_json(short, "f.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A seal."""
    seal(data(), 20, seed=2).save(tmp_path / "s")
    return tmp_path / "s"


def changed(path: Path, change: Callable[[Any], object]) -> None:
    value = json.loads(path.read_text(encoding="utf-8"))
    change(value)
    path.write_text(json.dumps(value), encoding="utf-8")


@pytest.mark.parametrize(("name", "change", "said"), [
    ("coins.json", lambda v: v["opened"].update(coins=v["opened"]["coins"][::-1]), "does not open the commitment"),
    ("coins.json", lambda v: v["opened"]["pairs"].reverse(), "altered after the seal"),
    ("coins.json", lambda v: v["opened"].update(salt="0" * 64), "altered after the seal"),
    ("coins.json", lambda v: v["opened"].update(source="os"), "altered after the seal"),
    ("coins.json", lambda v: v["opened"].update(alpha=0.5), "altered after the seal"),
    ("coins.json", lambda v: v["opened"].update(key_hash="0" * 64), "altered after the seal"),
    ("coins.json", lambda v: v.update(key=v["key"][::-1]), r"coins\.json: 'key' is not the key of the commitment"),
    ("commitment.json", lambda v: v.update(commitment="0" * 64), "does not open the commitment"),
    ("commitment.json", lambda v: v.update(alpha=0.5), r"commitment\.json: 'alpha' is not the 0\.05"),
    ("commitment.json", lambda v: v.update(alpha=None), r"commitment\.json: 'alpha' is not the 0\.05")])
def test_what_was_altered_after_the_seal(folder: Path, name: str, change: Callable[[Any], object], said: str) -> None:
    read_coins(folder)
    changed(folder / name, change)
    with pytest.raises(InputError, match=said) as caught:
        read_coins(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "content", "said"), [
    ("coins.json", None, "there is no file"), ("commitment.json", None, "there is no file"),
    ("coins.json", "{", "is not JSON"), ("coins.json", "[]", "holds no JSON object"),
    ("coins.json", "{}", "holds no coins"),
    ("commitment.json", '{"kind": "discreet.commitment", "commitment": "x"}', "holds no commitment"),
    ("commitment.json", '{"a": NaN}', "is not JSON"), ("coins.json", "\x00\xff", "is not JSON")])
def test_files_that_are_not_those_of_a_seal(folder: Path, name: str, content: str | None, said: str) -> None:
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=said):
        read_coins(folder)


def test_a_hash_is_known_in_any_spelling(folder: Path) -> None:
    path = folder / "commitment.json"
    plain = json.loads(path.read_text())["commitment"]
    assert {known_commitment(given) for given in (plain, plain.upper(), f" {plain}\n", str(path))} == {plain}
    path.write_text(path.read_text().replace(plain, plain.upper()), encoding="utf-8-sig")
    assert known_commitment(str(path)) == plain
    read_coins(folder)
    with pytest.raises(InputError, match="there is no file"):
        known_commitment(plain[:-1])
    with pytest.raises(InputError, match="cannot read"):
        known_commitment(str(folder))


GOOD = {"when": "2026-01-01", "scores": "a" * 64, "log10_e_value": 0.5}


@pytest.mark.parametrize("change", [
    {"kind": "x"}, {"schema": 2}, {"commitment": "0" * 64}, {"openings": None}, {"openings": [1]},
    {"openings": [{**GOOD, "scores": "A" * 64}]}, {"openings": [{**GOOD, "log10_e_value": "1"}]},
    {"openings": [{**GOOD, "log10_e_value": True}]}, {"openings": [{**GOOD, "when": 1}]}, {"openings": [GOOD, GOOD]}])
def test_a_record_that_is_none_is_not_taken_for_no_opening(tmp_path: Path, change: dict[str, Any]) -> None:
    revealed = audit(0.0)
    record_opening(tmp_path, [], make_certificate(revealed))
    changed(tmp_path / OPENINGS_FILE, lambda value: value.update(change))
    with pytest.raises(InputError, match=r"opened\.json is no record of the openings of this seal") as caught:
        read_openings(tmp_path, revealed.opening.commitment())
    assert "\n" not in str(caught.value)


def test_openings_with_numbers_that_can_be(tmp_path: Path) -> None:
    assert are_openings([GOOD, {**GOOD, "scores": "b" * 64, "log10_e_value": -3}])
    assert not are_openings([{**GOOD, "log10_e_value": float("nan")}])
    with pytest.raises(UsageError, match="cannot write"):
        record_opening(tmp_path / "gone", [], make_certificate(audit(0.0)))
