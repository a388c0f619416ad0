"""The Gaussian mechanism on a vector of statistics, with its exact (ε, δ).

Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (ICML 2018), Theorem 8: normal noise of
standard deviation σ on statistics of L2 sensitivity Δ is (ε, δ)-differentially private exactly for
δ >= Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ).
"""

from __future__ import annotations

import math


def gaussian_delta(sigma: float, epsilon: float, sensitivity: float) -> float:
    """Least δ at which noise of standard deviation `sigma` > 0 is (`epsilon`, δ)-differentially private."""
    ratio = sensitivity / sigma
    first, second = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    log_second = epsilon + _log_phi(second)
    return max(0.0, math.exp(_log_phi(first)) - math.exp(log_second)) if log_second < 0 else 0.0


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """Least standard deviation of normal noise for (`epsilon`, `delta`), rounded up by at most one part in 10^9.

    ValueError unless ε > 0, 0 < δ < 1 and the sensitivity is above 0.
    """
    if not (epsilon > 0 and 0 < delta < 1 and sensitivity > 0 and math.isfinite(epsilon + sensitivity)):
        raise ValueError(f"epsilon {epsilon}, delta {delta}, sensitivity {sensitivity}: expected an epsilon and a "
                         "sensitivity above 0 and a delta between 0 and 1")
    low, high = 1e-3 * sensitivity, sensitivity
    while gaussian_delta(high, epsilon, sensitivity) > delta:
        low, high = high, 2 * high
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_delta(middle, epsilon, sensitivity) > delta else (low, middle)
    return high


def _log_phi(x: float) -> float:
    """Log of the standard normal distribution function; by its asymptotic series where that would be 0."""
    if x > -30:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log1p(-1 / x**2 + 3 / x**4)
