"""What a target is good for: accuracy and AUC on members and on others, and whether it learned anything at all."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import ALPHA
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.scores.table import ScoreTable
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import auroc_estimate, share_estimate


def utility_of(table: ScoreTable, sets: EvaluationSets, units: Units) -> dict[str, Any]:
    """Accuracy on members ("train") and clean non-members ("test") and their gap: for "all", per label, "balanced" (the
    mean over labels), and of two classes the "auc" of class 1, which no class ratio flatters.

    Estimates in [0, 1], the gap in [-1, 1]. The answer to an example is the class with the highest mean probability
    over its queries.
    """
    p, label, both = _mean_p(table, sets), table.examples.label, (sets.members, sets.clean[None])
    right: BoolArray = np.asarray(p.argmax(axis=-1) == label, dtype=np.bool_)
    scored: BoolArray = np.asarray(np.isfinite(p).all(axis=-1), dtype=np.bool_)
    found: dict[str, Any] = {"target": table.models[sets.target].name}
    for name in ("all", *range(table.n_classes)):
        rates = []
        for rows, what in zip(both, ("members", "non-members"), strict=True):
            kept = rows[scored[rows] & ((label[rows] == name) if name != "all" else True)]
            rates.append(share_estimate(right[kept], unit=units.name, groups=units.at(kept), of=what))
        found[str(name)] = {"train": rates[0], "test": rates[1], "gap": gap(*rates)}
    means = [mean_share([found[str(name)][which] for name in range(table.n_classes)]) for which in ("train", "test")]
    found["balanced"] = {"train": means[0], "test": means[1], "gap": gap(*means)}
    if table.n_classes == 2:
        aucs = [class_auc(p, label, rows[scored[rows]], 1, units) for rows in both]
        found["auc"] = {"train": aucs[0], "test": aucs[1], "gap": gap(*aucs)}
    return found


def learned(table: ScoreTable, sets: EvaluationSets, units: Units) -> bool:
    """Whether the target tells the classes of its members apart: the mean over classes of their AUCs exceeds ½, by
    lower bounds that hold together (Bonferroni). Unlike accuracy, an AUC does not depend on how rare a class is. A
    mean, since of many classes a model that learned nothing ranks some well, as its weights happen to lie."""
    p, label = _mean_p(table, sets), table.examples.label
    rows = sets.members[np.isfinite(p[sets.members]).all(axis=-1)]
    level = 1.0 - 2.0 * ALPHA / table.n_classes
    lows = [class_auc(p, label, rows, one, units, level).low for one in np.unique(label[rows])]
    known = [low for low in lows if low is not None]
    return bool(known) and float(np.mean(known)) > 0.5


def class_auc(p: FloatArray, label: IntArray, rows: IntArray, one: int, units: Units, level: float = 0.95) -> Estimate:
    """The AUC of the probability of class `one`, p (N, K), for that class among `rows`."""
    return auroc_estimate(p[rows, one], label[rows] == one, level=level, unit=units.name, groups=units.at(rows))


def mean_share(shares: list[Estimate]) -> Estimate:
    """The mean of independent shares; its interval by squares of their distances, as that of `gap`."""
    known = [(one.value, one.low, one.high) for one in shares
             if one.value is not None and one.low is not None and one.high is not None]
    if not known or len(known) < len(shares):
        return Estimate.unresolved("a class without records, or without an interval", unit=shares[0].unit)
    value = sum(one for one, _, _ in known) / len(known)
    low, high = (sqrt(sum((one[0] - one[end]) ** 2 for one in known)) / len(known) for end in (1, 2))
    return Estimate(value, max(0.0, value - low), min(1.0, value + high), n=sum(one.n or 0 for one in shares),
                    unit=shares[0].unit, method="mean of shares, square-and-add of exact intervals")


def gap(train: Estimate, test: Estimate) -> Estimate:
    """Difference of two independent shares; interval by squares of their distances (Newcombe 1998, method 10)."""
    if (train.value is None or train.low is None or train.high is None
            or test.value is None or test.low is None or test.high is None):
        return Estimate.unresolved(train.reason or test.reason or "a share without interval", unit=train.unit)
    value = train.value - test.value
    low = value - sqrt((train.value - train.low) ** 2 + (test.high - test.value) ** 2)
    high = value + sqrt((train.high - train.value) ** 2 + (test.value - test.low) ** 2)
    return Estimate(value, max(-1.0, low), min(1.0, high), n=(train.n or 0) + (test.n or 0), unit=train.unit,
                    method="difference of shares, square-and-add of exact intervals")


def _mean_p(table: ScoreTable, sets: EvaluationSets) -> FloatArray:
    """(N, K) the target's probability of each class, mean over queries."""
    return np.asarray(np.exp(table.log_p[sets.target]).mean(axis=1), dtype=np.float64)
