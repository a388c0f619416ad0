from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_socket import socket_allow_hosts
from tests.cli.conftest import MARK, Cli, Refused, jsonl, lines
from tests.inputs.endpoints.scripted import Scripted, serving

from discreet.synth import campaign
from discreet.synth.plan import equal_sizes, make_plan


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("synth") / "law"
    campaign.run_campaign(make_plan("law", equal_sizes(6), 42), out)
    return out


def test_plan_prints_and_writes(cli: Cli, tmp_path: Path) -> None:
    ended = cli("synth", "plan", "--domain", "law", "--n", 30, "--seed", 7, "--out", tmp_path / "plan.json")
    assert ended.code == 0
    assert "240 records by 'grammar', seed 7" in ended.out
    assert "borderline_eval" in ended.out
    plan = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert plan["seed"] == 7
    assert plan["marginals"]["unsafe"]["framing"]["REFERRAL"] == 5
    (tmp_path / "c.yaml").write_text("domain: law\nn: 30\nseed: 7\n", encoding="utf-8")
    assert cli("synth", "plan", "--config", tmp_path / "c.yaml", "--json").record == plan


def test_run_from_a_plan_equals_run_from_its_options(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("synth", "plan", "--domain", "law", "--n", 6, "--out", tmp_path / "plan.json", "--quiet").code == 0
    ended = cli("synth", "run", "--plan", tmp_path / "plan.json", "--out", tmp_path / "a")
    assert ended.code == 0
    assert "self-consistency" in ended.out
    assert "safe" in ended.out
    options = cli("synth", "run", "--domain", "law", "--n", 6, "--out", tmp_path / "b", "--json", "--quiet")
    manifest = json.loads(options.out)
    assert manifest["synthetic"] is True
    assert manifest["yields"]["profile"]["L1"]["value"] > 0
    for part in manifest["partitions"].values():
        written = {(tmp_path / run / part["file"]).read_bytes() for run in "ab"} | {(small / part["file"]).read_bytes()}
        assert len(written) == 1
    again = cli("synth", "run", "--domain", "law", "--n", 6, "--out", tmp_path / "b")
    assert again.code == 0
    assert "self-consistency" in again.out


def test_validate_says_what_fails_and_shows_no_text(cli: Cli, small: Path, tmp_path: Path) -> None:
    passed = cli("synth", "validate", "--input", small / "unsafe.jsonl", "--domain", "law")
    assert passed.code == 0
    assert "6 records (6 unsafe): 0 fail" in passed.out
    rows = lines(small / "borderline.jsonl")
    rows[0]["answer"] += " Our client is 52 years old and lives in Toledo."
    rows[0]["generator"] = "a-model"
    rows[1]["answer"] += " Write to j.ortiz@example.org about it."
    rows[2]["answer"] = "Too short."
    path = jsonl(tmp_path / "changed.jsonl", rows)
    ended = cli("synth", "validate", "--input", path, "--domain", "law", "--output", tmp_path / "failed.jsonl")
    assert ended.code == 1
    for reason in ("cluster", "direct:email", "length"):
        assert reason in ended.out
    assert "3 fail" in ended.out
    assert "Toledo" not in ended.out + ended.err + (tmp_path / "failed.jsonl").read_text(encoding="utf-8")
    assert {r["id"]: r["reasons"] for r in lines(tmp_path / "failed.jsonl")} == {
        rows[0]["id"]: ["cluster"], rows[1]["id"]: ["direct:email"], rows[2]["id"]: ["length"]}
    as_json = cli("synth", "validate", "--input", path, "--domain", "law", "--json", "--report-only", "--quiet")
    assert as_json.code == 0
    result = json.loads(as_json.out)
    assert (result["n"], result["failed"]) == (6, 3)
    assert result["reasons"] == {"borderline": {"cluster": 1, "direct:email": 1, "length": 1}}


def test_words_can_be_set(cli: Cli, tmp_path: Path) -> None:
    row = {"id": "1", "kind": "safe", "domain": "law", "answer": "A short answer of mine."}
    path = jsonl(tmp_path / "own.jsonl", [row])
    assert cli("synth", "validate", "--input", path, "--domain", "law").code == 1
    assert cli("synth", "validate", "--input", path, "--domain", "law", "--min-words", 3).code == 0


@pytest.mark.parametrize(("row", "said"), [
    ({"kind": "leak"}, "line 1: 'kind'"), ({"qi": "AGE"}, "line 1: 'qi'"), ({"domain": None}, "line 1: 'domain'"),
])
def test_a_record_that_cannot_be_read(refused: Refused, tmp_path: Path, row: dict[str, Any], said: str) -> None:
    good = {"id": "1", "kind": "safe", "domain": "law", "answer": MARK}
    refused(said, "synth", "validate", "--domain", "law", "--input", jsonl(tmp_path / "bad.jsonl", [{**good, **row}]))


def test_ids_stand_once_and_a_folder_is_of_one_plan(refused: Refused, small: Path, tmp_path: Path) -> None:
    path = jsonl(tmp_path / "twice.jsonl", lines(small / "safe.jsonl") * 2)
    refused("line 7", "synth", "validate", "--input", path, "--domain", "law")
    refused("another plan", "synth", "run", "--domain", "law", "--n", 7, "--out", small)


@pytest.mark.parametrize(("argv", "said"), [
    (("plan",), "expected --domain"),
    (("plan", "--domain", "retail"), "unknown domain"),
    (("plan", "--domain", "law", "--n", "5", "--scale", "1"), "--n and --scale"),
    (("plan", "--domain", "law", "--scale", "0"), "scale of 0"),
    (("plan", "--domain", "law", "--n", "0"), "--n"), (("plan", "--domain", "law", "--roles", "x"), "--roles is 'x'"),
    (("run", "--domain", "law", "--n", "5", "--generator", "qwen", "--out", "x"), "'qwen'"),
    (("run", "--plan", "p.json", "--n", "5", "--out", "x"), "--plan and --n"),
    (("run", "--plan", "absent.json", "--out", "x"), "absent.json"),
    (("run", "--domain", "law"), "--out"),
    (("validate", "--input", "absent.jsonl", "--domain", "law"), "absent.jsonl"),
    (("validate", "--input", "a.jsonl", "--domain", "retail"), "unknown domain"),
])
def test_mistakes_get_one_line(refused: Refused, argv: tuple[str, ...], said: str, tmp_path: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(said, "synth", *argv)
    assert not (tmp_path / "x").exists()


def test_missing_records_end_with_one(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "Validator", lambda domain: lambda record: ("no",))
    ended = cli("synth", "run", "--domain", "law", "--n", 1, "--out", tmp_path / "x", "--quiet")
    assert ended.code == 1


def test_the_commands_of_the_docs_run(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "synth.md").read_text(encoding="utf-8")
    commands = [line.split() for line in page.split("```")[1].splitlines() if line.startswith("discreet synth")]
    assert [c[2] for c in commands] == ["plan", "run", "validate"]
    monkeypatch.chdir(tmp_path)
    for command in commands:
        ended = cli(*["4" if word == "2000" else word for word in command[1:]])
        assert ended.code == 0, ended.err


@pytest.fixture
def models(tmp_path: Path, socket_enabled: None) -> Iterator[Path]:
    """An endpoints file of one model that writes what passes for borderline text: nothing about anybody."""
    socket_allow_hosts(["127.0.0.1"])
    facts = "Most people who take this medicine should see a doctor once a year and keep a note of how they feel."

    def say(body: dict[str, Any]) -> str:
        draw = random.Random(json.dumps(body))
        return " ".join(" ".join(draw.sample(facts.split(), 20)) + "." for _ in range(4))

    with serving(Scripted(say)) as url:
        file = tmp_path / "models.yaml"
        file.write_text(yaml.safe_dump({"budget": {"cost": 1.0}, "generators": [
            {"name": "eval", "url": url, "model": "m", "roles": ["borderline_eval"], "price": {"completion": 2.0}}]}))
        yield file


def test_a_campaign_of_models_is_planned_run_and_told(cli: Cli, models: Path, tmp_path: Path) -> None:
    words = ("--domain", "medical", "--n", 6, "--endpoints", models)
    assert cli("synth", "plan", *words, "--json").record["costs"]["total"]["records"] == 6
    assert "in all" in cli("synth", "plan", *words).out
    assert cli("synth", "run", *words, "--out", tmp_path / "out", "--quiet").code == 0
    assert "6 of 6 records by models" in cli("synth", "status", tmp_path / "out").out
    record = cli("synth", "status", tmp_path / "out", "--json").record
    assert (record["finished"], record["records"]) == (True, 6)
    assert record["spent"]["cost"] > 0
    assert len(lines(tmp_path / "out" / "borderline_eval.jsonl")) == 6


def test_a_budget_that_ends_a_campaign_says_so(cli: Cli, models: Path, tmp_path: Path) -> None:
    models.write_text(models.read_text().replace("cost: 1.0", "cost: 0.002"))
    ended = cli("synth", "run", "--domain", "medical", "--n", 40, "--endpoints", models, "--out", tmp_path / "out")
    assert ended.code == 1
    assert "stopped: the campaign: its next request might break the budget; raise it" in ended.out
    assert "Then the same command goes on." in ended.out


def test_options_that_would_do_nothing(refused: Refused, tmp_path: Path, models: Path) -> None:
    plan, of_models, out = tmp_path / "p.json", tmp_path / "m.json", tmp_path / "out"
    plan.write_text(json.dumps(make_plan("law", {"safe": 6}, 0).to_json()))
    refused("--seeds was given without --endpoints", "synth", "plan", "--domain", "law", "--seeds", plan)
    refused("--seeds was given without --endpoints", "synth", "run", "--plan", plan, "--seeds", plan, "--out", out)
    refused("drop --roles", "synth", "run", "--plan", plan, "--roles", "paper", "--out", out)
    refused("--roles is 'strict,paper'; expected one of", "synth", "plan", "--domain", "law", "--roles", "strict,paper")
    refused("'nobody' is none of the generators", "synth", "plan", "--domain", "law", "--generator", "nobody")
    refused("--out is the input", "synth", "plan", "--domain", "law", "--endpoints", models, "--out", models)
    of_models.write_text(models.read_text().replace("generators:", "defaults: 5\ngenerators:"))
    refused("defaults are no mapping", "synth", "plan", "--domain", "law", "--endpoints", of_models)


def test_records_are_not_written_over_by_what_is_wrong_with_them(refused: Refused, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "kind": "safe", "domain": "law", "answer": "No."}\n')
    before = rows.read_bytes()
    refused("--output is the input", "synth", "validate", "--domain", "law", "--input", rows, "--output", rows)
    assert rows.read_bytes() == before


def test_plans_of_models_need_their_file(refused: Refused, tmp_path: Path, models: Path) -> None:
    refused("drop --generator", "synth", "run", "--domain", "law", "--out", tmp_path / "a", "--endpoints", models,
            "--generator", "grammar")
    refused("expected the folder of synth run --endpoints", "synth", "status", tmp_path)


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


def test_mistakes_of_leaks(cli: Cli, tmp_path: Path) -> None:
    ended = cli("synth", "leaks", "--domain", "retail", "--out", tmp_path / "x.jsonl")
    assert ended.code == 2
    assert "unknown domain 'retail'" in ended.err
