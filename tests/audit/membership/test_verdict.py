from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.audit.membership.scenes import drawn, sets_of

from discreet.audit.core.simulate import World
from discreet.audit.core.verdict import ControlState
from discreet.audit.membership.controls import PlantedLeak
from discreet.audit.membership.parts import PartFinding, PartState
from discreet.audit.membership.rows import Row, RowSpec
from discreet.audit.membership.verdict import VerdictInputs, claims_of, control_states, judge, strongest_rival
from discreet.audit.scores.table import PartKind
from discreet.core import design as designs
from discreet.core.errors import UsageError
from discreet.core.records import Estimate
from discreet.report.summary import words_of

NOTHING = Estimate.unresolved("none")
QUIET = Estimate(0.50, 0.48, 0.52, n=8000, n_pos=4000, n_neg=4000)


def auc(value: float, half: float = 0.01, n: int = 4000) -> Estimate:
    return Estimate(value, value - half, min(1.0, value + half), n=2 * n, n_pos=n, n_neg=n)


def row(value: Estimate, control: Estimate = QUIET, difference: Estimate | None = None) -> Row:
    gap = Estimate((value.value or 0) - (control.value or 0), (value.low or 0) - (control.high or 0), 1.0)
    return Row(RowSpec("reference", "logit", "neutral"), 4000, 4000, value, NOTHING, NOTHING, NOTHING, control,
               {"auc": difference or gap})


def planted(detected: bool, times: int = 4, n: int = 4000) -> PlantedLeak:
    return PlantedLeak(times, detected, auc(0.8 if detected else 0.51, 0.05, n), NOTHING, NOTHING)


def part(value: Estimate, kind: PartKind = "class", state: PartState = "within", control: Estimate = QUIET,
         **changed: Any) -> PartFinding:
    return PartFinding(kind, "1" if kind == "class" else "", "class 1" if kind == "class" else kind,
                       **{"tolerance": 0.65, "state": state, "counts": (60, 70), "auc": value, "p": NOTHING,
                          "control_auc": control, "difference": NOTHING, "tpr_at_1pct_fpr": NOTHING, **changed})


def state_of(row: Row, bound: Estimate, tolerance: float) -> PartState:
    """The state of all records where the interval of `bound` stands for the 90% interval and the p value."""
    excess, control_off = row.difference["auc"].low, designs.off(row.control_auc, tolerance)
    exceeds = (bound.low or 0) > 0.5 and (bound.value or 0) > tolerance
    if exceeds and (excess is None or excess > (tolerance - 0.5 if control_off else 0.0)):
        return "exceeds"
    if control_off or exceeds:
        return "control"
    return "within" if (bound.high or 1) <= tolerance else "unclear"


def inputs(value: Estimate, control: Estimate = QUIET, parts: Sequence[PartFinding] = (), **changed: Any
           ) -> VerdictInputs:
    """A target with these figures over all records, and in further `parts`."""
    found = replace(VerdictInputs("randomised", 0.55, row(value, control), value, (), None, [planted(True)], QUIET),
                    **changed)
    if found.primary is None:
        return found
    whole = part(found.bound, "all records", state_of(found.primary, found.bound, found.tolerance),
                 found.primary.control_auc, tolerance=found.tolerance)
    return replace(found, parts=(whole, *parts))


@pytest.mark.parametrize(("given", "verdict", "code"), [
    (inputs(auc(0.60)), "fail", "leak"),
    (inputs(auc(0.51)), "pass", "finding"),
    # The point exceeds the tolerance, the lower bound not one half; then the interval holds the tolerance.
    (inputs(auc(0.56, 0.07)), "inconclusive", "too_wide"),
    (inputs(auc(0.54, 0.02)), "inconclusive", "small_leak"),
    # A small leak whose upper bound is under the tolerance passes; just above it does not.
    (inputs(auc(0.53)), "pass", "finding"),
    (inputs(auc(0.54, 0.0101)), "inconclusive", "small_leak"),
    # A leak whose size is not certain is not said to be.
    (inputs(auc(0.58, 0.05)), "fail", "leak_of_unclear_size"),
    (inputs(auc(0.7), primary=None, bound=NOTHING), "inconclusive", "no_primary"),
    # No clear excess over the control model is no finding.
    (inputs(auc(0.57, 0.02), primary=row(auc(0.57, 0.02), auc(0.53, 0.02), Estimate(0.04, -0.01, 0.09))),
     "inconclusive", "not_beyond_control"),
])
def test_the_rule(given: VerdictInputs, verdict: str, code: str) -> None:
    found = judge(given)
    assert (found.verdict, found.reason_codes[0]) == (verdict, code)
    assert all(found.reason_codes)


@pytest.mark.parametrize("design", designs.DESIGNS)
def test_only_a_random_draw_decides(design: designs.Design) -> None:
    found = judge(inputs(auc(0.9), design=design))
    assert found.verdict == ("fail" if designs.decides(design) else "inconclusive")
    assert ("design" in found.reason_codes) == ("blind" in found.reason_codes) == (not designs.decides(design))
    # And a verdict says on whose word.
    for value in (auc(0.9), auc(0.51)):
        assert ("stated" in judge(inputs(value, design=design)).reason_codes) == (design in designs.STATED)


@pytest.mark.parametrize(("changed", "code"), [
    ({"primary": row(auc(0.51), NOTHING)}, "no_control"),
    ({"planted": [planted(False)]}, "planted_not_detected"),
    ({"planted": [planted(False, 1), planted(False, 16)]}, "planted_not_detected"),
    # Too few planted records have missed nothing; some of the others have.
    ({"planted": [planted(False, 1, n=10)]}, "planted_too_few"),
    ({"planted": [planted(False, 1, n=10), planted(False, 4, n=60)]}, "planted_not_detected"),
    ({"planted": [], "bound": auc(0.51, n=60)}, "low_power"),
    ({"planted": [], "learned": False}, "nothing_learned"),
])
def test_what_keeps_a_low_figure_from_passing(changed: dict[str, Any], code: str) -> None:
    found = judge(inputs(auc(0.51), **changed))
    assert (found.verdict, found.reason_codes[0]) == ("inconclusive", code)


@pytest.mark.parametrize("design", [one for one in designs.DESIGNS if designs.decides(one)])
def test_a_sample_large_enough_for_the_tolerance_passes_without_planted_records(design: designs.Design) -> None:
    found = judge(inputs(auc(0.51), design=design, planted=[]))
    assert found.verdict == "pass"
    assert "power" in found.reason_codes
    assert judge(inputs(auc(0.51), design=design, planted=[], bound=auc(0.51, n=60))).verdict == "inconclusive"


def test_any_planted_leak_that_was_detected_shows_that_one_would_have_been() -> None:
    # The most repeated are the fewest: that they were missed says little where many planted once were found.
    found = judge(inputs(auc(0.51), planted=[planted(True, 1), planted(False, 16)]))
    assert found.verdict == "pass"
    assert "planted_detected" in found.reason_codes
    assert "planted once" in " ".join(found.reasons)


def test_a_leak_in_a_part_fails_and_is_named_first() -> None:
    rare = part(auc(0.8, 0.05), state="exceeds", p=Estimate(0.004, None, None))
    found = judge(inputs(auc(0.51), parts=[rare]))
    assert (found.verdict, found.reason_codes[:2]) == ("fail", ("leak_in_part", "finding"))
    assert ("class 1 (AUC .800 [.750, .850], control .500 [.480, .520], tolerance .65; 60 members, 70 non-members; "
            "p .004 after Holm)") in found.reasons[0]
    # Where all records leak, the part is named only if it leaks more.
    assert "leak_strongest_in" in judge(inputs(auc(0.7), parts=[rare])).reason_codes
    assert "leak_strongest_in" not in judge(inputs(auc(0.9), parts=[rare])).reason_codes


def test_a_part_that_is_not_decided_takes_a_pass_away_and_says_what_it_lacks() -> None:
    lacking = part(auc(0.6, 0.08), state="unclear", lacks_members=12, lacks_nonmembers=0)
    found = judge(inputs(auc(0.51), parts=[lacking, part(QUIET, "least likely records")]))
    assert (found.verdict, found.reason_codes[0]) == ("inconclusive", "unclear_parts")
    assert "in 1 of 2 parts: class 1 (AUC .600, at most .680, tolerance .65; 60 members" in found.reasons[0]
    assert "about 12 more members would decide" in found.reasons[0]
    many = [replace(lacking, name=f"category {place}", kind="category") for place in range(9)]
    assert "; and 5 other parts." in judge(inputs(auc(0.51), parts=many)).reasons[0]


def test_a_part_next_to_its_control_model_neither_passes_nor_fails() -> None:
    found = judge(inputs(auc(0.51), parts=[part(auc(0.8), state="control", control=auc(0.79))]))
    assert (found.verdict, found.reason_codes[0]) == ("inconclusive", "control_off_in_part")
    assert "class 1 (AUC .800 [.790, .810], control .790 [.780, .800])" in found.reasons[0]


def test_a_pass_covers_every_part_and_says_which_is_nearest() -> None:
    found = judge(inputs(auc(0.51), parts=[part(auc(0.55)), part(auc(0.6, 0.03), "least likely records")]))
    assert (found.verdict, found.reason_codes[:2]) == ("pass", ("finding", "parts_within"))
    assert "In each of 2 parts" in found.reasons[1]
    assert "the nearest is least likely records, at most .630" in found.reasons[1]
    found = judge(inputs(auc(0.51), parts=[part(NOTHING, state="excluded")]))
    assert (found.verdict, "excluded" in found.reason_codes) == ("pass", True)


def test_another_attack_beyond_its_tolerance_takes_a_pass_away() -> None:
    def other(value: float, p: float = 0.01, **spec: Any) -> Row:
        found = row(auc(value))
        return replace(found, spec=replace(found.spec, **{"attack": "loss", "reference_kind": None, **spec}),
                       null_p=Estimate(p, None, None))

    primary = row(auc(0.51))
    # Honest, significant in the family, beyond the tolerance that holds where the row is, above the control model.
    assert strongest_rival([other(0.6), other(0.62)], primary, 0.55, 0.65) == other(0.62)
    none = [other(0.6, p=0.06), other(0.54), other(0.6, label=1, stratum="label"), replace(
        other(0.6), difference={"auc": Estimate(0.1, -0.1, 0.3)}), other(0.8, reference_kind="paired"), other(
            0.9, decile=1, decile_by="target", stratum="decile"), replace(other(0.7), spec=primary.spec)]
    assert strongest_rival(none, primary, 0.55, 0.65) is None
    rival = other(0.7, label=1, stratum="label")
    assert strongest_rival([*none, rival], primary, 0.55, 0.65) == rival
    found = judge(inputs(auc(0.51), rival=rival))
    assert (found.verdict, found.reason_codes[0]) == ("inconclusive", "other_attack")
    assert "loss in class 1, AUC .700 [.690, .710], control .500 [.480, .520], family-wise p .010" in found.reasons[0]
    assert judge(inputs(auc(0.7), rival=rival)).verdict == "fail"


def test_a_model_that_learned_nothing_is_said_to_but_not_next_to_a_leak() -> None:
    assert "learned_nothing" in judge(inputs(auc(0.51), learned=False)).reason_codes
    assert "learned_nothing" not in judge(inputs(auc(0.7), learned=False)).reason_codes
    assert "learned_nothing" not in judge(inputs(auc(0.51))).reason_codes


def test_uncontrolled_can_fail_but_says_so() -> None:
    found = judge(inputs(auc(0.7), primary=row(auc(0.7), NOTHING, NOTHING)))
    assert found.verdict == "fail"
    assert "fail_without_control" in found.reason_codes


def test_a_control_that_contradicts_the_design_takes_the_verdict_away() -> None:
    assert judge(inputs(auc(0.7), blind=auc(0.8))).reason_codes[0] == "sets_differ"
    # The control model is off and the target hardly exceeds it; then it exceeds it by far.
    for value in (0.72, 0.51):
        found = judge(inputs(auc(value), auc(0.70)))
        assert (found.verdict, found.reason_codes[0]) == ("inconclusive", "control_off")
    far = judge(inputs(auc(0.90), auc(0.60)))
    assert far.verdict == "fail"
    assert "control_exceeded" in far.reason_codes


def test_a_draw_of_this_run_is_never_called_non_random() -> None:
    texts = inputs(auc(0.7), design=designs.ASSIGNED, blind=auc(0.6))
    for one, word in ((texts, "fail"), (inputs(auc(0.51), design=designs.ASSIGNED, blind=auc(0.6)), "pass")):
        found = judge(one)
        assert found.verdict == word
        assert "texts_differ_after_own_draw" in found.reason_codes
        assert "sets_differ" not in found.reason_codes
        assert ".600 [.590, .610]" in " ".join(found.reasons)
    assert "texts_differ_after_own_draw" not in judge(replace(texts, blind=QUIET)).reason_codes
    # A control model that is off still takes the verdict away, by its own words.
    assert judge(inputs(auc(0.72), auc(0.70), design=designs.ASSIGNED, blind=auc(0.6))
                 ).reason_codes[0] == "control_off"
    # Where the draw is somebody's word, texts that differ contradict it.
    assert judge(replace(texts, design="randomised")).reason_codes[0] == "sets_differ"


def test_a_blind_baseline_below_one_half_tells_nothing_apart() -> None:
    assert judge(inputs(auc(0.7), blind=auc(0.4))).verdict == "fail"
    assert judge(inputs(auc(0.51), blind=auc(0.4))).verdict == "pass"
    assert [designs.reads_apart(one, 0.55) for one in (auc(0.4), auc(0.6), auc(0.52), NOTHING)] == [
        False, True, False, False]
    # Off needs both significance and size.
    assert [designs.off(one, 0.55) for one in (auc(0.6), auc(0.4), auc(0.6, 0.2), auc(0.52), NOTHING)] == [
        True, True, False, False, False]


def test_the_papers_figure_has_no_part_in_the_verdict() -> None:
    found = judge(inputs(auc(0.5), paper=row(auc(0.72), control=auc(0.72))))
    assert found.verdict == "pass"
    [said] = [one for one, code in zip(found.reasons, found.reason_codes, strict=True) if code == "paper"]
    assert ".72 on a model trained on neither set" in said
    assert "paper" in judge(inputs(auc(0.5), paper=row(auc(0.72), NOTHING))).reason_codes
    assert "paper" not in judge(inputs(auc(0.5), paper=row(auc(0.5)))).reason_codes


def test_figures_near_the_tolerance_are_not_rounded_onto_it() -> None:
    assert ".537 [.527, .547]" in judge(inputs(auc(0.5372))).reasons[0]
    assert ".450 to .550, on both sides of the tolerance of .55." in judge(inputs(auc(0.5, 0.0504))).reasons[0]
    assert "tolerance of .555" in judge(inputs(auc(0.548), tolerance=0.555)).reasons[0]


def states(given: VerdictInputs, detects: bool = True) -> dict[str, ControlState]:
    found = control_states(given, judge(given).verdict, blind_reads="texts", detects=detects, tested=True)
    assert {code for one in found.values() for code in one.codes} <= set(words_of("membership")["controls"])
    return found


@pytest.mark.parametrize("design", designs.DESIGNS)
def test_a_draw_that_nobody_has_shown_is_stated(design: designs.Design) -> None:
    state = states(inputs(auc(0.51), design=design))["design"].state
    assert state == ("stated" if design in designs.STATED else "holds" if designs.decides(design) else "lacking")


WIDE = auc(0.5, 0.06)


@pytest.mark.parametrize(("given", "control", "state", "codes"), [
    (inputs(auc(0.51)), "control", "holds", ("near",)),
    (inputs(auc(0.51), auc(0.53)), "control", "holds", ("off_by_less",)),
    (inputs(auc(0.51), auc(0.7)), "control", "broken", ("recognises",)),
    (inputs(auc(0.51), primary=row(auc(0.51), NOTHING)), "control", "lacking", ("no_control",)),
    (inputs(auc(0.7), primary=None, bound=NOTHING), "control", "lacking", ("no_control",)),
    (inputs(auc(0.51), parts=[part(auc(0.8), state="control")]), "control", "unshown", ("beside_control",)),
    (inputs(auc(0.51), parts=[part(auc(0.51), control=auc(0.7))]), "control", "unshown", ("near", "off_in_parts")),
    (inputs(auc(0.51), parts=[part(auc(0.51), control=auc(0.3))]), "control", "unshown", ("near", "off_in_parts")),
    # A verdict has judged its control already: it is too few records only where there is none.
    (inputs(WIDE, WIDE), "control", "unshown", ("near", "few")),
    (inputs(auc(0.9), WIDE), "control", "holds", ("near",)),
    (inputs(auc(0.51), blind=NOTHING), "blind", "lacking", ("blind_unknown",)),
    (inputs(auc(0.51), blind=auc(0.8)), "blind", "broken", ("texts",)),
    (inputs(auc(0.51), blind=auc(0.8), design=designs.ASSIGNED), "blind", "unshown", ("texts", "drawn")),
    (inputs(auc(0.51), blind=auc(0.4)), "blind", "holds", ("texts",)),
    (inputs(auc(0.51), blind=WIDE), "blind", "unshown", ("texts", "few")),
    (inputs(auc(0.51)), "planted", "holds", ("seen", "smallest")),
    (inputs(auc(0.51), planted=[planted(True, 1), planted(False)]), "planted", "holds", ("seen", "smallest")),
    (inputs(auc(0.51), planted=[planted(False)]), "planted", "broken", ("not_seen", "smallest")),
    (inputs(auc(0.9), planted=[planted(False)]), "planted", "unshown", ("not_seen", "smallest")),
    (inputs(auc(0.51), planted=[planted(False, n=10)]), "planted", "unshown", ("not_seen", "weak", "smallest")),
    (inputs(auc(0.51), planted=[replace(planted(False), auc=NOTHING)]), "planted", "lacking", ("too_few", "smallest")),
    (inputs(auc(0.51), planted=[]), "planted", "lacking", ("none_planted", "smallest")),
    (inputs(auc(0.51), planted=[], design="sealed"), "planted", "holds", ("none_planted", "smallest")),
])
def test_what_a_control_shows(given: VerdictInputs, control: str, state: str, codes: tuple[str, ...]) -> None:
    found = states(given)[control]
    assert (found.state, found.codes) == (state, codes)


def test_a_sealed_draw_without_a_least_leak_shows_no_power() -> None:
    found = states(inputs(auc(0.51), planted=[], design="sealed"), detects=False)["planted"]
    assert (found.state, found.codes) == ("lacking", ("none_planted",))


WORLD = World(members=20, others=20, clean=20, selector=10, shadows=2, planted={4: 10}, group_size=2)


def claimed(world: World = WORLD, design: designs.Design = "sealed", texts: bool = True) -> tuple[set[str], set[str]]:
    """Codes of what can be claimed, and of what cannot."""
    table = drawn(world)
    found = claims_of(table, sets_of(table), design, texts=texts)
    return tuple({one.code for one in said} for said in (found.can, found.cannot))  # type: ignore


def test_what_is_missing_is_not_claimed() -> None:
    can, cannot = claimed()
    assert cannot == {"other_attacks"}
    for changed, code in (({"controls": 0}, "control"), ({"selector": 0}, "boundary"), ({"group_size": 1}, "groups"),
                          ({"others": 0, "clean": 0, "paired": 0}, "clean"), ({"planted": {}}, "planted"),
                          ({"neutral": 0, "shadows": 0}, "paired_only"),
                          ({"neutral": 0, "shadows": 0, "paired": 0}, "references")):
        assert code in claimed(replace(WORLD, **changed))[1]
    assert "texts" in claimed(texts=False)[1]
    assert can - claimed(replace(WORLD, controls=0, planted={}, group_size=1))[0] == {"control", "planted", "groups"}


@pytest.mark.parametrize("design", designs.DESIGNS)
def test_claims_by_design(design: designs.Design) -> None:
    assert designs.decides(design) == (design not in ("matched", "convenience"))
    can, cannot = claimed(design=design)
    assert bool({"epsilon", "epsilon_if_random"} & can) == designs.decides(design) == ("verdict" not in cannot)
    assert ("if_random" in can) == (design in designs.STATED) == bool({"sealed", "random"} & cannot)
    assert ("sealed" in cannot) == (design == designs.AS_STATED)
    assert ("elsewhere" in cannot) == (design == designs.ASSIGNED)
    assert ("not shown" in designs.WORDS[design]) == (design in designs.STATED)


def test_designs_by_name() -> None:
    with pytest.raises(UsageError, match="convenience, matched, randomised, sealed"):
        designs.known_design("lucky")
    assert designs.shown_design("sealed", seal=False) == designs.AS_STATED
    assert designs.shown_design("sealed", seal=True) == "sealed"
    assert designs.AS_STATED not in designs.NAMED
    for name in ("randomised", "matched", "convenience"):
        assert designs.shown_design(name, seal=False) == name
        with pytest.raises(UsageError, match="a seal was given with design"):
            designs.shown_design(name, seal=True)
