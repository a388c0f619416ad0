"""What of a classifier reads texts: of a multimodal one, its language model alone."""

from __future__ import annotations

from typing import Any

OTHERS = ("vision_config", "audio_config")
"""Parts of a configuration that say that a model takes more than texts."""


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
