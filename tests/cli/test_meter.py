"""`discreet meter` and `guard check --people`, with a population of made people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.guard.population.standin import StandIn

from discreet.cli.main import run
from discreet.guard.population.population import Population

TEXT = "a 52-year-old female litigator from Omaha with two children"


@pytest.fixture(autouse=True)
def made_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Population, "load", lambda path=None: StandIn())


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_the_litigator(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "meter", TEXT)
    assert out.startswith("At most about 10 people fit (2 to 50)\n  In 80 of 100 such descriptions 5 to 20.\n")
    assert "counted       age: leaves 1 in 100\n" in out
    assert "dropped       family: children" in out
    assert "widened       occupation" in out
    assert "  not counted   2 further words of the text\n" in out
    assert "advice        age as a band of 10 years: about 100 would fit\n" in out
    assert "made people, 1994. Place is taken as independent of the rest." in out
    for word in ("52", "litigator", "Omaha", "lawyer", "(two"):
        assert word not in out


def test_words_are_shown_where_they_may_be(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "meter", TEXT, "--show-text")
    assert "counted       age (52): leaves" in out
    assert "place (Omaha, Nebraska, US)" in out
    assert "(lawyers and judges)" in out
    assert "  not counted   2 further words of the text (two, children)\n" in out
    [row] = json.loads(printed(capsys, "meter", TEXT, "--json", "--show-text"))["people"]
    assert (row["uncounted"], row["uncounted_words"]) == (2, ["two", "children"])


def test_json_holds_figures_and_classes(capsys: pytest.CaptureFixture[str]) -> None:
    [row] = json.loads(printed(capsys, "meter", f"{TEXT}, with asthma", "--json"))["people"]
    assert (row["estimate"], row["interval95"]) == (pytest.approx(10), pytest.approx([2, 50]))
    assert [one["class"] for one in row["used"]] == ["age", "sex", "occupation", "place"]
    assert (row["upper_bound"], row["not_counted"]) == (True, ["condition"])
    assert (row["source"], row["year"], row["place_is_independent"]) == ("made people", "1994", True)
    assert (row["uncounted"], "uncounted_words" in row) == (3, False)
    assert "Omaha" not in json.dumps(row)


def test_several_texts_and_a_text_about_nobody(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": "a", "answer": TEXT}, {"id": "b", "answer": "Asthma is common."}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    out = printed(capsys, "meter", "--input", str(tmp_path / "t.jsonl"))
    assert "a: at most about 10 people fit" in out
    assert "b: nothing is said of anybody in particular" in out


def test_a_text_in_another_language_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    german = ("Der Mann ist 93 Jahre alt und wohnt mit seiner Frau in Omaha. Er war früher ein Schlosser und hat nun "
              "keine Arbeit, weil er nicht mehr gut sehen kann und die Hände ihm oft weh tun.")
    assert "seems not to be English (de)" in printed(capsys, "meter", german)
    assert json.loads(printed(capsys, "meter", german, "--json"))["language"] == "de"
    assert "English" not in printed(capsys, "meter", TEXT)


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["meter", TEXT, "--input", str(tmp_path / "t.jsonl")]) == 2
    assert run(["meter", TEXT, "--domain", "nowhere"]) == 2
    for line in capsys.readouterr().err.strip().split("\n"):
        assert line.startswith("discreet: ")
        assert "litigator" not in line


def test_guard_check_says_people(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = f"This is {TEXT}"
    out = printed(capsys, "guard", "check", text, "--domain", "medical", "--people", "--report", str(page))
    assert "    people: at most about 10 people fit (2 to 50); not counted: 2 further words\n" in out
    html = page.read_text(encoding="utf-8")
    assert html.count("at most about 10 people fit (2 to 50)") == 1
    assert "not counted: family; 2 further words not counted; 95% interval; made people, 1994" in html
    assert "Omaha" not in out + html
    row = json.loads(printed(capsys, "guard", "check", text, "--domain", "medical", "--people", "--json", "--quiet"))
    assert row["people"]["interval80"] == pytest.approx([5, 20])
    assert (row["people"]["uncounted"], "uncounted_words" in row["people"]) == (2, False)
