from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.audit.core.verdict import Grounds, judge
from discreet.audit.membership.controls import Planted
from discreet.audit.membership.rows import Asked, AttackRow
from discreet.core.design import DESIGNS, Design, off, reads_apart
from discreet.core.records import Estimate

NOTHING = Estimate.unresolved("not brought")
QUIET = Estimate(0.50, 0.48, 0.52, n=8000, n_pos=4000, n_neg=4000)


def auc(value: float, half: float = 0.01, n: int = 4000) -> Estimate:
    return Estimate(value, value - half, min(1.0, value + half), n=2 * n, n_pos=n, n_neg=n)


def row(value: Estimate, placebo: Estimate = QUIET, difference: Estimate | None = None) -> AttackRow:
    gap = Estimate((value.value or 0) - (placebo.value or 0), (value.low or 0) - (placebo.high or 0), 1.0)
    return AttackRow(Asked("reference", "logit", "neutral"), 4000, 4000, value, NOTHING, NOTHING, placebo,
                     {"auc": difference or gap})


def planted(detected: bool, times: int = 4) -> Planted:
    return Planted(times, auc(0.8 if detected else 0.51, 0.05), NOTHING, detected, NOTHING)


def grounds(value: Estimate, placebo: Estimate = QUIET, seen: bool = True) -> Grounds:
    return Grounds("randomised", 0.55, row(value, placebo), value, None, [planted(seen)], QUIET)


def test_the_rule() -> None:
    assert judge(grounds(auc(0.60))).verdict == "fail"
    assert judge(grounds(auc(0.51))).verdict == "pass"
    # The point exceeds the tolerance, the lower bound not one half; then the interval holds the tolerance.
    assert judge(grounds(auc(0.56, 0.07))).verdict == "inconclusive"
    assert judge(grounds(auc(0.54, 0.02))).verdict == "inconclusive"
    # A small leak whose upper bound is under the tolerance passes; just at the tolerance it does not.
    assert judge(grounds(auc(0.53))).verdict == "pass"
    assert judge(grounds(auc(0.54, 0.0101))).verdict == "inconclusive"
    # The corrected bound decides, not the row's own interval.
    assert judge(replace(grounds(auc(0.60)), bound=auc(0.60, 0.12))).verdict == "inconclusive"


@pytest.mark.parametrize("design", DESIGNS)
def test_only_two_designs_decide(design: Design) -> None:
    leaking = judge(replace(grounds(auc(0.9)), design=design))
    assert leaking.verdict == ("inconclusive" if design in ("matched", "convenience") else "fail")
    if leaking.verdict == "inconclusive":
        assert "cannot pass or fail" in leaking.reasons[0]
        assert any("Without any model" in reason for reason in leaking.reasons)


def test_a_pass_needs_placebo_and_planted_leak() -> None:
    fine = grounds(auc(0.51))
    for lacking, word in (
        (replace(fine, primary=row(auc(0.51), NOTHING)), "uncontrolled"),
        (replace(fine, planted=[]), "nothing shows that a leak would have been seen"),
        (replace(fine, planted=[planted(False)]), "would have missed a leak"),
        (replace(fine, planted=[planted(False, 1), planted(False, 16)]), "planted once or 16 times"),
    ):
        found = judge(lacking)
        assert found.verdict == "inconclusive"
        assert word in " ".join(found.reasons)


def test_any_planted_leak_that_was_seen_shows_that_one_would_have_been() -> None:
    # The most repeated are the fewest: that they were missed says little where many planted once were seen.
    found = judge(replace(grounds(auc(0.51)), planted=[planted(True, 1), planted(False, 16)]))
    assert found.verdict == "pass"
    assert "planted once" in " ".join(found.reasons)


def test_a_seal_shows_its_power_instead() -> None:
    sealed = replace(grounds(auc(0.51)), design="sealed", planted=[])
    assert judge(sealed).verdict == "pass"
    weak = judge(replace(sealed, bound=auc(0.51, n=60)))
    assert weak.verdict == "inconclusive"
    assert "More records" in weak.reasons[0]


def test_uncontrolled_can_fail_but_says_so() -> None:
    found = judge(replace(grounds(auc(0.7)), primary=row(auc(0.7), NOTHING, NOTHING)))
    assert found.verdict == "fail"
    assert "No placebo" in " ".join(found.reasons)


def test_a_leak_whose_size_is_not_certain_is_not_said_to_be() -> None:
    assert "larger than the tolerance." in judge(grounds(auc(0.7, 0.05))).reasons[0]
    unsure = judge(grounds(auc(0.58, 0.05)))
    assert unsure.verdict == "fail"
    assert "by its best estimate larger than the tolerance, though the interval reaches below it" in unsure.reasons[0]


def test_a_control_that_contradicts_the_design_takes_the_verdict_away() -> None:
    texts = replace(grounds(auc(0.7)), blind=auc(0.8))
    assert judge(texts).verdict == "inconclusive"
    assert "without any model" in judge(texts).reasons[0]
    # The placebo is off and the target hardly exceeds it; then it exceeds it by far.
    assert judge(grounds(auc(0.72), placebo=auc(0.70))).verdict == "inconclusive"
    assert "control fails" in judge(grounds(auc(0.72), placebo=auc(0.70))).reasons[0]
    assert judge(grounds(auc(0.90), placebo=auc(0.60))).verdict == "fail"
    assert judge(grounds(auc(0.51), placebo=auc(0.60))).verdict == "inconclusive"


def test_a_draw_of_this_run_is_never_called_non_random() -> None:
    texts = replace(grounds(auc(0.7)), design="randomised (dealt here)", blind=auc(0.6))
    for one, word in ((texts, "fail"), (replace(texts, primary=row(auc(0.51)), bound=auc(0.51)), "pass")):
        found = judge(one)
        assert found.verdict == word
        said = " ".join(found.reasons)
        assert "not random" not in said
        assert "Texts alone tell members from non-members with AUC .600 [.590, .610], although this run drew" in said
    assert "although this run drew" not in " ".join(judge(replace(texts, blind=QUIET)).reasons)
    # A placebo that is off still takes the verdict away, by its own words.
    off_too = judge(replace(texts, primary=row(auc(0.72), placebo=auc(0.70))))
    assert off_too.verdict == "inconclusive"
    assert "control fails" in off_too.reasons[0]
    # Where the draw is somebody's word, texts that differ contradict it.
    assert "not random" in judge(replace(texts, design="randomised")).reasons[0]


def test_a_control_of_too_few_planted_records_missed_nothing() -> None:
    few = Planted(1, auc(0.6, 0.3, n=10), NOTHING, False, NOTHING)
    found = judge(replace(grounds(auc(0.51)), planted=[few]))
    assert found.verdict == "inconclusive"
    assert "10 records of a kind are too few to show an AUC of .8" in found.reasons[0]
    assert "would have missed" not in found.reasons[0]
    enough = replace(few, auc=auc(0.6, 0.3, n=60))
    assert "would have missed a leak" in judge(replace(grounds(auc(0.51)), planted=[few, enough])).reasons[0]


def test_a_blind_baseline_below_one_half_tells_nothing_apart() -> None:
    alike = replace(grounds(auc(0.7)), blind=auc(0.4))
    assert judge(alike).verdict == "fail"
    assert judge(replace(grounds(auc(0.51)), blind=auc(0.4))).verdict == "pass"
    assert not reads_apart(auc(0.4), 0.55)
    assert reads_apart(auc(0.6), 0.55)
    assert not reads_apart(auc(0.52), 0.55)
    assert not reads_apart(NOTHING, 0.55)


def test_no_clear_excess_over_the_placebo_is_no_conviction() -> None:
    value, placebo = auc(0.57, 0.02), auc(0.53, 0.02)
    unclear = row(value, placebo, Estimate(0.04, -0.01, 0.09))
    found = judge(replace(grounds(value), primary=unclear))
    assert found.verdict == "inconclusive"
    assert "not clearly more on your model" in found.reasons[0]


def test_the_innocent_case_in_words() -> None:
    paper = row(auc(0.72), placebo=auc(0.72))
    found = judge(replace(grounds(auc(0.5)), paper=paper))
    assert found.verdict == "pass"
    said = " ".join(found.reasons)
    assert ".72 on a model trained on neither side" in said
    assert "no part in the verdict" in said
    without = judge(replace(grounds(auc(0.5)), paper=row(auc(0.72), NOTHING)))
    assert "no part in the verdict" in " ".join(without.reasons)
    assert "paper" not in " ".join(judge(replace(grounds(auc(0.5)), paper=row(auc(0.5)))).reasons)


def test_no_primary_no_verdict() -> None:
    found = judge(replace(grounds(auc(0.7)), primary=None, bound=Estimate.unresolved("no loss")))
    assert found.verdict == "inconclusive"
    assert "no loss" in found.reasons[0]


def test_off_needs_both_significance_and_size() -> None:
    assert off(auc(0.6), 0.55)
    assert off(auc(0.4), 0.55)
    assert not off(auc(0.6, 0.2), 0.55)
    assert not off(auc(0.52), 0.55)
    assert not off(NOTHING, 0.55)


def test_figures_near_the_tolerance_are_not_rounded_onto_it() -> None:
    passed = judge(grounds(auc(0.5372)))
    assert passed.verdict == "pass"
    assert ".537 [.527, .547]; chance alone gives .5, the tolerance is .55." in passed.reasons[0]
    wide = judge(grounds(auc(0.5, 0.0504)))
    assert "anywhere in .450 to .550, on both sides of the tolerance of .55." in wide.reasons[0]
    leak = judge(replace(grounds(auc(0.548)), tolerance=0.555))
    assert "AUC .548 [.538, .558]), but neither clearly more nor clearly less than the tolerance of .555." \
        in leak.reasons[0]


def test_a_verdict_says_on_whose_word_chance_decided() -> None:
    stated: tuple[Design, ...] = ("randomised", "sealed (as stated)")
    for value in (auc(0.9), auc(0.51)):
        for design in stated:
            found = judge(replace(grounds(value), design=design))
            assert found.verdict in ("pass", "fail")
            assert "is the word of whoever ran this audit" in " ".join(found.reasons)
        assert "whoever ran" not in " ".join(judge(replace(grounds(value), design="sealed")).reasons)
    assert "whoever ran" not in " ".join(judge(replace(grounds(auc(0.9)), design="convenience")).reasons)


def test_a_seal_that_was_not_shown_has_no_power_of_its_own() -> None:
    found = judge(replace(grounds(auc(0.51)), design="sealed (as stated)", planted=[]))
    assert found.verdict == "inconclusive"
    assert "nothing shows that a leak would have been seen" in found.reasons[0]
