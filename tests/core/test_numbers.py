from __future__ import annotations

from math import inf
from typing import Any

import pytest

from discreet.audit.labels.attacker_view import LabelAttack, all_attacks
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.lira import LiraLabel
from discreet.core import numbers
from discreet.core.numbers import condition_name, label_attack_name, say
from discreet.core.records import Estimate

KNOWN = Estimate(0.8824, 0.8479, 0.9112, n=400)
NONE = Estimate.unresolved("too few")


@pytest.mark.parametrize(("value", "options", "said"), [
    (0.8824, {}, ".882"), (1.0, {}, "1.000"), (0.0, {}, ".000"), (-0.025, {}, "−.025"), (0.5, {"digits": 2}, ".50"),
    (0.025, {"sign": True}, "+.025"), (-0.0001, {}, ".000"), (-0.0001, {"sign": True}, "+.000"),
    (-1.25, {"digits": 2}, "−1.25"), (None, {}, "unresolved"), (None, {"missing": "–"}, "–"),
])
def test_a_number_has_no_zero_before_its_point(value: float | None, options: dict[str, object], said: str) -> None:
    assert numbers.number(value, **options) == said  # type: ignore[arg-type]


def test_an_interval_stands_behind_its_estimate_in_records_and_in_json() -> None:
    assert numbers.interval(KNOWN) == numbers.interval(KNOWN.to_json()) == ".882 [.848, .911]"
    assert numbers.interval(Estimate(0.5, None, None)) == ".500"
    assert numbers.interval(Estimate(-0.03, -0.05, 0.01), sign=True) == "−.030 [−.050, +.010]"
    assert numbers.interval(None, missing="–") == numbers.interval(NONE, missing="–") == "–"
    assert numbers.share(KNOWN) == "88.2% [84.8%, 91.1%]"
    assert numbers.share_of(KNOWN) == "88.2% [84.8%, 91.1%] of 400"
    assert numbers.share(NONE) == "unresolved"


@pytest.mark.parametrize(("p", "said"), [(0.0, "< .001"), (0.0004, "< .001"), (0.034, ".034"), (1.0, "1.000"),
                                         (None, "–")])
def test_no_p_value_is_zero(p: float | None, said: str) -> None:
    assert numbers.p_value(p) == said


def test_privacy_parameters() -> None:
    assert [numbers.epsilon(one) for one in (2.0, 0.25, inf, "inf", None)] == ["2", "0.25", "∞", "∞", "–"]
    assert numbers.bound(Estimate(2.163, 2.163, None)) == "2.16"
    assert numbers.bound(NONE) == "–"
    assert [numbers.given(one) for one in (0.55, 0.525, 2)] == [".55", ".525", "2"]


@pytest.mark.parametrize(("n", "words", "said"), [
    (0, ("row",), "0 rows"), (1, ("row",), "1 row"), (1204, ("row",), "1,204 rows"),
    (1, ("person", "people"), "1 person"), (3, ("person", "people"), "3 people"),
])
def test_one_is_singular_and_all_else_plural(n: int, words: tuple[str, ...], said: str) -> None:
    assert numbers.counted(n, *words) == said


def test_words_in_a_row() -> None:
    assert [numbers.times(n) for n in (1, 4)] == ["once", "4 times"]
    parts = [("class", "class 1"), *(("category", f"category {n}") for n in range(6))]
    assert [numbers.listed_parts(some) for some in (parts, parts[:3], [])] == [
        "class 1 and 6 categories", "class 1, category 0 and category 1", ""]
    assert [numbers.listed(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(("attack", "tuned", "said", "brief"), [
    (LiaThreshold("median"), False, "LIA-Threshold, median", "LIA-Threshold, median"),
    (LiaThreshold(0.4), True, "LIA-Threshold, τ .40, tuned", "LIA-Threshold, τ .40, tuned"),
    (DeltaMargin("canary", beta=3.0, margin="max-second"), False,
     "LIA-Delta-Margin, loss at the canary label itself, β/α 3, max-second", "LIA-Delta-Margin at canary, β/α 3, max"),
    (LiraLabel("own"), False, "LiRA-label, own", "LiRA-label, own"),
])
def test_attacks_are_named(attack: LabelAttack, tuned: bool, said: str, brief: str) -> None:
    row: dict[str, Any] = {**attack.settings.to_json(), "tuned": tuned}
    assert label_attack_name(row) == said
    assert label_attack_name(row, brief=True) == brief


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("brief", [False, True])
def test_no_two_attacks_have_one_name(n_classes: int, brief: bool) -> None:
    names = [label_attack_name(one.settings.to_json(), brief=brief) for one in all_attacks(n_classes)]
    assert len(set(names)) == len(names)


def test_conditions_are_named() -> None:
    assert condition_name("none", inf) == condition_name("none", "inf") == "no mechanism"
    assert condition_name("rr", 0.5) == "rr, ε = 0.5"


def test_a_template_is_filled_from_a_record() -> None:
    record = {"a": {"value": 0.25, "low": 0.2, "high": 0.3, "n": 1234}, "b": [{"c": None}], "none": {"value": None}}
    assert say("{a:interval} of {a.n:,}; {a:percent}", record) == ".250 [.200, .300] of 1,234; 25.0%"
    assert say("{b.0.c} {none:number} {x.y:p:no p}|{none::}", record, "–") == "– – no p|"
    assert say("{.:keys}", record, forms={"keys": ",".join}) == "a,b,none"
