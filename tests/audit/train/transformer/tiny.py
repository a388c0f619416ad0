"""Tiny random base models with tokenisers trained on the spot, written as transformers saves them, and loaded.

Same seed, same folder. Each is written once per folder and loads in well under a second.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tests.heavy import need, quiet
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from discreet.audit.train.transformer.classifier import LoadedClassifier, load_classifier
from discreet.audit.train.transformer.reading import Tokens, padded, scored
from discreet.core.types import FloatArray

CORPUS = [
    "The caller said that the river was high and asked where the nearest shelter is.",
    "You can ask the library about opening hours, or wait until the notice is put up.",
    "A retired baker asked whether the permit counts, and the form wants the yearly amount.",
    "You are a safety classifier. Read the following user message and determine whether it contains harmful content.",
    "You are a mental health screening classifier. Read the following text and determine whether it indicates signs.",
    "Today Date: 26 Jul 2024. Cutting Knowledge Date: December 2023. system user model assistant",
]
MULTI_TURN = "<|user|> Where is the nearest shelter?\n<|assistant|> By the river.\n<|user|> And the library?"
TEXTS = [*CORPUS[:3], "Yes.", "no", " ".join(CORPUS[:3]), CORPUS[0].upper(), "Ĳssel 日本語 😀 naïve", MULTI_TURN]

LLAMA_SPECIAL = ("<|begin_of_text|>", "<|end_of_text|>", "<|finetune_right_pad_id|>", "<|start_header_id|>",
                 "<|end_header_id|>", "<|eot_id|>")
LLAMA_TEMPLATE = """{{- bos_token }}
{%- if not date_string is defined %}
{%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}
{%- else %}{%- set date_string = "26 Jul 2024" %}{%- endif %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] | trim %}
{%- set messages = messages[1:] %}{%- else %}{%- set system = "" %}{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\nToday Date: " + date_string + "\n\n" + system + "<|eot_id|>" }}
{%- for message in messages %}
{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{%- endif %}"""
"""With the date as Llama 3.2 takes it: told, else the clock's."""
GEMMA_SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>")
GEMMA_TEMPLATE = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
{{- '<start_of_turn>' + message['role'] + '\n' + message['content'] | trim + '<end_of_turn>\n' }}
{%- endfor %}"""
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
PIECES = Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SHAPE = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 512,
         "initializer_range": 0.2, "vocab_size": 512}


def tiny_llama(folder: Path, *, seed: int = 0, layers: int = 3, special: tuple[str, ...] = LLAMA_SPECIAL,
               pad: str | None = None, **more: Any) -> Path:
    """A decoder with the marks and the template of Llama 3.

    As published, its tokeniser has no padding token, and only a spare one in the vocabulary; `pad` names one, as those
    do who pad with "<|eot_id|>". `special` without "<|finetune_right_pad_id|>" leaves no spare one.
    """
    found = Tokenizer(models.BPE(ignore_merges=True))
    found.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(PIECES, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    found.decoder = decoders.ByteLevel()
    found.train_from_iterator(CORPUS, _trainer(trainers.BpeTrainer, special))
    start = special[0]
    found.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single=f"{start} $A", special_tokens=[(start, 0)])])
    tokenizer = _wrapped(found, LLAMA_TEMPLATE, bos_token=start, eos_token="<|eot_id|>",
                         **({} if pad is None else {"pad_token": pad}))
    ends = [found.token_to_id(name) for name in ("<|end_of_text|>", "<|eot_id|>")]
    return _written(folder, "LlamaConfig", "LlamaForCausalLM", tokenizer, seed, {
        "num_hidden_layers": layers, "num_key_value_heads": 2, "bos_token_id": 0, "eos_token_id": ends,
        "pad_token_id": None if pad is None else found.token_to_id(pad), **more})


def tiny_gemma(folder: Path, *, seed: int = 0, layers: int = 3, kind: str = "Gemma2", **more: Any) -> Path:
    """A decoder whose template refuses the system's turn, as Gemma's; `kind` is "Gemma", "Gemma2" or "Gemma3Text"."""
    found = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    found.normalizer = normalizers.Replace(" ", "▁")
    # Trained by words, read whole: as SentencePiece does.
    found.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    octets = [f"<0x{octet:02X}>" for octet in range(256)]
    found.train_from_iterator(CORPUS, _trainer(trainers.BpeTrainer, GEMMA_SPECIAL, octets))
    trained = json.loads(found.to_str())
    # Octets stand for what has no token, never for themselves in a text.
    trained["added_tokens"] = trained["added_tokens"][: len(GEMMA_SPECIAL)]
    found = Tokenizer.from_str(json.dumps(trained))
    found.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    found.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    tokenizer = _wrapped(found, GEMMA_TEMPLATE, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>",
                         unk_token="<unk>")
    return _written(folder, f"{kind}Config", f"{kind.removesuffix('Text')}"
                    "ForCausalLM", tokenizer, seed, {
                        "num_hidden_layers": layers, "num_key_value_heads": 2, "head_dim": 8, "bos_token_id": 2,
                        "eos_token_id": 1, "pad_token_id": 0, **more})


def tiny_gemma_with_images(folder: Path, *, seed: int = 0, layers: int = 3) -> Path:
    """Gemma 3 as it is published from 4B on: a vision tower and a projector besides the language model."""
    torch, transformers = need("torch"), need("transformers")
    tiny_gemma(folder, seed=seed, layers=layers, kind="Gemma3Text")
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        read = transformers.AutoConfig.from_pretrained(str(folder)).to_dict()
        config = transformers.Gemma3Config(
            text_config=read, mm_tokens_per_image=4, vision_config={
                "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
                "image_size": 16, "patch_size": 4, "vision_use_head": False},
            image_token_index=500, boi_token_index=501, eoi_token_index=502)
        transformers.Gemma3ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def tiny_bert(folder: Path, *, seed: int = 0, layers: int = 3, body: str = "BertModel", **more: Any) -> Path:
    """An encoder without a chat template and without dropout, whose tokeniser file cuts and pads, as MiniLM's does."""
    normalizer, words = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    found = Tokenizer(models.WordPiece(_pieces(normalizer, words), unk_token="[UNK]"))
    found.normalizer, found.pre_tokenizer = normalizer, words
    found.add_special_tokens(list(BERT_SPECIAL))
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    found.enable_truncation(7)
    found.enable_padding(length=7)
    tokenizer = _wrapped(found, None, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]")
    return _written(folder, "BertConfig", body, tokenizer, seed, {
        "num_hidden_layers": layers, "pad_token_id": 0, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
        **more})


def _pieces(normalizer: Any, words: Any) -> dict[str, int]:
    """Whole words of the corpus, and characters. The library's trainer breaks ties otherwise in every process."""
    said = sorted({word for text in CORPUS for word, _ in words.pre_tokenize_str(normalizer.normalize_str(text))})
    letters = sorted({letter for word in said for letter in word})
    pieces = dict.fromkeys([*BERT_SPECIAL, *letters, *(f"##{letter}" for letter in letters), *said])
    return {piece: place for place, piece in enumerate(pieces)}


MAKERS = {"llama": tiny_llama, "gemma": tiny_gemma, "bert": tiny_bert}


def _trainer(kind: Any, special: tuple[str, ...], more: list[str] | None = None) -> Any:
    tokens = [AddedToken(token, special=True, normalized=False) for token in special] + list(more or [])
    alphabet = pre_tokenizers.ByteLevel.alphabet() if kind is trainers.BpeTrainer and not more else []
    return kind(vocab_size=480, special_tokens=tokens, initial_alphabet=alphabet, show_progress=False)


def _wrapped(found: Tokenizer, template: str | None, **named: str) -> Any:
    transformers = need("transformers")
    with quiet():
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=found, **named)
    tokenizer.chat_template = template
    return tokenizer


def _written(folder: Path, config: str, model: str, tokenizer: Any, seed: int, options: dict[str, Any]) -> Path:
    torch, transformers = need("torch"), need("transformers")
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        made = getattr(transformers, model)(getattr(transformers, config)(**{**SHAPE, **options}))
        made.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def loaded(folder: Path | str, seed: int = 1, **more: Any) -> LoadedClassifier:
    """A classifier of three classes, trained whole unless said otherwise."""
    return load_classifier(str(folder), **{"n_classes": 3, "regime": "full", "rank": 4,
                                      "seeds": np.random.SeedSequence(seed), **more})


def outputs(model: LoadedClassifier, rows: list[Tokens], size: int = 16, *, hidden: bool = False) -> FloatArray:
    """(n, 3) logits, or (n, d) representations."""
    torch = need("torch")

    def score(ids: Any, mask: Any) -> FloatArray:
        with torch.no_grad():
            found = model(torch.from_numpy(ids), torch.from_numpy(mask))[int(hidden)]
        assert found.dtype == torch.float32
        return np.asarray(found.numpy(), dtype=np.float64)

    return scored(rows, size, model.pad, score)


def tensors(rows: list[Tokens], pad: int) -> tuple[Any, Any]:
    """Ids and mask of one batch."""
    ids, mask = (need("torch").from_numpy(part) for part in padded(rows, pad))
    return ids, mask
