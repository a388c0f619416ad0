from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.errors import refused
from tests.heavy import need, quiet
from tests.tiny_models import CORPUS, TOKENIZERS
from tokenizers import Tokenizer

from discreet.core.errors import InputError, MissingExtraError
from discreet.core.folders import sha256
from discreet.inputs.encode import export as export_module
from discreet.inputs.encode.base import load_encoder
from discreet.inputs.encode.encoders.onnx import MODEL, OnnxEncoder, session
from discreet.inputs.encode.export import PROTOBUF_LIMIT, check_parity, export
from discreet.inputs.encode.models import locate

TinyModel = Callable[[Path, str], Path]
KINDS = ("bert", "xlmr", "qwen3")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("export")


@pytest.fixture(scope="module")
def sources(tiny_model: TinyModel, home: Path) -> dict[str, Path]:
    return {kind: tiny_model(home / kind, kind) for kind in KINDS}


@pytest.fixture(scope="module")
def exported(sources: dict[str, Path], home: Path) -> dict[str, OnnxEncoder]:
    return {kind: export(folder, home / "cache") for kind, folder in sources.items()}


def torch_rows(torch: Any, transformers: Any, folder: Path, texts: list[str], pooling: str) -> np.ndarray[Any, Any]:
    """The rows as transformers and torch give them, all texts in one padded batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.AutoModel.from_pretrained(str(folder), local_files_only=True).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    batch = tokenizer.encode_batch(texts)
    ids, mask = (torch.tensor([getattr(e, name) for e in batch]) for name in ("ids", "attention_mask"))
    with torch.no_grad():
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
    if pooling == "mean":
        rows = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    else:
        rows = hidden[torch.arange(len(ids)), 0 if pooling == "cls" else mask.sum(1) - 1]
    found: np.ndarray[Any, Any] = torch.nn.functional.normalize(rows, dim=1).numpy()
    return found


@pytest.mark.parametrize(("kind", "pooling"), [("bert", "mean"), ("xlmr", "cls"), ("qwen3", "last")])
def test_rows_are_those_of_torch(torch: Any, transformers: Any, sources: dict[str, Path], kind: str, pooling: str,
                                 exported: dict[str, OnnxEncoder], corpus: list[str]) -> None:
    encoder = exported[kind]
    assert (encoder.name, encoder.reader.pooling, encoder.reader.max_tokens, encoder.dim) == (kind, pooling, 40, 32)
    assert encoder.facts["weights"] == {"model.safetensors": sha256(sources[kind] / "model.safetensors")}
    assert 0 <= encoder.facts["parity"] <= 1e-5
    assert str(sources[kind].parent) not in (encoder._folder / "encoder.json").read_text()
    texts = [" ".join(t.split()[:words]) for t in corpus if t for words in (1, 2, 4, 7)]
    texts = [t for t in texts if len(encoder._ids(t)) <= 40]
    assert len({len(encoder._ids(t)) for t in texts}) >= 6
    wanted = torch_rows(torch, transformers, sources[kind], texts, pooling)
    np.testing.assert_allclose(encoder.encode(texts), wanted, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_itself_is_independent_of_batch_mates(kind: str, exported: dict[str, OnnxEncoder]) -> None:
    """Of the same length, and longer ones with padding. (The encoder, which runs texts alone, needs it not.)"""
    run = session(exported[kind]._folder / MODEL)
    ids = np.random.default_rng(1).integers(5, 190, (5, 17))
    ones = np.ones_like(ids)
    np.testing.assert_allclose(run(ids, ones)[2:3], run(ids[2:3], ones[2:3]), atol=1e-5)
    wide = np.pad(ids, ((0, 0), (0, 9)), constant_values=1)
    mask = np.pad(ones, ((0, 0), (0, 9)))
    wide[0], mask[0] = np.random.default_rng(2).integers(5, 190, 26), 1
    np.testing.assert_allclose(run(wide, mask)[2, :17], run(ids[2:3], ones[2:3])[0], atol=1e-5)


def test_an_export_is_made_once(sources: dict[str, Path], exported: dict[str, OnnxEncoder], home: Path,
                                corpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "TorchModel", None)
    again = export(str(sources["bert"]), home / "cache")
    assert again._folder == exported["bert"]._folder
    np.testing.assert_array_equal(again.encode(corpus), exported["bert"].encode(corpus))
    for other in ({"pooling": "cls"}, {"name": "x"}):
        with pytest.raises(TypeError):
            export(sources["bert"], home / "cache", **other)


def test_other_weights_or_another_tokeniser_make_another_export(sources: dict[str, Path], home: Path, tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "TorchModel", None)
    for name in ("model.safetensors", "tokenizer.json", "config.json", "1_Pooling/config.json"):
        folder = tmp_path / name.replace("/", "-") / "bert"
        shutil.copytree(sources["bert"], folder)
        export(folder, home / "cache")
        with (folder / name).open("ab") as handle:
            handle.write(b" ")
        with pytest.raises(TypeError):
            export(folder, home / "cache")


def test_a_damaged_entry_of_the_cache_is_made_again(sources: dict[str, Path], tmp_path: Path,
                                                    corpus: list[str]) -> None:
    first = export(sources["bert"], tmp_path)
    rows = first.encode(corpus)
    (first._folder / "model.onnx").write_bytes(b"torn")
    np.testing.assert_array_equal(export(sources["bert"], tmp_path).encode(corpus), rows)
    (first._folder / "encoder.json").unlink()
    np.testing.assert_array_equal(export(sources["bert"], tmp_path).encode(corpus), rows)


def test_weights_beside_the_graph(sources: dict[str, Path], exported: dict[str, OnnxEncoder], tmp_path: Path,
                                  corpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "PROTOBUF_LIMIT", 0)
    encoder = export(sources["bert"], tmp_path / "cache")
    encoder.save(tmp_path / "saved")
    names = sorted(p.name for p in (tmp_path / "saved").iterdir())
    assert names == ["encoder.json", "model.onnx", "model.onnx.data", "tokenizer.json"]
    np.testing.assert_array_equal(load_encoder(tmp_path / "saved").encode(corpus), exported["bert"].encode(corpus))
    (tmp_path / "saved" / "model.onnx.data").write_bytes(b"")
    with pytest.raises(InputError, match=r"model\.onnx\.data is truncated"):
        load_encoder(tmp_path / "saved")


def test_a_tokeniser_in_the_old_form(sources: dict[str, Path], exported: dict[str, OnnxEncoder], tmp_path: Path,
                                     corpus: list[str]) -> None:
    """A folder with `vocab.txt` alone: transformers makes the fast tokeniser."""
    folder = tmp_path / "bert"
    shutil.copytree(sources["bert"], folder)
    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=lambda w: vocabulary[w])) + "\n")
    np.testing.assert_array_equal(export(folder, tmp_path / "c").encode(corpus), exported["bert"].encode(corpus))


def test_an_export_that_does_not_match_is_refused(exported: dict[str, OnnxEncoder], sources: dict[str, Path],
                                                  tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = exported["bert"], exported["bert"]
    assert check_parity(one, other, 0.0) == 0
    with pytest.raises(InputError, match=r"differs from torch by .*; expected at most 1e-05"):
        check_parity(one, exported["xlmr"], 1e-5)

    def wrong(path: Path) -> Any:
        run = session(path)
        return lambda ids, mask: run(ids, mask) + np.linspace(0, 1e-3, 32, dtype=np.float32)

    monkeypatch.setattr(export_module, "session", wrong)
    with pytest.raises(InputError, match="differs from torch"):
        export(sources["bert"], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("missing", ["torch", "transformers", "onnx"])
def test_missing_packages(missing: str, sources: dict[str, Path], tmp_path: Path,
                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=rf"{missing}.*pip install 'discreet\[fit\]'"):
        export(sources["bert"], tmp_path)


@pytest.mark.parametrize(("name", "content", "message"), [
    ("model.safetensors", b"\0" * 9, "cannot load it"),
    ("config.json", b'{"model_type": "unheard-of"}', "cannot load it"),
    ("tokenizer.json", b"{}", "is no tokenizer.json"),
])  # fmt: skip
def test_damaged_models(sources: dict[str, Path], tmp_path: Path, name: str, content: bytes, message: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(sources["bert"], folder)
    (folder / name).write_bytes(content)
    with refused(InputError, message):
        export(folder, tmp_path / "cache")


def test_a_hub_name_serves_like_a_folder(tmp_path: Path, sources: dict[str, Path], exported: dict[str, OnnxEncoder],
                                         home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the client's own cache, with HF_HUB_OFFLINE: no network at all; what is not there is an error."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="needs huggingface_hub")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    model = tmp_path / "hub" / "models--acme--bert"
    commit = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(sources["bert"], model / "snapshots" / commit)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(commit)
    assert locate("acme/bert") == model / "snapshots" / commit
    assert export("acme/bert", home / "cache")._folder == exported["bert"]._folder
    for source, said in (("acme/none", r"cannot fetch 'acme/none' .*give a local folder"),
                         ("nothing", "is neither a folder nor the name"), (tmp_path / "none", "is neither a folder")):
        with refused(InputError, said):
            locate(source)


GIB = 2**30
VOCABULARY, WIDTH = 530_000, 1024
"""An embedding of 2.02 GiB in float32: past the limit, while a pass costs what a small model's does."""


@pytest.mark.services
def test_weights_beyond_two_gib_lie_beside_the_graph(tmp_path: Path) -> None:
    torch, transformers = need("torch"), need("transformers")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if min(shutil.disk_usage(tmp_path).free, memory) < 14 * GIB:
        pytest.skip("needs 14 GiB of free disk, and of memory")
    folder = tmp_path / "big"
    config: Any = transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=8, intermediate_size=1024,
        max_position_embeddings=64, pad_token_id=0)
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(1)
        transformers.BertModel(config).save_pretrained(folder)
    TOKENIZERS["bert"]().save(str(folder / "tokenizer.json"))
    encoder = export(folder, tmp_path / "cache", pooling="mean")
    home = next((tmp_path / "cache").iterdir())
    assert (home / "model.onnx").stat().st_size < 10_000_000
    assert (home / "model.onnx.data").stat().st_size > 2 * GIB > PROTOBUF_LIMIT
    assert encoder.dim == WIDTH
    assert encoder.facts["parity"] <= 1e-5
    encoder.save(tmp_path / "saved")
    rows = encoder.encode(CORPUS)
    np.testing.assert_array_equal(load_encoder(tmp_path / "saved").encode(CORPUS), rows)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
