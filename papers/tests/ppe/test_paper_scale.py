"""`--scale paper` from start to end, by its commands: campaigns that models on the loopback write, with a ledger;
encoders of a made-up hub; a judge that is asked; every table."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pytest_socket import enable_socket, socket_allow_hosts
from tests.heavy import need
from tests.inputs.encode.hub import hub
from tests.inputs.endpoints.scripted import Scripted, serving
from tests.inputs.endpoints.writing import Writer
from tests.tiny_models import paper_folders
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.inputs.encode.presets import PAPER
from discreet.synth.ledger import LEDGER
from discreet.synth.plan import make_plan
from discreet.synth.records import generators
from discreet_papers.ppe.reproduction import ORDER

WHO = {"qwen": ["train"], "mistral": ["train", "borderline"], "yi": ["heldout"], "phi": ["borderline_eval"],
       "gemma": ["matched"]}
PROFILE = {"qwen": "L1", "mistral": "L2", "yi": "L4", "phi": "L6", "gemma": "L7"}
FAULTS = {"length": 0.03, "content_filter": 0.03, "malformed": 0.03}
CLUSTER = ("The patient is a 58-year-old widowed crane operator from Toledo who lives with two sons, and her knee has "
           "hurt since the spring. She was given a brace and told to rest.")


def passages(domain: str, path: Path) -> Path:
    """Safe texts of the grammar as a public corpus would have them, and some about somebody."""
    plan, rng = make_plan(domain, {"safe": 280}, 3), np.random.default_rng(3)
    drafts = [generators["grammar"].generate(spec, plan.domain, rng) for spec in plan.specs("safe")]
    with path.open("w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(["question", "text"])
        rows.writerows((draft.question, draft.answer) for draft in drafts)
        rows.writerows(("What now?", f"{CLUSTER} That was in week {week}.") for week in range(12))
    return path


@dataclass(frozen=True)
class Ran:
    """What the commands left; `judged`: requests of the model before the study was run again."""

    domains: tuple[str, ...]
    home: Path
    record: dict[str, Any]
    model: Scripted
    fetched: list[str]
    judged: int


@pytest.fixture(scope="module", params=[
    ("law",), pytest.param(("medical", "finance", "law"), marks=pytest.mark.services)], ids="+".join)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    need("torch")
    home, domains = tmp_path_factory.mktemp("paper"), request.param
    enable_socket()
    socket_allow_hosts(["127.0.0.1"])
    writer = Scripted(Writer(PROFILE), faults=FAULTS, busy=0.05)
    model = Scripted(Writer({}), faults={"length": 0.03, "content_filter": 0.03, "refused": 0.03}, busy=0.05)
    folders = paper_folders(home / "models", hidden=16)
    names = {name: folders / short for (name, _), short in zip(PAPER, ("qwen3", "bge-m3", "e5"), strict=True)}
    with (serving(writer) as url, serving(model) as judge, hub(names, home / "hub") as fetched,
          pytest.MonkeyPatch.context() as patch):
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        (home / "models.yaml").write_text(yaml.safe_dump({
            "defaults": {"price": {"prompt": 1.0, "completion": 2.0}, "limits": {"concurrency": 8}},
            "generators": [{"name": name, "url": url, "model": name, "roles": roles} for name, roles in WHO.items()]}))
        for domain in domains:
            asked = ["synth", "run", "--domain", domain, "--scale", "0.004", "--roles", "paper", "--endpoints",
                     str(home / "models.yaml"), "--seeds", str(passages(domain, home / f"{domain}.csv"))]
            command([*asked, "--out", str(home / "campaigns" / domain)])
        asked = ["reproduce", "ppe", "--scale", "paper", "--texts", "120", "--data", str(home / "campaigns"),
                 "--encoders", "paper", "--corpora", ",".join(domains), "--judge", judge, "--model", "judge", "--out",
                 str(home / "run")]
        command(asked)
        judged = model.asked.total()
        command(asked)
        record = json.loads((home / "run" / "result.json").read_text(encoding="utf-8"))
        yield Ran(domains, home, record, model, fetched, judged)


def command(asked: list[str]) -> None:
    found = CliRunner().invoke(app, [*asked, "--quiet"])
    assert found.exit_code == 0, found.output


def rows(ran: Ran, name: str, **asked: Any) -> list[dict[str, Any]]:
    return [row for row in ran.record["items"][name]["rows"] if all(row.get(key) == value for key, value in
                                                                    asked.items())]


def test_every_table_is_printed_in_every_domain(ran: Ran) -> None:
    # Scripted models wrote, and fewer texts than the paper has.
    assert (ran.record["scale"], ran.record["analogue"]) == ("paper", True)
    assert list(ran.record["items"]) == list(ORDER)
    for item in ran.record["items"].values():
        assert {row["domain"] for row in item["rows"]} == set(ran.domains)
    said = (ran.home / "run" / "tables.md").read_text(encoding="utf-8")
    assert said.count("### ") == len(ORDER)
    assert "Self-consistency" not in said
    assert "not run" not in said


def test_writers_are_next_to_the_paper_s_models_of_their_family(ran: Ran) -> None:
    for domain in ran.domains:
        found = {row["profile"]: row["stands_for"] for row in rows(ran, "table XI", domain=domain)}
        assert found == {"qwen": "Qwen2.5-7B-Instruct", "mistral": "Mistral-7B-Instruct-v0.3", "yi": "Yi-1.5-9B-Chat",
                         "spread": None, "held out less mean": None}


def test_encoders_come_from_the_hub_by_the_paper_s_names(ran: Ran) -> None:
    assert {name.split("/")[0] for name in ran.fetched} == {name.split("/")[1] for name, _ in PAPER}
    assert {row["dim"] for row in rows(ran, "section detectors") if row["detector"] != "LLM judge"} == {48}


def test_yields_are_those_of_models_and_modes(ran: Ran) -> None:
    for domain in ran.domains:
        said = {row["set"]: row for row in rows(ran, "table III", domain=domain) if row.get("yielded")}
        assert {"mode NONE", "mode INDIRECT_QI", "profile qwen", "profile yi", "profile passages"} <= set(said)
        assert 0.0 < said["mode INDIRECT_QI"]["yielded"]["value"] < said["mode NONE"]["yielded"]["value"] <= 1.0


def test_the_safe_side_is_passages_that_tell_of_nobody(ran: Ran) -> None:
    for domain in ran.domains:
        folder = ran.home / "campaigns" / domain
        safe = [json.loads(line) for line in (folder / "safe.jsonl").read_text().splitlines()]
        manifest = json.loads((folder / "manifest.json").read_text())
        assert len(safe) == manifest["partitions"]["safe"]["n"] > 130
        assert not any(row["synthetic"] or "crane operator" in row["answer"] for row in safe)
        assert manifest["rejected"]["cluster"] >= 1
        with sqlite3.connect(folder / LEDGER) as ledger:
            assert ledger.execute("SELECT count(*) FROM requests WHERE role = 'safe'").fetchone() == (0,)


def test_the_judge_has_figures_and_is_asked_once(ran: Ran) -> None:
    for domain in ran.domains:
        (row,) = rows(ran, "table IX", domain=domain, detector="LLM judge")
        assert (row["run"], row["auroc"]["value"] is None) == ("run", False)
        own, matched = rows(ran, "section baselines", domain=domain, detector="LLM judge")
        assert 0 < len(own["points"]) <= 11
        assert own["fpr95"]["value"] is None or own["fpr95"]["value"] < 1.0
        assert matched["review"] == "matched"
    assert ran.model.asked.total() == ran.judged


def test_without_a_matched_pair_its_figures_are_undefined(ran: Ran, tmp_path: Path) -> None:
    for domain in ran.domains:
        (tmp_path / "data" / domain).mkdir(parents=True)
        for one in (ran.home / "campaigns" / domain).iterdir():
            if one.is_file() and not one.name.startswith("matched"):
                (tmp_path / "data" / domain / one.name).write_bytes(one.read_bytes())
    command(["reproduce", "ppe", "--scale", "paper", "--texts", "120", "--data", str(tmp_path / "data"), "--encoders",
             "hashed:dim=32", "--table", "X", "--out", str(tmp_path / "run"), "--corpora", ",".join(ran.domains)])
    found = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))["items"]["table X"]["rows"]
    assert {row["pairing"]: row["auroc"]["value"] is None for row in found} == {
        "within": False, "cross_generator": False, "borderline": False, "matched": True}
