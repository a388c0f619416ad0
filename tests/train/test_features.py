from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from tests.train.tasks import task

from discreet.core.errors import UsageError
from discreet.encode.encoders.hashed import HashedEncoder
from discreet.train.base import Data, checked_texts, rows_of, texts_of
from discreet.train.features import (
    Centred,
    Embedder,
    Tfidf,
    distinct,
    embedder,
    hashed_counts,
    shaped,
)

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


def test_tfidf_leaves_its_counts_alone_and_knows_no_neighbours() -> None:
    counts = hashed_counts([*TEXTS, ""], 64)
    before = counts.data.tobytes()
    scaling = Tfidf.fit(counts, np.ones(counts.shape[0]))
    scaled = scaling.apply(counts)
    assert counts.data.tobytes() == before
    for row in (0, 7, 30):
        assert scaling.apply(counts[[row]]).toarray().tobytes() == scaled[[row]].toarray().tobytes()
    assert scaled[[30]].nnz == 0


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
    assert flat.size == 1.0


@pytest.mark.parametrize("scaling", [Tfidf(np.array([1.0, 2.5])), Centred(np.array([0.5, -1.0]), 2.0)])
def test_scalings_are_restored(scaling: Tfidf | Centred) -> None:
    again = type(scaling).restore(scaling.state(), 2)
    assert {k: v.tolist() for k, v in again.state().items()} == {k: v.tolist() for k, v in scaling.state().items()}
    with pytest.raises(ValueError, match="expected finite numbers of shape"):
        type(scaling).restore(scaling.state(), 3)
    with pytest.raises(KeyError):
        type(scaling).restore({}, 2)


def test_saved_arrays_must_be_finite() -> None:
    with pytest.raises(ValueError, match="holds NaN"):
        shaped({"x": np.array([np.nan])}, "x", (1,))


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
    monkeypatch.setattr("discreet.train.features.CACHED_ROWS", 3)
    found.rows(["anchor"])
    assert len(found._kept) == 1
    assert found.rows(texts).tobytes() == HashedEncoder(32).encode(texts).tobytes()


def test_which_encoder(tmp_path: Path) -> None:
    assert embedder("hashed").encoder.dim == 4096
    HashedEncoder(64).save(tmp_path / "own")
    own = embedder(str(tmp_path / "own"))
    assert own.encoder.dim == 64
    assert own.probe().tobytes() == HashedEncoder(64).encode(["The quick brown fox jumps over the lazy dog."]).tobytes()
    for odd in ("evidence", "hashed,embedded", "paper", "bert"):
        with pytest.raises(UsageError, match="expected one"):
            embedder(odd)


def test_kinds_of_inputs() -> None:
    rows = np.zeros((2, 2, 3))
    assert rows_of(rows, "r").shape == (2, 6)
    with pytest.raises(UsageError, match=r"'r' takes texts and was given an array of shape \(2, 2, 3\)"):
        texts_of(rows, "r")
    with pytest.raises(UsageError, match="'r' takes an array"):
        rows_of(["a"], "r")
