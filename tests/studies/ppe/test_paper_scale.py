"""`--scale paper` from start to end: random models for the paper's encoders, campaigns of a scripted writer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from numpy.random import Generator as Rng
from tests.tiny_models import paper_folders
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.domains import Domain
from discreet.studies.ppe.reproduction import ORDER
from discreet.synth.campaign import run_campaign
from discreet.synth.grammar import Grammar
from discreet.synth.plan import make_plan
from discreet.synth.records import Draft, Spec, generators

SIZES = {"safe": 70, "unsafe": 66, "domain_only": 8, "borderline": 12, "unsafe_heldout": 20, "borderline_eval": 20,
         "matched_unsafe": 20, "matched_borderline": 20}


class Scripted(Grammar):
    """A model that answers as the grammar does, and breaks off every fifth time."""

    version = "scripted"
    asked = 0

    def generate(self, spec: Spec, domain: Domain, rng: Rng) -> Draft:
        self.asked += 1
        draft = super().generate(spec, domain, rng)
        return draft if self.asked % 5 else Draft(draft.question, "", (), draft.forbidden)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("paper")
    generators.register("scripted")(Scripted)
    for domain in ("medical", "finance", "law"):
        run_campaign(make_plan(domain, SIZES, 5, generator="scripted"), home / "campaigns" / domain)
    models = paper_folders(home / "models", hidden=16)
    ran = CliRunner().invoke(app, [
        "reproduce", "ppe", "--scale", "paper", "--texts", "56", "--data", str(home / "campaigns"), "--encoders",
        f"paper={models}", "--out", str(home / "run"), "--quiet"], env={"XDG_CACHE_HOME": str(home / "cache")})
    assert ran.exit_code == 0, ran.output
    return home / "run"


def test_every_table_is_printed_in_every_domain(run_folder: Path) -> None:
    record = json.loads((run_folder / "result.json").read_text(encoding="utf-8"))
    assert (record["scale"], record["analogue"]) == ("paper", False)
    assert list(record["items"]) == list(ORDER)
    for item in record["items"].values():
        assert {row["domain"] for row in item["rows"]} == {"medical", "finance", "law"}
    said = (run_folder / "tables.md").read_text(encoding="utf-8")
    assert said.count("### ") == len(ORDER)
    assert "Self-consistency" not in said


def test_three_encoders_are_side_by_side(run_folder: Path) -> None:
    record = json.loads((run_folder / "result.json").read_text(encoding="utf-8"))
    assert {row["dim"] for row in record["items"]["section detectors"]["rows"]} == {48}


def test_yields_are_those_of_the_campaigns(run_folder: Path) -> None:
    record = json.loads((run_folder / "result.json").read_text(encoding="utf-8"))
    rows = [row for row in record["items"]["table III"]["rows"] if row.get("yielded")]
    assert {"mode NONE", "mode INDIRECT_QI", "partition unsafe"} <= {row["set"] for row in rows}
    assert all(0.5 < row["yielded"]["value"] < 1.0 for row in rows if row["set"].startswith("partition"))
