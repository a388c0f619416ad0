from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from discreet.core.errors import InputError, UsageError
from discreet.core.runs import Run


class TestRun:
    CONFIG: ClassVar[dict[str, Any]] = {"domain": "medical", "input": Path("a.jsonl"), "seed": 42}

    def test_folder(self, tmp_path: Path) -> None:
        run = Run.open(tmp_path / "runs" / "one", self.CONFIG)
        run.finish({"value": 1}, n=1)
        assert sorted(os.listdir(run.path)) == ["config.yaml", "figures", "log.jsonl", "result.json"]
        assert yaml.safe_load(run.config.read_text()) == {"domain": "medical", "input": "a.jsonl", "seed": 42}
        assert list(yaml.safe_load(run.config.read_text())) == list(self.CONFIG)
        assert json.loads(run.result.read_text()) == {"value": 1}
        logged = json.loads(run.log.read_text())
        assert (logged["event"], logged["n"]) == ("done", 1)

    def test_goes_on_under_the_same_configuration_only(self, tmp_path: Path) -> None:
        Run.open(tmp_path / "r", self.CONFIG)
        assert Run.open(tmp_path / "r", self.CONFIG).path == tmp_path / "r"
        with pytest.raises(UsageError, match=r"another configuration \(differs in: extra, seed\)"):
            Run.open(tmp_path / "r", {**self.CONFIG, "seed": 1, "extra": True})

    def test_takes_no_folder_of_somebody_else(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("")
        with pytest.raises(UsageError, match="is not empty and holds no run"):
            Run.open(tmp_path, self.CONFIG)
        with pytest.raises(UsageError, match="is a file"):
            Run.open(tmp_path / "thesis.tex", self.CONFIG)
        assert os.listdir(tmp_path) == ["thesis.tex"]

    @pytest.mark.parametrize("content", ["- a\n", "a: [", "\x00"])
    def test_a_broken_configuration(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "config.yaml").write_text(content)
        with pytest.raises(UsageError, match="is not a configuration"):
            Run.open(tmp_path, self.CONFIG)


class TestInputs:
    """A run is known by the content of what it read."""

    def finished(self, folder: Path, **inputs: Any) -> Run:
        run = Run.open(folder, {"seed": 1}, inputs)
        run.finish({"value": 1})
        return run

    def test_another_content_under_the_same_path(self, tmp_path: Path) -> None:
        file, run = tmp_path / "a.csv", tmp_path / "run"
        file.write_text("one")
        self.finished(run, scores=file, texts=b"x")
        before = (run / "result.json").read_bytes()
        self.finished(run, scores=file, texts=b"x")
        file.write_text("two")
        with pytest.raises(UsageError, match=r"another input \(differs in the content of: scores\): name a new"):
            Run.open(run, {"seed": 1}, {"scores": file, "texts": b"x"})
        with pytest.raises(UsageError, match="the content of: scores, texts"):
            Run.open(run, {"seed": 1}, {})
        file.write_text("one")
        self.finished(run, scores=file, texts=b"x")
        assert (run / "result.json").read_bytes() == before

    def test_the_same_content_under_another_name(self, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / name).write_text("one")
            self.finished(tmp_path / "run", scores=tmp_path / name)

    def test_inputs_may_change_until_there_is_a_result(self, tmp_path: Path) -> None:
        Run.open(tmp_path, {"seed": 1}, {"texts": b"with a mistake"})
        self.finished(tmp_path, texts=b"without")
        with pytest.raises(UsageError, match="another input"):
            Run.open(tmp_path, {"seed": 1}, {"texts": b"with a mistake"})

    def test_a_result_of_inputs_that_nobody_wrote_down(self, tmp_path: Path) -> None:
        Run.open(tmp_path, {"seed": 1}).finish({"value": 1})
        with pytest.raises(UsageError, match="another input"):
            Run.open(tmp_path, {"seed": 1}, {"texts": b"x"})

    def test_files_of_a_folder_and_lists(self, tmp_path: Path) -> None:
        guard, other = tmp_path / "guard", tmp_path / "other"
        guard.mkdir()
        other.write_text("x")
        (guard / "guard.json").write_text("one")
        self.finished(tmp_path / "run", guard=[guard, other])
        self.finished(tmp_path / "run", guard=[guard, other])
        (guard / "guard.json").write_text("two")
        with pytest.raises(UsageError, match="the content of: guard"):
            Run.open(tmp_path / "run", {"seed": 1}, {"guard": [guard, other]})

    def test_hashes_are_keyed_by_the_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = [(self.finished(tmp_path / name, texts=b"x").path / "inputs.json").read_text() for name in "ab"]
        assert found[0] != found[1]
        assert (tmp_path / "a" / "inputs.key").stat().st_mode & 0o077 == 0
        monkeypatch.setenv("DISCREET_HASH_KEY", "12" * 32)
        self.finished(tmp_path / "a", texts=b"x")

    def test_an_input_that_cannot_be_read(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"cannot read .*none\.csv: no such file"):
            Run.open(tmp_path, {"seed": 1}, {"scores": tmp_path / "none.csv"})
