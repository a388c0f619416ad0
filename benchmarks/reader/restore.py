"""The state of a network from the weights that ship, so that training can go on where no other state is kept.

    python -m benchmarks.reader.restore --state STATE [--folder FOLDER] [--classifier]

Matrices come back from 8 bits; embeddings were never trained and are MiniLM's own; the head of entities, which does not ship, begins anew.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from benchmarks.reader.classifier import Together
from benchmarks.reader.export import JOIN
from benchmarks.reader.fuse import PARTS
from benchmarks.reader.model import PERSON, Reader
from benchmarks.reader.train import LAYERS, new_reader
from onnx import numpy_helper
from torch import nn

from discreet.guard.text.reader import CARD, CLASSIFIER, FOLDER, MODEL


def restored(folder: Path = FOLDER) -> Reader:
    """The reader of a folder; raises KeyError where a matrix of it has no place in the network."""
    model = new_reader(LAYERS)
    state = _state(folder / MODEL, model)
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))["persons"]
    state["gate"], state["shift"] = (torch.tensor(card[name]) for name in ("gate", "shift"))
    scale, bias = card["same"]
    state["same"] = torch.tensor([scale * PERSON**0.5 / 2, bias - JOIN])
    model.load_state_dict(state)
    return model


def restored_classifier(folder: Path = FOLDER) -> Together:
    """The classifier of a folder; raises KeyError where a matrix of it has no place in the network."""
    model = Together()
    model.load_state_dict(_state(folder / CLASSIFIER, model))
    return model


def _state(path: Path, model: nn.Module) -> dict[str, torch.Tensor]:
    """The state of a network, with what a file holds of it."""
    graph, state = onnx.load(str(path)).graph, model.state_dict()
    values = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    for node in graph.node:
        if node.op_type != "MatMulInteger":
            continue
        name, matrix = _parameter(node.name), _matrix(values, node.input[1].removesuffix("_quantized"))
        if name.endswith("attention.self.weight"):  # three products of one input, as `fuse` joins them
            bias = values[node.input[1].replace("weights_quantized", "bias")]
            for part, columns, added in zip(PARTS, np.split(matrix, 3, 1), np.split(bias, 3), strict=True):
                of = name.replace("self.", f"self.{part}.")
                state[of], state[of.replace("weight", "bias")] = torch.tensor(columns.T.copy()), torch.tensor(added)
        else:
            state[name] = torch.tensor(matrix if name in ("gate", "shift") else matrix.T.copy()).reshape(state[name].shape)
    for name, value in values.items():
        if name.removeprefix("model.") in state and value.dtype == np.float32:
            state[name.removeprefix("model.")] = torch.tensor(value)
    return state


def _matrix(values: dict[str, np.ndarray], name: str) -> np.ndarray:
    ints, scale, zero = (values[f"{name}_{part}"].astype(np.float32) for part in ("quantized", "scale", "zero_point"))
    return (ints - zero) * scale


def _parameter(node: str) -> str:
    """The name of a product's weights: "/model/case/case.1/Gemm_MatMul_quant" is that of "case.1.weight"."""
    *path, product = node.split("/")[2:]
    if not path:
        return {"MatMul_quant": "gate", "MatMul_1_quant": "shift"}[product]
    kept: list[str] = []
    for part in path:
        kept = [*kept[:-1], part] if kept and part.startswith(f"{kept[-1]}.") else [*kept, part]
    return ".".join([*kept, "weight"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--classifier", action="store_true", help="the network that reads question and answer together")
    args = parser.parse_args()
    model = restored_classifier(args.folder) if args.classifier else restored(args.folder)
    torch.save(model.state_dict(), args.state)


if __name__ == "__main__":
    main()
