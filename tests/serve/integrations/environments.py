"""Environments of their own for frameworks whose pins exclude each other's, and tests that run in them."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[3]
HOME = Path(os.environ.get("DISCREET_TEST_ENVIRONMENTS", ROOT / ".benchenv"))


def environment(name: str, *requirements: str) -> Path:
    """The Python of an environment with what pip is told to install; made once. Fails where it cannot be."""
    folder = HOME / name
    python = folder / "bin" / "python"
    stamp = folder / ".installed"
    wanted = sha256(repr(requirements).encode() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        if not python.exists():
            venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        stamp.write_text(wanted)
    return python


def packages(name: str, *wanted: str) -> Path:
    """A folder with packages of npm (`NAME@VERSION`), made once. Fails where it cannot be."""
    folder = HOME / name
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != " ".join(wanted):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", folder, "--no-save", "--ignore-scripts", "--no-audit",
                        "--no-fund", "--loglevel", "error", *wanted], check=True, timeout=300)
        stamp.write_text(" ".join(wanted))
    return folder


def passed_in(extra: str, file: str, least: int) -> None:
    """Run the tests of a file in the environment of an extra; at least `least` must pass, and none be skipped."""
    python = environment(extra, "pytest", "--editable", f"{ROOT}[{extra}]")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON"))}
    ended = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull,
         "--import-mode=importlib", Path(__file__).parent / file],
        capture_output=True, text=True, check=False, cwd=ROOT, env={**clean, "PYTHONDONTWRITEBYTECODE": "1"})
    sys.stdout.write(ended.stdout[-8000:] + ended.stderr[-4000:])
    last = ended.stdout.strip().splitlines()[-1]
    assert ended.returncode == 0
    assert "skipped" not in last
    assert int(last.split()[0]) >= least
