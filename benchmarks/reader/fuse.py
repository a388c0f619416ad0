"""Make a network of 8 bits faster without changing its weights: one product for query, key and value, one step of attention.

The exporter writes attention as some thirty small steps a layer. Here each layer's three products of the same input become one, and
what stands between them and the layer's next product becomes onnxruntime's `MultiHeadAttention`. Sums are taken in another order, so
outputs differ by rounding: by about 1e-6 before the next quantization, more where that falls on another step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

HEADS = 12
PARTS = ("query", "key", "value")
CONTRIB = "com.microsoft"
_NONE, _LENGTH, _END, _ROW, _ACROSS = "fused/none", "fused/length", "fused/end", "fused/row", "fused/across"


def fuse(path: Path) -> None:
    """Write a network with fused attention in its place. Raises ValueError where it finds no layer."""
    model = onnx.load(str(path))
    graph = model.graph
    made = {output: node for node in graph.node for output in node.output}
    found = [name for name in made if name.endswith("/attention/self/query/Add_output_0")]
    if not found:
        raise ValueError(f"{path.name} has no attention that is not fused")
    if any(one.name == "ids" for one in graph.input):
        _length(graph)
    for name in found:
        _fuse_layer(graph, made, name.removesuffix("query/Add_output_0"))
    drop_unused(graph)
    sort_steps(graph)
    if not any(one.domain == CONTRIB for one in model.opset_import):
        model.opset_import.append(helper.make_opsetid(CONTRIB, 1))
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _fuse_layer(graph: Any, made: dict[str, Any], prefix: str) -> None:
    """One layer: its three products as one, and what follows them up to the next product as one step."""
    weights = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    products = [made[f"{prefix}{part}/MatMul_output_0_output_quantized"] for part in PARTS]
    scales = [made[f"{prefix}{part}/MatMul_quant_scales_mul:0"] for part in PARTS]
    biases = [next(n for n in made[f"{prefix}{part}/Add_output_0"].input if n in weights) for part in PARTS]
    read, zero = products[0].input[0], products[0].input[2]

    def joined(name: str, names: list[str]) -> str:
        graph.initializer.append(numpy_helper.from_array(np.concatenate([weights[n] for n in names], axis=-1), f"{prefix}{name}"))
        return f"{prefix}{name}"

    def step(kind: str, given: list[str], out: list[str], domain: str = "", **attributes: Any) -> None:
        name = f"{prefix}MatMul_quant" if kind == "MatMulInteger" else ""
        graph.node.append(helper.make_node(kind, given, out, name, domain=domain, **attributes))

    step("Mul", [scales[0].input[0], joined("weights_scale", [one.input[1] for one in scales])], [prefix + "scales"])
    step("MatMulInteger", [read, joined("weights_quantized", [one.input[1] for one in products]), zero,
                           joined("weights_zero_point", [one.input[3] for one in products])], [prefix + "whole"])  # fmt: skip
    step("Cast", [prefix + "whole"], [prefix + "cast"], to=onnx.TensorProto.FLOAT)
    step("Mul", [prefix + "cast", prefix + "scales"], [prefix + "scaled"])
    step("Add", [prefix + "scaled", joined("bias", biases)], [prefix + "all"])
    step("Split", [prefix + "all"], [prefix + part for part in PARTS], axis=-1)
    dense = made[prefix.replace("/self/", "/output/dense/") + "MatMul_output_0_output_quantized"]
    context = made[dense.input[0]].input[0]
    mask = _mask(graph, made, prefix)
    made[context].output[:] = [context + "_before"]
    each = [prefix + part for part in PARTS]
    if mask is None:
        step("MultiHeadAttention", each, [context], CONTRIB, num_heads=HEADS)
        return
    # The tokens of the text see these alone: only those of the questions need the mask.
    for part in PARTS:
        step("Slice", [prefix + part, _NONE, _LENGTH, _ROW], [prefix + part + "_text"])
    step("Slice", [each[0], _LENGTH, _END, _ROW], [each[0] + "_asked"])
    step("Slice", [mask, _LENGTH, _END, _ACROSS], [prefix + "mask"])
    step("MultiHeadAttention", [one + "_text" for one in each], [prefix + "of_text"], CONTRIB, num_heads=HEADS)
    step("MultiHeadAttention", [each[0] + "_asked", *each[1:], "", "", prefix + "mask"], [prefix + "of_asked"], CONTRIB, num_heads=HEADS)
    step("Concat", [prefix + "of_text", prefix + "of_asked"], [context], axis=1)


def _length(graph: Any) -> None:
    """How many tokens the text has, and what slices by it need."""
    for name, value in ((_NONE, 0), (_ROW, 1), (_ACROSS, 2), (_END, np.iinfo(np.int64).max)):
        graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
    graph.node.append(helper.make_node("Shape", ["ids"], [_LENGTH], start=1, end=2))


def _mask(graph: Any, made: dict[str, Any], prefix: str) -> str | None:
    """What is added to the scores of attention; None where every token sees all others (which is all that the exporter's own mask says
    of texts without padding)."""
    softmax = next(node for node in graph.node if node.op_type == "Softmax" and node.output[0].startswith(prefix))
    scores = made[softmax.input[0]]
    added = [name for name in scores.input if not name.startswith(prefix)]
    return added[0] if added else None


def drop_unused(graph: Any) -> None:
    """Remove the steps and weights that no output needs any more."""
    needed, made = [one.name for one in graph.output], {output: node for node in graph.node for output in node.output}
    kept, seen = set[str](), set[int]()
    while needed:
        name = needed.pop()
        kept.add(name)
        node = made.get(name)
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            needed += [one for one in node.input if one]
    for field, keep in ((graph.node, [n for n in graph.node if id(n) in seen]), (graph.initializer, [i for i in graph.initializer if i.name in kept]),
                        (graph.value_info, [])):  # fmt: skip
        del field[:]
        field.extend(keep)


def sort_steps(graph: Any) -> None:
    """Each step behind those whose outputs it takes."""
    done = {one.name for one in (*graph.input, *graph.initializer)} | {""}
    left, ordered = list(graph.node), list[Any]()
    while left:
        ready = [node for node in left if done.issuperset(node.input)]
        ordered += ready
        done |= {name for node in ready for name in node.output}
        taken = {id(node) for node in ready}
        left = [node for node in left if id(node) not in taken]
    del graph.node[:]
    graph.node.extend(ordered)

