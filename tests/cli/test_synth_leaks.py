from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli, lines


def test_cases_are_written_and_checked(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "leaks.jsonl"
    ended = cli("synth", "leaks", "--domain", "law", "--n", 3, "--seed", 5, "--out", out)
    assert ended.code == 0
    assert "law: 18 records of 9 cases" in ended.out
    assert "fabrication        3" in ended.out
    rows = lines(out)
    assert [row["kind"] for row in rows] == ["unsafe", "borderline"] * 9
    assert {row["leak"] for row in rows} == {"retention", "synthesis", "fabrication"}
    assert all(row["sources"] and row["answer"] not in ended.out for row in rows)
    record = cli("synth", "leaks", "--domain", "law", "--n", 3, "--seed", 5, "--out", out, "--json").record
    assert (record["records"], record["cases"]["synthesis"]) == (18, 3)
    assert lines(out) == rows
    # Other commands read what it wrote; slots say where the grammar told what.
    assert all(row["slots"] for row in rows[::2])
    checked = cli("synth", "validate", "--domain", "law", "--input", out, "--json", "--report-only").record
    assert not any(reason.startswith("missing") for reason in checked["reasons"]["unsafe"])
    verdicts = tmp_path / "verdicts.jsonl"
    assert cli("guard", "check", "--domain", "law", "--input", out, "--output", verdicts).code == 0
    assert len(lines(verdicts)) == 18


def test_mistakes(cli: Cli, tmp_path: Path) -> None:
    ended = cli("synth", "leaks", "--domain", "retail", "--out", tmp_path / "x.jsonl")
    assert ended.code == 2
    assert "unknown domain 'retail'" in ended.err
