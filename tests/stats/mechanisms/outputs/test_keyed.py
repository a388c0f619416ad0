from __future__ import annotations

import hmac

import numpy as np
import pytest
from scipy import stats

from discreet.core.arrays import log_softmax
from discreet.core.errors import UsageError
from discreet.stats.mechanisms.base import canonical
from discreet.stats.mechanisms.outputs.keyed import KeyedLaplace, keyed_laplace

KEY = bytes(range(32))


def by_the_book(text: bytes, n_classes: int, key: bytes) -> list[float]:
    """HMAC-SHA256 by the standard library, one class at a time."""
    noise = []
    for place in range(n_classes):
        digest = hmac.new(key, (place // 4).to_bytes(4, "big") + text, "sha256").digest()
        word = int.from_bytes(digest[8 * (place % 4):8 * (place % 4) + 8], "big")
        noise.append(float(stats.laplace.ppf(((word >> 11) + 0.5) / 2**53)))
    return noise


@pytest.mark.parametrize("n_classes", [2, 4, 5, 11])
@pytest.mark.parametrize("key", [KEY, b"k" * 16, b"k" * 64, b"k" * 65, b"k" * 200])
def test_noise_is_the_hmac_of_the_input(n_classes: int, key: bytes) -> None:
    inputs = [b"", b"one", b"two" * 50]
    expected = [by_the_book(text, n_classes, key) for text in inputs]
    np.testing.assert_allclose(keyed_laplace(inputs, n_classes, key), expected, rtol=1e-9)


def test_noise_over_inputs_and_over_keys_looks_like_independent_laplace_noise() -> None:
    noise = keyed_laplace(canonical(f"text {n}" for n in range(20_000)), 6, KEY)
    over_keys = np.concatenate([keyed_laplace([b"one text"], 4, n.to_bytes(16, "big"))[0] for n in range(5_000)])
    for column in (*noise.T, over_keys):
        assert stats.kstest(column, "laplace").pvalue > 0.001
    assert np.abs(np.corrcoef(noise.T) - np.eye(6)).max() < 0.03


def test_equal_inputs_get_equal_answers_and_near_duplicates_do_not() -> None:
    logits = np.zeros((4, 2))
    inputs = canonical(["Where do I live?", "where  do i LIVE?", "Where do I live", "Where do I live? "])
    answers = KeyedLaplace(1.0, KEY).release(logits, inputs, np.random.default_rng(0))
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[3])
    assert not np.isclose(answers[0], answers[2]).any()
    other = KeyedLaplace(1.0, KEY[::-1]).release(logits, inputs, np.random.default_rng(0))
    assert not np.isclose(answers, other).any()


def test_asking_256_times_averages_nothing_out() -> None:
    rng = np.random.default_rng(1)
    logits, inputs = rng.normal(size=(50, 2)), canonical(f"text {n}" for n in range(50))
    mechanism = KeyedLaplace(1.0, KEY)
    answers = np.mean([np.log(mechanism.release(logits, inputs, rng)) for _ in range(256)], axis=0)
    np.testing.assert_allclose(answers, log_softmax(mechanism.pooled(logits, inputs, 1, rng)), atol=1e-12)
    np.testing.assert_array_equal(mechanism.pooled(logits, inputs, 256, rng), mechanism.pooled(logits, inputs, 1, rng))


class TestNearDuplicates:
    @pytest.mark.parametrize("clip", [None, 0.8])
    def test_as_if_each_had_been_asked_under_the_secret_key(self, clip: float | None) -> None:
        rng = np.random.default_rng(2)
        sigma, jitter, k, n = 0.6, 0.5, 9, 3_000
        logits = np.tile([1.0, -1.2], (n, 1))
        mechanism = KeyedLaplace(sigma, KEY, clip)
        slow = np.zeros_like(logits)
        for place in range(k):
            inputs = canonical(f"text {row} variant {place}" for row in range(n))
            moved = logits + (jitter * rng.standard_normal(logits.shape) if place else 0.0)
            slow += mechanism.pooled(moved, inputs, 1, rng) / k
        fast = mechanism.near_duplicates(logits, canonical(["x"] * n), k, jitter, rng)
        assert fast is not None
        for label in range(2):
            assert stats.ks_2samp(slow[:, label], fast[:, label]).pvalue > 0.001

    def test_one_query_is_the_input_itself(self) -> None:
        rng, mechanism = np.random.default_rng(3), KeyedLaplace(1.0, KEY)
        logits, inputs = np.zeros((3, 2)), canonical("abc")
        near = mechanism.near_duplicates(logits, inputs, 1, 5.0, rng)
        np.testing.assert_array_equal(near, mechanism.pooled(logits, inputs, 1, rng))
        with pytest.raises(ValueError, match="jitter is -1"):
            mechanism.near_duplicates(logits, inputs, 2, -1, rng)


def test_epsilon_does_not_grow_with_the_queries() -> None:
    mechanism = KeyedLaplace(0.5, KEY, 2.0)
    assert mechanism.epsilon(2) == mechanism.epsilon(2, 1000) == pytest.approx(16.0)
    assert KeyedLaplace(0.5, KEY).epsilon(2) is None


def test_the_key_is_long_never_shown_and_each_deployment_has_its_own() -> None:
    with pytest.raises(UsageError, match="has 15 bytes"):
        KeyedLaplace(1.0, b"k" * 15)
    shown = repr(KeyedLaplace(1.0, b"secret secret secret"))
    assert "key" not in shown
    assert "secret" not in shown
    rng = np.random.default_rng(0)
    first, second = (KeyedLaplace.at(1.0, 2.0, rng) for _ in range(2))
    assert first.key != second.key
    assert (first.sigma, first.clip, len(first.key)) == (1.0, 2.0, 32)
