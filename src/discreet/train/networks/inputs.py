"""Inputs as the rows that networks are given: rows of numbers, images, token numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.data.word_ids import hashed_ids
from discreet.train.base import Inputs, checked_rows, checked_texts


def images(inputs: Inputs, recipe: str, least: int) -> NDArray[np.float32]:
    """Images (n, H, W) or (n, C, H, W), channels first, as float32 (n, C, H, W).

    Whole numbers are taken as 0 … 255 and brought to −1 … 1; others stay as they are. Raises UsageError for texts,
    other shapes, channels last, and images of fewer than `least` rows or columns.
    """
    if not isinstance(inputs, np.ndarray):
        raise UsageError(f"the recipe {recipe!r} takes images (n, C, H, W) and was given texts: give an array, or "
                         "another recipe")
    if inputs.ndim not in (3, 4):
        raise UsageError(f"the recipe {recipe!r} takes images (n, H, W) or (n, C, H, W) and was given shape "
                         f"{inputs.shape}: reshape them, or take another recipe")
    given = checked_rows(inputs)
    given = given if given.ndim == 4 else given[:, None]
    if given.shape[3] in (1, 3) and given.shape[1] > 4:
        raise UsageError(f"images have shape {given.shape}, channels last: expected (n, C, H, W); transpose them")
    if min(given.shape[2:]) < least:
        raise UsageError(f"images are {given.shape[2]} x {given.shape[3]}: the recipe {recipe!r} needs {least} x "
                         f"{least} or more")
    if given.dtype.kind in "biu":
        return np.ascontiguousarray(given.astype(np.float32) / np.float32(127.5) - np.float32(1.0))
    return np.ascontiguousarray(given, dtype=np.float32)


def token_ids(inputs: Inputs, recipe: str, vocabulary: int, tokens: int, *, code: bool) -> NDArray[np.int64]:
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


def check_vocabulary(vocabulary: int, tokens: int) -> None:
    """ValueError for a size of vocabulary or a length out of range."""
    if not 2 <= vocabulary <= 1 << 20:
        raise ValueError(f"vocabulary is {vocabulary}: expected a whole number from 2 to {1 << 20}")
    if not 1 <= tokens <= 4096:
        raise ValueError(f"tokens is {tokens}: expected a whole number from 1 to 4096")
