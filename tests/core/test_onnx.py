"""What opening a network does besides."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import discreet

OPEN = """
import sys, time
from pathlib import Path
from discreet.core.onnx import open_session
open_session(Path(sys.argv[1]))
time.sleep(.5)
"""


def test_onnxruntime_reports_to_nobody(tmp_path: Path) -> None:
    """Its telemetry begins with an identifier and a database in the user's cache."""
    [network, *_] = sorted(Path(discreet.__file__).parent.rglob("*.onnx"))
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}  # CI silences it
    subprocess.run([sys.executable, "-c", OPEN, network], env={**kept, "HOME": str(tmp_path)}, check=True)
    assert [*tmp_path.rglob("*")] == []
