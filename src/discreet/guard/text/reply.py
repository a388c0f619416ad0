"""What a text is to its question: whether it tells something of somebody private, and of whom else it may speak.

The learned reader reads questions beside a text. A text sees itself alone, so that no question changes what is found in
it; a question sees itself and the text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.core.records import Subject

ASKED = 96
"""How many tokens of a question are read, the last ones."""
NEVER = -20.0
"""Log-odds of what a text without a token tells."""
OTHERS = 2.0
"""Log-odds that an answer to its question speaks of the user, of whom they bring, or of somebody public, of staff or
made up, above which persons, names, addresses and numbers in it are those of nobody who counts."""
_SOMEBODY = 3.0
"""Log-odds of the classifier above which a stretch by itself tells of somebody private."""
_SURELY_NOBODY, _SURELY_OTHERS = -5.0, 4.0
"""Log-odds of telling of somebody private below which, or of others above which, no doubt is left."""
_NOT_THEIRS = -4.0
"""Log-odds of speaking of the user's own below which "you" in a story, a sample or a rule is not the user."""
_TELLS, _THEIRS = frozenset({"leak"}), frozenset({"own", "kin"})
_STATUS: Mapping[str, Subject] = {"hypothetical": "hypothetical", "fictional": "fictional", "public": "public",
                                  "historic": "historic", "staff": "staff"}
_OTHERS = _THEIRS | {*_STATUS, "organisation"}
"""The cases of which a `Case` gives the log-odds, and the persons of some."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a text is, by itself or to a question, as log-odds: `tells` something of somebody private whom the question
    does not bring, be they described in the question or in the text; `theirs`: it speaks of the one who asks or of
    somebody whom they bring; `others`: of these, of somebody public, of staff, or of somebody made up. `status` is what
    such a person most likely is, None where it is the user's, or no person."""

    tells: float = NEVER
    theirs: float = NEVER
    others: float = NEVER
    status: Subject | None = None

    @property
    def made_up(self) -> bool:
        """Whether it surely speaks of somebody made up."""
        return self.status in ("hypothetical", "fictional") and self.others > OTHERS

    @property
    def surely_not_theirs(self) -> bool:
        """Whether it surely speaks neither of the user nor of whom they bring."""
        return self.theirs < _NOT_THEIRS

    @property
    def surely_of_others(self) -> bool:
        """Whether no doubt is left that it tells of nobody private."""
        return self.tells < _SURELY_NOBODY or self.others > _SURELY_OTHERS

    @classmethod
    def of(cls, logits: NDArray[np.float32], names: Sequence[str]) -> Case:
        """From the network's logits of cases, and their names."""

        def odds(cases: Collection[str]) -> float:
            mine = np.logaddexp.reduce([x for x, name in zip(logits, names, strict=True) if name in cases])
            rest = np.logaddexp.reduce([x for x, name in zip(logits, names, strict=True) if name not in cases])
            return float(mine - rest)

        best = max(_OTHERS, key=lambda name: (float(logits[names.index(name)]), name))
        return cls(odds(_TELLS), odds(_THEIRS), odds(_OTHERS), _STATUS.get(best))

    @classmethod
    def whole(cls, parts: Sequence[Case]) -> Case:
        """Of a text from its windows: what any of them tells, and of others what all of them are about."""
        least = min(parts, key=lambda part: part.others)
        return cls(max(part.tells for part in parts), min(part.theirs for part in parts), least.others, least.status)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters [start, end) of a text, and what they are to the user's question."""

    start: int
    end: int
    case: Case

    @property
    def private(self) -> bool:
        """Whether it tells of somebody private, whatever the rest is about."""
        return self.case.tells > _SOMEBODY


NOTHING = Case()
"""What is said of a text without a token."""


def inputs_of(questions: Sequence[Sequence[int]]) -> dict[str, NDArray[np.int64]]:
    """Questions, each as token ids from first to last, as the network takes them: tokens (1, a) one after the other, of
    which question each is (1, 2, …), its place there, and where each question begins (q,)."""
    kept = [[first, *said[-ASKED:], last] for first, *said, last in questions]
    tokens = [token for one in kept for token in one]
    block = [number for number, one in enumerate(kept, 1) for _ in one]
    places = [at for one in kept for at in range(len(one))]
    heads = np.cumsum([0, *map(len, kept)])[:-1]
    return {"asked": np.array([tokens], np.int64), "block": np.array([block], np.int64),
            "places": np.array([places], np.int64), "heads": heads.astype(np.int64)}
