from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from discreet.guard.densities.ocsvm import OneClassSvm
from discreet.guard.densities.rff import RandomFourier
from discreet.stats import auroc


def _class(n: int, seed: int, which: int, d: int = 96) -> np.ndarray:
    fixed = np.random.default_rng(100 + which)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 12)) @ fixed.standard_normal((12, d)) + 2.0 * rng.standard_normal((n, d)) + 1.0
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("nu", [0.02, 0.2])
def test_scores_rank_as_those_of_the_one_class_svm(nu: float) -> None:
    x = _class(600, 1, 0)
    new = np.concatenate([_class(300, 2, 0), _class(300, 3, 1)])
    exact = OneClassSvm(nu).fit(x, rng=_rng()).normalised(new)
    ours = RandomFourier(nu, seed=7).fit(x, rng=_rng()).normalised(new)
    assert spearmanr(exact, ours).statistic > 0.97
    np.testing.assert_allclose(ours, exact, atol=0.03)


def test_more_frequencies_are_nearer() -> None:
    x, new = _class(400, 1, 0), np.concatenate([_class(200, 2, 0), _class(200, 3, 1)])
    exact = OneClassSvm(0.1).fit(x, rng=_rng()).normalised(new)
    errors = [
        np.sqrt(np.mean([
            (RandomFourier(0.1, n_frequencies=m, seed=s).fit(x, rng=_rng()).normalised(new) - exact) ** 2
            for s in range(4)
        ]))
        for m in (128, 2048)
    ]
    # The error falls with the root of the frequencies: by 4 here.
    assert errors[0] / errors[1] > 2.5


def test_shared_frequencies_cancel_in_the_difference() -> None:
    sides = [_class(600, 1, 0), _class(600, 2, 1)]
    new = np.concatenate([_class(300, 3, 0), _class(300, 4, 1)])
    exact = [OneClassSvm(0.05).fit(x, rng=_rng()).normalised(new) for x in sides]
    errors = {}
    for name, seeds in (("shared", (1, 1)), ("apart", (1, 2))):
        found = [
            RandomFourier(0.05, n_frequencies=512, seed=s).fit(x, rng=_rng()).normalised(new)
            for x, s in zip(sides, seeds, strict=True)
        ]
        errors[name] = float(np.std((found[1] - found[0]) - (exact[1] - exact[0])))
    assert errors["shared"] < 0.7 * errors["apart"]
    labels = np.repeat([0, 1], 300)
    assert auroc(exact[1] - exact[0], labels) > 0.9


def test_it_keeps_a_weight_vector_and_a_seed_whatever_the_number_of_rows() -> None:
    sizes = []
    for n in (50, 500):
        found = RandomFourier(0.1, n_frequencies=256).fit(_class(n, 1, 0), rng=_rng())
        assert found.stored_rows() == 0
        assert list(found.state()) == ["weights"]
        sizes.append(found.state()["weights"].shape)
    assert sizes == [(512,), (512,)]


def test_a_seed_is_drawn_where_none_is_given() -> None:
    x = _class(60, 1, 0)
    first, second = (RandomFourier(0.1, n_frequencies=64).fit(x, rng=np.random.default_rng(s)) for s in (0, 1))
    assert first.config()["seed"] != second.config()["seed"]
