from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.guard.density.encoders.evidence import Detected, EvidenceEncoder
from discreet.guard.density.encoders.reader import ReaderEncoder
from discreet.guard.text.reader import packaged
from discreet.inputs.encode.base import WholeText, load_encoder
from discreet.inputs.encode.fusion import Fusion

TEXTS = ["The patient is a retired welder from Tulsa.", "Fees are charged **each** quarter.", "", "word " * 400]


@pytest.fixture(scope="module")
def encoder() -> ReaderEncoder:
    return ReaderEncoder()


def test_rows_are_the_readers_vectors(encoder: ReaderEncoder) -> None:
    rows = encoder.encode(TEXTS)
    assert rows.shape == (4, encoder.dim)
    assert rows.dtype == np.float32
    assert np.array_equal(rows[0], packaged().read(TEXTS[0]).vector)
    assert np.array_equal(rows[1], packaged().read("Fees are charged each quarter.").vector)  # as it is shown
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 0, 1], abs=1e-5)
    assert np.array_equal(encoder.encode(TEXTS[::-1])[::-1], rows)
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_no_second_pass_over_what_was_read(encoder: ReaderEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(encoder, WholeText)
    seen = [Detected((), vector=encoder.read(text).vector) for text in TEXTS]
    fused, rows = Fusion.fit_encode([encoder, EvidenceEncoder("medical")], TEXTS, readings=seen)
    monkeypatch.setattr("discreet.guard.density.encoders.reader.packaged", lambda: pytest.fail("read again"))
    assert np.array_equal(fused.encode_chunks(TEXTS[3], reading=seen[3])[0], rows[3])
    assert encoder.chunks(TEXTS[3]) == [TEXTS[3]]
    with pytest.raises(UsageError, match=r"without the learned reader's vector; expected one of the guard"):
        encoder.rows([Detected(())])
    with pytest.raises(UsageError, match="a list of texts"):
        encoder.encode("one")


def test_saved_by_the_hash_of_its_weights(encoder: ReaderEncoder, tmp_path: Path,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    encoder.save(tmp_path / "e")
    assert [p.name for p in (tmp_path / "e").iterdir()] == ["encoder.json"]
    again = load_encoder(tmp_path / "e")
    assert (again.kind, again.name, again.dim) == ("reader", encoder.name, encoder.dim)
    assert np.array_equal(again.encode(TEXTS[:1]), encoder.encode(TEXTS[:1]))
    other = ReaderEncoder()
    other._weights = "0" * 64
    other.save(tmp_path / "o")
    with pytest.raises(InputError, match="other weights of the reader"):
        load_encoder(tmp_path / "o")
