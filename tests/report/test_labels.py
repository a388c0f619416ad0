from __future__ import annotations

import copy
import csv
import io
import json
from dataclasses import replace
from math import inf
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.audit.labels.tables import changed
from tests.report.reading import words_of

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.reference import ReferenceCalibrated
from discreet.audit.labels.audit import audit_labels
from discreet.audit.scores.table import CONTROL, TRAIN, ScoreTable, stacked
from discreet.report import summarise, to_html, to_text
from discreet.report.label_charts import published, rows_of, strongest
from discreet.report.labels import controls, named
from discreet.report.summary import Table
from discreet.report.training import label_training

Record = dict[str, Any]

ATTACKS = (LiaThreshold(), LiaThreshold("mean"), DeltaMargin("original"),
           DeltaMargin("canary"), DeltaMargin("canary", beta=3.0),
           ReferenceCalibrated())
FAINT: dict[str, Any] = {"canaries": 600, "held_out": 600, "memory": 0.15, "signal": 1.0, "spread": 0.5,
                         "planted": (4, 16, 64)}


def saved(table: ScoreTable, **options: Any) -> Record:
    found = audit_labels(table, **{"tune": False, "attacks": ATTACKS, **options})
    record = {"kind": "audit labels", "schema": 1, **found.to_json()}
    # What is not in the file cannot be on the page.
    return dict(json.loads(json.dumps(record)))


def world(seed: int = 1, **given: Any) -> ScoreTable:
    return simulated_labels(LabelWorld(**given), np.random.default_rng(seed))


def several(epsilons: tuple[float, ...], **given: Any) -> ScoreTable:
    parts = [world(place, epsilon=epsilon, **given) for place, epsilon in enumerate(epsilons)]
    models = tuple(replace(part.models[0], name=f"model-{place}", seed=str(place)) for place, part in enumerate(parts))
    # The audit of a page is what is looked at: that the parts have original labels of their own does not matter.
    return stacked([replace(part, models=(model,), examples=parts[0].examples)
                    for part, model in zip(parts, models, strict=True)])


@pytest.fixture(scope="module")
def leaking() -> Record:
    table = several((0.5, inf, 2.0), memory=2.0, planted=(4,))
    # The two under randomised response do not keep their ε: the labels that were trained on are the canary labels.
    return saved(changed(table, trained=table.canaries.label))


@pytest.fixture(scope="module")
def passing() -> Record:
    return saved(world(**FAINT))


def figures_of(record: Record) -> dict[str, Any]:
    return {figure.name: figure for figure in summarise(record).figures}


class TestSummary:
    def test_the_verdict_comes_first_and_every_part_is_there(self, leaking: Record) -> None:
        found = summarise(leaking)
        assert found.sentence.startswith("Fail for all 3 models: outputs of each of them give away labels")
        assert [one.name for one in found.sections] == [
            "models", "believe", "published", "utility", "sure", "in-detail", "target-2", "target-3", "top", "claims"]
        assert "times in 100" in found.leads[0]
        assert set(leaking["reasons"]) <= set(found.leads)
        page = words_of(to_html(found))
        order = [page.index(part) for part in (
            "Fail for all 3 models:", "The models audited", "Held-out canaries", "What the published attack",
            "What noise costs", "How sure the model is", "Every attack", "It cannot say", "Words on this page",
            "Where this comes from")]
        assert order == sorted(order)
        part = {**leaking, "targets": [{**leaking["targets"][0], "verdict": "pass"}, *leaking["targets"][1:]]}
        assert summarise(part).sentence.startswith("Fail for 2 of 3 models: ")

    def test_oracles_and_privileged_rows_are_headed_as_such(self, leaking: Record) -> None:
        [table] = [one for one in next(part for part in summarise(leaking).sections if part.name == "in-detail").blocks
                   if isinstance(one, Table) and "attack" in one.head]
        assert [title.split(":")[0] for title, _ in table.groups] == [
            "On outputs alone", "With the original label (privileged)",
            "Shown the label that it claims to infer (oracle)"]

    def test_one_model_that_passes(self, passing: Record) -> None:
        found = summarise(passing)
        assert passing["verdict"] == "pass"
        assert found.sentence.startswith("Pass: no attack that was tried")
        assert "models" not in [one.name for one in found.sections]
        assert any("the least memory that was seen" in key.text for key in found.keys)
        # The stronger attacks were not tried, and the first thing that is read says so.
        assert any("No attack with reference models was tried" in lead for lead in found.leads[:2])

    def test_the_choice_of_the_strongest_is_told(self, passing: Record) -> None:
        n = sum(row["decides"] for row in passing["attacks"])
        assert n == passing["provenance"]["comparisons"] > 1
        assert f"This is the strongest of {n} rows, chosen by its result" in summarise(passing).leads[0]
        one = next(row for row in passing["attacks"] if row["decides"])
        others = [row for row in passing["attacks"] if not row["decides"]]
        assert "strongest of" not in summarise({**passing, "attacks": [one, *others]}).leads[0]

    def test_names_are_escaped_and_what_was_not_run_is_said(self, passing: Record) -> None:
        table = world(memory=2.0)
        record = saved(changed(table, models=(replace(table.models[0], name="<b>&x\x1b"),)))
        assert "<b>&x" not in to_html(summarise(record))
        assert "\x1b" not in to_text(summarise(record))
        assert "it needs references with draws of their own" in to_html(summarise(passing))

    def test_without_held_out_canaries_the_summary_stands(self) -> None:
        table = world()
        role = np.where(table.canaries.role == CONTROL, TRAIN, table.canaries.role).astype(np.int8)
        found = summarise(saved(changed(table, role=role)))
        assert "no control" in to_text(found)
        assert "What the controls say" in [one.title for one in found.sections]


class TestFigures:
    def test_each_is_drawn_and_has_its_data(self, leaking: Record) -> None:
        figures = figures_of(leaking)
        assert set(figures) == {"success", "confidence", "utility-leak"}
        for figure in figures.values():
            ET.fromstring(figure.standalone)
            assert len(list(csv.DictReader(io.StringIO(figure.csv)))) == len(figure.data)

    def test_success_is_over_epsilon_with_ceiling_and_control(self, leaking: Record) -> None:
        figure = figures_of(leaking)["success"]
        secret = [row for row in figure.data if row["label"] == "canary"]
        # Least noise first; the trained label has no ceiling.
        assert [row["epsilon"] for row in secret] == ["inf", 2.0, 0.5]
        assert [row["ceiling"] for row in secret] == pytest.approx([1.0, 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-0.5))])
        assert {row["ceiling"] for row in figure.data if row["label"] == "trained"} == {None}
        for row in secret:
            assert row["control_low"] is not None
            assert row["oracle"] is not None

    def test_where_labels_are_one_there_is_one_panel_and_one_model_has_no_frontier(self, passing: Record) -> None:
        figures = figures_of(passing)
        assert {row["label"] for row in figures["success"].data} == {"canary"}
        assert "that was trained on</text>" not in figures["success"].inline
        assert "utility-leak" not in figures

class TestRows:
    def test_the_published_attack_is_the_one_at_the_canary_label_with_alpha_as_beta(self, passing: Record) -> None:
        row = published(rows_of(passing, passing["targets"][0]))
        assert row is not None
        assert (row["loss_labels"], row["target"], row["alpha"], row["beta"]) == ("canary", "canary", 1.0, 1.0)
        assert named(row)["label"] == "canary label"

    def test_the_strongest_is_honest_controlled_and_nearest_to_a_finding(self, leaking: Record) -> None:
        for target in leaking["targets"]:
            rows = rows_of(leaking, target)
            best = strongest(rows)
            assert best is not None
            assert best["access"] == "outputs"
            assert best["adjusted_p"] == min(row["adjusted_p"] for row in rows if row["decides"])
        assert strongest([]) is None

    def test_the_flaw_is_told_where_controls_are_beaten_and_not_elsewhere(self, leaking: Record) -> None:
        none = {**leaking, "attacks": [row for row in leaking["attacks"] if not row["oracle"]]}
        assert "published" not in [one.name for one in summarise(none).sections]

    def test_controls_say_what_holds(self, passing: Record) -> None:
        assert [one.state for one in controls(passing)] == ["holds", "holds", "holds", "done"]
        bare = saved(world(), assignment="unknown")
        assert [one.state for one in controls(bare)] == ["holds", "lacking", "holds", "lacking"]
        blind = saved(world(planted=(4,)))
        assert [one.state for one in controls(blind)][1] == "broken"
        assert "What the controls say" in [one.title for one in summarise(blind).sections]
        void = copy.deepcopy(passing)
        void["targets"][0]["control_states"]["control"] = {"state": "broken", "codes": ["control", "void"]}
        void["targets"][0]["control_p"] = 0.004
        assert controls(void)[0].state == "broken"
        said = "Chance does not explain that (p of all attacks .004): the audit is void."
        assert controls(void)[0].text.endswith(said)


SIZES = {"rows": 100, "train": 60, "canary": 10, "planted": {"1": 2, "16": 2}, "control": 6, "heldout": 20}
TRAINED = [{"role": "target", "epochs_done": 9, "seed": 1}, {"role": "reference", "epochs_done": 9, "seed": 1}]
TRAINING: dict[str, Any] = {
    "recipe": {"name": "mlp"}, "data": "table", "classes": ["no", "yes"], "deals": {"1": SIZES}, "grouped": False,
    "same_epochs": True, "models": TRAINED}


LATER = {"role": "target", "epochs_done": 4, "seed": 2, "reached": False}
UNTIL = {"name": "mlp", "until_accuracy": 0.99}


@pytest.mark.parametrize(("changes", "place", "words"), [
    ({}, 0, ("by the recipe mlp, on a table with 2 classes (no, yes); seed 1.",)),
    ({}, 1, ("Of 100 rows 20 were held out", "10 canaries and 6 held-out canaries", "2 once and 2 16 times.")),
    ({}, 2, ("1 target, 1 reference of an attacker was trained",)), ({}, 3, ("Each was trained for 9 epochs.",)),
    ({"classes": [str(k) for k in range(20)], "deals": {"1": SIZES, "2": SIZES}}, 0, ("10, 11, …); seeds 1 and 2.",)),
    ({"deals": {"1": SIZES, "2": {**SIZES, "train": 61}}, "grouped": True}, 1, (
        "With seed 1, of 100 rows", "whole groups")),
    ({"models": TRAINED[:1]}, 2, ("No references were trained.",)),
    ({"recipe": UNTIL, "models": [*TRAINED, LATER]}, 3, (
        "for 4 to 9 epochs: as long as the one without noise took", "99%", "not reached with seed 2.")),
    ({"recipe": UNTIL, "same_epochs": False}, 3, ("or to the end.",)),
    ({"models": [{"role": "target", "epochs_done": 1, "seed": 1}]}, 3, ("1 epoch.",)),
])
def test_who_was_trained_on_what(changes: Record, place: int, words: tuple[str, ...]) -> None:
    said = label_training({**TRAINING, **changes})[place]
    assert [one for one in words if one not in said] == []
