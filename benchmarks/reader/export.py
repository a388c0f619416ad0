"""Write the reader to ONNX in 8 bits, with what `discreet.guard.text.reader` needs to run it."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from benchmarks.reader.fuse import fuse
from benchmarks.reader.model import CASES, PERSON, Reader, weights_folder
from benchmarks.reader.rows import CLASSES, COUNTED, KINDS
from torch import Tensor, nn

from discreet.guard.text.reader import CARD, FILES, MODEL, WORDS, seal
from discreet.guard.text.reply import inputs_of

OUTPUTS = ["inside", "begins", "whose", "person", "held", "counts", "inferred", "vector", "case"]
JOIN = 0.5
"""Log-odds added to those that two spans speak of one person: of pairs of the choosing texts more are then found together (.958
for .945) than are wrongly joined (.140 for .124)."""
SUBJECTS = tuple("cohort" if kind == "group" else kind for kind in KINDS)


class Exported(nn.Module):
    """The network of one text with its questions, with no padding, and the mean of its token vectors."""

    def __init__(self, model: Reader) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, asked: Tensor, block: Tensor, places: Tensor, heads: Tensor) -> tuple[Tensor, ...]:
        out = self.model(ids, torch.ones_like(ids), asked, block, places, heads)
        return tuple(out[name] for name in OUTPUTS)


def export(model: Reader, folder: Path, facts: dict[str, Any], window: int = 320) -> None:
    """`reader.onnx`, `words.onnx`, `tokenizer.json` and `reader.json` in a folder; `classifier.py` adds its network."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    folder.mkdir(parents=True, exist_ok=True)
    full = folder / "full.onnx"
    questions = inputs_of([torch.randint(1000, 20000, (size,)).tolist() for size in (4, 5)])
    given = {"ids": torch.randint(1000, 20000, (1, 24)), **{name: torch.from_numpy(one) for name, one in questions.items()}}
    axes = {"ids": {1: "t"}, **{n: {1: "a"} for n in ("asked", "block", "places")}, "heads": {0: "q"}, **{n: {1: "t"} for n in OUTPUTS[:5]},
            "case": {1: "k"}}  # fmt: skip
    torch.onnx.export(Exported(model.eval()), tuple(given.values()), str(full), input_names=list(given), output_names=OUTPUTS,
                      opset_version=17, dynamo=False, dynamic_axes=axes)
    # Seven of eight bits: on a processor without VNNI the products of eight would saturate.
    quantize_dynamic(str(full), str(full), weight_type=QuantType.QInt8, reduce_range=True, per_channel=True)
    split(full, folder)
    fuse(folder / MODEL)
    full.unlink()
    shutil.copyfile(weights_folder() / "tokenizer.json", folder / "tokenizer.json")
    scale = float(model.same[0]) / PERSON**0.5 * 2
    card = {**facts, "classes": CLASSES, "kinds": SUBJECTS, "inferred": COUNTED, "cases": CASES, "window": window,
            "persons": {"gate": rounded(model.gate), "shift": rounded(model.shift), "same": [scale, float(model.same[1]) + JOIN]},
            "sha256": {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in FILES if (folder / n).exists()}}  # fmt: skip
    write_card(folder, card)


def split(whole: Path, folder: Path) -> None:
    """A network as two: the vectors of words, which another network shares, and the rest, which takes them as `words`."""
    import onnx
    from onnx.utils import Extractor

    graph = onnx.load(str(whole)).graph
    gather = next(node for node in graph.node if node.op_type == "Gather" and "word_embeddings" in node.input[0])
    vectors = gather.output[0].removesuffix("_quantized")
    parts = Extractor(onnx.load(str(whole)))
    for name, inputs, outputs in ((WORDS, [gather.input[1]], [vectors]),
                                  (MODEL, [*(one.name for one in graph.input), vectors], [one.name for one in graph.output])):
        part = parts.extract_model(inputs, outputs)
        _rename(part.graph, {vectors: "words"} | ({gather.input[1]: "ids"} if name == WORDS else {}))
        onnx.save(part, str(folder / name))


def _rename(graph: Any, names: dict[str, str]) -> None:
    for node in graph.node:
        for names_of in (node.input, node.output):
            names_of[:] = [names.get(name, name) for name in names_of]
    for one in (*graph.input, *graph.output):
        one.name = names.get(one.name, one.name)


def write_card(folder: Path, card: dict[str, Any]) -> None:
    """`reader.json` with its own hash among those that it holds: whoever changes the card writes it with this."""
    card["sha256"][CARD] = seal(card)
    (folder / CARD).write_text(json.dumps(card) + "\n", encoding="utf-8")


def rounded(values: Tensor) -> list[list[float]]:
    return [[round(float(v), 5) for v in row] for row in values]
