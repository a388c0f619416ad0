"""The tiny models, written once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.audit.train.transformer.tiny import MAKERS
from tests.heavy import need


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """"llama", "gemma" and "bert" to their folders, of three layers, without dropout."""
    need("peft")
    home = tmp_path_factory.mktemp("tiny")
    return {kind: make(home / kind) for kind, make in MAKERS.items()}
