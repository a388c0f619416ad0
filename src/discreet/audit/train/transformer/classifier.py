"""A sequence classifier to be trained: a base model under a fresh head, whole or by LoRA through peft.

LoRA is https://arxiv.org/abs/2106.09685. Of a multimodal classifier the language model alone is trained: texts never
pass through the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.audit.train.transformer.reading import UNBOUNDED, Reader, prompt_of, token_limit
from discreet.core.errors import InputError, UsageError, need
from discreet.inputs.encode.models import local_only, quiet
from discreet.inputs.encode.presets import packaged_model

Regime = Literal["full", "lora"]
Dtype = Literal["float32", "bfloat16"]

MINILM = "minilm"
SPARE = ("<|finetune_right_pad_id|>", "<|pad|>", "<pad>", "[PAD]", "<|padding|>", "<PAD>")
RESERVED = re.compile(r"<\|?(reserved[_ ]special[_ ]token|unused|extra_id|special)_?\d+\|?>|\[unused\d+\]")
"""Tokens that a tokeniser has and no text does."""
OTHERS = ("vision_config", "audio_config")
"""Parts of a configuration that say that a model takes more than texts."""
QUERY_VALUE = (("q_proj", "v_proj"), ("query", "value"), ("q_lin", "v_lin"), ("query_proj", "value_proj"),
               ("Wqkv",), ("c_attn",))
"""Query and value projections as families call them, the paper's targets (appendix I); where one layer makes queries,
keys and values, that one."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedClassifier:
    """A classifier with its tokeniser.

    `model` is a transformers sequence classifier, or a peft model around one; what is trained is float32. `base` is as
    it was given, `family` the configuration's model type, such as "llama"; `pad` the token to pad with, none that ends
    a text or a turn where the tokeniser has any other; `limit` the tokens that the model allows at most (None: any);
    `dtype` what the body computes in. `facts` are JSON values: family, parameters (how many, without LoRA), trained
    (how many), layers, targets, pad, dtype.
    """

    model: Any
    tokenizer: Any
    base: str
    family: str
    pad: int
    limit: int | None
    dtype: Dtype
    facts: Mapping[str, Any]
    _head: str = field(repr=False)
    _mixed: bool = field(default=False, repr=False)
    """Whether it needs token types, which say that no token is an image's: some versions of transformers do."""

    @property
    def device(self) -> Any:
        """Where it is."""
        return next(self.model.parameters()).device

    def reader(self, max_tokens: int, prompt: str = "auto") -> Reader:
        """Reads texts in the model's chat template, where it has one, behind the prompt.

        Raises UsageError where `max_tokens` is beyond the model's limit, or leaves nothing to the text.
        """
        if self.limit is not None and max_tokens > self.limit:
            raise UsageError(f"max tokens is {max_tokens:,}: expected at most {self.limit:,}, the limit of {self.base}")
        chat = bool(getattr(self.tokenizer, "chat_template", None))
        return Reader(self.tokenizer, max_tokens, self.base, chat=chat, prompt=prompt_of(prompt, chat=chat))

    def __call__(self, ids: Any, mask: Any) -> tuple[Any, Any]:
        """(b, K) logits and (b, d) representations before the head, both float32, of (b, t) int64 tensors.

        Use this, not `model(…).logits`. A decoder is pooled at the last token that the mask shows: right where the
        padding token occurs inside texts too, and in versions of transformers that pool before the first one
        (https://github.com/huggingface/transformers/issues/35352). The head computes in float32: logits in bfloat16
        tie. Training or evaluation, and gradients, follow the modes of the model and of torch.
        """
        torch = import_module("torch")
        inner = self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model
        head = inner
        for step in self._head.split("."):
            head = getattr(head, step)
            # Of a module that peft trains whole, its own copy.
            head = head.modules_to_save["default"] if hasattr(head, "modules_to_save") else head
        seen: list[Any] = []
        hook = head.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        try:
            with torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=self.dtype == "bfloat16"):
                inner(input_ids=ids, attention_mask=mask, **({"token_type_ids": ids * 0} if self._mixed else {}))
        finally:
            hook.remove()
        hidden = seen[-1]
        if hidden.ndim == 3:
            hidden = hidden[torch.arange(len(hidden), device=hidden.device), last_shown(mask)]
        hidden = hidden.float()
        with torch.autocast(ids.device.type, enabled=False):
            return head(hidden), hidden

    def trained(self) -> dict[str, Any]:
        """Name to parameter of what is trained (LoRA and head; or all): for optimisers and checkpoints."""
        return {name: weights for name, weights in self.model.named_parameters() if weights.requires_grad}


def load_classifier(
    base: str, *, n_classes: int, regime: Regime, rank: int = 64, alpha: float | None = None, dropout: float = 0.05,
    targets: Sequence[str] | None = None, layers: int | None = None, dtype: Dtype = "float32",
    seeds: np.random.SeedSequence,
) -> LoadedClassifier:
    """The first `layers` (None: all) of a base model under a fresh head, in evaluation mode on the CPU.

    `base` is a folder, "minilm" for the packaged all-MiniLM-L6-v2, or a name on the hub. Nothing is looked up on the
    network for a folder; code that comes with a model is never run. Besides the head of `n_classes` >= 2 columns, drawn
    anew where the base has one, everything is trained (full), or LoRA matrices of `rank`, scaled by `alpha` / `rank` (2
    by default), with `dropout` before them, on `targets`: last parts of names of layers, such as "q_proj" or
    "self_attn.q_proj"; queries and values by default. The body computes in `dtype`, in which frozen weights are kept.
    Head and LoRA are drawn from `seeds` alone, without a child: give target and reference different ones, or they start
    alike. torch's global generator is left as it was.

    Raises UsageError for more layers than there are; InputError for what is no whole base model of a family that
    transformers classifies with, `targets` that are no linear layers, and a tokeniser without a token to pad with;
    MissingExtraError without torch, transformers, peft, or the packaged model.
    """
    torch, transformers = (need(name, "training a transformer", "train") for name in ("torch", "transformers"))
    head_seed, lora_seed, other_seed = (int(seed) for seed in seeds.generate_state(3, np.uint64))
    with quiet(transformers), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(other_seed)
        config, tokenizer, model, info = _opened(base, n_classes, layers, dtype if regime == "lora" else "float32")
        head = head_of(model, n_classes, base)
        whole = draw_head(model, head, missing_weights(info), head_seed, base)
        size, chosen = sum(weights.numel() for weights in model.parameters()), list[str]()
        part, body = language_part(model), f"{model.base_model_prefix}."
        for name, weights in model.named_parameters():
            if part and name.startswith(body) and not name.startswith(f"{part}."):
                weights.requires_grad_(False)
        mixed = bool(part) and "token_type_ids" in signature(model.forward).parameters
        if regime == "lora":
            model = add_lora(model, rank=rank, alpha=2 * rank if alpha is None else alpha, dropout=dropout,
                             targets=targets, seed=lora_seed, whole=whole)
            chosen = sorted(model.peft_config["default"].target_modules)
    texts, family = config.get_text_config(), str(config.model_type)
    facts = {
        "family": family, "parameters": size, "trained": sum(w.numel() for w in model.parameters() if w.requires_grad),
        "layers": int(texts.num_hidden_layers), "targets": chosen, "pad": texts.pad_token_id, "dtype": dtype}
    return LoadedClassifier(model.eval(), tokenizer, base, family, texts.pad_token_id, token_limit(tokenizer, texts),
                            dtype, facts, head, mixed)


def last_shown(mask: Any) -> Any:
    """(b,) places of the last token that a (b, t) mask shows."""
    torch = import_module("torch")
    return (mask.long() * torch.arange(mask.shape[1], device=mask.device)).argmax(-1)


def called(name: str, function: Any, *args: Any, **options: Any) -> Any:
    """`function(…)` of transformers, any exception as an InputError of one line."""
    try:
        return function(*args, **options)
    except Exception as error:
        raise InputError(f"{name}: it cannot be loaded ({type(error).__name__}); expected the folder, or the hub name, "
                         f"of a whole Hugging Face model whose code is part of transformers, which classifies with its "
                         f"family") from error


def dtype_name(transformers: Any) -> str:
    """What `from_pretrained` calls its dtype."""
    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return "dtype" if (major, minor) >= (4, 56) else "torch_dtype"


def missing_weights(info: Mapping[str, Any]) -> set[str]:
    """Names of the weights that a checkpoint did not have, or had in another size, from transformers' report."""
    mismatched = {key if isinstance(key, str) else str(key[0]) for key in info["mismatched_keys"]}
    return {*info["missing_keys"], *mismatched}


def _opened(base: str, n_classes: int, layers: int | None, dtype: Dtype) -> tuple[Any, Any, Any, Mapping[str, Any]]:
    """Configuration, tokeniser, classifier, and transformers' report of what it did not find for it."""
    torch, transformers = import_module("torch"), import_module("transformers")
    source, local = source_of(base)
    options = {"local_files_only": local or local_only(source), "trust_remote_code": False}

    config = called(base, transformers.AutoConfig.from_pretrained, source, num_labels=n_classes, **options)
    tokenizer = called(base, transformers.AutoTokenizer.from_pretrained, source, **options)
    texts = config.get_text_config()
    if layers is not None:
        if layers > texts.num_hidden_layers:
            raise UsageError(f"layers is {layers}: expected at most {texts.num_hidden_layers}, those of the base model")
        # Gemma says of each layer what kind of attention it has.
        if getattr(texts, "layer_types", None):
            texts.layer_types = list(texts.layer_types)[:layers]
        texts.num_hidden_layers = layers
    pad = choose_pad(tokenizer, texts, base)
    texts.pad_token_id, texts.use_cache, config.problem_type = pad, False, "single_label_classification"
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.convert_ids_to_tokens(pad), "right"
    model, info = called(
        base, transformers.AutoModelForSequenceClassification.from_pretrained, source, config=config,
        ignore_mismatched_sizes=True, output_loading_info=True, **{dtype_name(transformers): getattr(torch, dtype)},
        **options)
    return config, tokenizer, model, info


def source_of(base: str) -> tuple[str, bool]:
    """What transformers is given, and whether it must find it on this machine.

    Raises InputError for a file, and for what is neither a folder nor a hub name; MissingExtraError without the
    packaged model.
    """
    if base == MINILM:
        return str(packaged_model()), True
    if base and Path(base).exists():
        if not Path(base).is_dir():
            raise InputError(f"{base} is a file; expected the folder of a base model")
        return base, True
    if not base or base.startswith((".", "/", "~")) or base.count("/") > 1:
        raise InputError(f"there is no folder {base!r}; expected a base model's folder, {MINILM}, or its name on the "
                         f"hub")
    return base, False


def choose_pad(tokenizer: Any, config: Any, name: str) -> int:
    """The tokeniser's padding token, or the configuration's, or a spare one, if it neither ends a text nor a turn.

    Padding with what ends a turn, as is usual for Llama, hides the turn's end from everything that finds the last
    token by what is no padding. Where there is no spare token, what ends a text will do if no template writes it.
    Raises InputError where nothing is left.
    """
    marks = Reader(tokenizer, UNBOUNDED, name, chat=bool(getattr(tokenizer, "chat_template", None))).marks
    # Configurations give one token, several, or none.
    ends = {*np.atleast_1d(config.eos_token_id).tolist(), tokenizer.eos_token_id, *marks}
    vocabulary = {token: place for token, place in tokenizer.get_vocab().items() if place < config.vocab_size}
    known = set(vocabulary.values())
    spare = sorted(place for token, place in vocabulary.items() if RESERVED.fullmatch(token))
    offered = [tokenizer.pad_token_id, config.pad_token_id, *map(vocabulary.get, SPARE), *spare]
    found = next((place for place in offered if place in known and place not in ends), None)
    if found is None and tokenizer.eos_token_id in known and tokenizer.eos_token_id not in marks:
        found = tokenizer.eos_token_id
    if found is None:
        raise InputError(f"{name}: its tokeniser has no token to pad with but those that end a turn; expected one of "
                         f"its own: add <|pad|> to tokeniser and model")
    return int(found)


def head_of(model: Any, n_classes: int, name: str) -> str:
    """Name of the last linear layer. Raises InputError for a model whose head is none."""
    linear = import_module("torch").nn.Linear
    found = [part for part, module in model.named_modules()
             if isinstance(module, linear) and module.out_features == n_classes and not _in_body(model, part)]
    if not found:
        raise InputError(f"{name}: a {model.config.model_type} classifier has no linear head; expected a family such "
                         f"as llama, gemma or bert")
    return str(found[-1])


def draw_head(model: Any, head: str, missing: set[str], seed: int, name: str) -> list[str]:
    """Draw the head, and a pooler that the base does not have; names of the modules that must be trained whole.

    Raises InputError, beginning with `name`, where more of the base is missing.
    """
    torch = import_module("torch")
    lost = sorted(key for key in missing if _in_body(model, key) and ".pooler." not in key)
    if lost:
        raise InputError(f"{name}: {len(lost)} weights of the base model are missing or of another size "
                         f"({lost[0][:60]}), and would be random; expected a whole one")
    generator = torch.Generator().manual_seed(seed)
    std = float(getattr(model.config.get_text_config(), "initializer_range", None) or 0.02)
    whole: dict[str, None] = {}
    for part, module in model.named_modules():
        within = _in_body(model, part)
        fresh = part == head or f"{part}.weight" in missing
        if isinstance(module, torch.nn.Linear) and fresh:
            with torch.no_grad():
                module.weight.copy_(torch.empty(module.weight.shape).normal_(0.0, std, generator=generator))
                if module.bias is not None:
                    module.bias.zero_()
        if part and any(True for _ in module.parameters()) and (fresh or not within):
            whole["pooler" if within else part.partition(".")[0]] = None
    return list(whole)


def _in_body(model: Any, name: str) -> bool:
    return f"{name}.".startswith(f"{model.base_model_prefix}.")


def language_part(model: Any) -> str:
    """Name of the language model within a multimodal classifier, such as "model.language_model"; else "".

    Gemma 3 from 4B on has a vision tower whose projections are called as the language model's (q_proj, v_proj), and a
    projector: texts alone never pass through either, so nothing there can learn from them.
    """
    texts = model.config.get_text_config()
    if texts is model.config or not any(getattr(model.config, name, None) is not None for name in OTHERS):
        return ""
    return next((name for name, module in model.named_modules()
                 if name and type(getattr(module, "config", None)) is type(texts)), "")


def add_lora(model: Any, *, rank: int, alpha: float, dropout: float, targets: Sequence[str] | None, seed: int,
             whole: Sequence[str]) -> Any:
    """A sequence classifier as a peft model: LoRA on `targets`, without biases; all else but `whole` is frozen.

    The matrices are drawn from `seed` alone. Raises InputError for a target that is no linear layer under the head, and
    for a family that calls its projections by names of its own; MissingExtraError without peft.
    """
    torch, peft = import_module("torch"), need("peft", "training with LoRA", "train")
    kinds = (torch.nn.Linear, import_module("transformers").pytorch_utils.Conv1D)
    part, body = language_part(model), f"{model.base_model_prefix}."
    layers = [name.removeprefix(body) for name, module in model.named_modules()
              if name.startswith(f"{part}." if part else body) and isinstance(module, kinds)]
    names = list(dict.fromkeys(name.rpartition(".")[2] for name in layers))
    chosen = targets or next((known for known in QUERY_VALUE if set(known) <= set(names)), ())
    if not chosen:
        raise InputError(f"no query and value projections are known for a {model.config.model_type} model: name the "
                         f"layers that LoRA goes on, of {', '.join(names)}")
    for target in chosen:
        if not any(f".{name}".endswith(f".{target}") for name in layers):
            raise InputError(f"LoRA has no layer {target!r} to go on: expected some of {', '.join(names)}")
    config = peft.LoraConfig(
        task_type="SEQ_CLS", r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=list(chosen), bias="none",
        modules_to_save=list(whole), exclude_modules=rf"(?!{re.escape(part)}\.).*" if part else None)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        found = peft.get_peft_model(model, config)
    # Adam's steps are lost in bfloat16.
    for weights in found.parameters():
        if weights.requires_grad:
            weights.data = weights.data.float()
    return found
