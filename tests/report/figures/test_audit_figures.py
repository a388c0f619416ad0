"""Each figure of an audit against the rows of the record that it is drawn from."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from discreet.report.audited import Audited, audited
from discreet.report.figures.attacks import attacks
from discreet.report.figures.boundary import boundary
from discreet.report.figures.deciles import deciles
from discreet.report.figures.embedding import embedding
from discreet.report.figures.figure import Figure
from discreet.report.figures.protocols import protocols
from discreet.report.figures.roc import roc
from discreet.report.figures.sizes import sizes
from discreet.report.figures.standing import standing
from discreet.report.figures.strata import strata

Record = dict[str, Any]


def first(record: Record) -> Audited:
    return audited(record)[0]


def drawn(figure: Figure | None) -> Figure:
    assert figure is not None
    assert figure.caption.endswith(".")
    assert figure.body.count("nan") == 0
    return figure


def test_standing_has_the_model_its_placebo_and_every_dose(innocent: Record) -> None:
    rows = drawn(standing(first(innocent))).data
    assert [row["auc"] for row in rows] == [
        innocent["primary"]["auc"]["value"], innocent["controls"]["placebo_auc"]["value"],
        *(figure["value"] for one in innocent["controls"]["planted"] for figure in (one["auc"], one["placebo_auc"]))]
    assert [row["what"] for row in rows][2:] == [
        "your model, on records planted once", "placebo, on records planted once",
        "your model, on records planted 4 times", "placebo, on records planted 4 times"]


def test_protocols_has_both_on_both(innocent: Record, bare: Record) -> None:
    one = first(innocent)
    assert one.paper is not None
    rows = drawn(protocols(one)).data
    assert [row["auc"] for row in rows] == [
        one.paper["auc"]["value"], one.paper["placebo_auc"]["value"], innocent["primary"]["auc"]["value"],
        innocent["primary"]["placebo_auc"]["value"]]
    assert protocols(first(bare)) is None


def test_attacks_has_no_oracle_and_no_part_of_the_records(innocent: Record) -> None:
    rows = drawn(attacks(first(innocent))).data
    assert "paired" not in {row["reference_kind"] for row in rows}
    assert len(rows) == len({(row["attack"], row["scale"], row["reference_kind"]) for row in rows})
    primary = next(row for row in rows if (row["attack"], row["scale"], row["reference_kind"])
                   == ("reference", "logit", "neutral"))
    assert primary["auc"] == innocent["primary"]["auc"]["value"]
    assert (primary["null_low"], primary["null_high"]) == tuple(innocent["primary"]["null_band"])


def test_the_roc_shows_the_deciding_attack_the_loss_and_the_published_one(innocent: Record) -> None:
    figure = drawn(roc(first(innocent)))
    panels = list(dict.fromkeys(row["panel"] for row in figure.data))
    assert panels == ["deciding attack", "strongest other", "loss alone", "published protocol"]
    assert {row["model"] for row in figure.data} == {"your model", "placebo"}
    curve = next(c for c in innocent["targets"][0]["curves"] if (c["attack"], c["scale"], c["reference_kind"])
                 == ("reference", "logit", "neutral"))["curve"]
    mine = [(row["fpr"], row["tpr"]) for row in figure.data
            if row["panel"] == "deciding attack" and row["model"] == "your model"]
    assert mine == list(zip(curve["fpr"], curve["tpr"], strict=True))


def test_the_strongest_other_is_no_oracle(innocent: Record) -> None:
    table = {row["panel"]: row for row in drawn(roc(first(innocent))).table}
    honest = [row["auc"]["value"] for row in first(innocent).whole(selection="global", oracle=False)
              if row["attack"] not in ("reference", "loss") and row["auc"]["value"] is not None]
    assert str(table["strongest other"]["AUC"]).startswith(f"{max(honest):.3f}"[1:])


def test_without_references_the_loss_decides_and_stands_once(bare: Record) -> None:
    panels = list(dict.fromkeys(row["panel"] for row in drawn(roc(first(bare))).data))
    assert panels[0] == "deciding attack"
    assert "loss alone" not in panels
    assert "published protocol" not in panels


def test_the_legend_of_the_roc_names_what_is_drawn(innocent: Record, bare: Record) -> None:
    assert [words in drawn(roc(first(innocent))).body.partition("<path")[0] for words in (
        "your model", "the same attack on the placebo", "published protocol", "chance")] == [True] * 4
    body = drawn(roc(first(bare))).body
    assert "published protocol" not in body
    assert "your model" in body


def test_dumbbells_go_from_all_to_the_boundary_of_the_same_label(innocent: Record) -> None:
    rows = drawn(boundary(first(innocent))).data
    assert [(row["protocol"], row["label"], row["model"]) for row in rows] == [
        (protocol, label, model) for protocol in ("this audit", "published protocol") for label in (None, 0, 1)
        for model in ("your model", "placebo")]
    wanted = {row["selection"]: row["auc"]["value"] for row in innocent["attacks"]
              if (row["attack"], row["scale"], row["reference_kind"]) == ("reference", "logit", "neutral")
              and row["label"] == 1 and row["n"] in (None, 20)}
    mine = next(row for row in rows if (row["protocol"], row["label"], row["model"]) == ("this audit", 1, "your model"))
    assert (mine["global_auc"], mine["boundary_auc"]) == (wanted["global"], wanted["boundary"])


def test_the_curve_over_n_rises_to_all_and_has_its_null_band(innocent: Record) -> None:
    rows = [row for row in drawn(sizes(first(innocent))).data if row["panel"] == "deciding attack"]
    ns = [int(row["n"] or 0) for row in rows]
    assert ns == sorted(ns)
    assert ns[0] == 10
    assert all(row["null_low"] is not None for row in rows)
    assert rows[-1]["members"] == 160


@pytest.mark.parametrize("draw", [boundary, sizes])
def test_no_boundary_without_a_selector(draw: Any, bare: Record) -> None:
    assert draw(first(bare)) is None


def test_tenths_are_of_both_confidences(innocent: Record) -> None:
    rows = drawn(deciles(first(innocent))).data
    assert [(row["by"], row["tenth"]) for row in rows] == [(by, tenth) for by in ("target", "selector")
                                                           for tenth in range(1, 11)]
    assert all(row["least_of_all_models"] == row["auc"] == row["most_of_all_models"] for row in rows)


def test_tenths_reach_from_the_least_to_the_most_of_all_models(innocent: Record) -> None:
    two = copy.deepcopy(innocent)
    other = copy.deepcopy(two["targets"][0])
    other["target"] = "B"
    two["targets"].append(other)
    copies = copy.deepcopy([row for row in two["attacks"] if row["decile"] is not None])
    for row in copies:
        row["target"] = "B"
        if row["auc"]["value"] is not None:
            row["auc"]["value"] += 0.01
    two["attacks"] += copies
    for row in drawn(deciles(first(two))).data:
        assert row["least_of_all_models"] == row["auc"]
        assert row["most_of_all_models"] == pytest.approx(float(row["auc"] or 0.0) + 0.01)


def test_parts_are_the_categories_the_most_exposed_first(innocent: Record) -> None:
    rows = drawn(strata(first(innocent))).data
    assert {row["name"] for row in rows} == {"abuse", "fraud", "weapons"}
    values = [float(row["auc"] or 0.0) for row in rows]
    assert values == sorted(values, reverse=True)


def test_an_embedding_is_drawn_only_where_there_is_one() -> None:
    assert embedding(None) is None
    assert embedding({"representation": "a sentence encoder", "points": []}) is None
    points = [{"set": "boundary members", "x": 0.0, "y": 1.0}, {"set": "random", "x": 2.0, "y": -1.0}]
    figure = drawn(embedding({"representation": "a sentence encoder", "points": points}))
    assert figure.body.count("<circle") == 2 + 3
    assert "a sentence encoder" in figure.caption


def test_both_axes_of_a_pca_have_one_scale() -> None:
    corners = [("random", 0.0, 0.0), ("boundary members", 10.0, 0.0), ("boundary non-members", 0.0, 1.0)]
    record = {"representation": "x", "method": "pca", "explained": [0.5, 0.25],
              "points": [{"set": name, "x": x, "y": y} for name, x, y in corners]}
    figure = drawn(embedding(record))
    # Behind the three dots of the legend: the points, set by set.
    dots = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', figure.body)][3:]
    (left, low), (_, high), (right, _) = dots
    assert right - left == pytest.approx(10 * (low - high), rel=0.01)
    assert "50% and 25% of it" in figure.caption
    stretched = drawn(embedding({**record, "method": "tsne"}))
    assert "t-SNE" in stretched.caption
    assert stretched.body != figure.body
    alone = drawn(embedding({**record, "points": record["points"][:1]}))
    assert "nan" not in alone.body
