"""The pieces of multi-stage training, LP-MST (Ghazi et al. 2021, Algorithm 3), of which LP-2ST has two stages.

The training set is split at random, without a look at the labels. Labels of the first part are randomised without a
prior; a model trained on them gives, as its softmax at some temperature, the prior of the second part, and so on. Each
label is randomised once, so that the ε of the whole is that of a stage.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray, IntArray
from discreet.mechanisms.base import checked_logits, softmax


def stage_parts(n: int, rng: Generator, n_stages: int = 2) -> tuple[IntArray, ...]:
    """Rows 0 … n − 1 in `n_stages` disjoint random parts of equal size, give or take one; rising within a part.

    ValueError for fewer rows than stages, or no stage.
    """
    if not 1 <= n_stages <= n:
        raise ValueError(f"{n_stages} stages of {n} rows: expected at least one stage, and a row for each")
    return tuple(np.sort(part) for part in np.array_split(rng.permutation(n), n_stages))


def prior_of_logits(logits: ArrayLike, temperature: float = 1.0) -> FloatArray:
    """softmax(logits / temperature), (N, K): the prior that an earlier stage's model gives. `temperature` > 0.

    The model must not have seen the labels that are to be randomised under this prior.
    """
    if not (np.isfinite(temperature) and temperature > 0.0):
        raise ValueError(f"temperature is {temperature:g}: expected a finite number above 0")
    return softmax(checked_logits(np.asarray(logits, dtype=np.float64)) / temperature)
