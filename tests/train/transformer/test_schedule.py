from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.heavy import need, quiet

from discreet.train.transformer.loading import REGIMES
from discreet.train.transformer.schedule import ENCODER, By, Rate, scale, searched_rates, updates, usual_rate


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


PAPER: By = "paper, Table 4"
NEAREST: By = "nearest row of the paper's Table 4"


@pytest.mark.parametrize(("family", "parameters", "lora", "full", "by"), [
    ("llama", 1_235_818_498, 2e-4, 2e-5, PAPER),
    ("llama", 3_212_755_968, 2e-4, 2e-5, PAPER),
    ("llama", 7_504_932_864, 1e-4, 1e-5, PAPER),
    ("gemma3", 11_766_042_226, 5e-5, 5e-6, PAPER),
    ("gemma3_text", 11_766_042_226, 5e-5, 5e-6, PAPER),
    ("gemma2", 2_600_000_000, 5e-5, 5e-6, NEAREST),
    ("llama", 70_000_000_000, 1e-4, 1e-5, NEAREST),
    ("llama", 50_000, 2e-4, 2e-5, NEAREST),
    ("qwen3", 4_000_000_000, 2e-4, 2e-5, NEAREST),
    ("mistral", 11_900_000_000, 5e-5, 5e-6, NEAREST),
])
def test_decoders_have_the_papers_rates(family: str, parameters: int, lora: float, full: float, by: By) -> None:
    """The four models of Table 4 by their sizes as classifiers, and others by the row nearest to them."""
    assert usual_rate(family, parameters, "lora") == Rate(lora, by)
    assert usual_rate(family, parameters, "full") == Rate(full, by)


def test_encoders_have_rates_of_ours() -> None:
    for family in ("bert", "distilbert", "roberta", "xlm-roberta", "mpnet", "deberta-v2"):
        for regime in REGIMES:
            found = usual_rate(family, 22_000_000, regime)
            assert found == Rate(ENCODER[regime], "ours, for encoders")


def test_a_search_surrounds_the_usual_rate() -> None:
    tried = searched_rates(Rate(1e-3, "given"))
    assert list(tried) == sorted(set(tried))
    assert tried[0] < 1e-3 < tried[-1]
    assert 1e-3 in tried
