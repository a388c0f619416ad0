"""How many updates there are, and how far the learning rate is scaled at each: pure functions of the step."""

from __future__ import annotations

from math import ceil, cos, pi


def updates(examples: int, epochs: int, batch: int, micro_batch: int) -> int:
    """Updates of a whole training; the last of an epoch takes what is left.

    Raises ValueError for anything below 1, and where `batch` is no multiple of `micro_batch`.
    """
    if min(examples, epochs, batch, micro_batch) < 1 or batch % micro_batch:
        raise ValueError(f"{examples} examples, {epochs} epochs, batch {batch} in parts of {micro_batch}: expected at "
                         "least 1 of each, and a batch that is a multiple of its parts")
    return epochs * ceil(ceil(examples / micro_batch) / (batch // micro_batch))


def scale(step: int, steps: int, warmup: float) -> float:
    """What the learning rate is multiplied by at update `step` (from 0) of `steps`; in (0, 1].

    It rises on a line over the first `warmup` (share in [0, 1], rounded up to whole updates) to 1, and falls on half a
    cosine to 0, which it would reach at update `steps`: no update is made with a rate of 0. Paper, Table 4; as
    transformers' `get_cosine_schedule_with_warmup`, whose first update has the rate 0, but for that line.

    Raises ValueError for a step outside [0, steps), and for another share.
    """
    if not 0 <= step < steps or not 0.0 <= warmup <= 1.0:
        raise ValueError(f"step {step} of {steps} with warm-up {warmup}: expected 0 <= step < steps, and a share")
    rising = ceil(steps * warmup)
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1.0 + cos(pi * (step - rising) / (steps - rising)))
