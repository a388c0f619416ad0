"""The guard: judges whether an answer gives a person away, by rules and, where it was fitted, by densities.

Names are imported when first asked for, so that judging by rules alone needs neither numpy nor scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.guard.decide import Judgement
    from discreet.guard.density.dual_density import DualDensity
    from discreet.guard.density.points import Costs
    from discreet.guard.fit import fit_guard
    from discreet.guard.guard import Guard
    from discreet.guard.policy import Policy
    from discreet.guard.reading import Finding
    from discreet.guard.stress import StressResult, stress_test

__all__ = ["Costs", "DualDensity", "Finding", "Guard", "Judgement", "Policy", "StressResult", "fit_guard",
           "stress_test"]

HOMES = {
    "Costs": "discreet.guard.density.points", "DualDensity": "discreet.guard.density.dual_density",
    "Finding": "discreet.guard.reading", "Guard": "discreet.guard.guard", "Judgement": "discreet.guard.decide",
    "Policy": "discreet.guard.policy", "StressResult": "discreet.guard.stress", "fit_guard": "discreet.guard.fit",
    "stress_test": "discreet.guard.stress",
}
__getattr__ = lazily(__name__, HOMES)
