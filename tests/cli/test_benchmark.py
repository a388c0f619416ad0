from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli, Refused, content, jsonl, lines, rendered_again, result

from discreet.cli.benchmark import shown
from discreet.stats import calibration

SET = Path(__file__).resolve().parents[2] / "examples" / "benchmark.jsonl"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "RESAMPLES", 40)


def test_two_guards_on_two_sets(cli: Cli, tmp_path: Path) -> None:
    run = tmp_path / "run"
    half = jsonl(tmp_path / "half.jsonl", lines(SET)[:11])
    ended = cli("benchmark", "--set", SET, "--set", f"short={half}", "--guard", "discreet", "--guard", "regex",
                "--out", run)
    assert (ended.code, ended.out.splitlines()[0]) == (0, "2 guards on 2 sets")
    record = result(run)
    assert record["sets"]["short"] == {"passages": 11, "positive": 6, "negative": 4, "one": 1, "apart": 0}
    assert [(one["guard"], one["set"]) for one in record["results"]] == [
        ("discreet", "benchmark"), ("discreet", "short"), ("regex", "benchmark"), ("regex", "short")]
    page = (run / "report.html").read_text()
    assert "Clusters held, and texts held in which nothing is bound" in page
    for text in (row["text"] for row in lines(SET)):
        assert not any(text.encode() in one for one in content(run).values())
    assert {path.name for path in (run / "figures").glob("*.svg")} == {
        "benchmark.svg", "benchmark-calibration.svg", "benchmark-risk.svg"}
    rendered_again(cli, run)


def test_a_run_goes_on_where_it_was(cli: Cli, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ("benchmark", "--set", SET, "--guard", "regex", "--out", run, "--quiet")
    assert cli(*words).out == ""
    first, kept = result(run), run / "predictions-1-benchmark.jsonl"
    kept.write_text("".join(line + "\n" for line in kept.read_text().splitlines()[:9]))
    assert cli(*words).code == 0
    again = result(run)
    assert len(lines(kept)) == 22
    assert again["results"][0]["pooled"] == first["results"][0]["pooled"]


def test_json_and_texts_from_a_table(cli: Cli, tmp_path: Path) -> None:
    labels = jsonl(tmp_path / "labels.jsonl", [{name: value for name, value in row.items()
                                               if name not in ("text", "domain", "register")} for row in lines(SET)])
    texts = jsonl(tmp_path / "texts.jsonl", [{"passage": row["passage"], "text": row["text"]} for row in lines(SET)])
    places = jsonl(tmp_path / "places.jsonl", [{"passage": row["passage"], "register": "all"} for row in lines(SET)])
    ended = cli("benchmark", "--set", labels, "--texts", texts, "--places", places, "--domain", "medical", "--guard",
                "discreet", "--json", "--quiet")
    [found] = ended.record["results"]
    assert (list(found["registers"]), found["counts"]["passages"]) == (["all"], 22)
    assert all(row["text"] not in ended.out for row in lines(SET))


def test_what_cannot_be_is_refused(refused: Refused, tmp_path: Path) -> None:
    refused("a set or a guard was given twice", "benchmark", "--set", SET, "--guard", "regex", "--guard", "regex")
    refused("there is no guard 'shoes'", "benchmark", "--set", SET, "--guard", "shoes")
    bare = jsonl(tmp_path / "labels.jsonl", [{**row, "text": None} for row in lines(SET)])
    refused("22 passages of 22 have no text", "benchmark", "--guard", "regex", "--set", bare)


def test_an_address_is_shown_without_its_query() -> None:
    assert (shown("http://host/check?key=abc"), shown("regex:a?b")) == ("http://host/check", "regex:a?b")
