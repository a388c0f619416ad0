from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.errors import refused

from discreet.core.errors import InputError, UsageError
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.inputs.encode.base import load_encoder
from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet.inputs.encode.fusion import Fusion

OMAHA = "The client is a 52-year-old litigator from Omaha with two children."


@pytest.fixture
def fusion(hand_made: Path, corpus: list[str]) -> Fusion:
    return Fusion.fit_encode([load_encoder(hand_made), HashedEncoder(64), EvidenceEncoder("law")], [OMAHA, *corpus])[0]


def blocks(fusion: Fusion, rows: np.ndarray) -> list[np.ndarray]:
    return np.split(rows.astype(np.float64), np.cumsum([e.dim for e in fusion.encoders])[:-1], axis=1)


def test_blocks_get_equal_mean_squared_norms(fusion: Fusion, corpus: list[str]) -> None:
    rows = fusion.encode([OMAHA, *corpus])
    assert rows.shape == (len(corpus) + 1, fusion.dim) == (len(corpus) + 1, 16 + 64 + 37)
    for block in blocks(fusion, rows):
        assert (block**2).sum(axis=1).mean() == pytest.approx(1, abs=1e-5)


def test_blocks_are_the_encoders_own_rows_weighted(fusion: Fusion, corpus: list[str]) -> None:
    rows = fusion.encode(corpus)
    for encoder, weight, block in zip(fusion.encoders, fusion.weights, blocks(fusion, rows), strict=True):
        np.testing.assert_allclose(block, encoder.encode(corpus).astype(np.float64) * weight, rtol=1e-6)


def test_rows_are_fitted_once(fusion: Fusion, corpus: list[str]) -> None:
    fitted, rows = Fusion.fit_encode(fusion.encoders, [OMAHA, *corpus])
    assert fitted.weights == fusion.weights
    np.testing.assert_array_equal(rows, fusion.encode([OMAHA, *corpus]))


def test_a_short_text_is_one_piece_and_the_same_row(fusion: Fusion) -> None:
    for text in ("", "Yes.", "Rules vary."):
        np.testing.assert_array_equal(fusion.encode_chunks(text), fusion.encode([text]))


def test_pieces_have_their_own_words_and_the_whole_text_s_evidence(fusion: Fusion, corpus: list[str]) -> None:
    long = f"{OMAHA} {corpus[1]} {corpus[2]} {corpus[3]}"
    pieces = fusion.chunks(long)
    assert len(pieces) > 2
    rows = blocks(fusion, fusion.encode_chunks(long))
    for place, encoder in enumerate(fusion.encoders[:2]):
        expected = encoder.encode(pieces) * np.float32(fusion.weights[place])
        np.testing.assert_array_equal(rows[place], expected.astype(np.float64))
    whole = fusion.encoders[2].encode([long]) * np.float32(fusion.weights[2])
    np.testing.assert_array_equal(rows[2], np.repeat(whole, len(pieces), axis=0).astype(np.float64))
    assert rows[2].any()


def test_the_strictest_encoder_sets_the_pieces(hand_made: Path, corpus: list[str]) -> None:
    strict, easy = load_encoder(hand_made), HashedEncoder(64)
    long = " ".join(corpus)
    for order in ([strict, easy], [easy, strict]):
        assert Fusion(order, [1, 1]).chunks(long) == strict.chunks(long)


def test_a_reading_at_hand_is_taken(fusion: Fusion) -> None:
    """What the guard read as the asker's own is not read again as a third person's."""
    encoder = EvidenceEncoder("law")
    found = encoder.read(OMAHA)
    np.testing.assert_array_equal(fusion.encode_chunks(OMAHA, found), fusion.encode_chunks(OMAHA))
    own = replace(found, attributes=tuple(replace(a, subject="asker") for a in found.attributes))
    told = fusion.encode_chunks(OMAHA, own)
    assert not np.array_equal(told, fusion.encode_chunks(OMAHA))
    np.testing.assert_array_equal(blocks(fusion, told)[1], blocks(fusion, fusion.encode_chunks(OMAHA))[1])
    expected = np.repeat(encoder.rows([own]) * fusion.weights[2], len(told), axis=0)
    np.testing.assert_allclose(blocks(fusion, told)[2], expected, rtol=1e-6)


def test_a_saved_fusion_comes_back(fusion: Fusion, tmp_path: Path, corpus: list[str]) -> None:
    fusion.save(tmp_path / "one")
    again = Fusion.load(tmp_path / "one")
    again.save(tmp_path / "one")
    third = Fusion.load(tmp_path / "one")
    assert (third.weights, third.name, third.dim) == (fusion.weights, fusion.name, fusion.dim)
    np.testing.assert_array_equal(third.encode(corpus), fusion.encode(corpus))


def _edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def _other_encoder(folder: Path) -> None:
    shutil.rmtree(folder / "1-hashed")
    HashedEncoder(128).save(folder / "1-hashed")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "other version": (lambda f: _edit(f / "fusion.json", lambda d: d.update(version=9)), "has version 9"),
    "no blocks": (lambda f: _edit(f / "fusion.json", lambda d: d.pop("blocks")), "must give 'blocks' as a list"),
    "no encoders": (lambda f: _edit(f / "fusion.json", lambda d: d.update(blocks=[])), "expected one or more"),
    "odd block": (lambda f: _edit(f / "fusion.json", lambda d: d.update(blocks=[{"folder": "x"}])), "must give folder"),
    "odd weight": (lambda f: _edit(f / "fusion.json", lambda d: d["blocks"][0].update(weight=-1)), "positive number"),
    "odd dim": (lambda f: _edit(f / "fusion.json", lambda d: d["blocks"][0].update(dim=3)), "of 16 dimensions"),
    "encoder missing": (lambda f: shutil.rmtree(f / "0-onnx"), "0-onnx is no folder"),
    "encoder of another hash": (_other_encoder, "1-hashed holds an encoder of another hash"),
    "model missing": (lambda f: (f / "0-onnx" / "model.onnx").unlink(), "model.onnx is missing"),
    "empty": (lambda f: (f / "fusion.json").write_text(""), "is truncated"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_one_line(fusion: Fusion, tmp_path: Path, damage: str) -> None:
    fusion.save(tmp_path / "f")
    act, message = DAMAGE[damage]
    act(tmp_path / "f")
    with refused(InputError, re.escape(message)):
        Fusion.load(tmp_path / "f")


def test_an_interrupted_save_leaves_the_old_one(fusion: Fusion, tmp_path: Path,
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    fusion.save(tmp_path / "f")

    def stop(self: HashedEncoder, folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HashedEncoder, "save", stop)
    with pytest.raises(KeyboardInterrupt):
        fusion.save(tmp_path / "f")
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
    assert Fusion.load(tmp_path / "f").weights == fusion.weights


def test_impossible_fusions() -> None:
    one = HashedEncoder(64)
    with pytest.raises(UsageError, match="expected one or more"):
        Fusion([], [])
    with pytest.raises(UsageError, match="each of them once"):
        Fusion([one, HashedEncoder(64)], [1, 1])
    for weights in ([], [0.0], [float("inf")], [float("nan")]):
        with pytest.raises(UsageError, match="one positive number"):
            Fusion([one], weights)
    with pytest.raises(UsageError, match="no texts"):
        Fusion.fit_encode([one], [])
    with pytest.raises(UsageError, match="list of texts"):
        Fusion([one], [1]).encode("text")
