from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import tiny_models
from tests.heavy import need
from tests.tiny_models import CORPUS
from tests.tokenisers import wordpiece

from discreet.inputs.encode.base import saving
from discreet.inputs.encode.encoders.onnx import OnnxEncoder, Reader, read_tokenizer, session


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    """Texts of several lengths, plain and odd."""
    return [*CORPUS, "Yes.", "", "Ĳssel 日本語 😀 naïve", " ".join(CORPUS), CORPUS[0].upper()]


@pytest.fixture(scope="session")
def tiny_model(torch: Any, transformers: Any) -> Callable[[Path, str], Path]:
    """`tiny_model(folder, "bert" | "xlmr" | "qwen3")`: a random model with a tokeniser trained on four sentences."""
    return tiny_models.tiny_model


@pytest.fixture(scope="session")
def hand_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved `OnnxEncoder` of 24 tokens whose graph is written by hand: no torch.

    A token's state is its embedding and, smaller, those of all tokens before it.
    """
    onnx = need("onnx")
    folder = tmp_path_factory.mktemp("hand_made") / "encoder"
    helper, kind = onnx.helper, onnx.TensorProto
    table = np.random.default_rng(5).normal(size=(300, 16)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["own"]),
        helper.make_node("Cast", ["attention_mask"], ["flat"], to=kind.FLOAT),
        helper.make_node("Unsqueeze", ["flat", "two"], ["mask"]), helper.make_node("Mul", ["own", "mask"], ["seen"]),
        helper.make_node("CumSum", ["seen", "one"], ["before"]),
        helper.make_node("Mul", ["before", "tenth"], ["small"]), helper.make_node("Add", ["seen", "small"], ["hidden"]),
    ]
    constants = [("table", table), ("two", np.array([2])), ("one", np.array(1)), ("tenth", np.array(0.1, np.float32))]
    ids = [helper.make_tensor_value_info(n, kind.INT64, ["n", "t"]) for n in ("input_ids", "attention_mask")]
    graph = helper.make_graph(nodes, "hand_made", ids,
                              [helper.make_tensor_value_info("hidden", kind.FLOAT, ["n", "t", 16])],
                              [onnx.numpy_helper.from_array(v, n) for n, v in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    part = folder.parent
    onnx.save(model, str(part / "model.onnx"))
    wordpiece(CORPUS).save(str(part / "tokenizer.json"))
    reader = Reader("mean", 24)
    encoder = OnnxEncoder(folder, "hand-made", 16, reader, session(part / "model.onnx"),
                          read_tokenizer(part / "tokenizer.json"))
    with saving(folder, encoder, {"pooling": "mean", "max_tokens": 24}) as home:
        for name in ("model.onnx", "tokenizer.json"):
            (home / name).write_bytes((part / name).read_bytes())
    return folder
