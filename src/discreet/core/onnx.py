"""ONNX networks on the CPU: onnxruntime on one thread, so that the same input gives the same bits."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any


def open_session(path: Path) -> Any:
    """The `onnxruntime.InferenceSession` of a file. Raises whatever onnxruntime raises, which may quote the file."""
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    # Another number of threads may change a result by about 1e-7.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
