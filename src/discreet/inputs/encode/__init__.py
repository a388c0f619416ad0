"""Text to vectors: ONNX transformers, hashed words, the evidence vector; fusion, and export from transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.inputs.encode.base import Encoder, WholeText, encoders, load_encoder
    from discreet.inputs.encode.fusion import Fusion
    from discreet.inputs.encode.presets import build_encoders

__all__ = ["Encoder", "Fusion", "WholeText", "build_encoders", "encoders", "load_encoder"]
__getattr__ = lazily(__name__, __file__)
