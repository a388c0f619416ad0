"""Learning rates: the paper's (Table 4) by family, size and regime, and how they change over the updates."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, cos, log, pi
from typing import Literal, NamedTuple

from discreet.train.transformer.loading import Regime

By = Literal["given", "paper, Table 4", "nearest row of the paper's Table 4", "ours, for encoders", "search"]

SAME_SIZE = 1.2
"""Models whose numbers of parameters differ by less than this factor are of one size."""
SEARCHED = (0.25, 0.5, 1.0, 2.0, 4.0)
"""What `search` multiplies the usual rate by."""


class PublishedRate(NamedTuple):
    """A model of the paper's Table 4: family (beginning of its model type), parameters, and its two rates."""

    family: str
    parameters: float
    lora: float
    full: float


TABLE = tuple(PublishedRate(*row) for row in (
    ("llama", 1.24e9, 2e-4, 2e-5), ("llama", 3.21e9, 2e-4, 2e-5), ("llama", 8.03e9, 1e-4, 1e-5),
    ("gemma", 1.22e10, 5e-5, 5e-6)))
ENCODERS = ("albert", "bert", "camembert", "deberta", "distilbert", "electra", "ernie", "modernbert", "mpnet",
            "roberta", "xlm")
ENCODER = {"lora": 2e-3, "full": 2e-4}
"""Chosen on validation rows only: see docs/results/training_speed.md."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A learning rate and where it comes from."""

    value: float
    by: By


def usual_rate(family: str, parameters: int, regime: Regime) -> Rate:
    """The rate for a model that none was given for.

    A decoder has that of the row of Table 4 that is nearest in size on a log scale, among those of its family where it
    has any. An encoder has `ENCODER`.

    Parameters
    ----------
    family : str
        Model type, such as "llama" or "bert".
    parameters : int
        How many the classifier has without LoRA, at least 1.
    regime : {"full", "lora"}
    """
    if family.startswith(ENCODERS):
        return Rate(ENCODER[regime], "ours, for encoders")
    rows = [row for row in TABLE if family.startswith(row.family)] or list(TABLE)
    nearest = min(rows, key=lambda row: abs(log(row.parameters / parameters)))
    there = family.startswith(nearest.family) and abs(log(nearest.parameters / parameters)) < log(SAME_SIZE)
    return Rate(nearest.lora if regime == "lora" else nearest.full,
                "paper, Table 4" if there else "nearest row of the paper's Table 4")


def searched_rates(usual: Rate) -> tuple[float, ...]:
    """The rates that `search` tries, rising."""
    return tuple(usual.value * factor for factor in SEARCHED)


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
