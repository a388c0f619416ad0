from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import pages
from discreet.core.errors import MissingExtraError, UsageError
from discreet.core.runs import Run
from discreet.report.figures.figure import Figure
from discreet.report.html import environment

RECORD = {"kind": "made up", "value": 7}


def _page(record: Mapping[str, Any], *, texts: Sequence[Mapping[str, Any]] = ()) -> str:
    environment()
    return f"<p>{record['value']} {[row['text'] for row in texts]}"


def _figures(record: Mapping[str, Any]) -> list[Figure]:
    return [Figure("one", "One", "One.", "", 1.0, 1.0, ({"value": record["value"]},))]


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pages.PAGED, "made up", lambda: pages.Paged(_page, _figures))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.open(tmp_path / "run", {})


def test_each_kind_has_a_page_and_figures_of_its_own() -> None:
    found = {kind: paged() for kind, paged in pages.PAGED.items()}
    assert len({(one.page, one.figures) for one in found.values()}) == len(found)


def test_a_page_apart_from_a_run(tmp_path: Path) -> None:
    pages.write_run(RECORD, tmp_path / "page.html", None, texts=[{"text": "a word"}])
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "<p>7 ['a word']"


def test_a_run_has_all_and_says_that_it_is_done(run: Run, tmp_path: Path) -> None:
    pages.write_run(RECORD, tmp_path / "page.html", run, n=3)
    assert run.report.read_text(encoding="utf-8") == (tmp_path / "page.html").read_text(encoding="utf-8") == "<p>7 []"
    assert sorted(path.name for path in run.figures.iterdir()) == ["one.csv", "one.svg"]
    assert json.loads(run.result.read_text(encoding="utf-8")) == RECORD
    line = json.loads(run.log.path.read_text(encoding="utf-8"))
    assert (line["event"], line["n"]) == ("done", 3)


def test_pages_alone_leave_the_record_to_the_command(run: Run) -> None:
    pages.write_pages(RECORD, None, run)
    assert run.report.exists()
    assert not run.result.exists()


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_without_jinja2_is_still_a_run(run: Run, monkeypatch: pytest.MonkeyPatch,
                                             capsys: pytest.CaptureFixture[str], quiet: bool) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    pages.write_run(RECORD, None, run, quiet=quiet)
    assert run.result.exists()
    assert (run.figures / "one.svg").exists()
    assert not run.report.exists()
    err = capsys.readouterr().err
    assert err == "" if quiet else err.startswith("discreet: no report.html in the run folder: an HTML report needs")


def test_nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pages.PAGED, "made up", lambda: pytest.fail("a page was made for no one"))
    pages.write_run(RECORD, None, None)


def test_what_cannot_be_a_page_is_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.can_report(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="it is a folder"):
        pages.can_report(tmp_path)
    with pytest.raises(UsageError, match="folder is not there"):
        pages.can_report(tmp_path / "no" / "page.html")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match="jinja2"):
        pages.can_report(tmp_path / "page.html")
