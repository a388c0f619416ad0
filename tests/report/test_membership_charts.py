"""Each figure of a membership audit against the rows of the record that it is drawn from."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from discreet.report import membership_charts as charts
from discreet.report.embedding import embedding
from discreet.report.figure import Figure
from discreet.report.membership_charts import Audited, audited

Record = dict[str, Any]


def first(record: Record) -> Audited:
    return audited(record)[0]


def drawn(figure: Figure | None) -> Figure:
    assert figure is not None
    assert figure.caption.endswith(".")
    return figure


def test_standing_has_the_model_its_control_and_every_dose(passing: Record) -> None:
    rows = drawn(charts.standing(first(passing))).data
    assert [row["auc"] for row in rows] == [
        passing["primary"]["auc"]["value"], passing["controls"]["control_auc"]["value"],
        *(figure["value"] for one in passing["controls"]["planted"] for figure in (one["auc"], one["control_auc"]))]
    assert [str(row["what"]).partition(", ")[0] for row in rows] == ["your model", "control model"] * 3


def test_protocols_has_both_on_both(passing: Record, bare: Record) -> None:
    one = first(passing)
    assert one.paper is not None
    rows = drawn(charts.protocols(one)).data
    assert [row["auc"] for row in rows] == [
        one.paper["auc"]["value"], one.paper["control_auc"]["value"], passing["primary"]["auc"]["value"],
        passing["primary"]["control_auc"]["value"]]
    assert charts.protocols(first(bare)) is None


def test_attacks_has_no_oracle_and_no_part_of_the_records(passing: Record) -> None:
    rows = drawn(charts.attacks(first(passing))).data
    assert "paired" not in {row["reference_kind"] for row in rows}
    assert len(rows) == len({(row["attack"], row["scale"], row["reference_kind"]) for row in rows})
    primary = next(row for row in rows if str(row["attack"]).startswith("reference ratio")
                   and "logit" in str(row["scale"]) and row["reference_kind"] == "neutral")
    # With two classes the loss on both scales and the confidence in the true class are one attack.
    [loss] = [row for row in rows if "loss" in str(row["attack"])]
    assert "confidence, true class" in str(loss["attack"])
    assert loss["scale"] == "p, logit"
    assert primary["auc"] == passing["primary"]["auc"]["value"]
    assert (primary["null_low"], primary["null_high"]) == tuple(passing["primary"]["null_band"])


def test_the_roc_shows_the_deciding_attack_the_loss_and_the_published_one(passing: Record) -> None:
    figure = drawn(charts.roc(first(passing)))
    panels = list(dict.fromkeys(row["panel"] for row in figure.data))
    assert panels == ["deciding attack", "strongest other", "loss alone", "published protocol"]
    curve = next(c for c in passing["targets"][0]["curves"] if (c["attack"], c["scale"], c["reference_kind"])
                 == ("reference", "logit", "neutral"))["curve"]
    mine = [(row["fpr"], row["tpr"]) for row in figure.data
            if row["panel"] == "deciding attack" and row["model"] == "your model"]
    assert mine == list(zip(curve["fpr"], curve["tpr"], strict=True))
    # The strongest other is no oracle.
    honest = [row["auc"]["value"] for row in first(passing).whole(selection="global", oracle=False)
              if row["attack"] not in ("reference", "loss") and row["auc"]["value"] is not None]
    table = {row["panel"]: row for row in figure.table}
    assert str(table["strongest other"]["AUC"]).startswith(f"{max(honest):.3f}"[1:])


def test_without_references_the_loss_decides_and_the_legend_names_what_is_drawn(
    passing: Record, bare: Record
) -> None:
    figure = drawn(charts.roc(first(bare)))
    panels = list(dict.fromkeys(row["panel"] for row in figure.data))
    assert panels[0] == "deciding attack"
    assert not {"loss alone", "published protocol"} & set(panels)
    assert all(said in drawn(charts.roc(first(passing))).inline for said in (
        "the same attack on the control model", "published protocol", "chance"))
    assert "published protocol" not in figure.inline
    assert "your model" in figure.inline


def test_the_boundary_is_of_the_same_label(passing: Record) -> None:
    rows = drawn(charts.boundary(first(passing))).data
    assert [(row["protocol"], row["label"], row["model"]) for row in rows] == [
        (protocol, label, model) for protocol in ("this audit", "published protocol") for label in (None, 0, 1)
        for model in ("your model", "control")]
    wanted = {row["selection"]: row["auc"]["value"] for row in passing["attacks"]
              if (row["attack"], row["scale"], row["reference_kind"]) == ("reference", "logit", "neutral")
              and row["label"] == 1 and row["n"] in (None, 20)}
    mine = next(row for row in rows if (row["protocol"], row["label"], row["model"]) == ("this audit", 1, "your model"))
    assert (mine["global_auc"], mine["boundary_auc"]) == (wanted["global"], wanted["boundary"])


def test_the_curve_over_n_rises_to_all_and_has_its_null_band(passing: Record) -> None:
    rows = [row for row in drawn(charts.sizes(first(passing))).data if row["panel"] == "deciding attack"]
    ns = [int(row["n"] or 0) for row in rows]
    assert ns == sorted(ns)
    assert ns[0] == 10
    assert all(row["null_low"] is not None for row in rows)
    assert rows[-1]["members"] == 160


@pytest.mark.parametrize("draw", [charts.boundary, charts.sizes])
def test_no_boundary_without_a_selector(draw: Any, bare: Record) -> None:
    assert draw(first(bare)) is None


def test_tenths_reach_from_the_least_to_the_most_of_all_models(passing: Record) -> None:
    alone = drawn(charts.deciles(first(passing))).data
    assert [(row["by"], row["tenth"]) for row in alone] == [(by, tenth) for by in ("target", "selector")
                                                            for tenth in range(1, 11)]
    assert all(row["least_of_all_models"] == row["auc"] == row["most_of_all_models"] for row in alone)
    two = copy.deepcopy(passing)
    two["targets"].append(copy.deepcopy(two["targets"][0]) | {"target": "B"})
    copies = copy.deepcopy([row for row in two["attacks"] if row["decile"] is not None])
    for row in copies:
        row["target"] = "B"
        if row["auc"]["value"] is not None:
            row["auc"]["value"] += 0.01
    two["attacks"] += copies
    figure = drawn(charts.deciles(first(two)))
    for row in figure.data:
        assert row["least_of_all_models"] == row["auc"]
        assert row["most_of_all_models"] == pytest.approx(float(row["auc"] or 0.0) + 0.01)
    assert "over all models audited" in figure.inline


def test_parts_are_two_or_more_categories_the_most_exposed_first(passing: Record) -> None:
    rows = drawn(charts.strata(first(passing))).data
    assert {row["name"] for row in rows} == {"abuse", "fraud", "weapons"}
    values = [float(row["auc"] or 0.0) for row in rows]
    assert values == sorted(values, reverse=True)
    one = copy.deepcopy(passing)
    one["attacks"] = [row for row in one["attacks"] if row["category"] in (None, "abuse")]
    assert charts.strata(first(one)) is None


def test_an_embedding_is_drawn_only_where_there_is_one() -> None:
    assert embedding(None) is None
    assert embedding({"representation": "a sentence encoder", "points": []}) is None
    corners = [("random", 0.0, 0.0), ("boundary members", 10.0, 0.0), ("boundary non-members", 0.0, 1.0)]
    record = {"representation": "a sentence encoder", "method": "pca", "explained": [0.5, 0.25],
              "points": [{"set": name, "x": x, "y": y} for name, x, y in corners]}
    figure = drawn(embedding(record))
    assert "a sentence encoder (the two directions of most variance, 50% and 25% of it)" in figure.caption
    # Both axes of a PCA have one scale.
    [axes] = figure.draw().axes
    assert axes.get_aspect() == 1.0
    assert "nan" not in drawn(embedding({**record, "points": record["points"][:1]})).inline


def test_every_drawing_is_without_undefined_places(passing_page: str) -> None:
    assert passing_page.count("<svg") == 8
    assert "nan" not in "".join(passing_page.split("<svg")[1:]).lower().replace("nance", "")
