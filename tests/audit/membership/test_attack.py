"""What every attack promises, walked over the registry: whoever adds one gets these tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax
from tests.audit.membership.conftest import MakeView
from tests.audit.membership.scenes import drawn, sets_of

from discreet.audit.core.simulate import World
from discreet.audit.membership.attack import References, Scale, View, attacks, score_all, target_view
from discreet.audit.membership.attacks.outputs import Loss
from discreet.audit.scores.table import REFERENCE_KINDS, ReferenceKind
from discreet.core.types import IntArray

N, K = 240, 3
Case = tuple[str, Scale, ReferenceKind | None]


def found() -> Iterator[Case]:
    for name, attack in attacks.items():
        for kind in attack.kinds:
            yield from ((name, scale, kind) for scale in attack.scales)


CASES = list(found())
each = pytest.mark.parametrize("case", CASES, ids=["-".join(map(str, case)) for case in CASES])


@pytest.fixture
def view(make_view: MakeView) -> View:
    """240 rows, 120 of them judged, the rest population but for 40 that the neutral references trained on."""
    made = make_view(seed=11, n=N, models=12)
    made.references["neutral"].member[:, N - 40 :] = 1
    return replace(made, population=np.arange(N // 2, N - 40))


def run(view: View, name: str, scale: Scale, kind: ReferenceKind | None, seed: int = 0) -> np.ndarray:
    return attacks[name].scores(view, scale, kind, np.random.default_rng(seed))


def rows_of(view: View, order: IntArray) -> View:
    """The same candidates in another order."""
    place = np.argsort(order)
    return View(view.target[order], view.label[order],
                {k: References(r.log_p[:, order], r.member[:, order],
                               None if r.checkpoints is None else r.checkpoints[:, order])
                 for k, r in view.references.items()},
                np.sort(place[view.population]), np.sort(place[view.judged]),
                *(None if one is None else one[order] for one in (view.steadiness, view.checkpoints)))


@each
def test_a_score_per_row_finite_or_missing_whatever_their_order(view: View, case: Case) -> None:
    assert attacks[case[0]].requirements(view, case[2]) is None
    scores, order = run(view, *case), np.random.default_rng(2).permutation(N)
    assert scores.shape == (N,)
    assert scores.dtype == np.float64
    assert not np.isinf(scores).any()
    assert np.isfinite(scores[view.judged]).all()
    assert np.unique(scores[view.judged]).size > 30
    np.testing.assert_allclose(run(rows_of(view, order), *case), scores[order], rtol=1e-9, atol=1e-12)


@each
def test_an_attack_that_says_that_it_is_label_free_is(view: View, case: Case) -> None:
    of_others = run(replace(view, label=(view.label + 1) % K), *case)
    assert np.array_equal(of_others, run(view, *case)) or not attacks[case[0]].label_free


@each
def test_nothing_is_changed_and_nothing_is_left_to_chance(view: View, case: Case) -> None:
    arrays: list[NDArray[Any]] = [view.target, view.label, view.population, view.judged]
    arrays += [array for r in view.references.values() for array in (r.log_p, r.member)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    run(view, *case)
    for array, copy in zip(arrays, before, strict=True):
        assert np.array_equal(array, copy)
    # And the same generator gives the same scores.
    np.testing.assert_array_equal(run(replace(view), *case, 4), run(view, *case, 4))


@each
def test_asking_again_and_hearing_the_same_changes_nothing(view: View, case: Case) -> None:
    again = replace(
        view, target=np.tile(view.target, (1, 3, 1)),
        references={k: replace(r, log_p=np.tile(r.log_p, (1, 1, 3, 1))) for k, r in view.references.items()})
    np.testing.assert_allclose(
        run(again, *case), run(view, *case), rtol=1e-6, atol=1e-9)


@each
def test_a_row_is_scored_by_its_own_answers(view: View, case: Case) -> None:
    """What the target says of other judged rows does not matter: one candidate can be asked about alone."""
    target = view.target.copy()
    target[view.judged[1:]] = np.log(1 / K)
    scores, alone = run(view, *case), run(replace(view, target=target), *case)
    assert scores[view.judged[0]] == pytest.approx(alone[view.judged[0]], rel=1e-12)


@each
def test_a_row_that_the_target_did_not_score_is_missing(view: View, case: Case) -> None:
    target = view.target.copy()
    target[5] = np.nan
    target[6, 0] = np.nan
    scores = run(replace(view, target=target), *case)
    assert np.isnan(scores[5])
    assert np.isfinite(scores[6])
    judged = np.setdiff1d(view.judged, [5, 6])
    np.testing.assert_allclose(scores[judged], run(view, *case)[judged], rtol=1e-9, atol=1e-12)


@each
def test_an_answer_that_rounds_to_certain_is_still_a_score(view: View, case: Case) -> None:
    sure = log_softmax(np.where(np.arange(K) == view.label[:2, None], 0.0, -60.0), axis=-1)[:, None, :]
    target = view.target.copy()
    target[:2] = sure
    log_p = {k: r.log_p.copy() for k, r in view.references.items()}
    for values in log_p.values():
        values[:, :2] = sure
    scores = run(replace(view, target=target, references={
        k: replace(r, log_p=log_p[k]) for k, r in view.references.items()}), *case)
    assert np.isfinite(scores[:2]).all()


@pytest.mark.parametrize("name", list(attacks))
def test_absent_references_are_said_in_a_clause(view: View, name: str) -> None:
    attack, bare = attacks[name], replace(view, references={})
    for kind in (None, *REFERENCE_KINDS):
        clause = attack.requirements(bare, kind)
        assert (clause is None) == (kind is None and None in attack.kinds)
        if clause is not None:
            assert clause.startswith("it ")
            assert not clause.endswith(".")
            assert "\n" not in clause
            with pytest.raises(ValueError, match="cannot be run"):
                attack.scores(bare, attack.scales[0], kind, np.random.default_rng(0))
    # Answers to perturbed copies are not there unless they were asked for.
    unasked = attacks["label_only"].requirements(replace(view, steadiness=None), None)
    assert str(unasked).startswith("it needs the model's answers to perturbed copies")
    # No reference model is as good as none.
    empty = replace(view, references={k: References(r.log_p[:0], r.member[:0]) for k, r in view.references.items()})
    for kind in attack.kinds:
        assert (attack.requirements(empty, kind) is None) == (kind is None)
    assert set(attack.scales) <= {"p", "logit"}
    assert set(attack.kinds) <= {None, *REFERENCE_KINDS}
    assert attack.__doc__
    with pytest.raises(ValueError, match="scale is 'log'"):
        attack.scores(view, "log", attack.kinds[0], np.random.default_rng(0))  # type: ignore[arg-type]


CODES = np.array([[1, 0, -1], [0, 0, -1]], dtype=np.int8)


class Needs(Loss):
    kinds = ("population", "neutral")

    def __init__(self, n_in: int = 0, n_out: int = 0) -> None:
        self.n_in, self.n_out = n_in, n_out  # type: ignore[misc]


def three(judged: list[int]) -> View:
    """Three rows of two population references with the membership in `CODES`."""
    log_p = np.log(np.full((2, 3, 1, 2), 0.5))
    return View(log_p[0], np.zeros(3, dtype=np.int64), {"population": References(log_p, CODES)},
                np.zeros(0, dtype=np.int64), np.array(judged, dtype=np.int64))


def test_who_stands_for_not_trained() -> None:
    references = References(np.zeros((2, 3, 1, 2)), CODES)
    for kind in REFERENCE_KINDS:
        expected = np.ones((2, 3)) if kind == "paired" else [[0, 1, 0], [1, 1, 0]]
        np.testing.assert_array_equal(references.outside(kind), expected)
    np.testing.assert_array_equal(references.inside(), [[1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(("judged", "n_in", "n_out", "enough"), [
    ([0], 1, 1, True), ([1], 1, 1, False), ([1], 0, 2, True), ([2], 0, 1, False), ([2, 1], 0, 2, True),
    ([], 1, 1, True), ([], 2, 0, False), ([2], 0, 0, True)])
def test_one_judged_example_that_has_them_is_enough(judged: list[int], n_in: int, n_out: int, enough: bool) -> None:
    assert (Needs(n_in, n_out).requirements(three(judged), "population") is None) == enough


def test_what_is_learned_from_references_is_kept_for_the_same_view_alone() -> None:
    view, counter = three([0]), count()
    for one in (view, view.answered_by(view.target + 1.0)):
        assert one.once("mean", lambda: next(counter)) == 0
    assert replace(view, judged=view.judged[:0]).once("mean", lambda: "another") == "another"


def test_the_view_shows_no_membership_of_the_target() -> None:
    table = drawn(World(members=40, others=40, clean=60, shadows=4))
    sets = sets_of(table)
    view = target_view(table, sets)
    assert np.array_equal(view.target, table.log_p[0])
    shadows = sets.references["population"]
    # Neighbours or not, rising or not.
    for models in (shadows, shadows[::2], shadows[::-1], shadows[1:2], (shadows[3], shadows[0], shadows[2])):
        found = target_view(table, replace(sets, references={"population": models})).references["population"]
        assert np.array_equal(found.log_p, table.log_p[list(models)])
        assert np.array_equal(found.member, table.member[list(models)])
    assert not np.intersect1d(view.judged, view.population).size
    control = view.answered_by(table.log_p[table.of_role("control")[0]])
    for one in score_all(table, sets, seed=0, names=["reference"]):
        wanted = attacks["reference"].scores(control, one.scale, one.kind, np.random.default_rng(0))
        np.testing.assert_array_equal(one.control, wanted)
        [bare] = [other for other in score_all(table, replace(sets, control=None), seed=0, names=["reference"])
                  if (other.scale, other.kind) == (one.scale, one.kind)]
        assert bare.control is None
