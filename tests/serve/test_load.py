"""The load benchmark, short: nothing lost, and every verdict that of the library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.services
@pytest.mark.enable_socket
def test_nothing_is_lost_under_load_and_verdicts_are_those_of_the_library() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.serve.load", "--seconds", "3", "--soak", "5", "--concurrency", "1,16",
         "--texts", "8"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1800,
        env={**os.environ, "OMP_NUM_THREADS": "1"})
    sys.stdout.write(ended.stdout + ended.stderr[-3000:])
    rows = [line.strip("| ").split(" | ") for line in ended.stdout.splitlines() if line.startswith("| ")]
    assert [row[0] for row in rows[1:]] == ["check", "proxy", "bare"] * 4
    assert all(any(float(row[3]) > 0 for row in rows[1:] if row[0] == door) for door in ("check", "proxy", "bare"))
    assert "verdicts compared with the library's: 64; different: 0" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "lost: 0"
    assert ended.returncode == 0
