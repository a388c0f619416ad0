"""Without a network a name on the hub ends at once, in one line, wherever it is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.heavy import need

from discreet.core.errors import InputError
from discreet.encode.export import locate
from discreet.encode.hub import local_only

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
    with pytest.raises(InputError, match=NO_NETWORK) as caught:
        local_only("acme/none")
    assert "\n" not in str(caught.value)
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
    need("discreet.scores.adapters.loading").load("acme/none", "float32")


def trained() -> None:
    need("torch")
    need("discreet.train.transformer.loading").load_classifier(
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
