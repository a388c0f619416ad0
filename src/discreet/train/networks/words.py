"""Texts, or token numbers, as the rows that networks for texts are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.data.word_ids import hashed_ids
from discreet.train.base import Inputs, checked_texts


def word_rows(inputs: Inputs, recipe: str, vocabulary: int, tokens: int, *, code: bool) -> NDArray[np.int64]:
    """(n, tokens) numbers from 0 (nothing) to `vocabulary` − 1, of texts or of whole numbers (n, T <= tokens).

    Raises UsageError for other arrays, InputError for numbers beyond the vocabulary.
    """
    if not isinstance(inputs, np.ndarray):
        return hashed_ids(checked_texts(inputs), vocabulary, tokens, code=code)
    if inputs.ndim != 2 or inputs.dtype.kind not in "iu" or inputs.shape[1] > tokens:
        raise UsageError(f"the recipe {recipe!r} takes texts and was given an array of {inputs.dtype} of shape "
                         f"{inputs.shape}: give texts, or token numbers (n, {tokens}), or another recipe")
    if inputs.size and (int(inputs.min()) < 0 or int(inputs.max()) >= vocabulary):
        raise InputError(f"token numbers reach from {int(inputs.min())} to {int(inputs.max())}: expected 0 to "
                         f"{vocabulary - 1}; give a larger vocabulary")
    return np.pad(inputs.astype(np.int64), ((0, 0), (0, tokens - inputs.shape[1])))


def checked_words(vocabulary: int, tokens: int) -> None:
    """ValueError for a size of vocabulary or a length out of range."""
    if not 2 <= vocabulary <= 1 << 20:
        raise ValueError(f"vocabulary is {vocabulary}: expected a whole number from 2 to {1 << 20}")
    if not 1 <= tokens <= 4096:
        raise ValueError(f"tokens is {tokens}: expected a whole number from 1 to 4096")
