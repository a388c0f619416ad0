"""Tiny random classifiers with tokenisers trained on a few sentences, written as folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.heavy import need, quiet
from tests.tokenisers import wordpiece
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

CORPUS = [
    "The caller said that the river was high and asked where the nearest shelter is.",
    "You can ask the library about opening hours, or wait until the notice is put up.",
    "A retired baker asked whether the permit counts, and the form wants the yearly amount.",
    "Nobody is described here; the text is about bread, rivers and forms.",
]
TEXTS = [*CORPUS, "Yes.", "no", " ".join(CORPUS), CORPUS[0].upper(), "Ĳssel 日本語 😀 naïve", CORPUS[1][:30]]
TINY = {"vocab_size": 320, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 256}
TEMPLATE = ("{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }}{{ eos_token }}{% endfor %}")

MakeModel = Callable[..., Path]


def bytelevel() -> Tokenizer:
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=318, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    found.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return found


def tokenizer_of(kind: str, **more: Any) -> Any:
    transformers = need("transformers")
    with quiet():
        if kind == "bert":
            return transformers.PreTrainedTokenizerFast(tokenizer_object=wordpiece(CORPUS), pad_token="[PAD]",
                                                        unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", **more)
        found = transformers.PreTrainedTokenizerFast(tokenizer_object=bytelevel(), bos_token="<s>", eos_token="</s>",
                                                     **more)
        found.chat_template = TEMPLATE
        return found


CLASSES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertConfig", "Bert", {"pad_token_id": 0}),
    "llama": ("LlamaConfig", "Llama", {"num_key_value_heads": 2, "bos_token_id": 0, "eos_token_id": 1,
                                       "pad_token_id": None}),
    "gemma": ("GemmaConfig", "Gemma", {"num_key_value_heads": 2, "head_dim": 8, "bos_token_id": 0, "eos_token_id": 1,
                                       "pad_token_id": None}),
}


def write_model(folder: Path, kind: str, *, head: str = "ForSequenceClassification", seed: int = 0,
                tokenizer: dict[str, Any] | None = None, **more: Any) -> Path:
    """A random classifier of three classes, with its tokeniser, as transformers saves it."""
    torch, transformers = need("torch"), need("transformers")
    config, model, base = CLASSES[kind]
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(seed)
        made = getattr(transformers, f"{model}{head}")(getattr(transformers, config)(
            **{**TINY, **base, "num_labels": 3, "initializer_range": 0.3, **more}))
        made.save_pretrained(folder)
        tokenizer_of(kind, **(tokenizer or {})).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def make_model(torch: Any, transformers: Any) -> MakeModel:
    """`write_model`, where its packages are there."""
    return write_model


def alone(folder: Path, text: str) -> Any:
    """What transformers gives for one text by itself, without padding."""
    torch, transformers = need("torch"), need("transformers")
    with quiet():
        model = transformers.AutoModelForSequenceClassification.from_pretrained(str(folder), dtype=torch.float32).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
        with torch.no_grad():
            return model(**tokenizer(text, return_tensors="pt")).logits[0].double().numpy()
