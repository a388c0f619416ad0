from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.audit.membership.attacker_view import placebo_view, selector_p, target_view, true_class_p
from discreet.audit.membership.evaluation_sets import Sides, sides_of
from discreet.audit.membership.simulate import World, simulated_table
from discreet.scores.table import ScoreTable


def world() -> tuple[ScoreTable, Sides]:
    table = simulated_table(World(members=30, others=20, clean=40, selector=10, shadows=6), np.random.default_rng(0))
    return table, sides_of(table, table.of_role("target")[0], np.random.default_rng(0))


def test_references_are_the_rows_that_were_asked_for() -> None:
    """Neighbours or not, rising or not."""
    table, sides = world()
    shadows = table.references("population")
    for models in (shadows, shadows[::2], shadows[::-1], shadows[1:2], (shadows[4], shadows[0], shadows[5])):
        view = target_view(table, replace(sides, references={"population": models}))
        found = view.references["population"]
        for place, model in enumerate(models):
            assert np.array_equal(found.log_p[place], table.log_p[model])
            assert np.array_equal(found.member[place], table.member[model])
        assert found.log_p.shape[0] == found.member.shape[0] == len(models)


def test_the_placebo_stands_in_the_targets_place() -> None:
    table, sides = world()
    view = target_view(table, sides)
    assert np.array_equal(view.target, table.log_p[sides.target])
    beside = placebo_view(table, sides, view)
    assert beside is not None
    assert np.array_equal(beside.target, table.log_p[sides.placebo])
    assert beside.references is view.references
    assert placebo_view(table, replace(sides, placebo=None), view) is None


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
