from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.core.errors import InputError
from discreet.inputs.canaries import ASSIGNMENTS, Canaries, draw_canaries


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def check(drawn: Canaries, labels: np.ndarray, n_classes: int) -> None:
    """What holds of every draw."""
    n = labels.size
    both = np.concatenate([drawn.canary, drawn.control])
    assert np.unique(both).size == both.size
    assert both.size == 0 or (both.min() >= 0 and both.max() < n)
    assert (np.diff(drawn.canary) > 0).all()
    assert (np.diff(drawn.control) > 0).all()
    untouched = np.setdiff1d(np.arange(n), both)
    assert (drawn.label[untouched] == labels[untouched]).all()
    assert drawn.label.min() >= 0
    assert drawn.label.max() < n_classes
    assert set(np.flatnonzero(drawn.planted)) <= set(drawn.canary)


@given(st.integers(2, 5), st.integers(0, 20), st.integers(0, 20), st.sampled_from(ASSIGNMENTS), st.booleans(),
       st.dictionaries(st.sampled_from((1, 4, 16)), st.integers(0, 5)), st.integers(0, 99))
def test_a_draw_is_whole(n_classes: int, n_canaries: int, n_control: int, assignment: Any, grouped: bool,
                         planted: dict[int, int], seed: int) -> None:
    labels = rng(seed).integers(0, n_classes, 120)
    groups = rng(seed + 1).integers(0, 60, 120) if grouped else None
    drawn = draw_canaries(labels, n_classes, n_canaries, n_control, rng(seed), assignment=assignment, planted=planted,
                          groups=groups)
    check(drawn, labels, n_classes)
    times = Counter(drawn.planted[drawn.canary].tolist())
    wanted = {copies: size for copies, size in {0: n_canaries, **planted}.items() if size}
    if groups is None:
        assert times == wanted
        assert drawn.control.size == n_control
    else:
        assert set(times) == set(wanted)
        assert all(times[copies] >= size for copies, size in wanted.items())
        role = np.isin(np.arange(120), drawn.canary) + 2 * np.isin(np.arange(120), drawn.control)
        fate = set(zip(groups.tolist(), role.tolist(), drawn.planted.tolist(), strict=True))
        assert len({code for code, *_ in fate}) == len(fate)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_uniform_labels_are_uniform_whatever_the_label(n_classes: int) -> None:
    labels = (rng(1).random(40_000) < 0.2).astype(np.int64)
    drawn = draw_canaries(labels, n_classes, 20_000, 20_000, rng(2))
    for rows in (drawn.canary, drawn.control):
        for label in (0, 1):
            of_label = drawn.label[rows[labels[rows] == label]]
            assert stats.chisquare(np.bincount(of_label, minlength=n_classes)).pvalue > 1e-4


@pytest.mark.parametrize(("n", "flipped"), [(10, {5}), (11, {5, 6})])
def test_balanced_flips_just_half_of_each_kind(n: int, flipped: set[int]) -> None:
    labels = np.zeros(100, dtype=np.int64)
    seen = set()
    for seed in range(30):
        drawn = draw_canaries(labels, 2, n, n, rng(seed), assignment="balanced", planted={4: n})
        for rows in (drawn.control, drawn.canary[drawn.planted[drawn.canary] == 0], np.flatnonzero(drawn.planted == 4)):
            seen.add(int(drawn.label[rows].sum()))
    assert seen == flipped


def test_balanced_shifts_many_classes_alike() -> None:
    labels = rng(3).integers(0, 4, 400)
    drawn = draw_canaries(labels, 4, 40, 0, rng(4), assignment="balanced")
    shift = (drawn.label - labels)[drawn.canary] % 4
    assert np.bincount(shift).tolist() == [10] * 4
    assert len(set(shift[:12].tolist())) > 1


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_canaries_and_controls_have_one_law(assignment: Any) -> None:
    """Sizes of groups, labels, places and flips of the two, over many draws."""
    labels = (np.arange(60) < 20).astype(np.int64)
    groups = np.repeat(np.arange(24), np.tile([1, 2, 3, 4], 6))
    sums = np.zeros((2, 3))
    for seed in range(2000):
        drawn = draw_canaries(labels, 2, 10, 10, rng(seed), assignment=assignment, groups=groups)
        for place, rows in enumerate((drawn.canary, drawn.control)):
            sums[place] += rows.size, labels[rows].mean() * 10, (drawn.label != labels)[rows].mean() * 10
    mean = sums / 2000
    # Deviations of a mean over 2,000 draws are under .04.
    assert np.abs(mean[0] - mean[1]).max() < 0.2
    assert mean[:, 1] == pytest.approx(10 / 3, abs=0.2)
    assert mean[:, 2] == pytest.approx(5.0, abs=0.2)


def test_only_rows_that_may_be_drawn_are_drawn() -> None:
    among = np.arange(100) >= 70
    drawn = draw_canaries(np.zeros(100, dtype=np.int64), 2, 15, 15, rng(7), among=among)
    assert np.sort(np.concatenate([drawn.canary, drawn.control])).tolist() == list(range(70, 100))
    again = draw_canaries(np.zeros(100, dtype=np.int64), 2, 15, 15, rng(7), among=among)
    assert (again.canary.tolist(), again.label.tolist()) == (drawn.canary.tolist(), drawn.label.tolist())


@pytest.mark.parametrize(("more", "message"), [
    ({"n_canaries": 8, "n_control": 3}, "11 canaries and held-out ones are asked for of 10 rows that may"),
    ({"planted": {4: 9}}, "11 canaries and held-out ones"),
    ({"groups": [0] * 10}, "in 1 groups"),
])
def test_too_few_rows_are_said_in_one_line(more: dict[str, Any], message: str) -> None:
    sizes = {"n_canaries": 1, "n_control": 1, **more}
    with pytest.raises(InputError, match=message) as caught:
        draw_canaries(np.zeros(10, dtype=np.int64), 2, rng=rng(), **sizes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("more", "message"), [
    ({"labels": [0, 2]}, "labels run from 0 to 2"),
    ({"labels": [0.5, 1]}, "type float64"),
    ({"labels": []}, "shape"),
    ({"n_classes": 1}, "n_classes is 1"),
    ({"n_canaries": -1}, "n_canaries is -1"),
    ({"planted": {0: 3}}, "copies"),
    ({"planted": {4: -3}}, "planted 4 is -3"),
    ({"assignment": "half"}, "assignment is 'half'"),
    ({"groups": [1]}, "groups have shape"),
    ({"among": [0, 1]}, "among has shape"),
])
def test_what_cannot_be_is_refused(more: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"labels": [0, 1], "n_classes": 2, "n_canaries": 1, "n_control": 1, **more}
    with pytest.raises(ValueError, match=message):
        draw_canaries(rng=rng(), **given)
