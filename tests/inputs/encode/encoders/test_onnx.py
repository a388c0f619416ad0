from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.errors import refused
from tests.tiny_models import CudaThatIsNone

from discreet.core.errors import InputError, UsageError
from discreet.core.folders import write_manifest
from discreet.inputs.encode.base import load_encoder
from discreet.inputs.encode.encoders.onnx import POOLINGS, OnnxEncoder, Reader, pool, read_tokenizer, session


@pytest.fixture
def encoder(hand_made: Path) -> OnnxEncoder:
    return OnnxEncoder.load(hand_made, workers=1)


def by_hand(encoder: OnnxEncoder, folder: Path, text: str) -> Any:
    """The row of a short text from the graph's table."""
    onnx = pytest.importorskip("onnx", reason="needs onnx (extra fit)")
    graph = onnx.load(str(folder / "model.onnx")).graph
    table = onnx.numpy_helper.to_array(next(t for t in graph.initializer if t.name == "table"))
    own = table[read_tokenizer(folder / "tokenizer.json").encode(text).ids].astype(np.float64)
    row = (own + np.cumsum(own, axis=0) * 0.1).mean(axis=0)
    return row / np.linalg.norm(row)


def test_rows_are_the_pooled_states(encoder: OnnxEncoder, hand_made: Path) -> None:
    for text in ("Yes.", "Adults should be checked", ""):
        np.testing.assert_allclose(encoder.encode([text])[0], by_hand(encoder, hand_made, text), atol=1e-6)


def test_several_at_a_time_changes_nothing(encoder: OnnxEncoder, hand_made: Path, corpus: list[str]) -> None:
    many = OnnxEncoder.load(hand_made, workers=4)
    texts = corpus * 20
    np.testing.assert_array_equal(many.encode(texts), encoder.encode(texts))


def test_the_tokeniser_s_own_truncation_and_padding_are_off(encoder: OnnxEncoder, corpus: list[str]) -> None:
    one, other = encoder.encode([corpus[0], corpus[0] + " quite"])
    assert not np.array_equal(one, other)
    assert len(encoder._ids("Yes.")) < 7 < len(encoder._ids(corpus[0]))


def test_a_long_text_is_read_to_its_end(encoder: OnnxEncoder, corpus: list[str]) -> None:
    long = " ".join(corpus)
    pieces = encoder.chunks(long)
    assert len(pieces) > 2
    counts = [len(encoder._ids(p)) for p in pieces]
    assert max(counts) <= 24
    mean = np.average(encoder.encode(pieces).astype(np.float64), axis=0, weights=counts)
    np.testing.assert_allclose(encoder.encode([long])[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert not np.array_equal(encoder.encode([long])[0], encoder.encode([long + " escrow"])[0])


def test_a_word_that_never_fits_is_read_by_windows(encoder: OnnxEncoder) -> None:
    word = "filing" * 15  # within the 100 characters beyond which WordPiece gives up
    assert len(encoder._ids(word)) > 24
    assert all(len(encoder._ids(p)) <= 26 for p in encoder.chunks(word))
    assert float(np.linalg.norm(encoder.encode([word])[0])) == pytest.approx(1)


def test_windows_hold_every_token(encoder: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "chunks", lambda text: [text])
    text = "the pension and the form " * 9
    windows = encoder._windows(text)
    assert [i for w in windows for i in w] == encoder._ids(text)
    assert max(map(len, windows)) == 24


def test_lower_case_before_the_tokeniser(hand_made: Path, encoder: OnnxEncoder) -> None:
    run, tokenizer = session(hand_made / "model.onnx"), read_tokenizer(hand_made / "tokenizer.json")
    from tokenizers.normalizers import NFC

    tokenizer.normalizer = NFC()
    plain = OnnxEncoder(hand_made, "x", 16, Reader("mean", 24), run, tokenizer)
    folded = OnnxEncoder(hand_made, "x", 16, Reader("mean", 24, lowercase=True), run, tokenizer)
    assert not np.array_equal(plain.encode(["PENSION"]), plain.encode(["pension"]))
    np.testing.assert_array_equal(folded.encode(["PENSION"]), plain.encode(["pension"]))
    text = "İ PENSION " * 12
    assert "".join(folded.chunks(text)[:1]) == text[: len(folded.chunks(text)[0])]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize(("how", "message"), [
    ("missing", "is missing"), ("truncated", "is truncated"), ("changed", "has another hash"),
])  # fmt: skip
def test_damaged_files(hand_made: Path, tmp_path: Path, name: str, how: str, message: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(hand_made, folder)
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    if how != "missing":
        (folder / name).write_bytes(content[:-9] if how == "truncated" else content[:-1] + b"\x01")
    with pytest.raises(InputError, match=message):
        load_encoder(folder)


def described(folder: Path, source: Path, config: dict[str, object]) -> Path:
    """A copy of a saved encoder with another manifest, which goes with its files."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    (folder / "encoder.json").unlink()
    write_manifest(folder, "encoder.json", "discreet-encoder", 1,
                   {"kind": "onnx", "name": "x", "dim": 16, "config": config})
    return folder


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_files_that_cannot_be_run(hand_made: Path, tmp_path: Path, name: str) -> None:
    broken = shutil.copytree(hand_made, tmp_path / "broken")
    (broken / name).write_bytes(b"nonsense")
    with refused(InputError, f"{name}.* (cannot run it|is no tokenizer)"):
        load_encoder(described(tmp_path / "copy", broken, {"pooling": "mean", "max_tokens": 24}))


@pytest.mark.parametrize("config", [
    {"pooling": "max", "max_tokens": 24}, {"pooling": "mean"}, {"pooling": "mean", "max_tokens": "24"},
    {"pooling": "mean", "max_tokens": 3},
])
def test_impossible_settings(hand_made: Path, tmp_path: Path, config: dict[str, object]) -> None:
    with pytest.raises(InputError, match="known pooling and max_tokens"):
        load_encoder(described(tmp_path / "copy", hand_made, config))


def test_saving_what_has_moved(hand_made: Path, tmp_path: Path) -> None:
    shutil.copytree(hand_made, tmp_path / "was")
    encoder = OnnxEncoder.load(tmp_path / "was")
    (tmp_path / "was").rename(tmp_path / "is")
    with pytest.raises(InputError, match="is no folder"):
        encoder.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def slowly(hidden: list[list[float]], mask: list[int], how: str) -> list[float]:
    kept = [row for row, m in zip(hidden, mask, strict=True) if m]
    if how == "mean":
        pooled = [sum(column) / len(kept) for column in zip(*kept, strict=True)]
    else:
        pooled = kept[0 if how == "cls" else -1]
    norm = sum(v * v for v in pooled) ** 0.5
    return [v / norm for v in pooled]


@pytest.mark.parametrize("how", POOLINGS)
@given(seed=st.integers(0, 999), n=st.integers(1, 4), tokens=st.integers(1, 9), left=st.booleans())
def test_pooling_against_loops(how: str, seed: int, n: int, tokens: int, left: bool) -> None:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, tokens, 5)).astype(np.float32)
    lengths = rng.integers(1, tokens + 1, n)
    mask = (np.arange(tokens) < lengths[:, None]).astype(np.int64)
    mask = mask[:, ::-1] if left else mask
    found = pool(hidden, mask, how)
    wanted = [slowly(h.tolist(), m.tolist(), how) for h, m in zip(hidden, mask, strict=True)]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_rows_to_fit_on_come_in_batches_from_a_gpu(encoder: OnnxEncoder, hand_made: Path, corpus: list[str],
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring goes on text by text on the CPU."""
    cuda = CudaThatIsNone(monkeypatch)
    texts = corpus * 9
    rows = encoder.encode_to_fit(texts, "cuda")
    assert cuda.asked == [[("CUDAExecutionProvider", {"use_tf32": "0"}), "CPUExecutionProvider"]]
    assert len(cuda.batches) < len(texts) / 8
    assert max(n for n, _ in cuda.batches) == 32
    np.testing.assert_allclose(rows, encoder.encode(texts), atol=1e-6)
    assert encoder.encode_to_fit([], "cuda").shape == (0, 16)
    done = len(cuda.batches)
    np.testing.assert_array_equal(encoder.encode_to_fit(texts, "cpu"), encoder.encode(texts))
    assert len(cuda.batches) == done
    monkeypatch.setattr("discreet.inputs.encode.encoders.onnx.APART", -1.0)
    with refused(InputError, "differs from the CPU by .*: use --device cpu"):
        encoder.encode_to_fit(texts, "cuda")


def test_a_gpu_that_is_not_there(encoder: OnnxEncoder, corpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(UsageError, "has CPUExecutionProvider alone: install onnxruntime-gpu"):
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
        encoder.encode_to_fit(corpus, "cuda")
    CudaThatIsNone(monkeypatch, starts=False)
    with refused(UsageError, "onnxruntime cannot start it"):
        encoder.encode_to_fit(corpus, "cuda")
