"""The verdict on a recipe: several retrainings on the same records with other seeds, the retraining as the unit.

The figure of a retraining is the mean over its targets. In each part the mean over retrainings has a standard error
that counts the retrainings and the records (`discreet.audit.core.retrained`).

- *Fail*: in some part the mean exceeds its tolerance, its one-sided p, adjusted by Holm over the parts, is below .05,
  and the mean difference to the control models is clear of 0, or of the whole tolerance where these are off.
- *Pass*: in every part the one-sided 95% upper bound of the mean is within the tolerance and the control models are not
  off; no target fails by itself; and most pass by themselves, so that their controls, planted records and power hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, ClassVar

import numpy as np

from discreet.audit.core.retrained import NOT_ALL, Means, estimate_of, means_of
from discreet.audit.core.verdict import ALPHA, Audit, Claims, Judgement, Part, Sentences, Word
from discreet.audit.membership.audit import MembershipAudit, TargetAudit
from discreet.audit.membership.parts import PartFinding, PartState, exceeds
from discreet.audit.scores.table import PartKind
from discreet.core.errors import InputError
from discreet.core.numbers import counted, given, interval, listed_parts, number
from discreet.core.records import Estimate, plain
from discreet.stats import holm

say = Sentences.read(__package__).of("recipe")
FEWEST = 2
BOTH_BOUNDS = 1.0 - 2.0 * ALPHA
"""Level of an interval whose ends are one-sided bounds."""


@dataclass(frozen=True, slots=True)
class RecipePart(Part):
    """One part of the records over all retrainings.

    Attributes
    ----------
    state : "exceeds", "within", "control", "unclear" or "excluded"
        As of `PartFinding`, over retrainings.
    auc : Estimate
        The mean; each end is a one-sided 95% bound, n the number of retrainings.
    values : tuple of float
        Of each retraining, in the order of the seeds.
    spread : Estimate
        Standard deviation over retrainings; value only.
    p, control_auc, difference : Estimate
        One-sided p adjusted over parts; the means of the control models and of the paired differences, with such ends.
    more : "seeds", "records" or ""
        What an unclear part lacks most: the larger part of the standard error.
    """

    name: str
    kind: PartKind
    value: str
    tolerance: float
    state: PartState
    auc: Estimate
    values: tuple[float, ...]
    spread: Estimate
    p: Estimate
    control_auc: Estimate
    difference: Estimate
    more: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecipeAudit(Audit):
    """The verdict on a recipe, and the audits of its retrainings by seed."""

    kind: ClassVar[str] = "audit recipe"

    judgement: Judgement
    parts: tuple[RecipePart, ...]
    audits: Mapping[int, MembershipAudit]
    claims: Claims
    provenance: Mapping[str, Any]

    @property
    def verdict(self) -> Word:  # type: ignore[override]
        """"pass", "fail" or "inconclusive"."""
        return self.judgement.verdict

    def to_json(self) -> dict[str, Any]:
        """Plain values: the verdict, its parts, and each model with its own verdict and deciding figure."""
        models = [{"seed": seed, "target": one.target, "verdict": one.verdict, "reason": one.judgement.reasons[0],
                   "auc": None if one.primary is None else one.primary.auc,
                   "control_auc": None if one.primary is None else one.primary.control_auc,
                   "named": None if one.records is None else one.records.named}
                  for seed, audit in self.audits.items() for one in audit.targets]
        return {**self.judgement.to_json(), "parts": plain(self.parts), "seeds": list(self.audits),
                "models": plain(models), "claims": plain(self.claims), "provenance": dict(self.provenance)}


def audit_recipe(audits: Mapping[int, MembershipAudit], provenance: Mapping[str, Any] | None = None) -> RecipeAudit:
    """The verdict on a recipe from the audits of its retrainings, by seed; all on the same records.

    InputError for fewer than two audits, audits without the same parts, and two of one model: that is no retraining.
    """
    if len(audits) < FEWEST:
        raise InputError(f"{counted(len(audits), 'audit')} of a recipe: expected at least {FEWEST} retrainings")
    for (seed, earlier), (again, later) in combinations(audits.items(), 2):
        for target, other in zip(earlier.targets, later.targets, strict=False):
            if _same_model(target, other):
                raise InputError(
                    f"the retrainings {seed} and {again} have the same scores of {target.target} for every record, so "
                    "that one model would count as two; expected models that were each trained anew: where a recipe "
                    "draws nothing from its seed (as tfidf-linear), audit one training")
    targets = [one for audit in audits.values() for one in audit.targets]
    parts = recipe_parts(audits)
    first = next(iter(audits.values()))
    facts = {name: first.provenance[name] for name in ("tolerance_auc", "tolerance_part", "examples", "classes")}
    return RecipeAudit(_judged(parts, targets, len(audits)), parts, dict(audits), first.decisive.claims,
                       {**facts, **(provenance or {})})


def _same_model(one: TargetAudit, other: TargetAudit) -> bool:
    """Whether two targets have one loss of each member, and one ROC curve of the losses of all records."""
    if one.records is None or other.records is None:
        return False
    losses = [name for name in one.records.scores if name.startswith("loss")]
    curves = [[curve["curve"] for curve in audited.curves if curve["attack"] == "loss"] for audited in (one, other)]
    return bool(losses) and curves[0] == curves[1] and all(
        np.array_equal(one.records.scores[name], other.records.scores.get(name, ()), equal_nan=True) for name in losses)


def recipe_parts(audits: Mapping[int, MembershipAudit]) -> tuple[RecipePart, ...]:
    """Each part over all retrainings, in the order of the first; of one alone its means over the targets.

    InputError for audits without the same parts.
    """
    retrainings = [audit.targets for audit in audits.values()]
    names = [one.name for one in retrainings[0][0].parts]
    found = [[[part for target in targets for part in target.parts if part.name == name] for targets in retrainings]
             for name in names]
    if not all(of_seed for of_part in found for of_seed in of_part):
        raise InputError("the audits of a recipe cover different parts: expected retrainings on the same records")
    means = [{which: means_of([[getattr(one, which) for one in of_seed] for of_seed in of_part])
              for which in ("auc", "control_auc", "difference")} for of_part in found]
    p, control_p = (_adjusted([one[which] for one in means]) for which in ("auc", "control_auc"))
    return tuple(_part(of_part[0][0], [[one.auc for one in of_seed] for of_seed in of_part], mean, p[place],
                       control_p[place]) for place, (of_part, mean) in enumerate(zip(found, means, strict=True)))


def _adjusted(means: Sequence[Means]) -> list[Estimate]:
    """Holm-adjusted one-sided p of a mean above ½ in each part."""
    tested = [mean[0].p_above(0.5) for mean in means if mean is not None]
    adjusted = iter(holm(tested) if tested else ())
    how = f"t over retrainings, Holm over {counted(len(tested), 'part')}"
    return [NOT_ALL if mean is None else Estimate(float(next(adjusted)), None, None, unit="retraining", method=how)
            for mean in means]


def _part(one: PartFinding, aucs: Sequence[Sequence[Estimate]], means: Mapping[str, Means], p: Estimate,
          control_p: Estimate) -> RecipePart:
    n, mean = len(aucs), means["auc"]
    auc, control = (estimate_of(means[which], n, (0.0, 1.0), BOTH_BOUNDS) for which in ("auc", "control_auc"))
    difference = estimate_of(means["difference"], n, (-1.0, 1.0), BOTH_BOUNDS)
    values = tuple(fmean(found.value or 0.0 for found in of_seed) for of_seed in aucs) if mean is not None else ()
    spread = NOT_ALL if mean is None else Estimate(
        mean[0].spread, None, None, n=n, unit="retraining", method="standard deviation over retrainings")
    state, more = _state(one, auc, p, control, control_p, difference), ""
    if state == "unclear" and mean is not None:
        more = "seeds" if mean[1].spread**2 / n > mean[1].error**2 / 2.0 else "records"
    return RecipePart(one.name, one.kind, one.value, one.tolerance, state, auc, values, spread, p, control, difference,
                      more)


def _state(one: PartFinding, auc: Estimate, p: Estimate, control: Estimate, control_p: Estimate, difference: Estimate
           ) -> PartState:
    if one.state == "excluded":
        return "excluded"
    leaks, control_off = exceeds(auc, p, one.tolerance), exceeds(control, control_p, one.tolerance)
    least = one.tolerance - 0.5 if control_off else 0.0
    if leaks and difference.low is not None and difference.low > least:
        return "exceeds"
    if leaks or control_off:
        return "control"
    return "within" if auc.high is not None and auc.high <= one.tolerance else "unclear"


def _judged(parts: Sequence[RecipePart], targets: Sequence[TargetAudit], n: int) -> Judgement:
    words = Counter(one.verdict for one in targets)
    own = say("own", passed=words["pass"], failed=words["fail"], undecided=words["inconclusive"], models=len(targets))
    about = (say("about", n=n, models=len(targets)), own)
    of_state = {state: [one for one in parts if one.state == state] for state in ("exceeds", "control", "unclear")}
    excluded = listed_parts((one.kind, one.name) for one in parts if one.state == "excluded")
    further = (*about, *((say("excluded", parts=excluded),) if excluded else ()))
    if not parts:
        return Judgement("inconclusive", (say("no_primary"), *further))
    if of_state["exceeds"]:
        return Judgement("fail", (say("leak", parts="; ".join(map(_shown, of_state["exceeds"]))), *further))
    missing = list(_missing(of_state, targets, words))
    if missing:
        return Judgement("inconclusive", (*missing, *further))
    within = [one for one in parts if one.state == "within"]
    nearest = max(within, key=lambda one: (one.auc.high or 0.0) - one.tolerance)
    return Judgement("pass", (say("within", nearest=_shown(nearest)), *further))


def _missing(of_state: Mapping[str, Sequence[RecipePart]], targets: Sequence[TargetAudit], words: Mapping[Word, int]
             ) -> Iterator[str]:
    """What a pass lacks."""
    if of_state["control"]:
        yield say("control", parts="; ".join(map(_shown, of_state["control"])))
    for more in ("seeds", "records", ""):
        if unclear := [one for one in of_state["unclear"] if one.more == more]:
            yield say(f"unclear_{more or 'unresolved'}", parts="; ".join(map(_shown, unclear)))
    if words["fail"]:
        failed = next(one for one in targets if one.verdict == "fail")
        yield say("own_fail", failed=words["fail"], models=len(targets), reason=failed.judgement.reasons[0])
    elif 2 * words["pass"] <= len(targets):
        undecided = Counter(one.judgement.reasons[0] for one in targets if one.verdict == "inconclusive")
        yield say("few_pass", passed=words["pass"], models=len(targets), reason=undecided.most_common(1)[0][0])


def _shown(one: RecipePart) -> str:
    control = "" if one.control_auc.value is None else say("shown_control", auc=interval(one.control_auc))
    spread = "" if one.spread.value is None else say("shown_spread", spread=number(one.spread.value))
    return say("shown", part=one.name, auc=interval(one.auc, missing="unresolved"), tolerance=given(one.tolerance),
               control=control, spread=spread)
