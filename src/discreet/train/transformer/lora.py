"""What of a sequence classifier is trained: LoRA (https://arxiv.org/abs/2106.09685, through peft), or the whole.

Of a multimodal classifier it is the language model alone: texts never pass through the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from discreet.core.errors import InputError
from discreet.train.base import need

OTHERS = ("vision_config", "audio_config")
"""Parts of a configuration that say that a model takes more than texts."""
QUERY_VALUE = (("q_proj", "v_proj"), ("query", "value"), ("q_lin", "v_lin"), ("query_proj", "value_proj"),
               ("Wqkv",), ("c_attn",))
"""Query and value projections as families call them, the paper's targets (appendix I); where one layer makes queries,
keys and values, that one."""


def default_targets(model: Any) -> tuple[str, ...]:
    """Names of the query and value projections of a sequence classifier.

    Raises InputError, with what linear layers there are, for a family that calls them by names of its own.
    """
    names = linear_names(model)
    for targets in QUERY_VALUE:
        if set(targets) <= set(names):
            return targets
    raise InputError(f"no query and value projections are known for a {model.config.model_type} model: name the layers "
                     f"that LoRA goes on, of {', '.join(names)}")


def linear_names(model: Any) -> tuple[str, ...]:
    """Distinct last names of the linear layers under the head, in the order in which they come.

    Of a multimodal model they are those of its language model.
    """
    return tuple(dict.fromkeys(name.rpartition(".")[2] for name in _linear(model)))


def add_lora(model: Any, *, rank: int, alpha: float, dropout: float, targets: Sequence[str] | None, seed: int,
             whole: Sequence[str]) -> Any:
    """A sequence classifier as a peft model: LoRA on `targets`, without biases; all else but `whole` is frozen.

    Of a multimodal model the language model alone is adapted.

    Parameters
    ----------
    targets : sequence of str, or None
        Last parts of names of layers, such as "q_proj" or "self_attn.q_proj"; None for `default_targets`.
    seed : int
        The matrices are drawn from it alone. torch's global generator is left as it was.
    whole : sequence of str
        Names of modules that are trained whole: the head.

    Raises
    ------
    InputError
        For a target that is no linear layer under the head.
    MissingExtraError
        Without peft.
    """
    torch, peft = need("torch", purpose="training with LoRA"), need("peft", purpose="training with LoRA")
    chosen = default_targets(model) if targets is None else tuple(targets)
    layers, part = _linear(model), language_part(model)
    for target in chosen:
        if not any(name == target or name.endswith(f".{target}") for name in layers):
            raise InputError(f"LoRA has no layer {target!r} to go on: expected some of "
                             f"{', '.join(linear_names(model))}")
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


def _linear(model: Any) -> list[str]:
    nn = import_module("torch").nn
    kinds = (nn.Linear, import_module("transformers").pytorch_utils.Conv1D)
    part, body = language_part(model), f"{model.base_model_prefix}."
    return [name.removeprefix(body) for name, module in model.named_modules()
            if name.startswith(f"{part}." if part else body) and isinstance(module, kinds)]


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


def freeze_others(model: Any) -> None:
    """Leave out of training what is under the head and reads no texts."""
    part, body = language_part(model), f"{model.base_model_prefix}."
    for name, weights in model.named_parameters():
        if part and name.startswith(body) and not name.startswith(f"{part}."):
            weights.requires_grad_(False)
