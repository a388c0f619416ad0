from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.membership.attacker_view import placebo_view, target_view, true_class_p
from discreet.audit.membership.endpoints import primary_scored
from discreet.audit.membership.evaluation_sets import sides_of
from discreet.audit.membership.scored import score_all
from discreet.audit.membership.simulate import World, simulated_table
from discreet.audit.membership.view import attacks
from discreet.core.errors import UsageError

TABLE = simulated_table(World(members=40, others=40, clean=60, shadows=4), np.random.default_rng(0))
SIDES = sides_of(TABLE, 0, np.random.default_rng(0))


def test_the_view_shows_no_membership_of_the_target() -> None:
    view = target_view(TABLE, SIDES)
    assert np.array_equal(view.target, TABLE.log_p[0])
    for kind, references in view.references.items():
        assert SIDES.references[kind]
        assert np.array_equal(references.member, TABLE.member[list(SIDES.references[kind])])
    beside = placebo_view(TABLE, SIDES, view)
    assert beside is not None
    assert np.array_equal(beside.target, TABLE.log_p[TABLE.of_role("placebo")[0]])
    assert beside.references is view.references
    assert np.array_equal(beside.judged, view.judged)
    assert not np.intersect1d(view.judged, view.population).size


def test_runs_every_registered_attack_or_says_why_not() -> None:
    found = score_all(TABLE, SIDES, seed=0)
    assert {one.attack for one in found} == set(attacks)
    for one in found:
        assert (one.target is None) == (one.reason is not None)
        if one.target is not None:
            assert one.placebo is not None
            assert one.target.shape == one.placebo.shape == (len(TABLE.examples),)


def test_scores_are_the_attacks_own_and_do_not_depend_on_the_company() -> None:
    view = target_view(TABLE, SIDES)
    alone = score_all(TABLE, SIDES, seed=5, names=["reference"])
    among = [one for one in score_all(TABLE, SIDES, seed=5) if one.attack == "reference"]
    for first, second in zip(alone, among, strict=True):
        assert first.target is not None
        assert second.target is not None
        assert np.array_equal(first.target, second.target, equal_nan=True)
        wanted = attacks["reference"].scores(view, first.scale, first.kind, np.random.default_rng(0))
        assert np.array_equal(first.target, wanted, equal_nan=True)


def test_an_unknown_attack_is_named() -> None:
    with pytest.raises(UsageError, match="telepathy"):
        score_all(TABLE, SIDES, seed=0, names=["telepathy"])


def test_nothing_to_choose_from_is_no_primary() -> None:
    assert primary_scored(score_all(TABLE, SIDES, seed=0, names=["entropy"])) is None


def test_true_class_p_is_a_mean_of_probabilities() -> None:
    found = true_class_p(TABLE, (0, 1))
    assert found is not None
    p = np.exp(TABLE.logits) / np.exp(TABLE.logits).sum(axis=-1, keepdims=True)
    rows = np.arange(len(TABLE.examples))
    assert np.allclose(found, p[:2, rows, 0, TABLE.examples.label].mean(axis=0))
    assert true_class_p(TABLE, ()) is None
