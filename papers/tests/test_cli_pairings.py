"""`discreet reproduce pairings`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, Refused, result
from tests.conftest import texts, write_side


@pytest.fixture(scope="module")
def partitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("partitions")
    for name in ("safe", "unsafe", "borderline"):
        write_side(home / f"{name}.jsonl", name, 80)
    write_side(home / "borderline_eval.jsonl", "borderline", 40, 2)
    return home


def test_pairings(cli: Cli, partitions: Path, tmp_path: Path) -> None:
    args = ("reproduce", "pairings", partitions, "--domain", "medical", "--encoders", "lexical", "--configurations")
    done = cli(*args, "gmm-v3,default", "--save", tmp_path / "guard", "--out", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    record = done.record
    assert list(record["configurations"]) == ["gmm-v3", "default"]
    assert record["configurations"]["default"]["borderline"]["auroc"]["unit"] == "text"
    assert result(tmp_path / "run")["configurations"] == record["configurations"]
    components = {"gmm-v3": {"requested": 8, "safe": 1, "unsafe": 1}}
    assert record["components"] == components
    assert json.loads((tmp_path / "run" / "log.jsonl").read_text())["components"] == components
    assert cli("guard", "check", texts("unsafe", 1)[0], "--guard", tmp_path / "guard", "--json").code == 0
    done = cli(*args, "gmm-v3", "--quiet")
    assert (done.code, done.out) == (0, "")
    said = " ".join(cli(*args, "gmm-v3").out.split())
    for words in ("AUROC", "borderline", "gmm-v3 K = 1 on the safe side, K = 1 on the unsafe side; 8 requested"):
        assert words in said


@pytest.mark.parametrize(("words", "said"), [
    (["{}"], "--domain"), (["{}", "--domain", "medical", "--labelled", "x.jsonl"], "--labelled"),
    (["{}", "--domain", "medical", "--configurations", "gmm-v9"], "gmm-v9"),
    (["{}", "--domain", "medical", "--configurations", "gmm-v3", "--save", "{}/g"], "--save"),
    (["{}/nowhere", "--domain", "medical"], "safe.jsonl"),
])
def test_pairings_that_cannot_be(refused: Refused, partitions: Path, words: list[str], said: str) -> None:
    refused(said, "reproduce", "pairings", "--encoders", "lexical", *(w.format(partitions) for w in words))
