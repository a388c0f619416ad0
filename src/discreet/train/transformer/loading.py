"""A sequence classifier to be trained, from a base model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.encode.models import local_only, quiet
from discreet.encode.presets import packaged_model
from discreet.train.base import need
from discreet.train.transformer.lora import add_lora, freeze_others, language_part
from discreet.train.transformer.reading import UNBOUNDED, Prompt, Reader, prompt_of, token_limit

Regime = Literal["full", "lora"]
Dtype = Literal["float32", "bfloat16"]
REGIMES: tuple[Regime, ...] = get_args(Regime)
DTYPES: tuple[Dtype, ...] = get_args(Dtype)

MINILM = "minilm"
SPARE = ("<|finetune_right_pad_id|>", "<|pad|>", "<pad>", "[PAD]", "<|padding|>", "<PAD>")
RESERVED = re.compile(r"<\|?(reserved[_ ]special[_ ]token|unused|extra_id|special)_?\d+\|?>|\[unused\d+\]")
"""Tokens that a tokeniser has and no text does."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedClassifier:
    """A classifier in evaluation mode on the CPU, with its tokeniser.

    Attributes
    ----------
    model : torch.nn.Module
        A transformers sequence classifier, or a peft model around one. What is trained is float32.
    tokenizer : a tokeniser of transformers
    base : str
        As it was given.
    family : str
        The configuration's model type, such as "llama" or "bert".
    pad : int
        Token to pad with; none that ends a text or a turn where the tokeniser has any other.
    chat : bool
        Whether the tokeniser has a chat template.
    limit : int or None
        Tokens that the model allows at most.
    dtype : {"float32", "bfloat16"}
        What the body computes in; logits are float32 always.
    facts : mapping
        JSON values: family, parameters (how many, without LoRA), trained (how many), layers, targets, pad, dtype.
    """

    model: Any
    tokenizer: Any
    base: str
    family: str
    pad: int
    chat: bool
    limit: int | None
    dtype: Dtype
    facts: Mapping[str, Any]
    _head: str = field(repr=False)
    _mixed: bool = field(default=False, repr=False)
    """Whether it needs token types, which say that no token is an image's: some versions of transformers do."""

    def reader(self, max_tokens: int, prompt: Prompt | str = "auto") -> Reader:
        """Reads texts in the model's chat template, where it has one, behind the prompt.

        Raises UsageError where `max_tokens` is beyond the model's limit, or leaves nothing to the text.
        """
        if self.limit is not None and max_tokens > self.limit:
            raise UsageError(f"max tokens is {max_tokens:,}: expected at most {self.limit:,}, the limit of {self.base}")
        chosen = prompt_of(prompt, chat=self.chat) if isinstance(prompt, str) else prompt
        return Reader(self.tokenizer, max_tokens, self.base, chat=self.chat, prompt=chosen)

    def __call__(self, ids: Any, mask: Any) -> tuple[Any, Any]:
        """(b, K) logits and (b, d) representations before the head, both float32, of (b, t) int64 tensors.

        Use this, not `model(…).logits`. A decoder is pooled at the last token that the mask shows: right where the
        padding token occurs inside texts too, and in versions of transformers that pool before the first one
        (https://github.com/huggingface/transformers/issues/35352). The head computes in float32: logits in bfloat16
        tie. Training or evaluation, and gradients, follow the modes of the model and of torch.
        """
        torch = import_module("torch")
        inner = self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model
        head = part_of(inner, self._head)
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
    base: Path | str, *, n_classes: int, regime: Regime, rank: int = 64, alpha: float | None = None,
    dropout: float = 0.05, targets: Sequence[str] | None = None, layers: int | None = None, dtype: Dtype = "float32",
    seeds: np.random.SeedSequence,
) -> LoadedClassifier:
    """The first layers of a base model under a fresh head.

    Parameters
    ----------
    base : Path or str
        A folder, "minilm" for the packaged all-MiniLM-L6-v2, or a name on the hub. Nothing is looked up on the
        network for a folder; code that comes with a model is never run.
    n_classes : int >= 2
        Columns of the head, which is drawn anew where the base has one.
    regime : {"full", "lora"}
        What is trained besides the head: everything, or LoRA matrices of `rank`, scaled by `alpha` / `rank` (2 by
        default), with `dropout` before them, on `targets` (queries and values by default). Of a multimodal model,
        its language model alone.
    layers : int, optional
        As many of the first layers; None for all.
    dtype : {"float32", "bfloat16"}
        What the body computes in. Frozen weights are kept in it; weights that are trained are float32.
    seeds : SeedSequence
        Head and LoRA are drawn from it alone: give target and reference different ones, or they start alike. torch's
        global generator is left as it was, and no child is spawned.

    Raises
    ------
    UsageError
        For options outside their range.
    InputError
        For what is no whole base model of a family that transformers classifies with, `targets` that are no linear
        layers, and a tokeniser without a token to pad with.
    MissingExtraError
        Without torch, transformers, peft, or the packaged model.
    """
    if n_classes < 2:
        raise UsageError(f"a classifier of {n_classes} classes: expected at least 2")
    if regime not in REGIMES:
        raise UsageError(f"the regime is {regime!r}: expected one of {', '.join(REGIMES)}")
    if dtype not in DTYPES:
        raise UsageError(f"dtype is {dtype!r}: expected one of {', '.join(DTYPES)}")
    if layers is not None and layers < 1:
        raise UsageError(f"layers is {layers}: expected at least 1, or none for all")
    torch, transformers = need("torch"), need("transformers")
    head_seed, lora_seed, other_seed = (int(seed) for seed in seeds.generate_state(3, np.uint64))
    with quiet(transformers), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(other_seed)
        config, tokenizer, model, info = _opened(str(base), n_classes, layers, dtype if regime == "lora" else "float32")
        head = head_of(model, n_classes, str(base))
        whole = draw_head(model, head, missing_weights(info), head_seed, str(base))
        size, chosen = sum(weights.numel() for weights in model.parameters()), list[str]()
        mixed = bool(language_part(model)) and "token_type_ids" in signature(model.forward).parameters
        freeze_others(model)
        if regime == "lora":
            model = add_lora(model, rank=rank, alpha=2 * rank if alpha is None else alpha, dropout=dropout,
                             targets=targets, seed=lora_seed, whole=whole)
            chosen = sorted(model.peft_config["default"].target_modules)
    texts, family = config.get_text_config(), str(config.model_type)
    facts = {
        "family": family, "parameters": size, "trained": sum(w.numel() for w in model.parameters() if w.requires_grad),
        "layers": int(texts.num_hidden_layers), "targets": chosen, "pad": texts.pad_token_id, "dtype": dtype}
    return LoadedClassifier(
        model.eval(), tokenizer, str(base), family, texts.pad_token_id, bool(getattr(tokenizer, "chat_template", None)),
        token_limit(tokenizer, texts), dtype, facts, head, mixed)


def last_shown(mask: Any) -> Any:
    """(b,) places of the last token that a (b, t) mask shows."""
    torch = import_module("torch")
    return (mask.long() * torch.arange(mask.shape[1], device=mask.device)).argmax(-1)


def device_of(model: LoadedClassifier) -> Any:
    """Where a classifier is."""
    return next(model.model.parameters()).device


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


def _opened(base: str, n_classes: int, layers: int | None, dtype: Dtype) -> tuple[Any, Any, Any, Mapping[str, Any]]:
    """Configuration, tokeniser, classifier, and transformers' report of what it did not find for it."""
    torch, transformers = need("torch"), need("transformers")
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
        ignore_mismatched_sizes=True, output_loading_info=True,
        **{dtype_name(transformers): getattr(torch, dtype)}, **options)
    return config, tokenizer, model, info


def source_of(base: str) -> tuple[str, bool]:
    """What transformers is given, and whether it must find it on this machine.

    Raises InputError for a file, and for what is neither a folder nor a hub name; MissingExtraError without the
    packaged model.
    """
    if base == MINILM:
        return str(packaged_model()), True
    here = Path(base)
    if base and here.exists():
        if not here.is_dir():
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
    chat = bool(getattr(tokenizer, "chat_template", None))
    marks = Reader(tokenizer, UNBOUNDED, name, chat=chat).marks
    ends = {*_several(config.eos_token_id), *_several(tokenizer.eos_token_id), *marks}
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


def _several(said: Any) -> set[int]:
    """Configurations give one token, several, or none."""
    return set() if said is None else {int(said)} if isinstance(said, int) else {int(one) for one in said}


def missing_weights(info: Mapping[str, Any]) -> set[str]:
    """Names of the weights that a checkpoint did not have, or had in another size, from transformers' report."""
    mismatched = {key if isinstance(key, str) else str(key[0]) for key in info["mismatched_keys"]}
    return {*info["missing_keys"], *mismatched}


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


def part_of(model: Any, name: str) -> Any:
    """A module by its name; of one that peft trains whole, its own copy."""
    for step in name.split("."):
        model = getattr(model, step)
        model = model.modules_to_save["default"] if hasattr(model, "modules_to_save") else model
    return model
