"""What the target is good for: accuracy per class on what it trained on and on what it did not, and the gap."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from discreet.audit.membership.evaluation_sets import Sides
from discreet.audit.membership.protocol import Units
from discreet.core.records import Estimate
from discreet.core.types import IntArray
from discreet.scores.table import ScoreTable
from discreet.stats import share_estimate


def utility_of(table: ScoreTable, sides: Sides, units: Units) -> dict[str, Any]:
    """Accuracy on members ("train") and clean non-members ("test") and their gap, for "all" and per label.

    Estimates in [0, 1], the gap in [-1, 1]. The answer to an example is the class with the highest mean probability
    over its queries.
    """
    p = np.exp(table.log_p[sides.target]).mean(axis=1)
    right = p.argmax(axis=-1) == table.examples.label
    scored = np.isfinite(p).all(axis=-1)
    train, test = (rows[scored[rows]] for rows in (sides.members, sides.clean[None]))
    found: dict[str, Any] = {"target": table.models[sides.target].name}
    for name in ("all", *range(table.n_classes)):
        rates = []
        for rows, what in ((train, "members"), (test, "non-members")):
            of = rows if name == "all" else rows[table.examples.label[rows] == name]
            rates.append(_accuracy(right, of, units, what))
        found[str(name)] = {"train": rates[0], "test": rates[1], "gap": gap(*rates)}
    return found


def _accuracy(right: IntArray, rows: IntArray, units: Units, what: str) -> Estimate:
    return share_estimate(right[rows], unit=units.name, groups=units.at(rows), of=what)


def gap(train: Estimate, test: Estimate) -> Estimate:
    """Difference of two independent shares; interval by squares of their distances (Newcombe 1998, method 10)."""
    ends = (train.low, train.high, test.low, test.high)
    if train.value is None or test.value is None or None in ends:
        return Estimate.unresolved(train.reason or test.reason or "a share without interval", unit=train.unit)
    found = [one for one in ends if one is not None]
    value = train.value - test.value
    low = value - sqrt((train.value - found[0]) ** 2 + (found[3] - test.value) ** 2)
    high = value + sqrt((found[1] - train.value) ** 2 + (test.value - found[2]) ** 2)
    return Estimate(value, max(-1.0, low), min(1.0, high), n=(train.n or 0) + (test.n or 0), unit=train.unit,
                    method="difference of shares, square-and-add of exact intervals")
