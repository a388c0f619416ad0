"""Random transformers of one or two layers, of the kinds that the paper's encoders are, in folders of transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime  # type: ignore[import-untyped]
import pytest
from tests.heavy import need, quiet
from tests.tokenisers import wordpiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = [
    "The patient is a 52-year-old litigator from Omaha with two children and a recent custody filing.",
    "Adults should have their blood pressure checked every two years; nobody is described here.",
    "You can ask your lender about escrow, refinance the mortgage, or wait until rates fall again.",
    "A retired welder asked whether the pension counts as income, and the form wants the yearly amount.",
]
TINY = {"vocab_size": 400, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "hidden_size": 32}
KINDS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "bert": ("BertConfig", "BertModel", {"max_position_embeddings": 48, "pad_token_id": 0}, "mean"),
    "xlmr": ("XLMRobertaConfig", "XLMRobertaModel", {"max_position_embeddings": 50, "pad_token_id": 1}, "cls"),
    "qwen3": ("Qwen3Config", "Qwen3Model", {"max_position_embeddings": 64, "num_key_value_heads": 2, "head_dim": 8},
              "last"),
}
"""Configuration, model, what they need, and pooling."""
PAPER = {"qwen3": "qwen3", "bge-m3": "xlmr", "e5": "bert"}
"""The paper's encoders by folder, with the kind of each."""


def paper_folders(home: Path, hidden: int = 1024) -> Path:
    """DIR of `--encoders paper=DIR`: a model of each kind with `hidden` dimensions, without a word of their pooling."""
    for name, kind in PAPER.items():
        tiny_model(home / name, kind, sentence=False, hidden_size=hidden, num_hidden_layers=1,
                   max_position_embeddings=260)
    return home


def tiny_model(folder: Path, kind: str, *, sentence: bool = True, **further: int) -> Path:
    """A random model of `KINDS` with a tokeniser trained on four sentences; `sentence` files say how it pools."""
    torch, transformers = need("torch"), need("transformers")
    config, model, more, pooling = KINDS[kind]
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(len(kind))
        made = getattr(transformers, model)(getattr(transformers, config)(**{**TINY, **more, **further}))
        made.save_pretrained(folder)
    TOKENIZERS[kind]().save(str(folder / "tokenizer.json"))
    if sentence:
        sentence_files(folder, pooling, 40)
    return folder


def pooled_before_the_first_padding(self: Any, input_ids: Any, attention_mask: Any = None, **_: Any) -> Any:
    """What transformers did before its fix of issue 35352."""
    torch, transformers = need("torch"), need("transformers")
    logits = self.score(self.model(input_ids, attention_mask=attention_mask).last_hidden_state)
    last = (torch.eq(input_ids, self.config.pad_token_id).int().argmax(-1) - 1) % input_ids.shape[-1]
    return transformers.modeling_outputs.SequenceClassifierOutput(logits=logits[torch.arange(len(last)), last])


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
        json.dumps({**{key: how == pooling for how, key in modes.items()}})
    )
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{k}"}
         for i, (p, k) in enumerate(kinds)]
    ))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": longest}))


class CudaThatIsNone:
    """onnxruntime with a provider of that name, whose sessions run on the CPU."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, starts: bool = True) -> None:
        self.asked: list[Any] = []
        self.batches: list[tuple[int, ...]] = []
        real, outer = onnxruntime.InferenceSession, self

        class Session:
            def __init__(self, path: str, options: Any, providers: list[Any], **_: Any) -> None:
                outer.asked.append(providers)
                self.cuda = starts and len(providers) > 1
                self.own = real(path, options, providers=["CPUExecutionProvider"])

            def get_providers(self) -> list[str]:
                return [*(["CUDAExecutionProvider"] if self.cuda else []), "CPUExecutionProvider"]

            def run(self, names: Any, inputs: dict[str, Any]) -> Any:
                outer.batches.append(inputs["input_ids"].shape)
                return self.own.run(names, inputs)

        monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
        monkeypatch.setattr(onnxruntime, "get_available_providers",
                            lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
