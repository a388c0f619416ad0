from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heavy import need, quiet
from tests.tokenisers import wordpiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from discreet.encode.base import saving
from discreet.encode.encoders.onnx import OnnxEncoder, Reader, read_tokenizer, session

CORPUS = [
    "The patient is a 52-year-old litigator from Omaha with two children and a recent custody filing.",
    "Adults should have their blood pressure checked every two years; nobody is described here.",
    "You can ask your lender about escrow, refinance the mortgage, or wait until rates fall again.",
    "A retired welder asked whether the pension counts as income, and the form wants the yearly amount.",
]
TINY = {"vocab_size": 400, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64}  # fmt: skip


@pytest.fixture(scope="session")
def corpus() -> list[str]:
    """Texts of several lengths, plain and odd."""
    return [*CORPUS, "Yes.", "", "Ĳssel 日本語 😀 naïve", " ".join(CORPUS), CORPUS[0].upper()]


def unigram() -> Tokenizer:
    found = Tokenizer(models.Unigram())
    found.normalizer = normalizers.NFKC()
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    found.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=200, special_tokens=special,
                                                             unk_token="<unk>", show_progress=False))
    found.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return found


def bytelevel() -> Tokenizer:
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    found.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=350, special_tokens=["<|end|>"],
                                                         initial_alphabet=alphabet, show_progress=False))
    found.post_processor = processors.TemplateProcessing(single="$A <|end|>", special_tokens=[("<|end|>", 0)])
    return found


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {"bert": lambda: wordpiece(CORPUS), "xlmr": unigram,
                                                  "qwen3": bytelevel}


def sentence_files(folder: Path, pooling: str, longest: int) -> None:
    """What sentence-transformers puts next to a model, in its old spelling."""
    (folder / "1_Pooling").mkdir()
    modes = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "last": "pooling_mode_lasttoken"}
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 32, **{key: how == pooling for how, key in modes.items()}})
    )
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{k}"}
         for i, (p, k) in enumerate(kinds)]
    ))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": longest}))


@pytest.fixture(scope="session")
def tiny_model(torch: Any, transformers: Any) -> Callable[[Path, str], Path]:
    """`tiny_model(folder, "bert" | "xlmr" | "qwen3")`: a random model with a tokeniser trained on four sentences."""

    def make(folder: Path, kind: str) -> Path:
        classes = {
            "bert": ("BertConfig", "BertModel", {"max_position_embeddings": 48, "pad_token_id": 0}),
            "xlmr": ("XLMRobertaConfig", "XLMRobertaModel", {"max_position_embeddings": 50, "pad_token_id": 1}),
            "qwen3": ("Qwen3Config", "Qwen3Model",
                      {"max_position_embeddings": 64, "num_key_value_heads": 2, "head_dim": 8}),
        }  # fmt: skip
        config, model, more = classes[kind]
        with quiet(), torch.random.fork_rng():
            torch.manual_seed(len(kind))
            made = getattr(transformers, model)(getattr(transformers, config)(**TINY, **more))
            made.save_pretrained(folder)
        TOKENIZERS[kind]().save(str(folder / "tokenizer.json"))
        sentence_files(folder, {"bert": "mean", "xlmr": "cls", "qwen3": "last"}[kind], 40)
        return folder

    return make


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
