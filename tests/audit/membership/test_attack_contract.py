"""What every attack promises, walked over the registry: whoever adds one gets these tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.audit.membership.view import Attack, References, Scale, View, attacks
from discreet.core.registry import Registry
from discreet.core.types import IntArray
from discreet.scores.table import REFERENCE_KINDS, ReferenceKind

N, K = 240, 3
Case = tuple[str, Scale, ReferenceKind | None]


def found() -> Iterator[Case]:
    for name, attack in attacks.items():
        for kind in attack.kinds:
            yield from ((name, scale, kind) for scale in attack.scales)


CASES = list(found())
each = pytest.mark.parametrize(("name", "scale", "kind"), CASES, ids=["-".join(map(str, case)) for case in CASES])


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))


@pytest.fixture
def view() -> View:
    """240 rows, 120 of them judged, the rest population; two queries; nobody trained on what a neutral has not."""
    rng = np.random.default_rng(11)
    label = rng.integers(0, K, N)

    def of(count: int, member: np.ndarray) -> References:
        truth = (label[:, None] == np.arange(K))[:, None, :]
        logits = rng.normal(0, 2, (count, N, 2, K)) + truth * (1.0 + member[..., None, None])
        return References(log_softmax(logits), member.astype(np.int8))

    judged = np.arange(N // 2)
    neutral = np.zeros((3, N))
    neutral[:, N - 40 :] = 1
    return View(
        log_softmax(rng.normal(0, 2, (N, 2, K))), label,
        {
            "population": of(12, rng.permuted(np.arange(12 * N) % 2).reshape(12, N)), "neutral": of(3, neutral),
            "paired": of(2, np.broadcast_to(np.arange(N) % 2, (2, N))),
        },
        np.arange(N // 2, N - 40), judged,
    )


def run(view: View, name: str, scale: Scale, kind: ReferenceKind | None, seed: int = 0) -> np.ndarray:
    return attacks[name].scores(view, scale, kind, np.random.default_rng(seed))


def rows_of(view: View, order: IntArray) -> View:
    """The same candidates in another order."""
    place = np.argsort(order)
    return View(
        view.target[order], view.label[order],
        {k: References(r.log_p[:, order], r.member[:, order]) for k, r in view.references.items()},
        np.sort(place[view.population]), np.sort(place[view.judged]),
    )


def test_all_built_in_attacks_are_found() -> None:
    assert isinstance(attacks, Registry)
    assert set(attacks) >= {
        "confidence", "confidence_true", "entropy", "lira", "lira_fixed", "lira_offline", "loss", "probe", "reference",
        "rmia", "rmia_offline",
    }


@each
def test_a_score_per_row_finite_or_missing(view: View, name: str, scale: Scale, kind: ReferenceKind | None) -> None:
    assert attacks[name].needs(view, kind) is None
    scores = run(view, name, scale, kind)
    assert scores.shape == (N,)
    assert scores.dtype == np.float64
    assert not np.isinf(scores).any()
    assert np.isfinite(scores[view.judged]).all()
    assert np.unique(scores[view.judged]).size > 30


@each
def test_the_order_of_the_rows_does_not_matter(
    view: View, name: str, scale: Scale, kind: ReferenceKind | None,
) -> None:
    order = np.random.default_rng(2).permutation(N)
    np.testing.assert_allclose(
        run(rows_of(view, order), name, scale, kind), run(view, name, scale, kind)[order], rtol=1e-9, atol=1e-12)


@each
def test_nothing_that_was_brought_is_changed(view: View, name: str, scale: Scale, kind: ReferenceKind | None) -> None:
    arrays: list[NDArray[Any]] = [view.target, view.label, view.population, view.judged]
    arrays += [array for r in view.references.values() for array in (r.log_p, r.member)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    run(view, name, scale, kind)
    for array, copy in zip(arrays, before, strict=True):
        assert np.array_equal(array, copy)


@each
def test_the_same_generator_gives_the_same_scores(
    view: View, name: str, scale: Scale, kind: ReferenceKind | None,
) -> None:
    np.testing.assert_array_equal(run(view, name, scale, kind, 4), run(view, name, scale, kind, 4))


@each
@pytest.mark.parametrize("times", [2, 3])
def test_asking_again_and_hearing_the_same_changes_nothing(
    view: View, name: str, scale: Scale, kind: ReferenceKind | None, times: int,
) -> None:
    again = replace(
        view, target=np.tile(view.target, (1, times, 1)),
        references={k: References(np.tile(r.log_p, (1, 1, times, 1)), r.member) for k, r in view.references.items()},
    )
    np.testing.assert_allclose(
        run(again, name, scale, kind), run(view, name, scale, kind), rtol=1e-6, atol=1e-9)


@each
def test_a_row_is_scored_by_its_own_answers(view: View, name: str, scale: Scale, kind: ReferenceKind | None) -> None:
    """What the target says of other judged rows does not matter: one candidate can be asked about alone."""
    target = view.target.copy()
    target[view.judged[1:]] = np.log(1 / K)
    scores, alone = run(view, name, scale, kind), run(replace(view, target=target), name, scale, kind)
    assert scores[view.judged[0]] == pytest.approx(alone[view.judged[0]], rel=1e-12)


@each
def test_a_row_that_the_target_did_not_score_is_missing(
    view: View, name: str, scale: Scale, kind: ReferenceKind | None,
) -> None:
    target = view.target.copy()
    target[5] = np.nan
    target[6, 0] = np.nan
    scores = run(replace(view, target=target), name, scale, kind)
    assert np.isnan(scores[5])
    assert np.isfinite(scores[6])
    judged = np.setdiff1d(view.judged, [5, 6])
    np.testing.assert_allclose(scores[judged], run(view, name, scale, kind)[judged], rtol=1e-9, atol=1e-12)


@each
def test_an_answer_that_rounds_to_certain_is_still_a_score(
    view: View, name: str, scale: Scale, kind: ReferenceKind | None,
) -> None:
    sure = log_softmax(np.where(np.arange(K) == view.label[:2, None], 0.0, -60.0))[:, None, :]
    target = view.target.copy()
    target[:2] = sure
    log_p = {k: r.log_p.copy() for k, r in view.references.items()}
    for values in log_p.values():
        values[:, :2] = sure
    scores = run(replace(view, target=target, references={
        k: References(log_p[k], r.member) for k, r in view.references.items()}), name, scale, kind)
    assert np.isfinite(scores[:2]).all()


@pytest.mark.parametrize("name", list(attacks))
def test_absent_references_are_said_in_a_clause(view: View, name: str) -> None:
    attack: Attack = attacks[name]
    bare = replace(view, references={})
    for kind in (None, *REFERENCE_KINDS):
        clause = attack.needs(bare, kind)
        if kind is None and None in attack.kinds:
            assert clause is None
            continue
        assert clause is not None
        assert clause.startswith("it ")
        assert not clause.endswith(".")
        assert "\n" not in clause
        with pytest.raises(ValueError, match="cannot be run"):
            attack.scores(bare, attack.scales[0], kind, np.random.default_rng(0))


@pytest.mark.parametrize("name", list(attacks))
def test_no_reference_model_is_as_good_as_none(view: View, name: str) -> None:
    empty = replace(view, references={
        k: References(r.log_p[:0], r.member[:0]) for k, r in view.references.items()})
    for kind in attacks[name].kinds:
        assert (attacks[name].needs(empty, kind) is None) == (kind is None)


@pytest.mark.parametrize("name", list(attacks))
def test_scales_and_kinds_are_declared(name: str) -> None:
    attack = attacks[name]
    assert attack.scales
    assert set(attack.scales) <= {"p", "logit"}
    assert attack.kinds
    assert set(attack.kinds) <= {None, *REFERENCE_KINDS}
    assert attack.__doc__
