from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from tests.audit.membership.conftest import MakeView

from discreet.audit.membership.attack import References, View
from discreet.audit.membership.attacks.rmia import P_FLOOR, Rmia, RmiaOffline, share_beaten
from discreet.audit.scores.table import ReferenceKind


def prob(log_p: np.ndarray, i: int, y: int) -> float:
    return float(sum(math.exp(log_p[i, q, y]) for q in range(log_p.shape[1])) / log_p.shape[1])


def by_hand(view: View, kind: ReferenceKind, gamma: float, a: float | None) -> list[float]:
    """The definition: a prior per row, a ratio of ratios per pair."""
    references, population = view.references[kind], set(view.population.tolist())
    ratio = []
    for i, y in enumerate(view.label):
        inside, outside = (
            [prob(references.log_p[r], i, y) for r, code in enumerate(references.member[:, i]) if code == side]
            for side in (1, 0))
        mean_out = sum(outside) / len(outside) if outside else math.nan
        mean_in = sum(inside) / len(inside) if inside else (mean_out if i in population else math.nan)
        prior = (mean_in + mean_out) / 2 if a is None else ((1 + a) * mean_out + (1 - a)) / 2
        ratio.append(prob(view.target, i, y) / prior)
    known = [ratio[z] for z in view.population if not math.isnan(ratio[z])]
    return [math.nan if math.isnan(x) else sum(x / z >= gamma for z in known) / len(known) for x in ratio]


@pytest.mark.parametrize("gamma", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_online_is_the_definition(make_view: MakeView, rng: Generator, classes: int, gamma: float) -> None:
    view = make_view(n=200, classes=classes, models=4)
    expected = by_hand(view, "population", gamma, None)
    assert np.isnan(expected).any()
    assert np.nanstd(expected) > 0.05
    np.testing.assert_allclose(Rmia(gamma).scores(view, "p", "population", rng), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["population", "neutral"])
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_offline_is_the_definition(make_view: MakeView, rng: Generator, kind: ReferenceKind, a: float) -> None:
    view = make_view(n=200, models=4)
    scores = RmiaOffline(1.0, a).scores(view, "p", kind, rng)
    np.testing.assert_allclose(scores, by_hand(view, kind, 1.0, a), atol=1e-12)


ratios = st.lists(
    st.one_of(st.sampled_from([0.5, 1.0, 1.0 + 2**-52, 1.0 - 2**-53, 2.0, 3.0, 1e-30, 1e30]), st.floats(1e-30, 1e30)),
    min_size=1, max_size=30)


@given(ratios, ratios, st.sampled_from([1.0, 2.0, 0.5, 1.1, 0.3, 1 / 3, 1.0 + 2**-52, 1e-3]))
def test_share_is_bitwise_the_matrix(x: list[float], z: list[float], gamma: float) -> None:
    wide, population = np.array(x), np.array(z)
    expected = (wide[:, None] / population[None, :] >= gamma).mean(axis=1)
    assert share_beaten(wide, population, gamma).tolist() == expected.tolist()


@pytest.mark.parametrize("gamma", [1.0, 2.0, 0.3, 1.1, 1 / 3, 1.7])
def test_share_is_bitwise_the_matrix_on_many_near_ties(gamma: float) -> None:
    """Quotients that fall on gamma or a neighbour of it: a search at x / gamma alone gets some of these wrong."""
    draw = np.random.default_rng(5)
    z = draw.uniform(0.5, 2, 400)
    x = np.concatenate([z * gamma, np.nextafter(z * gamma, 0), np.nextafter(z * gamma, 9), draw.uniform(0.5, 2, 400)])
    expected = (x[:, None] / z[None, :] >= gamma).mean(axis=1)
    assert share_beaten(x, z, gamma).tolist() == expected.tolist()
    alone = np.searchsorted(np.sort(z), x / gamma, side="right") / z.size
    if gamma in (0.3, 1.1, 1 / 3, 1.7):
        assert (alone != expected).any()


def test_missing_rows_are_missing_not_beaten() -> None:
    x, z = np.array([1.0, math.nan, 3.0]), np.array([2.0, math.nan])
    np.testing.assert_array_equal(share_beaten(x, z, 1.0), [0.0, math.nan, 1.0])
    assert np.isnan(share_beaten(x, np.array([math.nan]), 1.0)).all()


def test_probabilities_that_underflow_are_still_compared(rng: Generator) -> None:
    """p = 0 in double precision: the floor stands for it, without a warning and without 0 / 0."""
    log_p = np.tile(np.array([[-2_000.0, 0.0]]), (4, 1))[:, None, :]
    log_p[3] = np.log(0.5)
    view = View(log_p, np.zeros(4, dtype=np.int64),
                {"neutral": References(log_p[None], np.zeros((1, 4), np.int8))}, np.array([2]), np.array([0, 1, 3]))
    np.testing.assert_array_equal(RmiaOffline(a=1.0).scores(view, "p", "neutral", rng), np.ones(4))
    assert np.exp(-2_000.0) < P_FLOOR


def test_what_is_missing_is_said(make_view: MakeView) -> None:
    view = make_view()
    empty = replace(view, population=np.zeros(0, dtype=np.int64))
    assert "population records" in (Rmia().requirements(empty, "population") or "")
    member = view.references["population"].member.copy()
    member[:, view.population] = 1
    seen = replace(view, references={"population": References(view.references["population"].log_p, member)})
    assert "did not train on" in (Rmia().requirements(seen, "population") or "")
    assert Rmia().requirements(view, "population") is None


def test_arguments_that_cannot_be_are_refused() -> None:
    for gamma in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="gamma is"):
            Rmia(gamma)
    for a in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="a is"):
            RmiaOffline(a=a)
