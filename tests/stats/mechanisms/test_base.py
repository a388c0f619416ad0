from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.arrays import log_softmax
from discreet.core.types import FloatArray
from discreet.stats.mechanisms.base import canonical, checked_logits, output_mechanisms, softmax

BUILT_IN = {"keyed", "laplace", "none", "rounding", "top_label"}


def test_the_door_finds_every_built_in() -> None:
    assert set(output_mechanisms) >= BUILT_IN


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_mechanism_keeps_the_interface(name: str) -> None:
    cls = output_mechanisms[name]
    rng = np.random.default_rng(0)
    logits, inputs = rng.normal(size=(20, 3)), canonical(f"row {n}" for n in range(20))
    assert (cls.knob is None) == (cls.strengths == ())
    for strength in cls.strengths or (None,):
        mechanism = cls.at(strength, None, np.random.default_rng(1))
        answer = mechanism.release(logits, inputs, np.random.default_rng(2))
        assert answer.shape == (20, 3)
        assert ((answer >= 0) & (answer <= 1)).all()
        once, again = (mechanism.pooled(logits, inputs, 8, np.random.default_rng(seed)) for seed in (3, 4))
        assert np.isfinite(once).all()
        assert np.array_equal(once, again) == (cls.noise != "fresh")
        near = mechanism.near_duplicates(logits, inputs, 2, 0.1, np.random.default_rng(2))
        assert (near is not None) == (cls.noise == "keyed")
        assert mechanism.epsilon(3) is None
        for queries in (0, 1.5):
            with pytest.raises(ValueError, match="expected a whole number, at least 1"):
                mechanism.pooled(logits, inputs, queries, rng)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="19 inputs for 20 rows"):
            mechanism.release(logits, inputs[:-1], rng)
    if cls.knob is not None:
        with pytest.raises(ValueError, match=f"{cls.knob} is None"):
            cls.at(None, None, rng)


@given(st.text(max_size=30))
def test_canonical_is_a_projection_that_ignores_case_and_space(text: str) -> None:
    [once] = canonical([text])
    assert canonical([once.decode("utf-8", "surrogatepass")]) == [once]
    assert canonical([f"  {text}\t\n"]) == [once]


def test_canonical_joins_what_reads_alike() -> None:
    assert len(set(canonical(["The  Café", "the cafe\u0301", "ＴＨＥ café "]))) == 1
    assert len(set(canonical(["the cafe", "the café", "thecafe"]))) == 3


def test_softmax_of_extreme_logits() -> None:
    logits = np.array([[1e4, 0.0], [0.0, 0.0], [-1e4, -1e4 - np.log(3)]])
    expected = np.array([[1.0, 0.0], [0.5, 0.5], [0.75, 0.25]])
    np.testing.assert_allclose(softmax(logits), expected, atol=1e-12)
    assert log_softmax(logits)[0].tolist() == [0.0, -1e4]


@pytest.mark.parametrize(("logits", "said"), [
    (np.zeros(3), r"shape \(3,\)"), (np.zeros((3, 1)), r"shape \(3, 1\)"),
    (np.array([[0.0, np.nan]]), "NaN or infinity"), (np.array([[0.0, np.inf]]), "NaN or infinity"),
])
def test_logits_that_cannot_be(logits: FloatArray, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        checked_logits(logits)
