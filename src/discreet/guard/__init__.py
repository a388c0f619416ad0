"""The guard: judges whether an answer gives a person away, by rules and, where it was fitted, by densities.

Names are imported when first asked for, so that judging by rules alone needs neither numpy nor scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.guard.dual_density import DualDensity
    from discreet.guard.fit import fit_guard
    from discreet.guard.guard import Guard, Judgement
    from discreet.guard.points import Costs
    from discreet.guard.policy import Policy
    from discreet.guard.reading import Finding
    from discreet.guard.stress import StressResult, stress_test

_HOMES = {
    "Costs": "points", "DualDensity": "dual_density", "Finding": "reading", "Guard": "guard", "Judgement": "guard",
    "Policy": "policy", "StressResult": "stress", "fit_guard": "fit", "stress_test": "stress",
}  # fmt: skip

__all__ = ["Costs", "DualDensity", "Finding", "Guard", "Judgement", "Policy", "StressResult", "fit_guard",
           "stress_test"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"discreet.guard.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet.guard' has no attribute {name!r}")
