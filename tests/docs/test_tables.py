"""Tables and formats of the pages are those of the code."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from discreet.audit.defences.figures import Figure, Frontier, Point
from discreet.audit.labels.published_table import COLUMNS
from discreet.audit.membership.attack import attacks
from discreet.audit.membership.rows import RowSpec
from discreet.audit.scores.load import load_scores
from discreet.audit.train.base import recipes
from discreet.core.errors import InputError
from discreet.core.records import CAUSES, Estimate
from discreet.guard import Policy, StressResult
from discreet.inputs.splits import PAPER_SIZES
from discreet.inputs.texts import read_texts
from discreet.stats.mechanisms.base import output_mechanisms
from discreet.stats.mechanisms.labels.base import label_mechanisms
from discreet_papers import blia, mia
from discreet_papers.blia.reproduction import SETTINGS as BLIA_SETTINGS
from discreet_papers.mia import hf_datasets as hf
from discreet_papers.mia.results import DEFINITIONS
from discreet_papers.mia.settings import SETTINGS as MIA_SETTINGS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = {path.stem: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
MIA, BLIA = PAGE["reproduce"].split("\n## The label inference paper\n")


def rows(page: str, header: str) -> list[list[str]]:
    """The cells of the table that begins with a header."""
    table = page.split(header)[1].split("\n\n", maxsplit=1)[0]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in table.splitlines()[2:]]


def named(page: str, header: str, pattern: str = r"`([\w.]+)`") -> set[str]:
    return {name for row in rows(page, header) for name in re.findall(pattern, row[0])}


def test_attacks_with_their_kinds_and_scales() -> None:
    kinds = ("paired", "neutral", "population")
    stated = {name.strip("`"): (scales.split(", "), {kind for kind in kinds if kind in references})
              for name, _, scales, references, _ in rows(PAGE["attacks"], "| attack |")}
    assert stated == {
        name: (list(attack.scales), {kind for kind in attack.kinds if kind}) for name, attack in attacks.items()}


@pytest.mark.parametrize(("page", "header", "registry"), [
    ("defend", "| name |", output_mechanisms), ("labels_mechanisms", "| name |", label_mechanisms),
])
def test_registries(page: str, header: str, registry: Any) -> None:
    assert named(PAGE[page], header) == set(registry)


def test_figures_of_the_frontier() -> None:
    none = Estimate.unresolved("no")
    spec = RowSpec("loss", "p", None)
    point = Point("none", None, None, "none", 1, "same", None, None,
                  {"accuracy": none, "missed_positives": none}, (Figure(spec, 0, 0, none, none, none),))
    said = Frontier("A", None, 1, 1, 0.1, None, spec, (point,), ()).to_json()["points"][0]
    assert len(found := named(PAGE["defend"], "| figure |")) == 9
    assert found <= {*said, *said["utility"], *said["attacks"][0]}


def test_figures_of_the_stress_test() -> None:
    known = {one.name for one in fields(StressResult)} | {
        "auroc", "fpr95", "fpr90", "fpr_at_tpr", "fpr_at_threshold", "within.auroc", "borderline.auroc"}
    assert len(found := named(PAGE["stress_test"], "| figure |")) == 9
    assert found <= known


def test_columns_of_a_published_table() -> None:
    row = PAGE["labels_mechanisms"].split("A row is a figure:")[1].split("It exits")[0]
    assert set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", row)))) == {*COLUMNS, "prediction"}


def test_items_scales_and_definitions_of_the_studies() -> None:
    items = [found for row in rows(MIA, "| item |")
             for found in re.findall(r"`--(table|figure|section) ([\w.]+)`", row[0])]
    beyond = ("size", "mismatched", "users")
    assert {name if name in beyond else f"{kind} {name}" for kind, name in items} == set(mia.ORDER)
    assert [row[0].split("`")[1] for row in rows(MIA, "| `--scale` |")] == list(MIA_SETTINGS)
    assert [row[0].strip("`") for row in rows(MIA, "| in the tables |")] == list(DEFINITIONS["reference"])
    for name in (hf.BEAVERTAILS, hf.XGUARD, hf.WILDCHAT, hf.ESCONV, hf.DEPRESSION):
        assert f"`{name}`" in MIA
    asked = [found for row in rows(BLIA, "| asked for |")
             for found in re.findall(r"`--(table|figure|section) (\w+)`", row[0])[:1]]
    assert [f"{kind} {name}" for kind, name in asked] == list(blia.ORDER)
    assert [row[0].strip("`") for row in rows(BLIA, "| scale |")] == list(BLIA_SETTINGS)


def test_recipes_and_sizes() -> None:
    page = PAGE["training"]
    sides = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.M))
    assert {side: int(size) for side, size in sides.items()} == dict(PAPER_SIZES)
    told = {name: rest for name, rest in re.findall(r"^\| `([\w-]+)` \|(.*)", page, re.M) if name in set(recipes)}
    private = {"private-tfidf-mlp", "private-head", "private-transformer", "private-mlp", "private-cnn"}
    assert set(told) == {"tfidf-mlp", "tfidf-linear", "head", "transformer", *private}
    shared = page.split("| `epsilon`, `noise` |")[1].split("\n\n")[0]
    told |= {name: f"`epsilon` `noise` {shared} {told[name]}" for name in private}
    told["transformer"] = page.split("| option of `transformer` |")[1].split("\n\n")[0]
    for name, text in told.items():
        assert {one.name for one in fields(cast(Any, recipes[name]))} <= set(re.findall(r"`(\w+)`", text)), name


def test_results_are_listed_and_reached() -> None:
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \|", (DOCS / "results" / "README.md").read_text("utf-8"), re.M)
    assert all(name == target for name, target in listed)
    assert sorted(name for name, _ in listed) == sorted(
        page.stem for page in DOCS.glob("results/*.md") if page.name != "README.md")


def test_the_import_contract() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [block] = re.findall(r"```text\n(cli\n.*?)```", PAGE["architecture"], re.S)
    assert block.splitlines() == settings["tool"]["importlinter"]["contracts"][0]["layers"]
    rooms = {name for name, *_ in (row for row in rows(PAGE["architecture"], "| room |"))}
    assert {room.strip("`") for room in rooms} == {
        path.parent.name for path in (ROOT / "src" / "discreet").glob("*/__init__.py")}


def test_every_cause_is_in_the_table() -> None:
    named = [name for cell, *_ in rows(PAGE["guard"], "| `cause.cause` |") for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(CAUSES)


def test_the_policy_is_one(tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE["guard"], re.S)
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    policy = Policy.load(tmp_path / "mine.yaml", "treating")
    assert (policy.subjects, policy.cluster) == ((), yaml.safe_load(text)["audiences"]["treating"]["cluster"])


def test_score_tables_are_read(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    [text] = re.findall(r"```text\n(model,.*?)```", PAGE["membership"], re.S)
    head, *given = text.splitlines()
    others = [row.replace("c-0017", "c-0018").replace("true", "false") for row in given]
    file.write_text("\n".join([head, *given, *others, ""]), encoding="utf-8")
    assert [model.role for model in load_scores(file).models] == ["target", "control", "reference"]
    [text] = re.findall(r"```text\n(model,.*?)```", PAGE["labels"], re.S)
    file.write_text(text, encoding="utf-8")
    table = load_scores(file)
    assert (len(table.examples), table.n_classes, table.models[0].epsilon) == (5, 2, 2.0)
    file.write_text(text.replace("canary,0,1", "canary,0,0"), encoding="utf-8")
    with pytest.raises(InputError, match="class 1 has no canary"):
        load_scores(file)


def test_rows_of_texts_are_read(tmp_path: Path) -> None:
    [text] = re.findall(r"```json\n(.*?)```", PAGE["training"], re.S)
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    first, second = read_texts(tmp_path / "rows.jsonl")
    assert (first.group, first.structure, second.structure) == ("u-301", None, "multi-turn")
