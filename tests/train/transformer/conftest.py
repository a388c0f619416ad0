"""The tiny models, written once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heavy import need
from tests.train.transformer.tiny import MAKERS

from discreet.train.base import FloatArray
from discreet.train.transformer.batches import scored
from discreet.train.transformer.loading import LoadedClassifier, load_classifier
from discreet.train.transformer.reading import Tokens


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """"llama", "gemma" and "bert" to their folders."""
    need("torch")
    home = tmp_path_factory.mktemp("tiny")
    return {kind: make(home / kind) for kind, make in MAKERS.items()}


def loaded(folder: Path | str, seed: int = 1, **more: Any) -> LoadedClassifier:
    """A classifier of three classes, trained whole unless said otherwise."""
    return load_classifier(folder, **{"n_classes": 3, "regime": "full", "rank": 4,
                                      "seeds": np.random.SeedSequence(seed), **more})


def outputs(model: LoadedClassifier, rows: list[Tokens], size: int = 16, *, hidden: bool = False) -> FloatArray:
    """(n, 3) logits, or (n, d) representations."""
    torch = need("torch")

    def score(ids: Any, mask: Any) -> FloatArray:
        with torch.no_grad():
            found = model(torch.from_numpy(ids), torch.from_numpy(mask))[int(hidden)]
        assert found.dtype == torch.float32
        return np.asarray(found.numpy(), dtype=np.float64)

    return scored(rows, size, model.pad, score)
