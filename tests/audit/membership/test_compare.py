from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit.membership.scenes import drawn, sure

from discreet.audit.core.simulate import World
from discreet.audit.membership.compare import compare_membership
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError
from discreet.stats import auroc, delong_test, holm

SIZES = World(members=200, others=0, clean=200, selector=40, paired=0)


def retrained(table: ScoreTable, leak: float = 0.0, seed: int = 1, where: int | None = None, row: int = 0
              ) -> ScoreTable:
    """The same records scored by another model in place of that in `row`, which leaks so much more on the target's
    members, of one class where that is said."""
    rng = np.random.default_rng(seed)
    inside = (table.member[0] == 1) & ((table.examples.label == where) if where is not None else True)
    moved = np.where(table.examples.label == 1, 1.0, -1.0) * (
        0.4 * rng.normal(size=inside.size) + leak * inside)
    logits = table.logits.copy()
    logits[row, :, 0, 0] -= moved / 2.0
    logits[row, :, 0, 1] += moved / 2.0
    return replace(table, logits=logits)


def test_more_less_and_not_told_apart() -> None:
    old = drawn(SIZES)
    new = retrained(old, 1.0)
    for pair, verdict, direction, code in (
            ((old, new), "fail", "more", "more"), ((new, old), "pass", "less", "less"),
            ((old, retrained(old)), "inconclusive", "unclear", "unclear"),
            ((old, old), "inconclusive", "unclear", "same")):
        found = compare_membership(*pair)
        assert found.verdict == verdict
        assert found.parts[0].direction == direction
        assert found.to_json()["reason_codes"][0] == code


def test_the_other_order_turns_the_sign_and_nothing_else() -> None:
    old = drawn(replace(SIZES, group_size=2))
    place, categories = np.arange(len(old.examples)), list(sure(old.examples.categories))
    moved = tuple(frozenset({"abuse"}) if row % 7 == 0 else one for row, one in enumerate(categories))
    selector = next(row for row, model in enumerate(old.models) if model.role == "selection")
    new = retrained(retrained(old, 0.6), row=selector, seed=5)
    new = replace(new, examples=replace(new.examples, categories=moved, group=None, columns={
        "structure": np.where(place % 2 == 0, "post", "reply").astype(object)}),
        models=tuple(replace(one, name=f"z-{one.name}") for one in new.models)).take(place[::-1][:-9])
    there, back = compare_membership(old, new), compare_membership(new, old)
    turned = {"more": "less", "less": "more"}
    assert {one.name for one in there.parts} >= {"structure post", "category abuse", "least likely records"}
    for one, other in zip(there.parts, back.parts, strict=True):
        assert (one.name, one.n_members, one.n_nonmembers) == (other.name, other.n_members, other.n_nonmembers)
        for mine, theirs in ((one.old, other.new), (one.new, other.old)):  # Sums in another order round otherwise.
            assert (mine.value, mine.low, mine.high) == pytest.approx((theirs.value, theirs.low, theirs.high))
            assert mine == replace(theirs, value=mine.value, low=mine.low, high=mine.high)
        assert one.difference.value == pytest.approx(-sure(other.difference.value))
        assert one.p.value == pytest.approx(other.p.value)
        assert one.direction == turned.get(other.direction, other.direction)
    assert "more" in {one.direction for one in there.parts}
    apart = replace(new, examples=replace(new.examples, group=np.arange(len(new.examples))))
    with pytest.raises(InputError, match="group the same records differently"):
        compare_membership(old, apart)


def test_each_part_is_delongs_test_and_holm() -> None:
    old = drawn(SIZES, 3)
    new = retrained(old, 0.4)
    found = compare_membership(old, new)
    label, sign = old.examples.label, np.where(old.examples.label == 1, 1.0, -1.0)
    reference = next(row for row, model in enumerate(old.models) if model.reference_kind == "neutral")

    def ratio(table: ScoreTable, row: int) -> np.ndarray:
        odds = table.logits[:, :, 0, 1] - table.logits[:, :, 0, 0]
        return np.asarray(sign * (odds[row] - odds[reference]))

    assert old.examples.split is not None
    judged = np.flatnonzero(np.isin(old.examples.split, ["train", "eval"]))
    raw = []
    for name, rows in (("all records", judged), ("class 0", judged[label[judged] == 0]),
                       ("class 1", judged[label[judged] == 1])):
        [part] = [one for one in found.parts if one.name == name]
        truth = old.member[0][rows] == 1
        by_hand = delong_test(ratio(new, 0)[rows], ratio(old, 0)[rows], truth)
        assert part.difference.value == pytest.approx(by_hand.difference)
        assert (part.difference.low, part.difference.high) == pytest.approx((by_hand.low, by_hand.high))
        assert part.new.value == pytest.approx(auroc(ratio(new, 0)[rows], truth))
        assert part.old.value == pytest.approx(auroc(ratio(old, 0)[rows], truth))
        raw.append((part.p.value, by_hand.p_value))
    assert all(adjusted is not None and adjusted >= p for adjusted, p in raw)
    assert len(found.parts) == 7  # and three categories and the boundary
    assert raw[0][0] == pytest.approx(holm([raw[0][1], *[1.0] * 6])[0], rel=0.5)


def test_a_leak_in_one_class_only_is_more() -> None:
    old = drawn(SIZES)
    found = compare_membership(old, retrained(old, 1.2, where=1))
    direction = {one.name: one.direction for one in found.parts}
    assert found.verdict == "fail"
    assert direction["class 1"] == "more"
    assert direction["class 0"] == "unclear"


def test_control_models_that_differ_alike_decide_nothing() -> None:
    old = drawn(SIZES)
    control = next(row for row, model in enumerate(old.models) if model.role == "control")
    new = retrained(retrained(old, 1.0), 1.0, row=control, seed=2)
    found = compare_membership(old, new)
    assert found.verdict == "inconclusive"
    assert {one.direction for one in found.parts} <= {"control", "unclear"}
    assert "control models differ" in found.reasons[0]


def test_of_two_models_that_do_not_leak_none_leaks_more() -> None:
    old = drawn(SIZES)
    new = retrained(old, -1.0)
    for pair in ((old, new), (new, old)):
        found = compare_membership(*pair)
        assert found.verdict == "inconclusive"
        assert found.parts[0].direction == "unclear"
        assert sure(found.parts[0].p.value) < 0.05


def test_records_are_matched_by_name_label_and_membership() -> None:
    old = drawn(SIZES)
    new = retrained(old, 1.0)
    order = np.random.default_rng(0).permutation(len(new.examples))
    shuffled = compare_membership(old, new.take(order))
    whole = compare_membership(old, new)
    assert shuffled.parts[0].difference.value == pytest.approx(whole.parts[0].difference.value)
    assert whole.left_out == 0
    # Ten records of another membership, and twenty that only the old table has.
    members = np.flatnonzero(new.member[0] == 1)
    member = new.member.copy()
    member[0, members[:10]] = 0
    fewer = replace(new, member=member).take(np.setdiff1d(np.arange(len(new.examples)), members[10:30]))
    found = compare_membership(old, fewer)
    assert found.parts[0].n_members == 170
    assert found.left_out == 10 + 10 + 20
    with pytest.raises(InputError, match="0 members and 0 non-members are in both"):
        compare_membership(old, replace(new, examples=replace(new.examples, id=np.array(
            [f"other-{place}" for place in range(len(new.examples))], dtype=object))))


def test_targets_are_matched_by_name_where_there_are_several() -> None:
    old = drawn(World(members=200, others=200, clean=200, selector=0))
    two = replace(old, models=tuple(replace(one, role="target", reference_kind=None)
                                    if one.reference_kind == "paired" else one for one in old.models))
    found = compare_membership(two, retrained(two, 1.0))
    assert {one.target for one in found.parts} == {one.name for one in two.models if one.role == "target"}
    # Sentences say of which model they are.
    leaking = two.models[0].name
    assert f"{leaking}, all records" in found.reasons[0]
    assert f"Over {leaking}, all records" in " ".join(map(str, found.reasons))
    with pytest.raises(InputError, match="2 targets and 1 target"):
        compare_membership(two, replace(old, models=(replace(old.models[0], name="other"), *old.models[1:])))
