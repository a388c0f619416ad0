"""What encoding imports, in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import discreet

HEAVY = ("torch", "transformers", "sentence_transformers", "onnx", "onnxscript", "safetensors", "huggingface_hub",
         "spacy", "pandas", "scipy", "sklearn", "pyarrow")


def modules_after(code: str) -> Any:
    env = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
    code = f"{code}\nimport json, sys; print('@@' + json.dumps(list(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return {name.partition(".")[0] for name in json.loads(ended.stdout.partition("@@")[2])}


def test_importing_the_room_loads_nothing_but_numpy() -> None:
    found = modules_after(
        "import importlib, pkgutil, discreet.encode\n"
        "for m in pkgutil.walk_packages(discreet.encode.__path__, 'discreet.encode.'): importlib.import_module(m.name)"
    )
    assert "numpy" in found
    assert found.isdisjoint((*HEAVY, "onnxruntime", "tokenizers"))


def test_encoding_needs_nothing_heavy(hand_made: Path, tmp_path: Path) -> None:
    found = modules_after(
        "from pathlib import Path\n"
        "from discreet.encode.fusion import Fusion\n"
        "from discreet.encode.presets import build_encoders\n"
        f"encoders = build_encoders({str(hand_made)!r} + ',lexical', domain='law', cache=Path({str(tmp_path)!r}))\n"
        "assert Fusion.fit(encoders, ['A 47-year-old welder from Omaha.']).encode(['One text.', 'Two.']).shape[0] == 2"
    )
    assert {"onnxruntime", "tokenizers"} <= found
    assert found.isdisjoint(HEAVY), sorted(found.intersection(HEAVY))
