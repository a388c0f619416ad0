"""ONNX networks on the CPU: onnxruntime on one thread, so that the same input gives the same bits.

On a GPU the same input need not: it is for what is fitted, never for what is judged.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from discreet.core.errors import UsageError

Device = Literal["cpu", "cuda"]
CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_session(path: Path, device: Device = "cpu") -> Any:
    """The `onnxruntime.InferenceSession` of a file. Raises whatever onnxruntime raises, which may quote the file.

    "cuda" computes in full float32 precision (no TF32). UsageError where onnxruntime has no such provider, or cannot
    start it: its own fallback to the CPU says nothing.
    """
    # From 1.29 on its wheels write an identifier of the machine and report to their maker, unless this is set before.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    ort: Any = import_module("onnxruntime")
    ort.disable_telemetry_events()  # It may have been imported before.
    if device == "cuda" and CUDA not in (there := ort.get_available_providers()):
        raise UsageError(f"the device 'cuda' was asked for, but onnxruntime {ort.__version__} has {', '.join(there)} "
                         "alone: install onnxruntime-gpu in its place, or use --device cpu")
    options = ort.SessionOptions()
    # Another number of threads may change a result by about 1e-7.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    providers = [CPU] if device == "cpu" else [(CUDA, {"use_tf32": "0"}), CPU]
    # Its joint step of a sum and a normalisation is slower on a CPU than the two.
    slower = ["SkipLayerNormFusion"] if device == "cpu" else None
    found = ort.InferenceSession(str(path), options, providers=providers, disabled_optimizers=slower)
    if device == "cuda" and CUDA not in found.get_providers():
        raise UsageError("the device 'cuda' was asked for, but onnxruntime cannot start it: check the driver, CUDA and "
                         "cuDNN that this onnxruntime-gpu needs, or use --device cpu")
    return found
