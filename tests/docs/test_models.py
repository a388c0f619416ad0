"""docs/models.md executes: its modules, its commands for each kind of model, and the protocol that it states."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.audit.scores.adapters.conftest import write_model
from tests.loopback import serving
from typer.testing import CliRunner

from discreet.cli.main import app

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
MODULE, FROM_PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.S)
COMMANDS = [shlex.split(found.replace("\\\n", " ")) for found in re.findall(r"^\$ ((?:.*\\\n)*.*)", PAGE, re.M)]
REQUEST, ANSWER = (json.loads(found) for found in re.findall(r"```json\n(.*?)```", PAGE, re.S))
DATA = """
import random

def drawn(seed, n=40):
    draw, words = random.Random(seed), "bread river form permit shelter notice library amount baker hours".split()
    return [" ".join(draw.choices(words, k=6)) + f" {seed}{i}" for i in range(n)], [i % 2 for i in range(n)]

members, others, elsewhere = drawn("a"), drawn("b"), drawn("c")
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("DISCREET_MODEL_TOKEN", raising=False)
    (tmp_path / "my_data.py").write_text(DATA)
    (tmp_path / "my_guard.py").write_text(MODULE)
    namespace: dict[str, Any] = {}
    exec(DATA, namespace)
    for side in ("members", "others"):
        rows = [{"id": f"{side}{n}", "text": text, "label": label}
                for n, (text, label) in enumerate(zip(*namespace[side], strict=True))]
        (tmp_path / f"{side}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    yield tmp_path
    for name in ("my_guard", "my_data"):
        sys.modules.pop(name, None)


def audited(command: list[str]) -> dict[str, Any]:
    assert command[:3] == ["discreet", "audit", "membership"]
    done = CliRunner().invoke(app, [*command[1:], "--json", "--quiet"])
    assert done.exit_code == 3, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_python_object(desk: Path) -> None:
    found = audited(COMMANDS[0])
    [row] = [row for row in found["attacks"] if row["attack"] == "loss" and row["scale"] == "logit"
             and row["selection"] == "global" and row["label"] is None and row["category"] is None
             and row["decile"] is None and row["structure"] is None]
    assert row["auc"]["low"] > 0.5
    assert row["control_auc"]["value"] < row["auc"]["low"]
    assert found["provenance"]["models"] == {"target": 1, "control": 1, "selection": 1}
    assert found["provenance"]["input"] == "members.jsonl, others.jsonl"


def test_a_transformer(desk: Path) -> None:
    for seed, name in enumerate(("classifier", "control")):
        write_model(desk / name, "bert", seed=seed, num_labels=2)
    found = audited(COMMANDS[1])
    said = found["provenance"]["scored_target"]
    assert "dtype float32; chat template no; prompt none; max tokens 64; tokens seen 1.0000; fingerprint " in said
    assert len(list((desk / "scores").rglob("*.npz"))) == 2
    assert audited(COMMANDS[1])["attacks"] == found["attacks"]


def test_a_service(desk: Path, socket_enabled: None) -> None:
    assert (len(ANSWER["logits"]), {len(row) for row in ANSWER["logits"]}) == (len(REQUEST["texts"]),
                                                                              {len(ANSWER["labels"])})
    with serving(lambda asked: {**ANSWER, "logits": [[0.0, len(text) / 9] for text in asked["texts"]]}, "") as service:
        command = [word.replace("http://127.0.0.1:8000", service.url) for word in COMMANDS[2]]
        found = audited([*command, "--permutations", "0"])
    assert {frozenset(one) for one in service.asked} == {frozenset(REQUEST)}
    assert "model version guard-3" in found["provenance"]["scored_target"]


def test_from_python(desk: Path) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(FROM_PYTHON, "models.md", "exec"), namespace)
    assert namespace["audit"].targets[0].controls["blind_auc"].resolved
    assert len(namespace["texts"]) == 80
