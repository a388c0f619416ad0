"""What the coins say: e-value, ε lower bounds, power and a verdict, as a pure function of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Any

import numpy as np

from discreet.audit.sealed.commit import Source, Unit
from discreet.core.records import Estimate
from discreet.core.types import FloatArray
from discreet.stats.epsilon import (
    anytime_epsilon,
    conviction_power,
    epsilon_ceiling,
    epsilon_of_rate,
    ladder_epsilon,
    least_rate,
)
from discreet.stats.estimates import rate_estimate
from discreet.stats.evalues import KINDS, first_crossing, log_e_average

ALPHA = 0.05
TOLERANCE = 0.55
POWER = 0.8
LOG_MOST = 709.0


def findings(differences: FloatArray, names: Sequence[str], *, unit: Unit, source: Source, alpha: float = ALPHA,
             tolerance: float = TOLERANCE, delta: float = 0.0, committed: bool = False,
             others: Sequence[float] = ()) -> dict[str, Any]:
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
    committed : bool
        Whether the commitment holds `alpha`.
    others : sequence of float
        log10 of the `e_value` of every other file of scores that the seal was opened with.

    Returns
    -------
    dict of plain JSON values. `e_value` is the e-process after all pairs and `e_value_max` its highest point, which
    `rejected` is about and `p_value` is 1 over, valid at any time (both at most 8e307; their `log10_…` have no such
    limit). `e_value_average` is that of all `openings`. `power` is a lower bound of the chance that a leak of win rate
    `tolerance` is convicted by these pairs, `least_win_rate` what they convict with chance .8, and `least_epsilon` the
    least ε that allows such a win rate.
    """
    path = log_e_average(differences, 0.5)
    crossing = first_crossing(path, alpha)
    scores, n = differences.shape
    untied = [int((row != 0).sum()) for row in differences]
    wins = [int((row > 0).sum()) for row in differences]
    betting = min(untied)
    threshold = KINDS * scores / alpha
    bound = ladder_epsilon(differences, alpha, delta=delta)
    least = least_rate(betting, threshold, POWER)
    level = 1.0 - alpha / scores
    rates = {name: rate_estimate(w, m, level=level, unit="pair", of="pairs without a tie")
             for name, w, m in zip(names, wins, untied, strict=True)}
    power = conviction_power(betting, tolerance, threshold)
    found: dict[str, Any] = {
        "design": "sealed", "unit": unit, "coins_from": "operating system" if source == "os" else "seed: not secret",
        "alpha": alpha, "alpha_from": "seal" if committed else "unsealing",
        "rejected": crossing is not None, "rejected_at": crossing,
        **_e_values(path, others), "openings": 1 + len(others),
        "p_value": min(1.0, exp(-float(path.max()))),
        "pairs": n, "pairs_untied": dict(zip(names, untied, strict=True)),
        "win_rate": {name: rate.to_json() for name, rate in rates.items()},
        "epsilon_lower": bound.epsilon, "epsilon_lower_add_remove": bound.epsilon / 2.0,
        "epsilon_lower_anytime": anytime_epsilon(differences, alpha), "delta": delta, "epsilon_level": 1.0 - alpha,
        "epsilon_from": {"score": names[bound.score], "guesses": bound.guesses, "correct": bound.correct},
        "epsilon_ceiling": epsilon_ceiling(betting, alpha, scores=scores) if betting else None,
        "power": power, "tolerance": tolerance, "least_win_rate": least,
        "least_epsilon": None if least is None else epsilon_of_rate(least),
    }  # fmt: skip
    found["verdict"], found["reason"] = _verdict(found, rates)
    return {**found, "claims": claims(found)}


def _e_values(path: FloatArray, others: Sequence[float]) -> dict[str, float]:
    """The e-process at its end and at its highest, and the average of all ends; each also as log10."""
    ends = [float(path[-1]), *(one * log(10.0) for one in others)]
    logs = {"e_value": ends[0], "e_value_max": float(path.max()),
            "e_value_average": float(np.logaddexp.reduce(ends)) - log(len(ends))}
    return {**{name: exp(min(value, LOG_MOST)) for name, value in logs.items()},
            **{f"log10_{name}": value / log(10.0) for name, value in logs.items()}}


def in_range(alpha: float, tolerance: float, delta: float) -> bool:
    """Whether the three settings of `findings` can be."""
    return 0.0 < alpha < 1.0 and 0.5 < tolerance < 1.0 and 0.0 <= delta < 1.0


def _verdict(found: dict[str, Any], rates: dict[str, Estimate]) -> tuple[str, str]:
    if found["rejected"]:
        return "fail", (f"the scores tell which of a pair was trained on: after {found['rejected_at']} of "
                        f"{found['pairs']} pairs the evidence stood at {1.0 / found['alpha']:g} to 1 or more")
    seen = f"the chance of convicting a win rate of {found['tolerance']:g} was {found['power']:.2f}"
    if found["power"] < POWER:
        return "inconclusive", f"{seen} at the least, less than {POWER:g}: more pairs are needed"
    high = max(np.inf if rate.high is None else rate.high for rate in rates.values())
    if high > found["tolerance"]:
        return "inconclusive", (f"the win rate may be as high as {high:.3f}, above the tolerance "
                                f"{found['tolerance']:g}: more pairs are needed")
    return "pass", f"the win rate is at most {high:.3f}, and {seen} at the least"


def claims(found: dict[str, Any]) -> list[str]:
    """What may be concluded, and what may not, one sentence each."""
    who = "record" if found["unit"] == "record" else "user"
    said = [f"An innocent model (scores independent of the coins) is convicted with chance {found['alpha']:g} at the "
            f"most, whatever the data and however often one looked."]
    if found["rejected"]:
        said.append(f"This model's scores carry which {who} of a pair was trained on; with confidence "
                    f"{found['epsilon_level']:g} training has no epsilon (replacing one {who}) below "
                    f"{found['epsilon_lower']:.3g}.")
    else:
        said.append("That it was not convicted is no proof of privacy: only these scores of these pairs were tried.")
    said.append(f"An epsilon above {found['epsilon_ceiling']:.3g} could not have been shown with so many pairs."
                if found["epsilon_ceiling"] is not None else "No pair differs in score: nothing could have been shown.")
    said.append("The certificate proves coins and arithmetic, not where the scores came from: whoever scored must not "
                "have known the coins.")
    if (n := found["openings"]) > 1:
        said.append(f"This seal was opened with {n} different files of scores. That one of {n} innocent ones is "
                    f"convicted has chance {min(1.0, n * found['alpha']):g} at the most. Together they convict where "
                    f"the average of their e-values is {1.0 / found['alpha']:g} or more (it is "
                    f"10^{found['log10_e_value_average']:.2f}), provided that all were settled before the first was "
                    f"opened. Scores that were made or picked by who had seen an earlier opening prove nothing.")
    if found["alpha_from"] != "seal":
        said.append(f"The level {found['alpha']:g} was chosen at the opening: this seal does not commit to one.")
    if found["coins_from"] != "operating system":
        said.append("The coins came from a seed and were no secret: this demonstrates the method and proves nothing.")
    return said
