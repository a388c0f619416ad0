"""From the hidden states of tokens to one vector of norm 1, in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import UsageError

POOLINGS = ("mean", "cls", "last")


def pool(hidden: NDArray[np.float32], mask: NDArray[Any], how: str) -> NDArray[np.float32]:
    """One vector a text, L2-normalised.

    Parameters
    ----------
    hidden : (n, tokens, dim) array
        The last hidden state.
    mask : (n, tokens) array
        1 for tokens of the text, special ones included; 0 for padding, on either side. At least one 1 in a row.
    how : {"mean", "cls", "last"}
        The mean over the text's tokens, its first token, its last token.

    Returns
    -------
    (n, dim) array
        Of norm 1 each.

    Raises
    ------
    UsageError
        For an unknown `how`.
    """
    rows = np.arange(len(hidden))
    if how == "mean":
        weights = mask.astype(np.float64)
        pooled = np.einsum("ntd,nt->nd", hidden.astype(np.float64), weights) / weights.sum(axis=1, keepdims=True)
    elif how == "cls":
        pooled = hidden[rows, mask.argmax(axis=1)].astype(np.float64)
    elif how == "last":
        pooled = hidden[rows, mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)].astype(np.float64)
    else:
        raise UsageError(f"unknown pooling {how!r}: expected one of {', '.join(POOLINGS)}")
    return unit(pooled)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Vectors along the last axis scaled to norm 1; a zero vector stays zero."""
    norms = np.sqrt((rows * rows).sum(axis=-1, keepdims=True))
    return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)
