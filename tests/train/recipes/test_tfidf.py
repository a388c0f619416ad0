from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from tests.train.tasks import nothing, task

from discreet.train.recipes.tfidf import TfidfLinear, TfidfMlp

SEEDS = np.random.SeedSequence(0)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strength", [0.3, 30.0])
def test_is_scikit_learn_on_repeated_rows(n_classes: int, strength: float) -> None:
    train, texts = task(30, n_classes), list(task(10, n_classes, seed=4).inputs)
    rows = np.repeat(np.arange(30), np.random.default_rng(1).integers(1, 5, 30))
    found = TfidfLinear(C=strength, columns=256).fit(train.take(rows), nothing(train), n_classes, SEEDS)
    hasher = HashingVectorizer(n_features=256, alternate_sign=False, norm=None)
    weigh = TfidfTransformer(sublinear_tf=True)
    x = weigh.fit_transform(hasher.transform([train.inputs[row] for row in rows]))
    peer = LogisticRegression(C=strength, tol=1e-8, max_iter=5000).fit(x, train.labels[rows])
    wanted = peer.predict_log_proba(weigh.transform(hasher.transform(texts)))
    logits = found.logits(texts)
    shares = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(shares, wanted, atol=1e-3)
    assert found.facts["converged"] is True
    assert found.facts["training_rows"] == rows.size


@pytest.mark.parametrize("odd", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_penalties(odd: float) -> None:
    with pytest.raises(ValueError, match=r"C is .*: expected a finite number above 0"):
        TfidfLinear(C=odd)


def test_impossible_hashing() -> None:
    for maker in (TfidfLinear, TfidfMlp):
        for columns in (15, (1 << 20) + 1):
            with pytest.raises(ValueError, match="columns is"):
                maker(columns=columns)
        for ngrams in (0, 4):
            with pytest.raises(ValueError, match="ngrams is"):
                maker(ngrams=ngrams)
