"""How many canaries does it take to show an ε?"""

from __future__ import annotations

from math import isfinite
from typing import Any

from discreet.audit.labels.bounds import canaries_needed, ceiling
from discreet.core.errors import UsageError

POWER = 0.8
STEPS = (0.25, 0.5, 0.75, 1.0)
"""Successes that are planned for: so far from the ceiling of ε to 1."""


def plan_canaries(epsilon: float, n_classes: int, guessed: float = 1.0, *, power: float = POWER) -> dict[str, Any]:
    """Canaries needed so that the ladder shows `epsilon` with chance `power`, by how often guesses are right.

    Returns `{"epsilon", "classes", "guessed", "power", "ceiling", "rows": [{"success", "canaries"}], "said", "note"}`;
    `canaries` is None where no reasonable number suffices. UsageError for what cannot be.
    """
    if not (isfinite(epsilon) and epsilon > 0.0):
        raise UsageError(f"--epsilon is {epsilon:g}; expected a finite number above 0")
    if n_classes < 2:
        raise UsageError(f"--classes is {n_classes}; expected at least 2")
    if not 0.0 < guessed <= 1.0:
        raise UsageError(f"--guessed is {guessed:g}; expected a share above 0, up to 1")
    top = ceiling(epsilon, n_classes)
    rows = [{"success": success, "canaries": _needed(success, epsilon, n_classes, guessed, power)}
            for success in (top + step * (1.0 - top) for step in STEPS)]
    whose = "all canaries" if guessed == 1.0 else f"the surest {guessed:.0%} of canaries, the rest abstained"
    return {"epsilon": epsilon, "classes": n_classes, "guessed": guessed, "power": power, "ceiling": top, "rows": rows,
            "said": f"To show that ε is at least {epsilon:g} with {n_classes} classes, with a chance of {power:.0%}:",
            "note": f"An attack on canaries with ε = {epsilon:g} is right about {top:.1%} at most, so that only more "
                    f"than that shows a larger ε. Guesses are of {whose}; confidence is 95%. Draw as many placebos as "
                    f"canaries."}


def _needed(success: float, epsilon: float, n_classes: int, guessed: float, power: float) -> int | None:
    try:
        return canaries_needed(success, epsilon, n_classes, guessed=guessed, power=power)
    except ValueError:
        return None
