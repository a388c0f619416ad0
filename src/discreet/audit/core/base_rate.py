"""What "member" means where members are rare: the positive predictive value at a stated base rate."""

from __future__ import annotations

from dataclasses import replace

from discreet.core.errors import UsageError
from discreet.core.records import Estimate


def ppv_at(tpr: float, fpr: float, base_rate: float) -> float | None:
    """Share of true members among those called members, in [0, 1]; None where nobody is called one."""
    called = base_rate * tpr + (1.0 - base_rate) * fpr
    return base_rate * tpr / called if called > 0.0 else None


def ppv_estimate(tpr: Estimate, fpr: float, base_rate: float) -> Estimate:
    """PPV of an attack with this TPR at a true FPR of `fpr`, where a share `base_rate` in (0, 1) are members.

    It rises with the TPR, so the ends of the TPR's interval are the ends of its own. UsageError for a base rate
    outside (0, 1).
    """
    if not 0.0 < base_rate < 1.0:
        raise UsageError(f"base rate is {base_rate}: expected a share between 0 and 1, such as 0.01")
    if tpr.value is None or tpr.low is None or tpr.high is None:
        return replace(tpr, value=None, low=None, high=None, method="", reason=tpr.reason or "no TPR interval")
    value, low, high = (ppv_at(rate, fpr, base_rate) for rate in (tpr.value, tpr.low, tpr.high))
    method = f"Bayes at base rate {base_rate:g} and FPR {fpr:g}; ends from those of the TPR"
    return replace(tpr, value=value, low=low, high=high, method=method)
