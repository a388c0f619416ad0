"""What is imported, started and opened, in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import discreet

HEAVY = ("torch", "transformers", "spacy", "pandas", "scipy", "sklearn", "matplotlib", "presidio_analyzer", "jinja2",
         "pyarrow", "ray", "fastapi", "httpx", "requests", "datasets")
NOT_FOR_HELP = (*HEAVY, "numpy", "onnxruntime", "tokenizers", "phonenumbers", "stdnum", "rich", "yaml",
                "discreet.guard", "discreet.guard.text", "discreet.inputs", "discreet.report")
PROBE = """
import json, logging, socket, sys, threading
opened = []
def audit(event, args):
    if event.startswith("socket."):
        opened.append(event)
sys.addaudithook(audit)
before = dict(handlers=list(logging.root.handlers), level=logging.root.level,
              excepthook=sys.excepthook, random=__import__("random").getstate())
{code}
known = [m for m in sys.modules]
print("@@" + json.dumps(dict(
    modules=known, sockets=opened, threads=threading.active_count(),
    same=dict(handlers=logging.root.handlers == before["handlers"], level=logging.root.level == before["level"],
              excepthook=sys.excepthook is before["excepthook"],
              random=__import__("random").getstate() == before["random"]),
    handlers=[n for n, l in logging.root.manager.loggerDict.items() if getattr(l, "handlers", None)
              and not all(isinstance(h, logging.NullHandler) for h in l.handlers)])))
"""

FRAMEWORKS = ("langchain", "langchain_request", "llamaindex")
"""Plug-ins that need a framework which is not installed with the others."""
IMPORT_ALL = """
import importlib, pkgutil, discreet
for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
    plug_in = module.name.startswith("discreet.serve.integrations.") and module.name.split(".")[3] in {frameworks}
    if not plug_in and module.name.startswith({rooms}):
        importlib.import_module(module.name)
"""


def probe(code: str) -> tuple[dict[str, Any], str]:
    """What is there after `code` ran alone, and what it printed."""
    env = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
    ended = subprocess.run([sys.executable, "-c", PROBE.replace("{code}", code)], env=env, capture_output=True,
                           text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    printed, _, found = ended.stdout.partition("@@")
    return json.loads(found), printed


def loaded(found: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return sorted({n for n in names for m in found["modules"] if m == n or m.startswith(f"{n}.")})


def assert_untouched(found: dict[str, Any]) -> None:
    assert found["sockets"] == []
    assert found["threads"] == 1
    assert found["handlers"] == []
    assert all(found["same"].values()), found["same"]


def test_import_discreet_does_nothing() -> None:
    found, _ = probe("import discreet")
    assert loaded(found, (*NOT_FOR_HELP, "typer", "discreet.core.records")) == []
    assert_untouched(found)


def test_every_module_can_be_imported_without_effects() -> None:
    found, _ = probe(IMPORT_ALL.format(rooms=("discreet",), frameworks=FRAMEWORKS))
    assert "discreet.core.files" in found["modules"]
    assert_untouched(found)


def test_the_rooms_that_judge_import_nothing_heavy() -> None:
    rooms = ("discreet.guard.text", "discreet.inputs.encode", "discreet.report", "discreet.cli")
    found, _ = probe(IMPORT_ALL.format(rooms=rooms, frameworks=FRAMEWORKS))
    assert "discreet.report.render" in found["modules"]
    assert loaded(found, HEAVY) == []


def test_help_imports_little() -> None:
    found, printed = probe("from discreet.cli.main import run\nassert run(['guard', 'check', '--help']) == 0")
    assert "--domain" in printed
    assert loaded(found, NOT_FOR_HELP) == []
    assert_untouched(found)


def test_judging_one_answer_needs_nothing_heavy() -> None:
    found, printed = probe("from discreet.cli.main import run\n"
                           "assert run(['guard', 'check', 'A 47-year-old welder.', '--domain', 'medical']) == 0")
    assert "1 answer:" in printed
    assert loaded(found, HEAVY) == []
    assert_untouched(found)
