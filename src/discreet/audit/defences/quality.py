"""What a model is worth for its task, and what another changes of it on the same records."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from discreet.audit.defences.retrainings import Target
from discreet.audit.membership.utility import class_auc
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, IntArray
from discreet.stats import delong_test


def _classes(target: Target) -> list[int]:
    return [1] if target.table.n_classes == 2 else list(range(target.table.n_classes))


def task_aucs(target: Target) -> list[Estimate]:
    """The AUC of each class against the rest; of two classes that of class 1."""
    p, label = target.p, target.table.examples.label
    return [class_auc(p, label, target.tested, one, target.units) for one in _classes(target)]


def auc_changes(old: Target, new: Target) -> list[Estimate]:
    """New less old of `task_aucs`, paired."""
    rows, found = new.tested, []
    for one in _classes(new):
        truth = new.table.examples.label[rows] == one
        try:
            test = delong_test(new.p[rows, one], old.p[rows, one], truth, groups=new.units.at(rows))
        except ValueError:
            found.append(Estimate.unresolved("both AUCs are without spread: more records are needed"))
        else:
            found.append(Estimate(test.difference, test.low, test.high, n=rows.size, unit=new.units.name,
                                  method="paired DeLong"))
    return found


def balanced_change(old: BoolArray, new: BoolArray, label: IntArray, groups: IntArray | None = None) -> Estimate:
    """Balanced accuracy of `new` less that of `old`, (m,) whether each record is classified right, paired.

    `label` (m,) are the classes, `groups` (m,) the units that are drawn. A Wald interval from the sums over units of
    what each record adds to the mean over classes; never narrower than one changed answer in each class makes it.
    """
    change = new.astype(np.float64) - old
    classes, at, sizes = np.unique(label, return_inverse=True, return_counts=True)
    means = np.bincount(at, weights=change) / sizes
    added = (change - means[at]) / (classes.size * sizes[at])
    unit = np.arange(label.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    totals = np.bincount(unit, weights=added)
    least = float((1.0 / (classes.size * sizes) ** 2).sum())
    error = sqrt(max(float((totals**2).sum()) * totals.size / max(totals.size - 1, 1), least))
    value, half = float(means.mean()), NormalDist().inv_cdf(0.975) * error
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half), n=int(totals.size),
                    unit="example" if groups is None else "group", method="paired, Wald over units")
