"""Transformers in folders and on the hub. Without a network a name on the hub ends at once, in one line, wherever it is
given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.errors import refused
from tests.heavy import need

from discreet.core.errors import InputError
from discreet.inputs.encode.encoders.onnx import Reader
from discreet.inputs.encode.models import local_only, locate, read_settings, weights_of

NO_NETWORK = r"cannot fetch 'acme/none' from the Hugging Face hub: there is no network .*; give a local folder"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests that were made with an empty cache and no network."""
    requests = []

    def head(url: str, *, timeout: float) -> None:
        assert timeout <= 10
        requests.append(url)
        raise ConnectionError("no route")

    monkeypatch.setattr(need("huggingface_hub.constants"), "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(need("huggingface_hub.utils"), "get_session", lambda: SimpleNamespace(head=head))
    return requests


def test_one_request_and_then_an_error(asked: list[str]) -> None:
    with refused(InputError, NO_NETWORK):
        local_only("acme/none")
    assert len(asked) == 1


def test_a_model_that_was_fetched_before_is_read_from_here(asked: list[str], tmp_path: Path) -> None:
    model = tmp_path / "hub" / "models--acme--none"
    (model / "snapshots" / "abc").mkdir(parents=True)
    (model / "snapshots" / "abc" / "config.json").write_text("{}")
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("abc")
    assert local_only("acme/none") is True
    assert len(asked) == 1


def test_folders_ask_nobody_and_an_answer_of_any_kind_is_a_network(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert local_only(str(tmp_path)) is True
    assert asked == []
    answers = SimpleNamespace(head=lambda url, **_: SimpleNamespace(status_code=404))
    monkeypatch.setattr(need("huggingface_hub.utils"), "get_session", lambda: answers)
    assert local_only("acme/none") is False


def encoded() -> None:
    locate("acme/none")


def scored() -> None:
    need("torch")
    need("discreet.audit.scores.adapters.transformer").load("acme/none", "float32")


def trained() -> None:
    need("torch")
    need("discreet.audit.train.transformer.classifier").load_classifier(
        "acme/none", n_classes=2, regime="full", seeds=np.random.SeedSequence(0))


@pytest.mark.parametrize("load", [encoded, scored, trained])
def test_nothing_else_is_asked_of_the_hub(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, load: Callable[[], None]
) -> None:
    def more(*_: Any, **__: Any) -> Any:
        raise AssertionError("a client of the hub was called, and repeats what fails")

    for name in ("hf_hub_download", "snapshot_download"):
        monkeypatch.setattr(need("huggingface_hub"), name, more)
    monkeypatch.setattr(need("transformers").AutoConfig, "from_pretrained", more)
    with pytest.raises(InputError, match=NO_NETWORK):
        load()
    assert len(asked) == 1


BERT = {"model_type": "bert", "max_position_embeddings": 300, "pad_token_id": 0}
ROBERTA = {"model_type": "xlm-roberta", "max_position_embeddings": 130, "pad_token_id": 1}
POOLED = [{"type": "sentence_transformers.models.Transformer", "path": ""},
          {"type": "sentence_transformers.sentence_transformer.modules.x.Pooling", "path": "1_Pooling"}]
DENSE = [*POOLED, {"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]
KEY = "pooling_mode_"


def folder_with(folder: Path, files: dict[str, Any]) -> Path:
    """JSON files; of "pooling" the content of 1_Pooling/config.json, next to a list of modules."""
    if "pooling" in files:
        files = {"modules": POOLED, **files, "1_Pooling/config": files["pooling"]}
    for name, content in files.items():
        (folder / f"{name}.json").parent.mkdir(exist_ok=True, parents=True)
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


@pytest.mark.parametrize(("files", "pooling", "wanted"), [
    ({"pooling": {f"{KEY}cls_token": True, f"{KEY}mean_tokens": False},
      "sentence_bert_config": {"max_seq_length": 256, "do_lower_case": True}}, None, Reader("cls", 256, True)),
    ({"pooling": {f"{KEY}lasttoken": True}}, "mean", Reader("mean", 300)),
    ({"config": {}, "pooling": {"pooling_mode": "lasttoken"}, "tokenizer_config": {"model_max_length": 131072}}, None,
     Reader("last", 512)),
    ({"tokenizer_config": {"model_max_length": 1e30}}, None, Reader("mean", 300)),
    ({"config": ROBERTA}, None, Reader("mean", 128)),
])
def test_settings_in_the_old_and_the_new_spelling(tmp_path: Path, files: dict[str, Any], pooling: str | None,
                                                  wanted: Reader) -> None:
    assert read_settings(folder_with(tmp_path, {"config": BERT, **files}), pooling) == wanted


@pytest.mark.parametrize(("files", "message"), [
    ({}, "holds no config.json"), ({"config": '{"model_type": '}, r"config.json is truncated or no JSON"),
    ({"config": [BERT]}, "is no JSON object"), ({"config": BERT, "modules": DENSE, "pooling": {"pooling_mode": "cls"}},
                                                "has a layer 'Dense'"),
    ({"config": BERT, "modules": {"a": 1}}, "is no list of modules"),
    ({"config": BERT, "modules": POOLED}, "config.json is missing"),
    ({"config": BERT, "pooling": {f"{KEY}max_tokens": True}}, "asks for pooling max_tokens;"),
    ({"config": BERT, "pooling": {}}, "pooling of no kind"),
    ({"config": BERT, "pooling": {f"{KEY}cls_token": True, f"{KEY}mean_tokens": True}}, r"cls_token\+mean_tokens;"),
])
def test_what_cannot_be_read(tmp_path: Path, files: dict[str, Any], message: str) -> None:
    with refused(InputError, message):
        read_settings(folder_with(tmp_path, files))


def test_weights(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no model.safetensors"):
        weights_of(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    assert [p.name for p in weights_of(tmp_path)] == ["pytorch_model.bin"]
    (tmp_path / "model.safetensors").touch()
    assert [p.name for p in weights_of(tmp_path)] == ["model.safetensors"]
