"""How members came to be members, and what an audit may therefore say.

A difference between two sets of rows is leakage only where nothing but training tells the sets apart. Coins that were
tossed before training give that; two files that happened to lie around do not, whatever the score.
"""

from __future__ import annotations

from typing import Literal, get_args

from discreet.errors import UsageError

Design = Literal["sealed", "randomised", "matched", "convenience"]

DESIGNS: tuple[Design, ...] = get_args(Design)

DECIDING: frozenset[Design] = frozenset({"sealed", "randomised"})
"""The designs that can pass or fail; the others can only be inconclusive."""

WORDS: dict[Design, str] = {
    "sealed": "committed coins decided, before training, which records were trained on",
    "randomised": "a random draw decided which records were trained on",
    "matched": "members and non-members were picked to look alike, but nothing random decided between them",
    "convenience": "members and non-members are simply the two sets that were at hand",
}
"""What each design means, as a clause."""


def known_design(name: str) -> Design:
    """The design called `name`. UsageError for any other name."""
    for design in DESIGNS:
        if design == name:
            return design
    raise UsageError(f"design is {name!r}: expected one of {', '.join(DESIGNS)}")


def decides(design: Design) -> bool:
    """Whether an audit of this design can pass or fail."""
    return design in DECIDING
