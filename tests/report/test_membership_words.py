from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from discreet.audit.membership.simulate import World, simulated_table
from discreet.report import membership_words as words
from discreet.report.audited import Audited, audited
from discreet.report.figures.figure import span
from discreet.stats import auroc

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
    assert states(innocent) == ["stated"] + ["holds"] * 4


@pytest.mark.parametrize(("design", "state"), [
    ("sealed", "holds"), ("randomised (dealt here)", "holds"), ("sealed (as stated)", "stated"),
    ("randomised", "stated"), ("matched", "lacking"), ("convenience", "lacking")])
def test_a_draw_that_nobody_has_shown_is_stated_and_does_not_hold(innocent: Record, design: str, state: str) -> None:
    record = {**innocent, "design": design}
    first = words.controls(audited(record)[0], record)[0]
    assert (first["state"], first["word"]) == (state, words.STATES[state])
    assert ("not shown" in first["said"]) == (state == "stated")


@pytest.mark.parametrize(("least", "said"), [(0.0004, "< .001"), (0.001, ".001"), (0.034, ".034")])
def test_no_p_value_is_written_as_zero(innocent: Record, least: float, said: str) -> None:
    record = copy.deepcopy(innocent)
    next(row for row in record["attacks"] if not row["oracle"] and row["null_p"]["value"] is not None)["null_p"][
        "value"] = least
    [family] = [one for one in words.controls(audited(record)[0], record) if "chosen before" in one["name"]]
    assert f"the smallest p of all is {said}, after" in family["said"]


def test_what_was_not_brought_is_not_there(bare: Record) -> None:
    assert states(bare) == ["lacking", "lacking", "unshown", "lacking", "holds"]


@pytest.mark.parametrize(("control", "place"), [("placebo_auc", 1), ("blind_auc", 2)])
def test_a_control_off_chance_does_not_hold(innocent: Record, control: str, place: int) -> None:
    broken = copy.deepcopy(innocent)
    broken["targets"][0]["controls"][control] |= {"value": 0.8, "low": 0.75, "high": 0.85}
    assert states(broken)[place] == "broken"
    assert ".800 (.750 to .850)" in words.controls(audited(broken)[0], broken)[place]["said"]


def test_a_blind_baseline_below_one_half_holds(innocent: Record) -> None:
    below = copy.deepcopy(innocent)
    below["targets"][0]["controls"]["blind_auc"] |= {"value": 0.4, "low": 0.35, "high": 0.45}
    assert states(below)[2] == "holds"


def test_planted_records_that_were_not_seen_do_not_show_power(innocent: Record) -> None:
    blind = copy.deepcopy(innocent)
    planted = blind["targets"][0]["controls"]["planted"]
    planted[-1]["detected"] = False
    # Any number of repetitions that was seen is enough, as for the verdict.
    assert [one["detected"] for one in planted] == [True, False]
    assert states(blind)[3] == "holds"
    assert words.controls(audited(blind)[0], blind)[3]["said"].count("not seen") == 1
    planted[0]["detected"] = False
    planted[0]["weak"] = False
    assert states(blind)[3] == "broken"
    assert "do not stand out" in words.controls(audited(blind)[0], blind)[3]["said"]


def test_too_few_planted_records_that_were_not_seen_are_not_held_against_the_audit(innocent: Record) -> None:
    blind = copy.deepcopy(innocent)
    for one in blind["targets"][0]["controls"]["planted"]:
        one["detected"] = False
        one["weak"] = True
    assert states(blind)[3] == "unshown"
    assert "too few for that to mean much" in words.controls(audited(blind)[0], blind)[3]["said"]


def test_texts_that_differ_after_an_own_draw_break_no_control(innocent: Record) -> None:
    drawn = copy.deepcopy(innocent)
    drawn["targets"][0]["controls"]["blind_auc"] |= {"value": 0.8, "low": 0.75, "high": 0.85}
    drawn["design"] = "randomised (dealt here)"
    assert states(drawn)[2] == "unshown"
    assert "The draw was random all the same" in words.controls(audited(drawn)[0], drawn)[2]["said"]


@pytest.mark.parametrize(("control", "place"), [("placebo_auc", 1), ("blind_auc", 2)])
def test_a_control_of_too_few_records_is_not_shown_to_hold(innocent: Record, control: str, place: int) -> None:
    for high, state in ((0.64, "holds"), (0.66, "unshown")):
        wide = copy.deepcopy(innocent)
        wide["targets"][0]["controls"][control] |= {"value": 0.55, "low": 0.44, "high": high}
        found = words.controls(audited(wide)[0], wide)[place]
        assert (found["state"], found["word"]) == (state, words.STATES[state])
        assert found["said"].endswith("too few to rule out .650, the tolerance.") == (state == "unshown")


def test_planted_records_that_are_too_few_say_so(innocent: Record) -> None:
    few = copy.deepcopy(innocent)
    for one in few["targets"][0]["controls"]["planted"]:
        one["detected"] = False
        for name in ("auc", "placebo_auc"):
            one[name] |= {"value": None, "low": None, "high": None, "reason": "2 members are too few"}
    found = words.controls(audited(few)[0], few)[3]
    assert found["state"] == "lacking"
    assert "once unresolved (2 members are too few); 4 times unresolved" in found["said"]
    assert "placebo" not in found["said"]


def test_one_sentence_says_what_leak_would_have_been_seen(innocent: Record, bare: Record) -> None:
    for record in (innocent, bare):
        found = record["controls"]["detectable_auc"]["value"]
        said = words.controls(audited(record)[0], record)[3]["said"]
        assert said.endswith(f"With this many records a leak of AUC {f'{found:.3f}'[1:]} in all members is found four "
                             "times in five, a smaller one less often.")
    # Two numbers of repetitions share the 5%.
    assert "97.5% interval" in words.controls(audited(innocent)[0], innocent)[3]["said"]


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


def turned(record: Record, **figures: Record) -> Audited:
    """The record with these figures of confidence on the logit scale at the boundary."""
    changed = copy.deepcopy(record)
    for row in changed["attacks"]:
        if (row["attack"], row["scale"], row["selection"], row["nonmembers"]) == (
                "confidence", "logit", "boundary", "clean"):
            row["auc"] |= figures.get("auc", {})
            row["placebo_auc"] |= figures.get("placebo_auc", {})
            row["difference"]["auc"] |= figures.get("difference", {})
            row["uncontrolled"] = row["placebo_auc"]["value"] is None
    return audited(changed)[0]


LOW = {"value": 0.21, "low": 0.1, "high": 0.4}


def test_a_label_free_attack_below_one_half_at_the_boundary_is_explained(innocent: Record) -> None:
    for row in innocent["attacks"]:
        assert row["attack"] != "confidence" or row["auc"]["high"] is None or row["auc"]["high"] >= 0.5
    assert words.from_behind(audited(innocent)[0]) == ""
    below = turned(innocent, auc=LOW, difference={"value": -0.3, "low": -0.4, "high": -0.1},
                   placebo_auc={"value": 0.51, "low": 0.4, "high": 0.6})
    said = words.from_behind(below)
    assert "confidence gives .210 there (placebo .510)" in said
    assert said.endswith("the same leak with its sign turned.")
    near = turned(innocent, auc=LOW, difference={"value": -0.1, "low": -0.3, "high": 0.1})
    assert words.from_behind(near).endswith("this figure alone shows no leak either.")
    alone = turned(innocent, auc=LOW, placebo_auc={"value": None, "low": None, "high": None, "reason": "none"})
    assert "(no placebo was brought)" in words.from_behind(alone)
    # Below one half, but not clearly.
    assert words.from_behind(turned(innocent, auc={**LOW, "high": 0.52})) == ""


def test_what_is_explained_happens_where_members_are_remembered() -> None:
    """The sign turns at the boundary, there alone, and not for the placebo."""
    world = World(members=600, others=0, clean=600, selector=100, paired=0, leak=2.0, spread=2.5)
    table = simulated_table(world, np.random.default_rng(0))
    [target], [placebo], [selector] = (table.of_role(role) for role in ("target", "placebo", "selection"))
    odds = (table.logits[..., 0, 1] - table.logits[..., 0, 0]) * (2 * table.examples.label - 1)
    judged = np.flatnonzero(np.asarray(table.examples.split != "calibration"))
    member = table.member[target]
    edge = judged[np.argsort(odds[selector][judged])][:200]
    assert (odds[target][edge] < 0).mean() > 0.8
    assert auroc(np.abs(odds[target][edge]), member[edge]) < 0.3
    assert auroc(odds[target][edge], member[edge]) > 0.8
    assert auroc(np.abs(odds[target][judged]), member[judged]) > 0.5
    assert abs(auroc(np.abs(odds[placebo][edge]), member[edge]) - 0.5) < 0.15


def test_planted_records_stand_beside_their_placebo(innocent: Record) -> None:
    said = words.controls(audited(innocent)[0], innocent)[3]["said"]
    for one in innocent["controls"]["planted"]:
        assert f"{span(one['auc'], 3)}, placebo {span(one['placebo_auc'], 3)}, " in said
    alone = copy.deepcopy(innocent)
    for one in alone["targets"][0]["controls"]["planted"]:
        one["placebo_auc"] |= {"value": None, "low": None, "high": None, "reason": "none"}
    assert ", no placebo, seen" in words.controls(audited(alone)[0], alone)[3]["said"]
