from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.evaluation_sets import EvaluationSets, evaluation_sets
from discreet.audit.membership.selection import (
    Pool,
    boundary,
    curve_sizes,
    deciles,
    selector_p,
    true_class_p,
)
from discreet.scores.table import ScoreTable

N = 40
values = hnp.arrays(np.float64, N, elements=st.sampled_from([0.1, 0.2, 0.3, 0.4, np.nan]))
labels = hnp.arrays(np.int64, N, elements=st.integers(0, 2))
members = hnp.arrays(np.int8, N, elements=st.sampled_from([1, 0, -1]))


def slow(p_true: np.ndarray, label: np.ndarray, member: np.ndarray, n: int | None, pool: Pool) -> list[int]:
    sides = [[1], [0]] if pool == "independent" else [[1, 0]]
    chosen: list[int] = []
    for y in set(label.tolist()):
        for side in sides:
            rows = [i for i in range(p_true.size)
                    if label[i] == y and member[i] in side and not np.isnan(p_true[i])]
            chosen += sorted(rows, key=lambda i: (p_true[i], i))[:n]
    return sorted(chosen)


@given(values, labels, members, st.sampled_from([1, 2, 5, 100, None]), st.sampled_from(["independent", "union"]))
def test_boundary_is_the_definition_ties_in_row_order(
    p_true: np.ndarray, label: np.ndarray, member: np.ndarray, n: int | None, pool: Pool,
) -> None:
    assert boundary(p_true, label, member, n, pool).tolist() == slow(p_true, label, member, n, pool)


def test_members_and_non_members_are_chosen_apart() -> None:
    """All non-members are harder: the union takes them alone, the paper's text takes as many of each."""
    p_true = np.concatenate([np.linspace(0.5, 0.9, 30), np.linspace(0.0, 0.4, 30)])
    member = np.repeat([1, 0], 30).astype(np.int8)
    label = np.arange(60) % 2
    apart = boundary(p_true, label, member, 5)
    assert apart.tolist() == [*range(10), *range(30, 40)]
    together = boundary(p_true, label, member, 5, "union")
    assert together.tolist() == [*range(30, 40)]


def test_a_cell_with_too_few_gives_all_it_has() -> None:
    label, member = np.array([0, 0, 0, 1, 1]), np.array([1, 1, 0, 1, -1], dtype=np.int8)
    rows = boundary(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), label, member, 2)
    assert rows.tolist() == [0, 1, 2, 3]


def test_nothing_gives_nothing() -> None:
    none = np.zeros(0)
    assert boundary(none, none.astype(np.int64), none.astype(np.int8), 5).size == 0
    assert deciles(none, none.astype(np.int8)).size == 0
    assert boundary(np.array([np.nan]), np.array([0]), np.array([1], np.int8), None).size == 0


def test_sizes_of_the_curve() -> None:
    assert curve_sizes() == (10, 20, 50, 100, 200, None)
    assert curve_sizes(30) == (10, 20, 30, 50, 100, 200, None)


@pytest.mark.parametrize("n", [0, -1])
def test_sizes_that_cannot_be_are_refused(n: int) -> None:
    one = np.array([0])
    with pytest.raises(ValueError, match="n is"):
        boundary(np.array([0.5]), one, one.astype(np.int8), n)
    with pytest.raises(ValueError, match="n is"):
        curve_sizes(n)


def test_shapes_and_pools_that_cannot_be_are_refused() -> None:
    p_true, label, member = np.zeros(3), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int8)
    with pytest.raises(ValueError, match="expected one length"):
        boundary(p_true, label[:2], member, 1)
    with pytest.raises(ValueError, match="one per ranked row"):
        boundary(p_true, label, member[:2], 1)
    with pytest.raises(ValueError, match="pool is 'both'"):
        boundary(p_true, label, member, 1, "both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected one length"):
        deciles(p_true, member[:2])


def test_deciles_of_distinct_values_are_tenths_of_both_sides_together() -> None:
    draw = np.random.default_rng(0)
    p, member = draw.permutation(200) / 200, (np.arange(200) % 2).astype(np.int8)
    codes = deciles(p, member)
    assert np.bincount(codes).tolist() == [20] * 10
    assert codes.tolist() == (np.argsort(np.argsort(p)) // 20).tolist()


def test_a_value_on_an_edge_belongs_above_it() -> None:
    """Eleven values: the nine edges are values themselves."""
    assert deciles(np.arange(11.0), np.ones(11, np.int8)).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]


@given(values, members)
def test_deciles_never_part_equals_and_never_fall(p: np.ndarray, member: np.ndarray) -> None:
    codes = deciles(p, member)
    assert (codes == -1).tolist() == (np.isnan(p) | (member == -1)).tolist()
    counted = np.flatnonzero(codes >= 0)
    order = counted[np.argsort(p[counted])]
    assert (np.diff(codes[order]) >= 0).all()
    assert len({(a, b) for a, b in zip(p[counted], codes[counted], strict=True)}) == len(set(p[counted].tolist()))
    assert codes.max(initial=-1) <= 9


def test_rows_of_unknown_membership_move_no_edge() -> None:
    p, member = np.linspace(0, 1, 100), (np.arange(100) % 2).astype(np.int8)
    more = deciles(np.concatenate([p, np.zeros(500)]), np.concatenate([member, np.full(500, -1, np.int8)]))
    assert more[:100].tolist() == deciles(p, member).tolist()


def world() -> tuple[ScoreTable, EvaluationSets]:
    table = simulated_table(World(members=30, others=20, clean=40, selector=10, shadows=6), np.random.default_rng(0))
    return table, evaluation_sets(table, table.of_role("target")[0], np.random.default_rng(0))


def test_true_class_probabilities_are_means_over_models() -> None:
    table, _ = world()
    models = table.references("population")[:2]
    expected = [np.mean([np.exp(table.log_p[m][i, :, y]).mean() for m in models])
                for i, y in enumerate(table.examples.label)]
    found = true_class_p(table, models)
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert true_class_p(table, ()) is None


def test_a_selector_ranks_only_what_it_says_it_was_not_trained_on() -> None:
    table, sides = world()
    [selector] = sides.selectors
    member = table.member.copy()
    member[selector, sides.members[:3]], member[selector, sides.members[3:5]] = 1, -1
    table = replace(table, member=member)
    expected = true_class_p(table, (selector,))
    found = selector_p(table, sides)
    assert expected is not None
    assert found is not None
    silent = np.flatnonzero(np.isnan(found))
    assert set(silent) == set(sides.members[:5]) | set(np.flatnonzero(member[selector] == 1))
    spoken = np.flatnonzero(~np.isnan(found))
    assert np.array_equal(found[spoken], expected[spoken])
    assert selector_p(table, replace(sides, selectors=())) is None
