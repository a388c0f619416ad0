"""Text to vectors: ONNX transformers, hashed words, the evidence vector; fusion, and export from transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.inputs.encode.base import Encoder, WholeText, encoders, load_encoder
    from discreet.inputs.encode.fusion import Fusion
    from discreet.inputs.encode.presets import build_encoders

__all__ = ["Encoder", "Fusion", "WholeText", "build_encoders", "encoders", "load_encoder"]
HOMES = {
    "Encoder": "discreet.inputs.encode.base", "Fusion": "discreet.inputs.encode.fusion",
    "WholeText": "discreet.inputs.encode.base", "build_encoders": "discreet.inputs.encode.presets",
    "encoders": "discreet.inputs.encode.base", "load_encoder": "discreet.inputs.encode.base",
}
__getattr__ = lazily(__name__, HOMES)
