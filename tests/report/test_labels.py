from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from math import inf
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.labels.attacks.lia_delta_margin import lia_delta_margin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.reference import ReferenceCalibrated
from discreet.audit.labels.judge import audit_labels
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.report import labels_words as words
from discreet.report.labels import labels_figures, labels_page
from discreet.scores.table import PLACEBO, TRAIN, ScoreTable, stacked

Record = dict[str, Any]

ATTACKS = (LiaThreshold(), LiaThreshold("mean"), lia_delta_margin(loss_labels="original"),
           lia_delta_margin(loss_labels="secret"), lia_delta_margin(loss_labels="secret", beta=3.0),
           ReferenceCalibrated())
FAINT: dict[str, Any] = {"canaries": 600, "placebos": 600, "memory": 0.25, "signal": 1.0, "spread": 0.5,
                         "planted": (1, 4, 16)}


def saved(table: ScoreTable, **options: Any) -> Record:
    found = audit_labels(table, **{"permutations": 19, "tune": False, "attacks": ATTACKS, **options})
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
    return saved(several((0.5, inf, 2.0), memory=2.0, planted=(4,)))


@pytest.fixture(scope="module")
def innocent() -> Record:
    return saved(world(**FAINT))


def text_of(page: str) -> str:
    body = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


class TestPage:
    def test_the_verdict_comes_first_and_every_part_is_there(self, leaking: Record) -> None:
        page = text_of(labels_page(leaking))
        order = [page.index(part) for part in (
            "Fail for all 3 models:", "Why this can be believed", "Placebo canaries", "What the published attack",
            "The models audited", "What noise costs", "How sure the model is", "Every attack", "It cannot say",
            "Where this comes from")]
        assert order == sorted(order)

    def test_oracles_and_privileged_rows_are_headed_as_such(self, leaking: Record) -> None:
        page = labels_page(leaking)
        bodies = re.findall(r"<tbody( class=\"oracle\")?><tr><th scope=\"rowgroup\" colspan=\"11\">(.*?)</th>", page)
        assert [(bool(kind), said.split(":")[0]) for kind, said in bodies[:3]] == [
            (False, "On outputs alone"), (True, "With the original label (privileged)"),
            (True, "Shown the label that it claims to infer (oracle)")]

    def test_one_model_that_passes(self, innocent: Record) -> None:
        page = text_of(labels_page(innocent))
        assert innocent["verdict"] == "pass"
        assert page.index("Pass:") < page.index("times in 100") < page.index("would have been seen")
        assert "The models audited" not in page

    def test_the_choice_of_the_strongest_is_told(self, innocent: Record) -> None:
        n = sum(row["decides"] for row in innocent["attacks"])
        assert n == innocent["provenance"]["comparisons"] > 1
        assert f"This is the strongest of {n} comparisons, chosen by its result" in text_of(labels_page(innocent))
        one = next(row for row in innocent["attacks"] if row["decides"])
        others = [row for row in innocent["attacks"] if not row["decides"]]
        assert "strongest of" not in words.lead({**innocent, "attacks": [one, *others]})

    def test_nothing_is_loaded_and_names_are_escaped(self) -> None:
        table = world(memory=2.0)
        page = labels_page(saved(changed(table, models=(replace(table.models[0], name="<b>&x"),))))
        assert "<b>&x" not in page
        assert not re.findall(r"(?:src|href)=\"(?!data:|#)", page)

    def test_why_an_attack_was_not_run_is_said(self, innocent: Record) -> None:
        assert "it needs references with draws of their own" in text_of(labels_page(innocent))

    def test_without_placebos_the_page_stands(self) -> None:
        table = world()
        role = np.where(table.canaries.role == PLACEBO, TRAIN, table.canaries.role).astype(np.int8)
        page = text_of(labels_page(saved(changed(table, role=role))))
        assert "uncontrolled" in page
        assert "What the controls say" in page


class TestFigures:
    def test_each_is_drawn_and_has_its_data(self, leaking: Record) -> None:
        figures = {figure.name: figure for figure in labels_figures(leaking)}
        assert set(figures) == {"success", "confidence", "utility-leak"}
        for figure in figures.values():
            ET.fromstring(figure.standalone)
            assert len(list(csv.DictReader(io.StringIO(figure.csv)))) == len(figure.data)

    def test_success_is_over_epsilon_with_ceiling_and_placebo(self, leaking: Record) -> None:
        figure = next(one for one in labels_figures(leaking) if one.name == "success")
        secret = [row for row in figure.data if row["label"] == "secret"]
        # Least noise first; the trained label has no ceiling.
        assert [row["epsilon"] for row in secret] == ["inf", 2.0, 0.5]
        assert [row["ceiling"] for row in secret] == pytest.approx([1.0, 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-0.5))])
        trained = [row for row in figure.data if row["label"] == "trained"]
        assert {row["ceiling"] for row in trained} == {None}
        for row in secret:
            assert row["placebo_low"] is not None
            assert row["oracle"] is not None
        assert figure.body.count("tolerance") == 1 + len(secret)

    def test_where_labels_are_one_there_is_one_panel(self, innocent: Record) -> None:
        figure = next(one for one in labels_figures(innocent) if one.name == "success")
        assert {row["label"] for row in figure.data} == {"secret"}
        assert "that was trained on</text>" not in figure.body

    def test_one_model_has_no_frontier(self, innocent: Record) -> None:
        assert "utility-leak" not in {one.name for one in labels_figures(innocent)}

    def test_histograms_are_those_of_the_record(self, leaking: Record) -> None:
        figure = next(one for one in labels_figures(leaking) if one.name == "confidence")
        of = next(one for one in leaking["targets"] if one["target"] == "model-1")["histogram"]
        assert [row["canary"] for row in figure.data if row["model"] == "model-1"] == of["canary"]


class TestWords:
    def test_headlines(self, leaking: Record, innocent: Record) -> None:
        assert words.headline(innocent).startswith("Pass: ")
        assert words.headline(leaking) == (
            "Fail for all 3 models: their outputs give away labels that they were trained on.")
        part = {**leaking, "targets": [{**leaking["targets"][0], "verdict": "pass"}, *leaking["targets"][1:]]}
        assert words.headline(part).startswith("Fail for 2 of 3 models: ")

    def test_the_published_attack_is_the_one_at_the_secret_with_alpha_as_beta(self, innocent: Record) -> None:
        row = words.published(words.rows_of(innocent, innocent["targets"][0]))
        assert row is not None
        assert (row["loss_labels"], row["target"], row["alpha"], row["beta"]) == ("secret", "secret", 1.0, 1.0)

    def test_the_strongest_is_honest_controlled_and_nearest_to_a_finding(self, leaking: Record) -> None:
        for target in leaking["targets"]:
            rows = words.rows_of(leaking, target)
            best = words.strongest(rows)
            assert best is not None
            assert best["access"] == "outputs"
            assert best["holm_p"] == min(row["holm_p"] for row in rows if row["decides"] and not row["vetoed"])
        assert words.strongest([]) is None

    def test_the_story_is_told_where_placebos_are_beaten_and_not_elsewhere(self, leaking: Record) -> None:
        story = words.story(leaking)
        assert story is not None
        assert "placebos" in story["said"][0]
        none = {**leaking, "attacks": [row for row in leaking["attacks"] if not row["oracle"]]}
        assert words.story(none) is None

    def test_controls_say_what_holds(self, leaking: Record, innocent: Record) -> None:
        states = {one["name"]: one["state"] for one in words.controls(innocent)}
        assert set(states.values()) == {"holds"}
        bare = saved(world(), permutations=0)
        assert [one["state"] for one in words.controls(bare)] == ["holds", "lacking", "holds", "lacking"]
        blind = saved(world(planted=(4,)))
        assert [one["state"] for one in words.controls(blind)][1] == "broken"
        void = {**innocent, "attacks": [{**row, "vetoed": True} for row in innocent["attacks"]]}
        placebo = words.controls(void)[0]
        assert placebo["state"] == "broken"
        assert placebo["said"].endswith("which does not explain all of these attacks: they are void.")
        assert len(leaking["targets"]) == 3
