"""An export beyond the 2 GiB at which a protobuf ends, for real; `make test-services` runs it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heavy import need, quiet
from tests.tiny_models import CORPUS, TOKENIZERS

from discreet.inputs.encode.base import load_encoder
from discreet.inputs.encode.export import PROTOBUF_LIMIT, export

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
