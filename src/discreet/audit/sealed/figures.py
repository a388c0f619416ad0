"""What the coins say: e-value, ε lower bounds, power and a verdict, as a pure function of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log
from numbers import Real
from typing import Any

import numpy as np

from discreet.audit.core.verdict import Sentences
from discreet.audit.sealed.opening import Source, Unit
from discreet.core.types import FloatArray
from discreet.stats import epsilon as bounds
from discreet.stats.estimates import rate_estimate
from discreet.stats.evalues import KINDS, first_crossing, log_e_average

ALPHA = 0.05
TOLERANCE = 0.55
POWER = 0.8
LOG_MOST = 709.0
say = Sentences.read(__package__).of("certificate")


def findings(differences: FloatArray, names: Sequence[str], *, unit: Unit, source: Source, alpha: float = ALPHA,
             tolerance: float = TOLERANCE, delta: float = 0.0, others: Sequence[float] = ()) -> dict[str, Any]:
    """The figures of a certificate.

    Parameters
    ----------
    differences : (s, n) finite
        Score of the trained side minus that of the other, in the committed order of pairs, a row per name.
    alpha : float in (0, 1)
        `rejected` where the e-process ever reaches 1/alpha; ε bounds hold with confidence 1 − alpha.
    tolerance : float in (½, 1)
        The win rate (how often the trained one of a pair scores higher) that must not be missed.
    delta : float in [0, 1)
        Of (ε, δ); the anytime bound is of δ = 0.
    others : sequence of float
        log10 of the `e_value` of every other file of scores that the seal was opened with.

    Returns
    -------
    dict of plain JSON values. `e_value` is the e-process after all pairs and `e_value_max` its highest point, which
    `rejected` is about and `p_value` is 1 over, valid at any time (both at most 8e307; their `log10_…` have no such
    limit). `e_value_average` is that of all `openings`. `power` is a lower bound of the chance that a leak of win rate
    `tolerance` is found by these pairs, `least_win_rate` the one that is found with chance .8, and `least_epsilon` the
    least ε that allows such a win rate. `reason_code` and `claim_codes` stay when the sentences change.
    """
    path = log_e_average(differences, 0.5)
    # The e-process at its end and at its highest, and the average of all ends.
    ends = [float(path[-1]), *(one * log(10.0) for one in others)]
    logs = {"e_value": ends[0], "e_value_max": float(path.max()),
            "e_value_average": float(np.logaddexp.reduce(ends)) - log(len(ends))}
    crossing = first_crossing(path, alpha)
    scores, n = differences.shape
    untied = [int((row != 0).sum()) for row in differences]
    wins = [int((row > 0).sum()) for row in differences]
    betting = min(untied)
    threshold = KINDS * scores / alpha
    bound = bounds.ladder_epsilon(differences, alpha, delta=delta)
    least = bounds.least_rate(betting, threshold, POWER)
    rates = {name: rate_estimate(w, m, level=1.0 - alpha / scores, unit="pair", of="pairs without a tie")
             for name, w, m in zip(names, wins, untied, strict=True)}
    found: dict[str, Any] = {
        "design": "sealed", "unit": unit, "coins_from": "operating system" if source == "os" else "seed: not secret",
        "alpha": alpha, "rejected": crossing is not None, "rejected_at": crossing,
        **{name: exp(min(value, LOG_MOST)) for name, value in logs.items()},
        **{f"log10_{name}": value / log(10.0) for name, value in logs.items()}, "openings": 1 + len(others),
        "p_value": min(1.0, exp(-float(path.max()))), "pairs": n, "pairs_untied": dict(zip(names, untied, strict=True)),
        "win_rate": {name: rate.to_json() for name, rate in rates.items()}, "epsilon_lower": bound.epsilon,
        "epsilon_lower_anytime": bounds.anytime_epsilon(differences, alpha),
        "epsilon_lower_add_remove": bound.epsilon / 2.0, "delta": delta, "epsilon_level": 1.0 - alpha,
        "epsilon_from": {"score": names[bound.score], "guesses": bound.guesses, "correct": bound.correct},
        "epsilon_ceiling": bounds.epsilon_ceiling(betting, alpha, scores=scores) if betting else None,
        "power": bounds.detection_power(betting, tolerance, threshold), "tolerance": tolerance, "least_win_rate": least,
        "least_epsilon": None if least is None else bounds.epsilon_of_rate(least)}
    high = max(inf if rate.high is None else rate.high for rate in rates.values())
    verdict, reason = ("fail", "leak_found") if found["rejected"] else (
        "inconclusive", "power_too_low") if found["power"] < POWER else (
        "inconclusive", "win_rate_unclear") if high > tolerance else ("pass", "no_leak_found")
    last = {"several_openings": bool(others), "seeded": source != "os"}
    claims = ["false_findings", "what_leaks" if found["rejected"] else "no_proof_of_privacy",
              "no_difference" if found["epsilon_ceiling"] is None else "largest_epsilon", "blind_scorer",
              *(code for code, applies in last.items() if applies)]
    facts = {**found, "who": "record" if unit == "record" else "user", "odds": 1.0 / alpha, "least_power": POWER,
             "high": high, "any_false": min(1.0, found["openings"] * alpha)}
    return {**found, "verdict": verdict, "reason": str(say(reason, **facts)), "reason_code": reason,
            "claims": [str(say(code, **facts)) for code in claims], "claim_codes": claims}


def in_range(tolerance: Any, delta: Any) -> bool:
    """Whether the settings of an opening can be."""
    return (isinstance(tolerance, Real) and isinstance(delta, Real)
            and 0.5 < float(tolerance) < 1.0 and 0.0 <= float(delta) < 1.0)
