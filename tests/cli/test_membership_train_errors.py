"""What `discreet audit membership --recipe R --data F` refuses: one line, exit 2, no folder where it can be helped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_membership_train import TRAINED, Cli
from tests.experiments.membership.made_up import write_rows


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "d.jsonl", 420)


def one_class(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "label": "safe"}


def rare_class(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "label": "unsafe" if row["id"] in {"r1", "r3"} else "safe"}


def no_label(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "label"}


def some_groups(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, **({"group": "u"} if row["id"] == "r1" else {})}


class TestBadInput:
    @pytest.mark.parametrize(("spoil", "more", "said"), [
        (one_class, (), "all 420 rows have one label"),
        (rare_class, (), "class 'unsafe' has 2 examples"),
        (no_label, (), "'label'"),
        (some_groups, (), "419 of 420 rows have no group"),
        (None, ("--sizes", "a=9000"), "class 'safe' has 210 examples"),
        (None, ("--sizes", "a=0", "--planted", "none"), "set 'a' has 0 examples, and none of class 'safe'"),
        (None, ("--sizes", "a=60,eval=0"), "set 'eval' has 0 examples"),
        (None, ("--sizes", "a=60,cal=2"), "set 'cal', halved, has 1 examples"),
    ])
    def test_data_that_cannot_be_dealt_are_one_line(
        self, cli: Cli, data: Path, tmp_path: Path, spoil: Callable[[dict[str, Any]], dict[str, Any]] | None,
        more: tuple[str, ...], said: str
    ) -> None:
        path, out = tmp_path / "d.jsonl", tmp_path / "run"
        rows = [json.loads(line) for line in data.read_text().splitlines()]
        path.write_text("".join(json.dumps(spoil(row) if spoil else row) + "\n" for row in rows))
        ended = cli(*TRAINED, "--data", path, "--out", out, "--engine", "inline", "--json", *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert said in ended.err
        assert not any(word in ended.err for word in ("how to", "stranger", "Traceback", "unexpected"))
        assert not (out / "result.json").exists()

    @pytest.mark.parametrize(("more", "said"), [
        (("--recipe", "tfidf"), "is called 'tfidf': expected one of "),
        (("--recipe", "tfidf-mlp:stps=9"), "has no option 'stps'"),
        (("--recipe", "tfidf-mlp:steps=many"), "steps is 'many'"),
        *((("--recipe", recipe), f"{said} takes no texts; expected one of head, rnn, tfidf-linear, tfidf-mlp, token-")
          for recipe, said in (("mlp", "'mlp'"), ("cnn", "'cnn'"), ("resnet18:width=2", "'resnet18'"),
                               ("head:encoder=none", "'head' with these options"))),
        (("--recipe", "gone.yaml"), "cannot read the recipe"),
        (("--recipe", "transformer:base=./gone"), "there is no folder './gone'"),
        (("--shadows", "-1"), "-1 shadows were asked for"), (("--planted", "0"), "--planted holds '0'"),
        (("--planted", "two"), "--planted holds 'two'; expected whole numbers from 1"),
        (("--sizes", "a=many"), "--sizes holds 'a=many'"),
        (("--sizes", "a=1,a=2"), "--sizes holds 'a=2'"), (("--sizes", "a"), "--sizes holds 'a'"),
        (("--sizes", "a=-1"), "--sizes holds 'a=-1'"), (("--sizes", "a=²"), "--sizes holds 'a=²'"),
        (("--design", "randomised"), "No such option: --design"),
        (("--data", "gone.jsonl"), "gone.jsonl: no such file"),
        (("--mismatched", "gone.csv"), "gone.csv: no such file"),
        (("--tolerance-auc", "2"), "tolerance AUC is 2"),
    ])
    def test_options_that_cannot_be_leave_no_folder(
        self, cli: Cli, data: Path, tmp_path: Path, more: tuple[str, ...], said: str
    ) -> None:
        out = tmp_path / "run"
        ended = cli(*TRAINED, "--data", data, "--out", out, *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert said in ended.err
        assert not out.exists()

    @pytest.mark.parametrize(("more", "said"), [
        (("--engine", "dask"), "there is no engine 'dask'"), (("--workers", "0"), "the number of workers is 0"),
        (("--address", "auto"), "the engine local takes no address"),
    ])
    def test_workers_that_cannot_be(
        self, cli: Cli, data: Path, tmp_path: Path, more: tuple[str, ...], said: str
    ) -> None:
        ended = cli(*TRAINED, "--data", data, "--store", tmp_path / "store", *more)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert said in ended.err

    def test_a_store_that_is_a_file(self, cli: Cli, data: Path, tmp_path: Path) -> None:
        (tmp_path / "store").write_text("x")
        ended = cli(*TRAINED, "--data", data, "--store", tmp_path / "store")
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert "is not empty and holds no results" in ended.err


@pytest.mark.parametrize("kept", [True, False])
def test_a_log_is_named_only_where_it_is_kept(cli: Cli, data: Path, tmp_path: Path, kept: bool,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("MARK")

    monkeypatch.setattr("discreet.experiments.membership.steps.assign", broken)
    more = ("--store", tmp_path / "store") if kept else ()
    ended = cli(*TRAINED, "--data", data, "--engine", "inline", *more)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "MARK" not in ended.err
    if kept:
        assert (tmp_path / "store" / "log.jsonl").is_file()
        assert ended.err.endswith(f"; {tmp_path / 'store' / 'log.jsonl'} has the calls\n")
    else:
        assert "log.jsonl" not in ended.err
        assert ended.err.endswith("; run again with --out DIR or --store DIR, whose log keeps the calls\n")
