from __future__ import annotations

import copy
from typing import Any

import pytest

from discreet.report import membership_words as words
from discreet.report.audited import audited

Record = dict[str, Any]


def states(record: Record) -> list[str]:
    return [one["state"] for one in words.controls(audited(record)[0], record)]


def test_headlines_say_the_verdict_first(innocent: Record, leaking: Record, bare: Record) -> None:
    assert words.headline(innocent).startswith("Pass: ")
    assert words.headline(leaking).startswith("Fail: ")
    assert words.headline(bare).startswith("Inconclusive: ")


def test_several_models_are_counted(leaking: Record) -> None:
    two = copy.deepcopy(leaking)
    two["targets"].append(copy.deepcopy(two["targets"][0]) | {"target": "B", "verdict": "pass"})
    assert words.headline(two).startswith("Fail for 1 of 2 models: their scores")
    assert "B" not in words.headline(two)


def test_the_lead_is_the_auc_as_a_bet(leaking: Record, bare: Record) -> None:
    lead = words.lead(audited(leaking)[0])
    assert f"{100 * leaking['primary']['auc']['value']:.0f} times in 100" in lead
    assert lead.endswith(f"{100 * leaking['primary']['placebo_auc']['value']:.0f}.")
    assert words.lead(audited(bare)[0]) == ""


def test_controls_of_a_pass_all_hold(innocent: Record) -> None:
    assert innocent["verdict"] == "pass"
    assert states(innocent) == ["holds"] * 5


def test_what_was_not_brought_is_not_there(bare: Record) -> None:
    assert states(bare) == ["lacking", "lacking", "holds", "lacking", "holds"]


@pytest.mark.parametrize(("control", "place"), [("placebo_auc", 1), ("blind_auc", 2)])
def test_a_control_off_chance_does_not_hold(innocent: Record, control: str, place: int) -> None:
    broken = copy.deepcopy(innocent)
    broken["targets"][0]["controls"][control] |= {"value": 0.8, "low": 0.75, "high": 0.85}
    assert states(broken)[place] == "broken"
    assert ".80 (.75 to .85)" in words.controls(audited(broken)[0], broken)[place]["said"]


def test_a_blind_baseline_below_one_half_holds(innocent: Record) -> None:
    below = copy.deepcopy(innocent)
    below["targets"][0]["controls"]["blind_auc"] |= {"value": 0.4, "low": 0.35, "high": 0.45}
    assert states(below)[2] == "holds"


def test_planted_records_that_were_not_seen_do_not_show_power(innocent: Record) -> None:
    blind = copy.deepcopy(innocent)
    blind["targets"][0]["controls"]["planted"][-1]["detected"] = False
    assert states(blind)[3] == "broken"
    assert "(not seen)" in words.controls(audited(blind)[0], blind)[3]["said"]


def test_the_innocent_are_acquitted_in_words(innocent: Record) -> None:
    one = audited(innocent)[0]
    story = words.story(one)
    assert story is not None
    assert one.paper is not None
    assert "innocent" in story["title"]
    assert f"{one.paper['placebo_auc']['value']:.2f}"[1:] in story["said"][-1]
    assert story["said"][-1].endswith("proves nothing against yours.")
    # Words for who decides, not for who computes.
    assert not any(term in " ".join(story["said"]) for term in ("AUC", "log", "ratio", "oracle", "paired"))


def test_the_guilty_are_told_nothing_of_innocence(leaking: Record, bare: Record) -> None:
    story = words.story(audited(leaking)[0])
    assert story is not None
    assert "innocent" not in story["title"] + story["said"][-1]
    assert words.story(audited(bare)[0]) is None


def test_a_published_figure_without_placebo_says_what_is_missing(innocent: Record) -> None:
    alone = copy.deepcopy(innocent)
    for row in alone["attacks"]:
        row["placebo_auc"] |= {"value": None, "low": None, "high": None, "reason": "none"}
    story = words.story(audited(alone)[0])
    assert story is not None
    assert story["said"][-1].endswith("none was brought.")


def test_tiles_have_figures_or_the_reason_for_none(leaking: Record, bare: Record) -> None:
    tiles = words.tiles(audited(leaking)[0], leaking)
    ppv = leaking["controls"]["ppv"]["value"]
    assert [tile["figure"] for tile in tiles][2] == f"{100 * ppv:.1f}%"
    assert all(tile["why"] == "" for tile in tiles)
    by_person = words.tiles(audited(bare)[0], bare)
    assert len(by_person) == 5
    assert "one person" in by_person[1]["said"]
    assert by_person[-1]["figure"] == "–"
    assert by_person[-1]["why"].startswith("Unresolved: ")
