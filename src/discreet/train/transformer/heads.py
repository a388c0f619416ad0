"""The head of a sequence classifier: where it is, and drawing it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from discreet.core.errors import InputError


def lacking(info: Mapping[str, Any]) -> set[str]:
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
