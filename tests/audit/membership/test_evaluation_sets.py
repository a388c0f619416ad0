from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.audit.membership.scenes import drawn, sets_of, sure, with_member

from discreet.audit.core.simulate import World
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.evaluation_sets import Pool, boundary, deciles, evaluation_sets, selector_p, true_class_p
from discreet.audit.scores.table import Model, ScoreTable
from discreet.core.errors import InputError

WORLD = World(members=30, others=20, clean=40, selector=10, planted={1: 8, 4: 8})
CONTROLS = pytest.mark.parametrize("which", ["control", "neutral reference"])


def splits(table: ScoreTable, rows: np.ndarray) -> set[str]:
    return set(sure(table.examples.split)[rows])


def roles_of(table: ScoreTable) -> dict[str, int]:
    called = {"control": table.of_role("control"), "selector": table.of_role("selection"),
              "neutral reference": table.references("neutral"), "paired": table.references("paired")}
    return {name: rows[0] for name, rows in called.items() if rows}


def audited(table: ScoreTable, **options: Any) -> MembershipAudit:
    return audit_membership(table, design="randomised", bootstraps=20, **{
        "permutations": 0, "attacks": ["loss", "reference"], **options})


def test_clean_non_members_are_those_that_nobody_trained_on() -> None:
    table = drawn(WORLD)
    sets = sets_of(table)
    assert splits(table, sets.members) == {"train"}
    assert sets.members.size == 30
    assert splits(table, sets.clean["paired"]) == {"eval"}
    # Without a paired reference in play its training data are as good as any; the selector's never are.
    assert splits(table, sets.clean["neutral"]) == splits(table, sets.clean[None]) == {"reference", "eval"}
    assert splits(table, sets.reference_train) == {"reference"}
    assert splits(table, sets.planted) == splits(table, sets.planted_out) == {"planted"}
    assert (table.member[0, sets.planted] == 1).all()
    assert (table.member[0, sets.planted_out] == 0).all()
    assert sets.population.size == 0


def test_a_population_is_set_aside_for_population_references_only() -> None:
    table = drawn(replace(WORLD, paired=0, neutral=0, shadows=4, clean=200))
    sets, again = sets_of(table), sets_of(table)
    assert sets.population.size == int(0.1 * 220)
    assert not np.intersect1d(sets.population, sets.judged).size
    assert sets.clean["population"].size + sets.population.size == 220
    assert np.array_equal(sets.population, again.population)
    assert not np.array_equal(sets.population, evaluation_sets(table, 0, np.random.default_rng(1)).population)
    # Whole groups.
    table = drawn(World(members=100, others=0, clean=300, selector=0, paired=0, neutral=0, shadows=3, group_size=5))
    sets, group = sets_of(table), sure(table.examples.group)
    assert 0 < sets.population.size <= 30
    assert not np.intersect1d(group[sets.population], group[sets.judged]).size


def test_a_marked_population_is_used_as_it_is() -> None:
    table = drawn(replace(WORLD, paired=0, shadows=4))
    split = sure(table.examples.split)
    split[np.flatnonzero(split == "eval")[:7]] = "population"
    sets = sets_of(table)
    assert splits(table, sets.population) == {"population"}
    assert sets.population.size == 7


def test_a_reference_that_saw_members_is_left_out_and_named() -> None:
    table = drawn(WORLD)
    row = roles_of(table)["neutral reference"]
    sets = sets_of(with_member(table, row, 1, sets_of(table).members[:3]))
    assert "neutral" not in sets.references
    assert table.models[row].name in " ".join(sets.notes)


def test_two_targets_are_each_others_paired_references() -> None:
    table = drawn(replace(WORLD, neutral=0, controls=0))
    models = tuple(Model("b", "target") if m.reference_kind == "paired" else m for m in table.models)
    table = replace(table, models=models)
    first, second = (evaluation_sets(table, target, np.random.default_rng(0)) for target in table.of_role("target"))
    assert first.references["paired"] == (second.target,)
    assert second.references["paired"] == (first.target,)
    assert np.array_equal(first.reference_train, second.members)


def test_population_references_that_know_the_sets_are_named() -> None:
    table = drawn(replace(WORLD, paired=0, shadows=6, members=300, clean=300))
    assert not sets_of(table).notes
    shadows = list(table.references("population"))
    table.member[np.array(shadows)[:, None], np.flatnonzero(table.member[0] == 1)] = 0
    [note] = sets_of(table).notes
    assert "no random halves" in note


def test_the_control_model_is_the_one_most_like_the_target_of_those_that_are_stated() -> None:
    table = drawn(replace(WORLD, controls=3))
    places = table.of_role("control")
    models, same = list(table.models), {"regime": "lora", "seed": "1"}
    for row, facts in ((0, same), (places[0], {**same, "regime": "full"}), (places[2], same)):
        models[row] = replace(models[row], facts=facts)
    table = replace(table, models=tuple(models))
    assert sets_of(table).control == places[2]
    assert sets_of(with_member(table, places[2], -1)).control == places[0]


def test_bad_sets_are_refused_in_one_line() -> None:
    table = drawn(WORLD)
    with pytest.raises(InputError, match="trained on 1 members of target"):
        sets_of(with_member(table, roles_of(table)["control"], 1, np.array([0])))
    for code, word in ((1, "non-member"), (0, "as a member")):
        with pytest.raises(InputError, match=word):
            sets_of(with_member(table, 0, code))


@CONTROLS
def test_a_control_that_does_not_say_what_it_was_trained_on_controls_nothing(which: str) -> None:
    table = drawn(WORLD)
    row = roles_of(table)[which]
    sets = sets_of(with_member(table, row, -1))
    assert (sets.control is None) == (which == "control")
    assert ("neutral" in sets.references) == (which == "control")
    assert sets.members.size == 30
    [note] = sets.notes
    assert f"Membership of {which} {table.models[row].name} is not stated, so it controls nothing" in note
    # Nor does one that says so of one set only; planted records are in both by themselves and make up for nothing.
    for code in (0, 1):
        sets = sets_of(with_member(table, row, -1, (table.member[0] == code) & (table.examples.planted == 0)))
        assert row not in (sets.control, *sets.references.get("neutral", ()))
        assert "so it controls nothing" in sets.notes[0]


@CONTROLS
def test_only_examples_that_are_stated_are_judged(which: str) -> None:
    table = drawn(WORLD)
    before = sets_of(table)
    unsaid = np.unique(np.concatenate([before.members[:4], before.clean[None][:5], before.planted[:2],
                                       before.planted_out[:1], before.reference_train[:3]]))
    sets = sets_of(with_member(table, roles_of(table)[which], -1, unsaid))
    assert np.array_equal(sets.judged, np.setdiff1d(before.judged, unsaid))
    assert sets.members.size == 26
    assert (sets.control, sets.references) == (before.control, before.references)
    [note] = sets.notes
    assert f"not stated for {unsaid.size} of {len(table.examples)} examples, so these are not judged" in note


def test_two_controls_that_together_leave_nobody_are_not_both_used() -> None:
    table = drawn(WORLD)
    rows, half = roles_of(table), np.arange(len(table.examples)) % 2 == 0
    sets = sets_of(with_member(with_member(table, rows["control"], -1, half), rows["neutral reference"], -1, ~half))
    assert sets.control == rows["control"]
    assert "neutral" not in sets.references
    assert sets.members.size == 15
    assert len(sets.notes) == 2


def test_a_control_that_is_not_stated_lets_nothing_pass() -> None:
    table = drawn(World(members=3000, others=0, clean=3000, paired=0, planted={16: 100}))
    control, neutral = (audited(with_member(table, roles_of(table)[which], -1))
                        for which in ("control", "neutral reference"))
    assert audited(table, attacks=["loss"]).verdict == "pass"
    assert control.verdict == "inconclusive"
    assert all(row.uncontrolled for row in control.attacks)
    primary = sure(neutral.decisive.primary)
    assert (primary.spec.attack, primary.spec.reference_kind) == ("loss", None)
    assert not any(row.spec.reference_kind == "neutral" and row.auc.resolved for row in neutral.attacks)
    for found, which in ((control, "control"), (neutral, "neutral reference")):
        assert f"Membership of {which}" in " ".join(found.decisive.judgement.reasons)


@pytest.mark.parametrize("unsaid", [None, 0, 1])
def test_a_selector_that_does_not_say_what_it_was_trained_on_selects_nothing(unsaid: int | None) -> None:
    table = drawn(WORLD)
    row, before = roles_of(table)["selector"], sets_of(table)
    where = slice(None) if unsaid is None else (table.member[0] == unsaid) & (table.examples.planted == 0)
    sets = sets_of(with_member(table, row, -1, where))
    assert (before.selectors, sets.selectors) == ((row,), ())
    # What does not depend on it stays as it was.
    assert np.array_equal(sets.members, before.members)
    assert set(before.clean[None]) <= set(sets.clean[None])
    [note] = sets.notes
    assert f"Nothing shows that selector {table.models[row].name} was not trained on" in note


def test_a_selector_selects_where_it_says_that_it_was_not_trained() -> None:
    table = drawn(WORLD)
    row, before = roles_of(table)["selector"], sets_of(table)
    sets = sets_of(with_member(table, row, -1, before.members[:7]))
    assert (sets.selectors, sets.members.size) == ((row,), 30)
    [note] = sets.notes
    assert f"not stated for 7 of {len(table.examples)} examples, so it does not select among these" in note
    [note] = sets_of(with_member(table, row, 1, before.members[:7])).notes
    assert f"was trained on 7 members of {table.models[0].name}" in note
    # Of two the one that says so.
    models = tuple(replace(m, role="selection") if m.role == "control" else m for m in table.models)
    two = with_member(replace(table, models=models), row, -1)
    assert sets_of(two).selectors == tuple(one for one in two.of_role("selection") if one != row)


def test_a_paired_reference_is_held_to_what_it_says_and_else_taken_for_the_papers() -> None:
    table = drawn(WORLD)
    paired, before = roles_of(table)["paired"], sets_of(table)
    sets = sets_of(with_member(table, paired, -1))
    # All that it may have been trained on is the paper's, and nothing is clean of it.
    assert splits(table, sets.reference_train) == splits(table, sets.clean["neutral"]) == {"reference", "eval"}
    assert sets.clean["paired"].size == 0
    [note] = sets.notes
    assert "taken to have been trained on the non-members" in note
    assert table.models[paired].name in note
    unsaid = np.concatenate([before.reference_train[:4], before.clean["paired"][:6]])
    sets = sets_of(with_member(table, paired, -1, unsaid))
    assert np.array_equal(sets.reference_train, before.reference_train[4:])
    assert np.array_equal(sets.clean["paired"], before.clean["paired"][6:])
    [note] = sets.notes
    assert "not stated for 10 non-members" in note


def test_what_a_paired_reference_does_not_say_decides_nothing() -> None:
    table = drawn(World(members=400, others=400, clean=400, neutral=0, planted={16: 60}))
    found = audited(with_member(table, roles_of(table)["paired"], -1))
    asked = sure(found.decisive.primary).spec
    assert (asked.attack, asked.reference_kind, asked.oracle) == ("loss", None, False)
    rows = [row for row in found.attacks if row.spec.reference_kind == "paired" and row.auc.resolved]
    assert rows
    assert all(row.spec.oracle and row.spec.nonmembers == "reference_train" for row in rows)
    assert any("paired reference" in reason for reason in found.decisive.judgement.reasons)


def test_a_boundary_by_a_selector_that_does_not_say_is_unresolved_and_said_so() -> None:
    table = drawn(World(members=200, others=0, clean=200, paired=0))
    unsaid = with_member(table, roles_of(table)["selector"], -1)
    said, found = (audited(one, permutations=9, attacks=["loss"]) for one in (table, unsaid))
    assert any(row.spec.selection == "boundary" and row.auc.resolved for row in said.attacks)
    for row in found.attacks:
        assert row.spec.selection == "global" or not row.auc.resolved
        assert row.spec.decile_by != "selector"
    assert any("it selects none" in reason for reason in found.decisive.judgement.reasons)
    assert [any("decision boundary" in one for one in each.decisive.claims.cannot) for each in (found, said)] == [
        True, False]
    one, other = (sure(sure(each.decisive.primary).auc.value) for each in (found, said))
    assert one == pytest.approx(other, abs=0.05)


N = 40
values = hnp.arrays(np.float64, N, elements=st.sampled_from([0.1, 0.2, 0.3, 0.4, np.nan]))
labels = hnp.arrays(np.int64, N, elements=st.integers(0, 2))
members = hnp.arrays(np.int8, N, elements=st.sampled_from([1, 0, -1]))


@given(values, labels, members, st.sampled_from([1, 2, 5, 100, None]), st.sampled_from(["independent", "union"]))
def test_boundary_is_the_definition_ties_in_row_order(p_true: np.ndarray, label: np.ndarray, member: np.ndarray,
                                                      n: int | None, pool: Pool) -> None:
    chosen: list[int] = []
    for y in set(label.tolist()):
        for codes in [[1], [0]] if pool == "independent" else [[1, 0]]:
            rows = [i for i in range(N) if label[i] == y and member[i] in codes and not np.isnan(p_true[i])]
            chosen += sorted(rows, key=lambda i: (p_true[i], i))[:n]
    assert boundary(p_true, label, member, n, pool).tolist() == sorted(chosen)


def test_nothing_gives_nothing() -> None:
    none = np.zeros(0)
    assert boundary(none, none.astype(np.int64), none.astype(np.int8), 5).size == 0
    assert deciles(none, none.astype(np.int8)).size == 0
    assert boundary(np.array([np.nan]), np.array([0]), np.array([1], np.int8), None).size == 0


def test_arguments_that_cannot_be_are_refused() -> None:
    p_true, label, member = np.zeros(3), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int8)
    for labels, members in ((label[:2], member), (label, member[:2])):
        with pytest.raises(ValueError, match="expected one length"):
            boundary(p_true, labels, members, 1)
    with pytest.raises(ValueError, match="pool is 'both'"):
        boundary(p_true, label, member, 1, "both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected one length"):
        deciles(p_true, member[:2])
    for n in (0, -1):
        with pytest.raises(ValueError, match="n is"):
            boundary(p_true, label, member, n)


def test_deciles_are_tenths_of_both_sets_together() -> None:
    p, member = np.random.default_rng(0).permutation(200) / 200, (np.arange(200) % 2).astype(np.int8)
    codes = deciles(p, member)
    assert np.bincount(codes).tolist() == [20] * 10
    assert codes.tolist() == (np.argsort(np.argsort(p)) // 20).tolist()
    # Rows of unknown membership move no bound, and a value on a bound belongs above it.
    more = deciles(np.concatenate([p, np.zeros(500)]), np.concatenate([member, np.full(500, -1, np.int8)]))
    assert more[:200].tolist() == codes.tolist()
    assert deciles(np.arange(11.0), np.ones(11, np.int8)).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]


@given(values, members)
def test_deciles_never_part_equals_and_never_fall(p: np.ndarray, member: np.ndarray) -> None:
    codes = deciles(p, member)
    assert (codes == -1).tolist() == (np.isnan(p) | (member == -1)).tolist()
    counted = np.flatnonzero(codes >= 0)
    assert (np.diff(codes[counted[np.argsort(p[counted])]]) >= 0).all()
    assert len({(a, b) for a, b in zip(p[counted], codes[counted], strict=True)}) == len(set(p[counted].tolist()))
    assert codes.max(initial=-1) <= 9


def test_a_selector_ranks_only_what_it_says_it_was_not_trained_on() -> None:
    table = drawn(World(members=30, others=20, clean=40, selector=10, shadows=6))
    sets = sets_of(table)
    models = table.references("population")[:2]
    expected = [np.mean([np.exp(table.log_p[m][i, :, y]).mean() for m in models])
                for i, y in enumerate(table.examples.label)]
    np.testing.assert_allclose(true_class_p(table, models), expected, rtol=1e-14)
    [selector] = sets.selectors
    table = with_member(with_member(table, selector, 1, sets.members[:3]), selector, -1, sets.members[3:5])
    found = sure(selector_p(table, sets))
    silent = np.isnan(found)
    assert set(np.flatnonzero(silent)) == set(sets.members[:5]) | set(np.flatnonzero(table.member[selector] == 1))
    assert np.array_equal(found[~silent], true_class_p(table, (selector,))[~silent])
    assert selector_p(table, replace(sets, selectors=())) is None
