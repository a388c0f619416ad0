"""A trial of label memorisation: one data set, one deal of canaries, a model for each mechanism and ε."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Any

from discreet.core.errors import UsageError
from discreet.data.canaries import LAWS, PLANTED, Law
from discreet.engine import DataFile
from discreet.mechanisms.labels.base import label_mechanism
from discreet.scores.table import NO_MECHANISM


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """What is done to the labels before training.

    Attributes
    ----------
    mechanism : str
        "none", or a registered label mechanism. `alibi` trains on soft labels, `rr_with_prior` and `rr_top_k` in two
        stages, the first model giving the prior of the second half (LP-2ST), all others on what is released.
    epsilon : float
        Above 0; infinite with "none" and with nothing else.

    Raises UsageError for others.
    """

    mechanism: str = NO_MECHANISM
    epsilon: float = inf

    def __post_init__(self) -> None:
        if isnan(self.epsilon) or self.epsilon <= 0.0:
            raise UsageError(f"epsilon is {self.epsilon:g}; expected a number above 0, or inf for no noise")
        if (self.mechanism == NO_MECHANISM) != (self.epsilon == inf):
            raise UsageError(f"mechanism {self.mechanism!r} at epsilon {self.epsilon:g}; expected 'none' at inf, and a "
                             "finite number with any other")
        if self.mechanism != NO_MECHANISM:
            label_mechanism(self.mechanism, self.epsilon, 2, allow_broken=True)

    @property
    def name(self) -> str:
        """ "none", "rr-2", "alibi-0.5"."""
        if self.epsilon == inf:
            return NO_MECHANISM
        short = f"{self.epsilon:g}"
        return f"{self.mechanism}-{short if float(short) == self.epsilon else repr(float(self.epsilon))}"


NONE = Arm()
"""Labels as they are."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is trained on what.

    Attributes
    ----------
    data : DataFile
        What `read_dataset` reads.
    target : str
        The column (or array) of the labels.
    recipe : mapping or str
        A network recipe's `to_json()`, or what `recipe_of` reads.
    arms : tuple of Arm
        One target is trained for each.
    seed : int
        Deals canaries, placebos and held-out rows, alike for all arms, and starts every model.
    canaries, placebo : float
        Below 1 a share of the rows that are not held out, else a number. No placebo: rows are uncontrolled.
    planted : tuple of int
        How often planted canaries, the positive control, stand in training; empty: none.
    planted_each : int, optional
        How many of each; a tenth of the canaries if not given, at least 20 where the rows allow it.
    heldout : float
        Rows that only measure accuracy; below 1 a share of all, else a number.
    references : int
        Models that an attacker would train: on the rows of the target and its placebos, with labels of canaries and
        placebos drawn afresh for each, under the same mechanism.
    references_at : tuple of Arm, optional
        The arms that have references; all if not given. They serve the others too.
    law : "uniform" or "exact_half"
        How secrets are drawn, see `draw_canaries`.
    labels : DataFile, optional
        The labels' file where they lie apart from arrays.
    positive : tuple of str, optional
        Values of the target that become class 1, all others class 0.
    group : str, optional
        The column of groups; a group is held out, canary or placebo as a whole.
    drop : tuple of str
        Columns of a table that are no features.
    same_epochs : bool
        Where the recipe trains until an accuracy, train all other models of the trial for as many epochs as the target
        without noise took.
    keep_models : bool
        Keep the trained models in the store.
    broken : bool
        Let mechanisms in that are broken on purpose; for reproductions.

    Raises UsageError for a number out of range, an arm twice or none, and a broken mechanism.
    """

    data: DataFile
    target: str
    recipe: Mapping[str, Any] | str
    arms: tuple[Arm, ...] = (NONE,)
    seed: int = 42
    canaries: float = 0.02
    placebo: float = 0.02
    planted: tuple[int, ...] = PLANTED
    planted_each: int | None = None
    heldout: float = 0.2
    references: int = 0
    references_at: tuple[Arm, ...] | None = None
    law: Law = "uniform"
    labels: DataFile | None = None
    positive: tuple[str, ...] | None = None
    group: str | None = None
    drop: tuple[str, ...] = ()
    same_epochs: bool = True
    keep_models: bool = False
    broken: bool = False

    def __post_init__(self) -> None:
        for name in ("canaries", "placebo", "heldout"):
            _check_size(name, getattr(self, name), least=name == "canaries")
        if self.references < 0 or self.seed < 0 or (self.planted_each is not None and self.planted_each < 1):
            raise UsageError(f"references {self.references}, seed {self.seed}, planted_each {self.planted_each}; "
                             "expected whole numbers from 0, the last from 1")
        if any(times < 1 for times in self.planted) or len(set(self.planted)) != len(self.planted):
            raise UsageError(f"planted repetitions are {', '.join(map(str, self.planted))}; expected different whole "
                             "numbers from 1, or none")
        if self.law not in LAWS:
            raise UsageError(f"law is {self.law[:20]!r}: expected one of {', '.join(LAWS)}")
        names = [arm.name for arm in self.arms]
        if not names or len(set(names)) < len(names):
            raise UsageError(f"arms are {', '.join(names) or 'not there'}; expected a mechanism and an epsilon at the "
                             "least, and each pair once")
        for arm in self.arms:
            if arm != NONE:
                label_mechanism(arm.mechanism, arm.epsilon, 2, allow_broken=self.broken)

    def with_seed(self, seed: int) -> Trial:
        """The same study, dealt and trained anew."""
        return replace(self, seed=seed)

    def references_of(self, arm: Arm) -> int:
        """How many references an arm has."""
        return self.references if self.references_at is None or arm in self.references_at else 0


def arms_of(mechanisms: tuple[str, ...], epsilons: tuple[float, ...]) -> tuple[Arm, ...]:
    """Every mechanism at every finite ε, each ε's mechanisms together; no mechanism, once, where ε is infinite."""
    found: dict[Arm, None] = {}
    for epsilon in epsilons:
        found.update(dict.fromkeys([NONE] if epsilon == inf else [Arm(name, epsilon) for name in mechanisms]))
    return tuple(found)


def _check_size(name: str, value: float, *, least: bool) -> None:
    whole = 1.0 <= value < inf and value == int(value)
    if not whole and not (0.0 < value < 1.0 or (value == 0.0 and not least)):
        raise UsageError(f"{name} is {value:g}; expected a share {'above' if least else 'from'} 0 and below 1, or a "
                         "whole number of rows")
