from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from discreet.audit.sealed.opening import Opening, canonical
from discreet.core.errors import InputError

A, B, C, D = ("a" * 64, "b" * 64, "c" * 64, "d" * 64)
OPENING = Opening("0" * 64, "record", "os", (((A,), (B,)), ((C,), (D,))), "01")


LATER = replace(OPENING, alpha=0.05, key_hash="e" * 64)


def test_canonical_is_one_byte_string() -> None:
    assert canonical({"b": [1, 0.1], "a": "é"}) == b'{"a":"\\u00e9","b":[1,0.1]}'
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    with pytest.raises(ValueError, match="Out of range"):
        canonical(float("nan"))


def test_commitment_is_sha256_of_the_opening() -> None:
    text = json.dumps(OPENING.to_json(), sort_keys=True, separators=(",", ":"))
    assert OPENING.commitment() == hashlib.sha256(text.encode()).hexdigest()
    assert A not in repr(OPENING)
    # Seals of the first schema hash as they did.
    assert OPENING.commitment() == "ad3f2e41cbe2b4b5fd92c670955d5bb138a53bef6da403108633e181d52dce18"


@pytest.mark.parametrize("change", [
    {"coins": "11"}, {"salt": "1" * 64}, {"unit": "group"}, {"source": "seed"}, {"pairs": OPENING.pairs[::-1]},
    {"pairs": (((B,), (A,)), ((C,), (D,)))}, {"pairs": (((A,), (B,)), ((C,), ("e" * 64,)))},
])
def test_every_part_is_bound(change: dict[str, Any]) -> None:
    for opening in (OPENING, LATER):
        assert replace(opening, **change).commitment() != opening.commitment()


@pytest.mark.parametrize("change", [{"alpha": 0.1}, {"alpha": None, "key_hash": None}, {"key_hash": "f" * 64}])
def test_level_and_key_are_bound(change: dict[str, Any]) -> None:
    assert replace(LATER, **change).commitment() != LATER.commitment()


def test_members_follow_the_coins() -> None:
    assert OPENING.members() == ([(A,), (D,)], [(B,), (C,)])


def test_round_trip() -> None:
    for opening, schema in ((OPENING, 1), (LATER, 2)):
        written = json.loads(json.dumps(opening.to_json()))
        assert written["schema"] == schema
        assert Opening.from_json(written, "f") == opening


@pytest.mark.parametrize(("change", "said"), [
    ({"alpha": 1.0}, "'alpha' is not what"), ({"alpha": "0.05"}, "'alpha'"),
    ({"alpha": 0}, "'alpha'"), ({"alpha": None}, "'alpha'"),
    ({"key_hash": None}, "'key_hash'"), ({"key_hash": "E" * 64}, "'key_hash'"),
    ({"schema": 1}, "does not write"), ({"schema": 3}, "no opened seal"),
])
def test_no_opening_of_the_second_schema(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Opening.from_json({**LATER.to_json(), **change}, "f.json")
    short = LATER.to_json()
    del short["alpha"]
    with pytest.raises(InputError, match="does not write"):
        Opening.from_json(short, "f.json")


@pytest.mark.parametrize(("change", "said"), [
    ({"kind": "x"}, "no opened seal"), ({"more": 1}, "does not write"),
    ({"salt": "zz"}, "'salt'"), ({"salt": 1}, "'salt'"),
    ({"unit": "word"}, "'unit'"), ({"source": None}, "'source'"),
    ({"coins": "012"}, "'coins'"), ({"coins": "0"}, "'coins'"), ({"coins": [0, 1]}, "'coins'"),
    ({"pairs": []}, "'pairs'"),
    ({"pairs": [[[A], []]]}, "'pairs'"), ({"pairs": [[[A], [B], [C]]]}, "'pairs'"),
    ({"pairs": [[[A], ["no"]]]}, "'pairs'"),
    ({"pairs": [[[A], [A]], [[C], [D]]]}, "pair 1 stands in another pair or on both sides"),
    ({"pairs": [[[A], [B]], [[C, B], [D]]]}, "pair 2 stands in another"),
])
def test_no_opening(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Opening.from_json({**OPENING.to_json(), **change}, "f.json")
    assert str(caught.value).startswith("f.json")
    with pytest.raises(InputError, match="no opened seal"):
        Opening.from_json([1], "f.json")
