from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import chi, kstest

from discreet.guard.fourier import FeatureRows, RandomFeatures, chi_lengths, walsh_hadamard

# Written down once: a saved guard holds the seed only, so these numbers must never change.
PINNED = [
    -0.1914556562702444, -0.4999507343968356, -0.4109400889779158, 0.34280776653726214,
    0.46189255426141046, 0.007018773116770911, 0.284830200770253, -0.3639819160366816,
]


def _kernel(x: np.ndarray, y: np.ndarray, gamma: float) -> np.ndarray:
    return np.asarray(np.exp(-gamma * ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)))


@pytest.mark.parametrize("p", [2, 64, 512])
def test_the_fast_transform_is_the_matrix(p: int) -> None:
    x = np.random.default_rng(0).standard_normal((5, p))
    np.testing.assert_allclose(walsh_hadamard(x.copy()), x @ hadamard(p), atol=1e-10)


def test_lengths_are_those_of_gaussian_vectors() -> None:
    words = np.asarray(np.random.Philox(3).random_raw(40_000), dtype=np.uint64)
    assert kstest(chi_lengths(words, 64), chi(64).cdf).pvalue > 0.001


@pytest.mark.parametrize("d", [1, 2, 12, 100])
def test_features_are_an_unbiased_kernel_with_less_error_than_independent_rows(d: int) -> None:
    x = np.random.default_rng(d).standard_normal((80, d))
    gamma, m, draws = 0.5 / d, 512, 40
    true = _kernel(x, x, gamma)
    found = []
    for seed in range(draws):
        z = RandomFeatures(seed, gamma, d, m).transform(x)
        found.append(z @ z.T)
    errors = np.stack(found) - true
    apart = np.triu_indices(80, 1)
    mean_square = (errors[:, apart[0], apart[1]] ** 2).mean()
    # The mean of 40 draws has a fortieth of the variance, and more if the draws shared a bias.
    assert (errors.mean(axis=0)[apart] ** 2).mean() < 2.0 * mean_square / draws
    independent = ((1.0 - true[apart] ** 2) ** 2 / (2.0 * m)).mean()
    assert mean_square < 0.8 * independent


def test_rows_have_length_one_and_depend_on_themselves_alone() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.standard_normal((70, 37)), 1e8 * rng.standard_normal((3, 37)), np.zeros((1, 37))])
    features = RandomFeatures(9, 0.3, 37, 200)
    batch = features.transform(x)
    np.testing.assert_allclose((batch**2).sum(axis=1), 1.0, atol=1e-12)
    order = rng.permutation(x.shape[0])
    assert np.array_equal(features.transform(x[order]), batch[order])
    for i in range(x.shape[0]):
        assert np.array_equal(features.transform(x[i : i + 1])[0], batch[i])


def test_a_seed_is_a_feature_map_for_good() -> None:
    found = RandomFeatures(12345, 0.7, 3, 4).transform(np.array([[0.5, -1.0, 2.0]]))[0]
    np.testing.assert_allclose(found, PINNED, atol=1e-12)
    other = RandomFeatures(12346, 0.7, 3, 4).transform(np.array([[0.5, -1.0, 2.0]]))[0]
    assert np.abs(other - found).max() > 0.01


def test_one_seed_is_one_matrix_for_every_gamma() -> None:
    x = np.random.default_rng(2).standard_normal((5, 8))
    wide, narrow = RandomFeatures(1, 0.1, 8, 64), RandomFeatures(1, 0.4, 8, 64)
    np.testing.assert_allclose(wide.transform(2.0 * x), narrow.transform(x), atol=1e-12)


def test_gram_rows_and_cross_sums_are_products_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(3).standard_normal((2, 400, 10))
    features = RandomFeatures(5, 0.05, 10, 128)
    kernel = FeatureRows(features, x)
    z = features.transform(x)
    chosen = np.array([3, 77, 399])
    np.testing.assert_allclose(kernel.rows(chosen), z[chosen] @ z.T, atol=1e-5)
    np.testing.assert_allclose(kernel.outlying(), -(z @ z.mean(axis=0)), atol=1e-5)
    weights = np.random.default_rng(4).random((400, 2))
    weights[::3] = 0.0
    np.testing.assert_allclose(kernel.cross(y, weights), features.transform(y) @ (z.T @ weights), atol=1e-3)
