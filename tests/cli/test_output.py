from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from discreet.cli.output import PageOutput, WhenQuiet
from discreet.core.runs import Run
from discreet.report.charts import Line, dots
from discreet.report.figure import Figure
from discreet.report.summary import Section, Summary, Text

RECORD = {"kind": "made up", "value": 7}


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def summary(record: dict[str, Any], texts: Sequence[dict[str, Any]] = ()) -> Summary:
        figure = Figure("one", "One", "One.", lambda: dots([Line("a")]), ({"value": record["value"]},))
        return Summary("made up", f"{record['value']} {[row['text'] for row in texts]}", figure=figure, sections=(
            Section("More", (Text("a line"),), terminal=True),))

    module = ModuleType("discreet.report.made_up")
    module.summary = summary  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "discreet.report.made_up", module)
    monkeypatch.setattr("discreet.report.summary.KINDS", {"made up": "made_up:summary"})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.open(tmp_path / "run", {})


def output(**given: Any) -> PageOutput:
    """Of no command: nothing here asks for its context."""
    return PageOutput(context=Any, **given)  # type: ignore[arg-type]


def test_a_record_is_shown_with_the_place_of_its_page(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, page = "7 []\n\nMore\n  a line\n", tmp_path / "page.html"
    output().show(RECORD)
    assert capsys.readouterr().out == said
    output(report=page).finish_with_page(RECORD, run, {})
    assert capsys.readouterr().out == f"{said}\nReport: {page}\nRun folder: {run.path}\n"
    output().show(RECORD, run)
    assert capsys.readouterr().out == f"{said}\nReport: {run.report}\nRun folder: {run.path}\n"
    cases: list[tuple[WhenQuiet, str]] = [("headline", "7 []\n"), ("summary", said), ("nothing", "")]
    for when_quiet, left in cases:
        output(quiet=True).show(RECORD, run=run, when_quiet=when_quiet)
        assert capsys.readouterr().out == left
    output(as_json=True).show(RECORD, run=run)
    assert json.loads(capsys.readouterr().out) == RECORD


def test_a_page_apart_from_a_run(tmp_path: Path) -> None:
    output(report=tmp_path / "page.html").finish_with_page(RECORD, None, {}, texts=[{"text": "a word"}])
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("7 [&#39;a word&#39;]") == 2


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_without_jinja2_is_still_a_run(run: Run, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str], quiet: bool) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    output(quiet=quiet).finish_with_page(RECORD, run, {})
    assert run.result.exists()
    assert not run.report.exists()
    err = capsys.readouterr().err
    assert err == "" if quiet else err.startswith("discreet: no report.html in the run folder: an HTML report needs")


def test_nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.report.summarise", lambda *_: pytest.fail("a page was made for no one"))
    output().write_page(RECORD, None)
