from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InputError, UsageError
from discreet.guard.density.points import Costs, Thetas, operating_points, read_points, tau_at_tpr, tau_by_costs, thetas

DELTAS = st.lists(st.floats(-5, 5).map(lambda v: round(v, 1)), min_size=1, max_size=40).map(np.array)


@given(DELTAS, st.sampled_from([0.5, 0.9, 0.95, 1.0]))
def test_tau_reaches_the_rate_and_no_higher_tau_does(deltas: np.ndarray, tpr: float) -> None:
    tau = tau_at_tpr(deltas, tpr)
    assert (deltas > tau).mean() >= tpr - 1e-12
    higher = np.unique(deltas)
    for other in higher[higher > tau]:
        assert (deltas > other).mean() < tpr


@given(DELTAS, st.integers(0, 40), st.sampled_from([0.5, 0.9, 0.95, 1.0]))
def test_answers_flagged_anyway_count_towards_the_rate(deltas: np.ndarray, held: int, tpr: float) -> None:
    with_held = np.concatenate([deltas, np.full(held, 99.0)])
    assert min(0.0, tau_at_tpr(deltas, tpr, held)) == min(0.0, tau_at_tpr(with_held, tpr))


@given(DELTAS, DELTAS)
def test_the_papers_points_are_not_cut_off_at_zero(unsafe: np.ndarray, safe: np.ndarray) -> None:
    ours, paper = operating_points(unsafe, safe), operating_points(unsafe, safe, paper=True)
    assert paper["conservative"] == 0.0
    for name, tpr in (("balanced", 0.90), ("strict", 0.95)):
        assert paper[name] == tau_at_tpr(unsafe, tpr)
        assert ours[name] == min(0.0, paper[name])


COSTS = st.builds(Costs, st.floats(0.1, 50), st.floats(0.1, 50), prevalence=st.none() | st.floats(0.01, 0.99))
HELD = st.just((0, 0)) | st.tuples(st.integers(0, 40), st.integers(0, 40))


@given(DELTAS, DELTAS, COSTS, HELD)
def test_tau_by_costs_is_the_cheapest(unsafe: np.ndarray, safe: np.ndarray, costs: Costs,
                                      held: tuple[int, int]) -> None:
    n_unsafe, n_safe = unsafe.size + held[0], safe.size + held[1]
    share = costs.prevalence if costs.prevalence is not None else n_unsafe / (n_unsafe + n_safe)

    def cost(tau: float) -> float:
        missed, flagged = (unsafe <= tau).sum() / n_unsafe, ((safe > tau).sum() + held[1]) / n_safe
        return float(share * costs.miss * missed + (1 - share) * costs.false_flag * flagged)

    found = cost(tau_by_costs(unsafe, safe, costs, held))
    for tau in np.arange(-5.15, 5.2, 0.1):
        assert found <= cost(tau) + 1e-9


def test_nothing_is_left_to_tau() -> None:
    none = np.empty(0)
    points = operating_points(none, none, Costs(1, 1), (3, 3))
    assert points == {"conservative": 0.0, "balanced": 0.0, "strict": 0.0, "costs": 0.0}


def test_tau_by_costs_lies_between_the_sides() -> None:
    assert tau_by_costs(np.array([3.0, 4.0]), np.array([-1.0, 1.0]), Costs(1, 1)) == 2.0


def test_thetas_are_percentiles_of_each_side_by_itself() -> None:
    safe = np.stack([np.arange(101.0), np.full(101, -7.0)], axis=1)
    unsafe = np.stack([np.full(201, -9.0), np.arange(201.0)], axis=1)
    found = thetas(safe, unsafe, 5.0)
    assert (found.safe, found.unsafe) == (5.0, 10.0)
    rows = np.array([[4.9, 9.9], [5.0, 9.9], [4.9, 10.0], [50.0, 50.0]])
    assert found.out_of_distribution(rows).tolist() == [True, False, False, False]
    assert Thetas.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_operating_points() -> None:
    unsafe, safe = np.arange(-60.0, 40.0), np.arange(-100.0, 0.0)
    points = operating_points(unsafe, safe, Costs(1, 1))
    assert list(points) == ["conservative", "balanced", "strict", "costs"]
    assert points["conservative"] == 0.0
    assert [(unsafe > points[name]).mean() for name in ("balanced", "strict")] == [0.90, 0.95]
    assert read_points(json.loads(json.dumps(points))) == points
    for sides in ((unsafe[:0], safe), (unsafe, safe[:0])):
        with pytest.raises(InputError, match="calibration text is left"):
            operating_points(*sides)


def test_strict_holds_whatever_conservative_holds() -> None:
    """Where τ = 0 has a higher rate than the point asks for, the point does not let more pass."""
    points = operating_points(np.arange(-7.0, 93.0), np.arange(-200.0, -100.0))
    assert points["balanced"] == 0.0
    assert points["strict"] < 0.0


@pytest.mark.parametrize("bad", [
    {}, [], {"conservative": 0.0}, {"conservative": 0.0, "balanced": None, "strict": 1.0},
    {"conservative": 0.0, "balanced": float("nan"), "strict": 1.0},
    {"conservative": 0.0, "balanced": 1.0, "strict": 1.0, "loud": 1.0},
])
def test_points_that_cannot_be(bad: object) -> None:
    with pytest.raises(InputError, match="operating point"):
        read_points(bad)


@pytest.mark.parametrize("bad", [{}, {"safe": 0.0}, {"safe": "x", "unsafe": 0}, {"safe": float("nan"), "unsafe": 0.0}])
def test_thetas_that_cannot_be(bad: object) -> None:
    with pytest.raises(InputError, match="abstain gate"):
        Thetas.from_json(bad)


@pytest.mark.parametrize(("args", "word"), [
    ((0, 1), "over 0"), ((1, 0), "over 0"), ((1, 1, -1), "no negative"), ((float("nan"), 1), "finite"),
    ((1, 1, 0, 0.0), "prevalence"), ((1, 1, 0, 1.0), "prevalence"),
])
def test_costs_that_cannot_be(args: tuple[float, ...], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        Costs(*args)
