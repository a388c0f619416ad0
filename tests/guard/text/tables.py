"""Readers over small networks: every output of a token is a row of a table; and what they must find, token by token."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from tests.heavy import need
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from discreet.guard.text.reader import CARD, CLASSIFIER, FILES, MODEL, RECORD, SOURCES, TOKENIZER, seal
from discreet.guard.text.reader import WORDS as VECTORS

WORDS = ["she", "he", "nurse", "fire", "##man", "##fight", "##er", "boston", "old", "52", "-", ".", ",", "a", "é"]
VOCABULARY = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
CLASSES, KINDS = ("age", "place", "job"), ("third", "speaker", "public", "cohort", "nobody")
CASES = ("leak", "own", "kin", "hypothetical", "fictional", "public", "historic", "staff", "organisation", "none")
N, C, K, P = len(VOCABULARY), len(CLASSES), len(KINDS), 4
SHAPES = {"inside": (C,), "begins": (C,), "whose": (C, K), "person": (P,), "counts": (3, 4), "inferred": (C,),
          "vector": (6,), "case": (len(CASES),), "held": (4,)}
GATE, SHIFT, SAME = np.linspace(0.5, 1.5, C * P).reshape(C, P), np.linspace(-0.2, 0.3, C * P).reshape(C, P), (1.5, -0.4)
CUT = {"age": 0.5, "place": 0.35, "job": 0.6}
Tables = Mapping[str, Any]


def tables(seed: int = 7) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, 2, (N, *shape)).astype(np.float32) for name, shape in SHAPES.items()}


def network(tables: Tables) -> bytes:
    """Each token's outputs are its row of the tables, those of the text the highest or the mean over its tokens; the
    case behind a question is the row of its first word. Where `tables` has "places", a token's person is its place in
    the window, counted from 1."""
    onnx = need("onnx")
    helper, kind = onnx.helper, onnx.TensorProto
    nodes, outputs = [], []
    constants = {name: tables[name] for name in SHAPES}
    for name, shape in SHAPES.items():
        whole = name in ("counts", "inferred", "vector", "case")
        nodes.append(helper.make_node("Gather", [name + "_table", "ids"], [name + "_each" if whole else name]))
        if whole:
            how = "ReduceMean" if name == "vector" else "ReduceMax"
            alone = [name] if name != "case" else ["case_alone"]
            nodes.append(helper.make_node(how, [name + "_each"], alone, axes=[1], keepdims=int(name == "case")))
        axes = ["k"] if name == "case" else [] if whole else ["t"]
        outputs.append(helper.make_tensor_value_info(name, kind.FLOAT, [1, *axes, *shape]))
    nodes += [helper.make_node("Add", ["heads", "next"], ["firsts"]),
              helper.make_node("Gather", ["asked", "firsts"], ["first_ids"], axis=1),
              helper.make_node("Gather", ["case_table", "first_ids"], ["case_behind"]),
              helper.make_node("Concat", ["case_alone", "case_behind"], ["case"], axis=1)]
    constants["next"] = np.array(1, np.int64)
    found = [onnx.numpy_helper.from_array(v, n if n == "next" else n + "_table")
             for n, v in constants.items()]
    if "places" in tables:
        nodes = [n for n in nodes if n.output[0] != "person"] + [
            helper.make_node("Gather", ["person_table", "ids"], ["row"]),
            helper.make_node("Mul", ["row", "zero"], ["nothing"]),
            helper.make_node("Add", ["nothing", "one"], ["ones"]),
            helper.make_node("CumSum", ["ones", "axis"], ["person"])]
        found += [onnx.numpy_helper.from_array(np.array(v, t), n)
                  for n, v, t in (("zero", 0, np.float32), ("one", 1, np.float32), ("axis", 1, np.int64))]
    inputs = [helper.make_tensor_value_info(name, kind.INT64, [1, axis])
              for name, axis in (("ids", "t"), ("asked", "a"), ("block", "a"), ("places", "a"))]
    inputs.append(helper.make_tensor_value_info("heads", kind.INT64, ["q"]))
    inputs.append(helper.make_tensor_value_info("words", kind.FLOAT, [1, "w", len(CASES)]))
    return _model(nodes, inputs, outputs, found)


def _model(nodes: Any, inputs: Any, outputs: Any, found: Any) -> bytes:
    helper = need("onnx").helper
    graph = helper.make_graph(nodes, "tables", inputs, outputs, found)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


def vectors(tables: Tables) -> bytes:
    """The vector of a word is its row of cases."""
    onnx = need("onnx")
    helper, kind = onnx.helper, onnx.TensorProto
    return _model([helper.make_node("Gather", ["table", "ids"], ["words"])],
                  [helper.make_tensor_value_info("ids", kind.INT64, [1, "t"])],
                  [helper.make_tensor_value_info("words", kind.FLOAT, [1, "t", len(CASES)])],
                  [onnx.numpy_helper.from_array(tables["case"], "table")])


def classifier() -> bytes:
    """The case is the sum of the vectors of words, those of the answer twice."""
    onnx = need("onnx")
    helper, kind = onnx.helper, onnx.TensorProto
    nodes = [helper.make_node("Cast", ["kinds"], ["second"], to=kind.FLOAT),
             helper.make_node("Add", ["second", "one"], ["times"]),
             helper.make_node("Unsqueeze", ["times", "last"], ["each"]),
             helper.make_node("Mul", ["words", "each"], ["weighed"]),
             helper.make_node("ReduceSum", ["weighed", "axis"], ["case"], keepdims=0)]
    found = [onnx.numpy_helper.from_array(np.array(value, of), name)
             for name, value, of in (("one", 1, np.float32), ("last", [-1], np.int64), ("axis", [1], np.int64))]
    return _model(nodes, [helper.make_tensor_value_info("words", kind.FLOAT, [1, "t", len(CASES)]),
                          helper.make_tensor_value_info("kinds", kind.INT64, [1, "t"])],
                  [helper.make_tensor_value_info("case", kind.FLOAT, [1, len(CASES)])], found)


def sources() -> bytes:
    """That somebody is private is the sum of the first numbers of the vectors of words, those of the text twice."""
    onnx = need("onnx")
    made = onnx.load_from_string(classifier())
    graph, helper, kind = made.graph, onnx.helper, onnx.TensorProto
    graph.node.append(helper.make_node("Gather", ["case", "column"], ["private"], axis=1))
    graph.initializer.append(onnx.numpy_helper.from_array(np.array([0], np.int64), "column"))
    return _model(graph.node, graph.input, [helper.make_tensor_value_info("private", kind.FLOAT, [1, 1])],
                  graph.initializer)


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordPiece(VOCABULARY, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(strip_accents=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", VOCABULARY["[CLS]"]), ("[SEP]", VOCABULARY["[SEP]"])])
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    made.enable_truncation(5)
    return made


def write(folder: Path, tables: Tables, **changed: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in ((MODEL, network(tables)), (VECTORS, vectors(tables)), (CLASSIFIER, classifier()),
                       (SOURCES, sources())):
        (folder / name).write_bytes(made)
    tokenizer().save(str(folder / TOKENIZER))
    card = {"classes": CLASSES, "kinds": KINDS, "inferred": CLASSES, "cases": CASES, "thresholds": CUT, "window": 12,
            "persons": {"gate": GATE.tolist(), "shift": SHIFT.tolist(), "same": SAME}, **changed}
    return sealed(folder, card)


def sealed(folder: Path, card: Mapping[str, Any]) -> Path:
    """Write a card that fits the files of a folder."""
    hashes = {n: sha256((folder / n).read_bytes()).hexdigest() for n in FILES}
    card = {**card, "sha256": {**hashes, CARD: seal(card)}}
    (folder / CARD).write_text(json.dumps(card), encoding="utf-8")
    return folder


def only(**rows: Mapping[str, Any]) -> dict[str, Any]:
    """Tables of a reader that finds nothing, but for some words: `only(inside={"nurse": [-9, -9, 9]})`."""
    made = {name: np.full((N, *shape), -9.0 if name in ("inside", "begins") else 0.0, np.float32)
            for name, shape in SHAPES.items()}
    made["whose"][..., 0] = 1.0
    for name, words in rows.items():
        for word, values in words.items():
            made[name][VOCABULARY[word]] = values
    return made


def slowly(text: str, said: Tables) -> tuple[list[tuple[Any, ...]], dict[tuple[str, str], Any]]:
    """What the reader must find, token by token and record by record: of each span class, start, end, subject, person,
    probability; of each person and subject what they hold."""
    spans: list[tuple[Any, ...]] = []
    held: dict[tuple[str, str], Any] = {}
    start = known = 0
    for record in text.split(RECORD):
        found, number = _record(record, said, known)
        known += number
        for kind, begin, end, subject, person, p, _ in found:
            spans.append((kind, start + begin, start + end, subject, person, p))
        for who in {(person, subject) for _, _, _, subject, person, _, _ in found}:
            mean = np.mean([row for *_, subject, person, _, row in found if (person, subject) == who], axis=0)
            held[who] = np.maximum(held.get(who, -np.inf), mean)
        start += len(record) + 1
    return spans, held


def _record(text: str, said: Tables, known: int) -> tuple[list[tuple[Any, ...]], int]:
    """The spans of one record, each with its mean row of "held", and how many persons they tell apart."""
    encoded = tokenizer()
    encoded.no_truncation()
    encoded.encode_special_tokens = True
    tokens = encoded.encode(text, add_special_tokens=False)
    words: list[list[int]] = []
    for i, (start, _) in enumerate(tokens.offsets):
        before = tokens.offsets[i - 1][1] if i else -1
        if words and before == start and text[start - 1].isalnum() and text[start].isalnum():
            words[-1].append(i)
        else:
            words.append([i])
    found: list[tuple[list[int], int, list[float]]] = []
    for c, name in enumerate(CLASSES):
        opened: list[int] | None = None
        for word in words:
            p = np.mean([1 / (1 + np.exp(-said["inside"][tokens.ids[i], c].astype(float))) for i in word])
            if p <= CUT[name]:
                opened = None
                continue
            if opened is None or said["begins"][tokens.ids[word[0]], c] > 1.0:
                opened = []
                found.append((opened, c, []))
            opened.extend(word)
            found[-1][2].extend([p] * len(word))
    found.sort(key=lambda one: (one[0][0], one[0][-1], one[1]))
    persons: list[list[tuple[Any, Any]]] = []  # Of each span of a person: vector, shares of subjects.
    whose: list[tuple[str, int | None]] = []
    for inside, c, _ in found:
        ids = [tokens.ids[i] for i in inside]
        logits = np.mean([said["whose"][i, c].astype(float) for i in ids], axis=0)
        subject, person = KINDS[int(logits.argmax())], None
        if subject in ("third", "public"):
            mine = np.mean([said["person"][i].astype(float) for i in ids], axis=0) * GATE[c] + SHIFT[c]
            odds = [np.mean([mine @ other * SAME[0] + SAME[1] for other, _ in spans]) for spans in persons]
            person = int(np.argmax(odds)) if odds and max(odds) > 0 else len(persons)
            if person == len(persons):
                persons.append([])
            persons[person].append((mine, np.exp(logits) / np.exp(logits).sum()))
        whose.append((subject, person))
    out = []
    for (inside, c, p), (first, person) in zip(found, whose, strict=True):
        subject = name = first
        if person is not None:
            chances = sum(chance for _, chance in persons[person])
            subject = "public" if chances[KINDS.index("public")] > chances[KINDS.index("third")] else "third"
            name = f"r{known + person + 1}"
        out.append((CLASSES[c], tokens.offsets[inside[0]][0], tokens.offsets[inside[-1]][1], subject, name,
                    float(np.mean(p)), np.mean([said["held"][tokens.ids[i]] for i in inside], axis=0)))
    return out, len(persons)
