from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from discreet.audit.membership.attacker_view import placebo_view, target_view
from discreet.audit.membership.audit import audit_membership
from discreet.audit.membership.evaluation_sets import sides_of
from discreet.audit.membership.simulate import World, simulated_table
from discreet.audit.membership.view import attacks
from discreet.report.audited import audited
from discreet.report.figures.figure import span
from discreet.report.tiles import lines, placebo_tpr, tiles
from discreet.stats import tpr_at_fpr

Record = dict[str, Any]


def test_tiles_have_figures_or_the_reason_for_none(leaking: Record, bare: Record) -> None:
    found = tiles(audited(leaking)[0], leaking)
    ppv = leaking["controls"]["ppv"]["value"]
    assert [tile["figure"] for tile in found][2] == f"{100 * ppv:.1f}%"
    assert all(tile["why"] == "" for tile in found)
    by_person = tiles(audited(bare)[0], bare)
    assert len(by_person) == 5
    assert "one person" in by_person[1]["said"]
    assert by_person[-1]["figure"] == "–"
    assert by_person[-1]["why"].startswith("Unresolved: ")


def test_the_placebo_of_an_operating_point_is_that_of_its_scores() -> None:
    """What the difference in the record says is what the attack's scores of the placebo give."""
    table = simulated_table(World(members=150, others=0, clean=150, selector=0, paired=0, leak=1.6),
                            np.random.default_rng(1))
    primary = audit_membership(table, permutations=0, bootstraps=5).to_json()["primary"]
    sides = sides_of(table, 0, np.random.default_rng((0, 0, 0)))
    view = placebo_view(table, sides, target_view(table, sides))
    assert view is not None
    scores = attacks["reference"].scores(view, "logit", "neutral", np.random.default_rng(0))
    rows = np.concatenate([sides.members, sides.clean["neutral"]])
    for name, fpr in (("tpr_at_1pct_fpr", 0.01), ("tpr_at_5pct_fpr", 0.05)):
        expected = tpr_at_fpr(scores[rows], table.member[0][rows], fpr)
        assert placebo_tpr(primary, name) == pytest.approx(expected, abs=1e-12)


def test_every_tile_with_a_placebo_shows_it(leaking: Record) -> None:
    auc, tpr, ppv, least = tiles(audited(leaking)[0], leaking)
    primary = leaking["primary"]
    assert auc["placebo"] == f"placebo {span(primary['placebo_auc'], 3)}"
    difference = primary["difference"]["tpr_at_1pct_fpr"]
    beside = primary["tpr_at_1pct_fpr"]["value"] - difference["value"]
    assert tpr["placebo"] == (f"placebo {100 * beside:.1f}%, difference {100 * difference['value']:+.1f} points "
                              f"({100 * difference['low']:+.1f} to {100 * difference['high']:+.1f})")
    stands = leaking["controls"]["placebo_ppv"]
    assert ppv["placebo"] == (
        f"placebo {100 * stands['value']:.1f}% ({100 * stands['low']:.1f}% to {100 * stands['high']:.1f}%)")
    assert leaking["controls"]["placebo_epsilon_lower"]["value"] == 0.0
    assert (least["figure"], least["placebo"]) == (
        f"{leaking['controls']['epsilon_lower']['value']:.2f}", "placebo at least 0.00")


def test_a_placebo_with_an_epsilon_is_said_to_be_wrong(leaking: Record) -> None:
    wrong = copy.deepcopy(leaking)
    wrong["targets"][0]["controls"]["placebo_epsilon_lower"] |= {"value": 0.31, "low": 0.31}
    assert tiles(audited(wrong)[0], wrong)[-1]["placebo"] == "placebo at least 0.31, where 0 is true"


def test_without_a_placebo_figures_are_uncontrolled(bare: Record) -> None:
    found = tiles(audited(bare)[0], bare)
    assert {tile["placebo"] for tile in found if tile["why"] == ""} == {"uncontrolled"}
    assert any("person" in tile["said"] for tile in found if tile["why"] == "")
    assert lines(audited(bare)[0], bare)[0].endswith("; uncontrolled")


def test_a_person_stands_beside_the_placebos_person(leaking: Record) -> None:
    by_person = copy.deepcopy(leaking)
    by_person["targets"][0]["controls"] |= {
        "group_auc": {"value": 0.91, "low": 0.87, "high": 0.94}, "placebo_group_auc": {"value": 0.52, "low": 0.46,
                                                                                         "high": 0.58}}
    tile = tiles(audited(by_person)[0], by_person)[1]
    assert (tile["figure"], tile["beside"], tile["placebo"]) == (
        ".910", ".870 to .940", "placebo .520 (.460 to .580)")
    assert lines(audited(by_person)[0], by_person)[0] == (
        "AUC of all records of one person together: .910 (.870 to .940); placebo .520 (.460 to .580)")


def test_a_record_from_before_the_placebos_figures_is_uncontrolled(leaking: Record) -> None:
    old = copy.deepcopy(leaking)
    for name in ("placebo_ppv", "placebo_epsilon_lower", "placebo_group_auc"):
        del old["targets"][0]["controls"][name]
    assert [tile["placebo"] for tile in tiles(audited(old)[0], old)][2:] == ["uncontrolled", "uncontrolled"]


def test_a_terminal_has_the_ppv_and_the_bound_in_two_lines(leaking: Record, bare: Record) -> None:
    ppv, bound = lines(audited(leaking)[0], leaking)
    one = leaking["controls"]["ppv"]
    assert ppv.startswith("PPV where 1% are members and 5% of others are wrongly named: ")
    assert f"{100 * one['value']:.1f}% ({100 * one['low']:.1f}% to {100 * one['high']:.1f}%); placebo " in ppv
    least = leaking["controls"]["epsilon_lower"]["value"]
    assert bound == f"Epsilon of this training run: at least {least:.2f}, with 95% confidence; placebo at least 0.00"
    unresolved = lines(audited(bare)[0], bare)
    assert unresolved[2].startswith("Epsilon of this training run: unresolved (an ε bound needs membership")
    lacking = copy.deepcopy(bare)
    lacking["targets"][0]["controls"]["ppv"] |= {"value": None, "low": None, "high": None, "reason": "too few"}
    assert lines(audited(lacking)[0], lacking)[1].endswith("wrongly named: unresolved (too few)")
