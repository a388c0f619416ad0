from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.heavy import need, quiet

from discreet.train.transformer.schedule import scale, updates


@given(st.integers(1, 200), st.integers(1, 4), st.integers(1, 5), st.integers(1, 6))
def test_updates_are_counted_as_they_are_made(examples: int, epochs: int, micro: int, parts: int) -> None:
    made = 0
    for _ in range(epochs):
        left, waiting = examples, 0
        while left > 0:
            left -= micro
            waiting += 1
            if waiting == parts or left <= 0:
                made, waiting = made + 1, 0
    assert updates(examples, epochs, micro * parts, micro) == made


@given(st.integers(1, 400), st.floats(0, 1))
def test_it_rises_to_one_and_falls_without_reaching_zero(steps: int, warmup: float) -> None:
    found = np.array([scale(step, steps, warmup) for step in range(steps)])
    rising = int(np.ceil(steps * warmup))
    assert found.min() > 0
    assert found.max() == 1
    np.testing.assert_allclose(np.diff(found[:rising]), 1 / rising if rising else 0, atol=1e-12)
    assert (np.diff(found[max(rising - 1, 0) :]) <= 0).all()


def test_after_the_warm_up_it_is_that_of_transformers() -> None:
    torch, transformers = need("torch"), need("transformers")
    with quiet():
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        theirs = transformers.get_cosine_schedule_with_warmup(optimizer, 5, 100)
    for step in range(100):
        expected = float(theirs.get_last_lr()[0]) if step >= 5 else (step + 1) / 5
        assert scale(step, 100, 0.05) == pytest.approx(expected, abs=1e-12)
        optimizer.step()
        theirs.step()


def test_impossible_arguments_are_refused() -> None:
    for step, steps, warmup in ((5, 5, 0.1), (-1, 5, 0.1), (0, 5, 1.1), (0, 5, float("nan"))):
        with pytest.raises(ValueError, match="expected 0 <= step < steps"):
            scale(step, steps, warmup)
    for sizes in ((0, 1, 8, 8), (9, 1, 8, 3), (9, 0, 8, 8), (9, 1, 0, 1)):
        with pytest.raises(ValueError, match="multiple of its parts"):
            updates(*sizes)
