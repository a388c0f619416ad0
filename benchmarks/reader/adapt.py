"""`sources.onnx`: the classifier with what `sources.py` teaches beside it.

Beside each product x·W of the last layers stands (x·down)·up, and a head of its own takes the place of the classifier's. The weights that
both have are not written twice: `sources.onnx` says where in `classifier.onnx` they lie (external data of ONNX, by offset and length).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from benchmarks.reader.fuse import PARTS, drop_unused, sort_steps
from onnx import TensorProto, external_data_helper, helper, numpy_helper

WIDTH, WIDE = 384, 1536
PRODUCTS = {**dict.fromkeys((*PARTS, "context"), (WIDTH, WIDTH)), "wide": (WIDTH, WIDE), "narrow": (WIDE, WIDTH)}
"""The products of a layer: how many numbers go in and come out."""
_WHERE = {"context": "attention/output/dense", "wide": "intermediate/dense", "narrow": "output/dense"}
_LARGE = 1000
"""Bytes from which on weights that both have are written once."""


def name_of(layer: int, product: str) -> str:
    return f"layer {layer} {product}"


def adapted(classifier: Path, path: Path, taught: Mapping[str, np.ndarray], first: int, layers: int) -> None:
    """Write the network of a classifier with what was taught, by name, beside the products of layers [first, layers)."""
    model = onnx.load(str(classifier))
    graph = model.graph
    graph.initializer.extend(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name) for name, array in taught.items())
    made = {output: node for node in graph.node for output in node.output}
    for layer in range(first, layers):
        prefix = f"/model/t/encoder/layer.{layer}/"
        for product in PARTS:
            _beside(graph, layer, product, _read_by(made, f"{prefix}attention/self/MatMul_quant"), f"{prefix}attention/self/{product}")
        for product, where in _WHERE.items():
            _beside(graph, layer, product, _read_by(made, f"{prefix}{where}/MatMul_quant"), f"{prefix}{where}/Add_output_0")
    _head(graph, f"/model/t/encoder/layer.{layers - 1}/output/LayerNorm/LayerNormalization_output_0")
    drop_unused(graph)
    sort_steps(graph)
    _point_at(graph, classifier)
    onnx.save(model, str(path))
    onnx.checker.check_model(str(path))


def _read_by(made: Mapping[str, Any], name: str) -> str:
    """What a product of 8 bits reads before it is rounded to these."""
    [product] = {id(node): node for node in made.values() if node.name == name}.values()
    source: str = made[product.input[0]].input[0]
    return source


def _beside(graph: Any, layer: int, product: str, read: str, gives: str) -> None:
    """Add the two small products of what is read to what a product gives."""
    name = name_of(layer, product)
    for node in graph.node:
        node.input[:] = [f"{gives} {name}" if one == gives else one for one in node.input]
    graph.node.extend([
        helper.make_node("MatMul", [read, f"{name} down"], [f"{name} low"]),
        helper.make_node("MatMul", [f"{name} low", f"{name} up"], [f"{name} added"]),
        helper.make_node("Add", [gives, f"{name} added"], [f"{gives} {name}"])])  # fmt: skip


def _head(graph: Any, last: str) -> None:
    """The log-odds, out of the first token and two means of all, as `Adapter` has it; the classifier's own head is no output any more."""
    def step(kind: str, given: list[str], out: str, **attributes: Any) -> str:
        graph.node.append(helper.make_node(kind, given, [out], **attributes))
        return out

    graph.initializer.extend([numpy_helper.from_array(np.array(0, np.int64), "head/first"),
                              numpy_helper.from_array(np.array(2**0.5, np.float32), "head/root"),
                              numpy_helper.from_array(np.array(1, np.float32), "head/one"),
                              numpy_helper.from_array(np.array(0.5, np.float32), "head/half")])  # fmt: skip
    looked = step("Add", [step("MatMul", [last, "look weights"], "head/look"), "look bias"], "head/looks")
    means = step("Einsum", [last, step("Softmax", [looked], "head/shares", axis=1)], "head/means", equation="ntw,nta->naw")
    read = step("Concat", [step("Gather", [last, "head/first"], "head/token", axis=1), step("Flatten", [means], "head/flat")], "head/read", axis=1)
    x = step("Add", [step("MatMul", [read, "narrow weights"], "head/narrow"), "narrow bias"], "head/x")
    erf = step("Add", [step("Erf", [step("Div", [x, "head/root"], "head/scaled")], "head/erf"), "head/one"], "head/raised")
    gelu = step("Mul", [step("Mul", [x, erf], "head/gelu"), "head/half"], "head/gelus")
    step("Add", [step("MatMul", [gelu, "says weights"], "head/says"), "says bias"], "private")
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("private", TensorProto.FLOAT, [1, 1]))


def _point_at(graph: Any, classifier: Path) -> None:
    """Leave out the large weights that stand in another file, and say where."""
    whole = classifier.read_bytes()
    for one in graph.initializer:
        at = whole.find(one.raw_data) if len(one.raw_data) >= _LARGE else -1
        if at >= 0:
            external_data_helper.set_external_data(one, classifier.name, at, len(one.raw_data))
            one.ClearField("raw_data")
