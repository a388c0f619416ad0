"""How members came to be members, and what an audit may therefore say.

A difference between two sets of rows is leakage only where nothing but training tells the sets apart. Coins that were
tossed before training give that; two files that happened to lie around do not, whatever the score. That coins were
tossed can be shown (`discreet.audit.sealed.under_seal`) or only said, and a verdict says which.
"""

from __future__ import annotations

from typing import Literal, get_args

from discreet.core.errors import UsageError, meant, shown
from discreet.core.records import Estimate

Design = Literal["sealed", "sealed (as stated)", "randomised (assigned here)", "randomised", "matched", "convenience"]

DESIGNS: tuple[Design, ...] = get_args(Design)

SEALED: Design = "sealed"  # Only for a table that was compared with the coins of a seal.
AS_STATED: Design = "sealed (as stated)"  # There was a seal, somebody says, and none was shown: counts as "randomised".
ASSIGNED: Design = "randomised (assigned here)"  # This very run drew who is trained on, and trained.
NAMED = tuple(design for design in DESIGNS if design not in (AS_STATED, ASSIGNED))  # What a user may ask for.
STATED: frozenset[Design] = frozenset({AS_STATED, "randomised"})
"""The designs that decide on the word of whoever ran the audit."""
DECIDING: frozenset[Design] = STATED | {SEALED, ASSIGNED}
"""The designs that can pass or fail; the others can only be inconclusive."""

WORDS: dict[Design, str] = {
    "sealed": "committed coins decided, before training, which records were trained on",
    "sealed (as stated)": "it is stated, and was not shown, that committed coins decided which records were trained on",
    "randomised (assigned here)": "this run drew at random which records were trained on, and trained the models "
                                  "itself",
    "randomised": "it is stated, and was not shown, that a random draw decided which records were trained on",
    "matched": "members and non-members were picked to look alike, but nothing random decided between them",
    "convenience": "members and non-members are simply the two sets that were at hand",
}
"""What each design means, as a clause."""
ON_WHOSE_WORD = ("That chance decided who was trained on is the word of whoever ran this audit: without a seal that is "
                 "compared with the table, nothing here shows it, and where it is wrong the verdict is void.")
"""What a verdict of a design in `STATED` has to say."""


def known_design(name: str) -> Design:
    """The design called `name`. UsageError for any other name."""
    if name in DESIGNS:
        return name
    raise UsageError(f"design is {shown(name)}; {meant(name, NAMED)}")


def shown_design(name: str, *, seal: bool) -> Design:
    """The design that counts where the user asks for `name`, with or without a seal that the table was compared with.

    UsageError for a name that is not known, or a seal beside another design than "sealed".
    """
    design = known_design(name)
    if seal and design != SEALED:
        raise UsageError(f"a seal was given with design {design!r}: expected design {SEALED!r}, or no seal")
    return AS_STATED if design == SEALED and not seal else design


def decides(design: Design) -> bool:
    """Whether an audit of this design can pass or fail."""
    return design in DECIDING


def off(estimate: Estimate, tolerance: float) -> bool:
    """Whether a control that should be ½ is not: ½ outside its interval, and the point outside the tolerance."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return False
    return not estimate.low <= 0.5 <= estimate.high and abs(estimate.value - 0.5) > tolerance - 0.5


def reads_apart(blind: Estimate, tolerance: float) -> bool:
    """Whether the baseline without a model tells the evaluation sets apart: off ½, and above it.

    An out-of-fold AUC falls below ½ where the sets are more alike than chance makes them, as after a draw within
    strata: what one fold has more of, the others have less of. Nothing is told apart there.
    """
    return off(blind, tolerance) and (blind.value or 0.0) > 0.5
