"""Texts to numbers: hashed TF-IDF and the embeddings of a frozen encoder, scaled by the training rows alone.

What is learnt from training rows (document frequencies, a mean) lives in a `Scaling`; the counts and embeddings
themselves depend on one text each, so that they can be made once for many models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash
from discreet.encode.base import Encoder
from discreet.encode.presets import build_encoders, default_cache, parse_encoders
from discreet.train.base import Data, FloatArray, IntArray, need

Matrix: TypeAlias = Any
"""An array (n, d), or a SciPy CSR matrix of that shape."""

PROBE = "The quick brown fox jumps over the lazy dog."
"""A sentence of nobody, by whose embedding an encoder is known again."""

CACHED_ROWS = 200_000


class Scaling(Protocol):
    """How features are scaled, learnt from training rows."""

    @classmethod
    def fit(cls, features: Matrix, weights: FloatArray) -> Self:
        """From features (n, d) of which row i counts weights[i] > 0 times."""

    def apply(self, features: Matrix) -> Matrix:
        """Scaled features, float64; a row depends on that row only, bit for bit."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]], dim: int) -> Self:
        """What `state` gave. KeyError or ValueError where it is not of that form."""


@dataclass(frozen=True, slots=True, eq=False)
class Tfidf:
    """Counts times idf, rows brought to norm 1 (zero rows stay).

    idf = ln((1 + N) / (1 + df)) + 1, scikit-learn's smooth form, where N is the sum of weights and df that of rows that
    have the feature: a repeated record is as many documents.
    """

    idf: FloatArray

    @classmethod
    def fit(cls, features: Matrix, weights: FloatArray) -> Self:
        """`features` are counts (n, d), CSR."""
        seen = features.copy()
        seen.data = np.ones_like(seen.data)
        return cls(np.log((1.0 + weights.sum()) / (1.0 + np.asarray(seen.T @ weights))) + 1.0)

    def apply(self, features: Matrix) -> Matrix:
        """CSR (n, d) with rows of norm 1 or 0."""
        scaled = features.astype(np.float64)
        scaled.data = scaled.data * self.idf[scaled.indices]
        squares = scaled.copy()
        squares.data = squares.data**2
        # A product with ones adds each row in its own order, whatever the other rows are.
        norms = np.sqrt(np.asarray(squares @ np.ones(features.shape[1])))
        scaled.data = scaled.data / np.repeat(norms, np.diff(scaled.indptr))
        return scaled

    def state(self) -> dict[str, NDArray[Any]]:
        """The idf (d,)."""
        return {"idf": self.idf}

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]], dim: int) -> Self:
        """What `state` gave."""
        return cls(shaped(state, "idf", (dim,)))


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """Rows less the weighted mean (d,), over the root mean square of what is left (1 where nothing is left)."""

    mean: FloatArray
    size: float

    @classmethod
    def fit(cls, features: Matrix, weights: FloatArray) -> Self:
        """`features` is an array (n, d)."""
        rows = np.asarray(features, dtype=np.float64)
        share = weights / weights.sum()
        mean = share @ rows
        size = float(np.sqrt(share @ ((rows - mean) ** 2).sum(axis=1)))
        return cls(mean, size if size > 0.0 else 1.0)

    def apply(self, features: Matrix) -> Matrix:
        """Array (n, d) with weighted mean 0 and mean squared norm 1 on the rows of `fit`."""
        return (np.asarray(features, dtype=np.float64) - self.mean) / self.size

    def state(self) -> dict[str, NDArray[Any]]:
        """Mean (d,) and size (1,)."""
        return {"mean": self.mean, "size": np.array([self.size])}

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]], dim: int) -> Self:
        """What `state` gave."""
        return cls(shaped(state, "mean", (dim,)), float(shaped(state, "size", (1,))[0]))


def shaped(state: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> FloatArray:
    """A finite saved array as float64. KeyError where it is missing, ValueError where it is of another shape."""
    found = np.asarray(state[name], dtype=np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"{name} has shape {found.shape} or holds NaN: expected finite numbers of shape {shape}")
    return found


def hashed_counts(texts: Sequence[str], features: int, ngrams: int = 1) -> Matrix:
    """CSR (n, features) of 1 + ln(tf): words of two letters and more, folded to lower case, in n-grams up to `ngrams`.

    Hashed (MurmurHash3 without signs): no vocabulary is learnt, and a saved model can hold no word.
    """
    hasher = need("sklearn.feature_extraction.text", "audit", "hashed TF-IDF").HashingVectorizer(
        n_features=features, ngram_range=(1, ngrams), alternate_sign=False, norm=None, dtype=np.float64)
    # The hasher cannot take an empty list.
    counts = hasher.transform(texts or [""]).tocsr()[: len(texts)]
    counts.sum_duplicates()
    counts.data = 1.0 + np.log(counts.data)
    return counts


def distinct(data: Data) -> tuple[IntArray, IntArray]:
    """First row of each distinct (input, label), rising, and for each row its place among them.

    Training on a record k times and on one row of weight k is then the same sum, bit for bit.
    """
    labels, inputs = data.labels.tolist(), data.inputs
    keys = zip(inputs if isinstance(inputs, tuple) else (row.tobytes() for row in inputs), labels, strict=True)
    places: dict[tuple[Any, int], int] = {}
    inverse = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    _, first = np.unique(inverse, return_index=True)
    return first.astype(np.int64), inverse


@dataclass(frozen=True, slots=True, eq=False)
class Embedder:
    """An encoder that remembers the rows it made, under a keyed hash of their texts that lives as long as itself."""

    encoder: Encoder
    _key: KeyedHash = field(default_factory=KeyedHash.fresh, repr=False)
    _kept: dict[str, NDArray[np.float32]] = field(default_factory=dict, repr=False)

    def rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dim) embeddings, each of its own text only."""
        keys = [self._key.of(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        made = dict(zip(new, self.encoder.encode(list(new.values())), strict=True)) if new else {}
        rows = np.array([made[key] if key in made else self._kept[key] for key in keys], dtype=np.float32)
        if len(self._kept) + len(made) > CACHED_ROWS:
            self._kept.clear()
        self._kept.update(made)
        return rows.reshape(-1, self.encoder.dim)

    def probe(self) -> NDArray[np.float32]:
        """The embedding (dim,) of `PROBE`."""
        row: NDArray[np.float32] = self.encoder.encode([PROBE])[0]
        return row


@lru_cache(maxsize=2)
def embedder(spec: str) -> Embedder:
    """The encoder that `spec` names: "minilm" (the packaged one), "hashed", a folder, or a name on the hub.

    Raises UsageError, InputError, MissingExtraError as `discreet.encode.presets.build_encoders`, and UsageError for
    more than one encoder.
    """
    word = "embedded" if spec == "minilm" else spec
    if "," in word or any(wanted.source == "evidence" for wanted in parse_encoders(word)) or word == "paper":
        raise UsageError(f"the encoder {spec!r}: expected one of minilm, hashed, none, a folder or owner/model")
    (encoder,) = build_encoders(word, cache=default_cache())
    return Embedder(encoder)
