"""What every encoder promises, whatever its kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.errors import refused

from discreet.core.errors import InputError, UsageError
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.inputs.encode.base import Encoder, encoders, load_encoder
from discreet.inputs.encode.encoders.hashed import HashedEncoder

KINDS = ("evidence", "hashed", "onnx")
ODD = ["", " ", "\x00", "\ud800 lone", "a" * 5000, "\u202eאבג", "e\u0301" * 50, "52", "...", "\n\n\t", "😀" * 40]


@pytest.fixture(params=KINDS)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    if request.param == "onnx":
        return load_encoder(request.getfixturevalue("hand_made"))
    return EvidenceEncoder("law") if request.param == "evidence" else HashedEncoder(512)


def test_the_registry_knows_the_built_in_kinds() -> None:
    assert set(KINDS) <= set(encoders)


def test_rows_do_not_depend_on_batch_or_order(encoder: Encoder, corpus: list[str]) -> None:
    texts = [*corpus, *corpus[:3]]
    together = encoder.encode(texts)
    assert together.shape == (len(texts), encoder.dim)
    assert together.dtype == np.float32
    alone = np.vstack([encoder.encode([t]) for t in texts])
    np.testing.assert_array_equal(together, alone)
    order = np.random.default_rng(3).permutation(len(texts))
    np.testing.assert_array_equal(encoder.encode([texts[i] for i in order]), together[order])


def test_odd_text_is_encoded(encoder: Encoder) -> None:
    rows = encoder.encode(ODD)
    assert rows.shape == (len(ODD), encoder.dim)
    assert np.isfinite(rows).all()


def test_nothing_to_encode(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_one_string_is_no_list(encoder: Encoder) -> None:
    with pytest.raises(UsageError, match="list of texts"):
        encoder.encode("text")


@pytest.mark.parametrize("text", ["short", *ODD], ids=lambda text: ascii(text[:8]))
def test_chunks_of_a_text(encoder: Encoder, text: str, corpus: list[str]) -> None:
    assert encoder.chunks("short") == ["short"]
    long = " ".join([text, *corpus])
    pieces = encoder.chunks(long)
    assert long.startswith(pieces[0])
    assert long.endswith(pieces[-1])
    assert sum(map(len, pieces)) >= len(long)
    assert all(piece in long for piece in pieces)
    assert all(encoder.chunks(piece) == [piece] for piece in pieces if len(piece) < 4000)


def test_a_saved_encoder_comes_back(encoder: Encoder, tmp_path: Path, corpus: list[str]) -> None:
    encoder.save(tmp_path / "one")
    again = load_encoder(tmp_path / "one")
    again.save(tmp_path / "two")
    third = load_encoder(tmp_path / "two")
    assert (third.kind, third.name, third.dim) == (encoder.kind, encoder.name, encoder.dim)
    np.testing.assert_array_equal(third.encode(corpus), encoder.encode(corpus))
    assert (tmp_path / "one" / "encoder.json").read_bytes() == (tmp_path / "two" / "encoder.json").read_bytes()
    assert str(tmp_path) not in (tmp_path / "two" / "encoder.json").read_text()


def _edit(folder: Path, **changes: object) -> None:
    path = folder / "encoder.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "other version": (lambda f: _edit(f, version=2), "has version 2; this discreet reads version 1"),
    "unknown kind": (lambda f: _edit(f, kind="future"), "an encoder of kind 'future'; installed are"),
    "other kind": (lambda f: _edit(f, kind="hashed" if "hashed" not in f.parts else "evidence"), ""),
    "no config": (lambda f: _edit(f, config=None), "must give 'config' as a dict"),
    "empty config": (lambda f: _edit(f, config={}), ""),
    "torn": (lambda f: (f / "encoder.json").write_bytes(b'{"format": "disc'), "is truncated or no JSON"),
    "missing": (lambda f: (f / "encoder.json").unlink(), "holds no encoder.json"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_one_line(encoder: Encoder, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / encoder.kind
    encoder.save(folder)
    act, message = DAMAGE[damage]
    act(folder)
    with refused(InputError, re.escape(message) or "."):
        load_encoder(folder)
