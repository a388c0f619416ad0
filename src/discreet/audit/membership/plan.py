"""How many records, references, planted records and minutes a membership audit needs, before anything is trained.

An audit passes where every part is within its tolerance (`discreet.audit.membership.parts`) and fails where one part
exceeds it. The plan counts members and as many non-members so that a model without any leak passes with the wanted
chance in all parts together, and a leak of the stated AUC in any one part fails with that chance.

References shrink the leak that is seen: where log odds are Gaussian, the AUC of the perfect calibrated attack with r
references that did not train on a record is Φ(Φ⁻¹(A) / √(1 + 1/r)), where endlessly many would see A
(`discreet.audit.core.simulate`). Of K references that train on random halves, r = K / 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

from discreet.audit.core.power import (
    PLANTED_AUC,
    POWER,
    fail_power,
    least_leak,
    pass_power,
    planted_needed,
    records_to_fail,
    records_to_pass,
)
from discreet.audit.membership.evaluation_sets import POPULATION_MOST, POPULATION_SHARE
from discreet.audit.membership.options import FEWEST, WHOLE
from discreet.core.errors import UsageError

REPETITIONS = (1, 4, 16)
"""How often planted records stand in training, where nothing else is asked for."""
REFERENCES = (4, 8, 16, 32, 64)
"""Numbers of references that a plan compares."""
FURTHER_MODELS = 2
"""The target and the control model."""


def leak_seen(auc: float, references: int) -> float:
    """AUC, in (½, 1), that `references` on random halves see of a leak of which endlessly many would see `auc`."""
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(auc) / sqrt(1.0 + 2.0 / references))


def plan_membership(*, tolerance_auc: float = 0.55, tolerance_part: float = 0.65, shares: Sequence[float] = (0.5, 0.5),
                    leak: float = 0.75, references: int = 8, power: float = POWER, minutes: float | None = None
                    ) -> dict[str, Any]:
    """What an audit needs to pass a model without any leak, and to fail one that leaks in one part only.

    Parameters
    ----------
    tolerance_auc, tolerance_part : float in (0.5, 1)
        What AUC is acceptable over all records, and in a part.
    shares : sequence of float in (0, 1]
        Share of each part among the records, such as .02 for a rare class. Parts may overlap.
    leak : float in (0.5, 1)
        The AUC, with endlessly many references, of the leak in one part that must fail.
    references : int >= 2
        Reference models on random halves.
    power : float in (0, 1)
        Chance of each of the two.
    minutes : float > 0, optional
        What training one model takes.

    Returns plain values: `members`, `nonmembers`, `control_records`, `planted` (a number of records for each of
    `repetitions`), `models`, `minutes`, `parts` (a row each, all records first), and `choices`: records, models and
    minutes for other numbers of references. `members` is None where no reasonable number suffices. UsageError for
    what cannot be.
    """
    _check(tolerance_auc, tolerance_part, shares, leak, references, power, minutes)
    asked = [(WHOLE, 1.0, tolerance_auc), *((f"part {place}", share, tolerance_part)
                                            for place, share in enumerate(shares, start=1))]
    members = _members(asked, leak_seen(leak, references), power)
    choices = [{"references": n, "leak_seen": leak_seen(leak, n), **_costs(
        _members(asked, leak_seen(leak, n), power), n, minutes)} for n in sorted({*REFERENCES, references})]
    planted = 2 * planted_needed(PLANTED_AUC, len(REPETITIONS))
    return {
        "tolerance_auc": tolerance_auc, "tolerance_part": tolerance_part, "shares": list(shares), "leak": leak,
        "leak_seen": leak_seen(leak, references), "references": references, "power": power,
        "repetitions": list(REPETITIONS), "planted": planted, **_costs(members, references, minutes),
        "parts": list(_parts(asked, members, leak_seen(leak, references), power)), "choices": choices}


def _members(asked: Sequence[tuple[str, float, float]], leak: float, power: float) -> int | None:
    """Members that all parts need together: as many as the part that needs most of them."""
    found = list[int]()
    for _, share, tolerance in asked:
        for enough in _needed(tolerance, leak, len(asked), power):
            if enough is None:
                return None
            found.append(ceil(enough / share))
    return max(found)


def _needed(tolerance: float, leak: float, n_parts: int, power: float) -> tuple[int | None, int | None]:
    """Members of one part that pass and that fail as often as wanted. All parts must pass: each passes more often."""
    enough = [records_to_pass(tolerance, power ** (1.0 / n_parts)), records_to_fail(leak, tolerance, n_parts, power)]
    to_pass, to_fail = (None if n is None else max(FEWEST, n) for n in enough)
    return to_pass, to_fail


def _parts(asked: Sequence[tuple[str, float, float]], members: int | None, leak: float, power: float
           ) -> Iterator[dict[str, Any]]:
    for name, share, tolerance in asked:
        to_pass, to_fail = _needed(tolerance, leak, len(asked), power)
        n = None if members is None else int(members * share)
        yield {"part": name, "share": share, "tolerance": tolerance, "to_pass": to_pass, "to_fail": to_fail,
               "members": n, "passes": None if n is None else pass_power(tolerance, n, n),
               "fails": None if n is None else fail_power(leak, n, n, tolerance, len(asked)),
               "least_leak": None if n is None else least_leak(n, n, tolerance, len(asked), power)}


def _costs(members: int | None, references: int, minutes: float | None) -> dict[str, Any]:
    """Records of each set, models and minutes. A tenth of the non-members is set aside for attacks that need a
    population, and the control model is trained on as many records as the target."""
    models = references + FURTHER_MODELS
    others = None if members is None else members + min(POPULATION_MOST, ceil(
        members * POPULATION_SHARE / (1.0 - POPULATION_SHARE)))
    return {"members": members, "nonmembers": others, "control_records": members, "models": models,
            "minutes": None if minutes is None else models * minutes}


def _check(tolerance_auc: float, tolerance_part: float, shares: Sequence[float], leak: float, references: int,
           power: float, minutes: float | None) -> None:
    for name, value in (("--tolerance-auc", tolerance_auc), ("--tolerance-part", tolerance_part), ("--leak", leak)):
        if not 0.5 < value < 1.0:
            raise UsageError(f"{name} is {value:g}; expected an AUC between 0.5 and 1")
    if wrong := [one for one in shares if not 0.0 < one <= 1.0]:
        raise UsageError(f"--shares holds {wrong[0]:g}; expected shares above 0, up to 1")
    if references < 2:
        raise UsageError(f"--references is {references}; expected at least 2")
    if not 0.0 < power < 1.0:
        raise UsageError(f"--power is {power:g}; expected a chance between 0 and 1")
    if minutes is not None and not minutes > 0.0:
        raise UsageError(f"--minutes is {minutes:g}; expected a number above 0")
    seen = leak_seen(leak, references)
    if seen <= max(tolerance_auc, tolerance_part):
        raise UsageError(f"--leak is {leak:g}, of which {references} references see {seen:.3f}; expected a leak above "
                         f"the tolerances, {tolerance_auc:g} and {tolerance_part:g}: only what exceeds them fails")
