from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.labels.stages import prior_of_logits, stage_parts


@pytest.mark.parametrize(("n", "stages"), [(10, 2), (11, 2), (7, 3), (3, 3), (5, 1)])
def test_parts_are_disjoint_and_whole(n: int, stages: int) -> None:
    parts = stage_parts(n, np.random.default_rng(0), stages)
    assert len(parts) == stages
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert all((np.diff(part) > 0).all() for part in parts)


def test_a_row_falls_into_either_part() -> None:
    first = [0 in stage_parts(10, np.random.default_rng(seed))[0] for seed in range(100)]
    assert 25 < sum(first) < 75


@pytest.mark.parametrize(("n", "stages"), [(1, 2), (5, 0)])
def test_stages_that_cannot_be(n: int, stages: int) -> None:
    with pytest.raises(ValueError, match=f"{stages} stages of {n} rows"):
        stage_parts(n, np.random.default_rng(0), stages)


def test_a_high_temperature_knows_less() -> None:
    logits = np.array([[0.0, np.log(3.0)], [1.0, 1.0]])
    np.testing.assert_allclose(prior_of_logits(logits), [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(prior_of_logits(logits, 2.0)[0, 1], np.sqrt(3) / (1 + np.sqrt(3)))


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan])
def test_a_temperature_that_cannot_be(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature is"):
        prior_of_logits([[0.0, 1.0]], temperature)
