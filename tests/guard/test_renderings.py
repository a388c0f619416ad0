"""The guard says the same of an answer in every format that models write; the benchmark holds answers and formats."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from discreet.guard.guard import Guard

PATH = Path(__file__).parents[2] / "benchmarks" / "reader" / "renderings.py"
spec = importlib.util.spec_from_file_location("renderings", PATH)
assert spec is not None
assert spec.loader is not None
suite = sys.modules["renderings"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(suite)

CLUSTERS, NEGATIVES = list(suite.clusters()), list(suite.negatives())


def test_every_answer_is_decided_in_plain_text() -> None:
    assert {suite.plain_verdict(c)[0] for c in CLUSTERS} <= {"flag", "abstain"}
    assert {suite.plain_verdict(c) for c in NEGATIVES} == {("safe", None)}
    assert len(suite.RENDERINGS) >= 30


@pytest.mark.parametrize("name", list(suite.RENDERINGS))
def test_a_rendering_lets_no_cluster_pass_and_holds_nothing_else(name: str) -> None:
    written = [c for c in CLUSTERS[::2] if c.record or name not in suite.RECORDS]
    assert [c.plain for c in written if suite.verdict(suite.RENDERINGS[name](c), c.domain)[0] == "safe"] == []
    assert [c.plain for c in suite.differing(name, NEGATIVES)] == []


@pytest.mark.parametrize("text", [
    "| Patient | Age | City |\n|---|---|---|\n| P1 | 52 | |\n| P2 | | Omaha |",
    "| Occupation | State | Median wage |\n|---|---|---|\n| Nurse | Texas | $77,000 |\n| Welder | Ohio | $50,000 |",
    "| School | City | Tuition |\n|---|---|---|\n| Drake University | Pella | $9 |\n| Rice University | Waco | $8 |"])
def test_cells_of_several_rows_are_no_one_person(text: str) -> None:
    assert Guard("medical").check(text).action == "safe"


def test_records_of_several_people_are_no_cluster() -> None:
    assert Guard("medical").check('[{"age": 52}, {"city": "Omaha"}]').action in ("safe", "abstain")


def test_tags_make_nobody_the_speaker() -> None:
    judged = Guard("medical").judge("<i><i>The patient is a 52-year-old litigator from Omaha.</i></i>")
    assert {e.subject for e in judged.verdict.evidence} == {"third"}


def test_evidence_points_into_the_original() -> None:
    text = "The patient is a 52-year-old[1] liti<b>ga</b>tor[2] from **Oma**ha[3]."
    found = {e.type: text[e.start : e.end] for e in Guard("medical").check(text).evidence}
    assert found == {"age": "52-year-old", "occupation": "liti<b>ga</b>tor", "place": "Oma**ha"}
