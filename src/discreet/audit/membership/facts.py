"""Facts of a target next to its attacks: how well it does its task, what its trees give away, what its training
guarantees.

What the structure of fitted trees gives away, before anybody is attacked, are the checks of disclosure control for
classifiers (Ritchie et al. 2023, "SACRO: semi-automated checking of research outputs", and its package `sacroml`,
structural attack), of the members that a model was trained on:

- *k-anonymity*: leaves, and groups of members with equal probabilities, of fewer than `THRESHOLD` members;
- *class disclosure*: groups of equal probabilities in which all members have one class, so that whoever knows that a
  person was in the training set, and asks the model, knows the class;
- *degrees of freedom*: members less the parameters of the model.

They have no control model and no part in the verdict. A guarantee of differential privacy has: the verdict is *fail*
where the audit shows a larger ε.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import ALPHA, Part, Sentence, Sentences
from discreet.audit.membership.attack import Scores
from discreet.audit.membership.controls import one_run_bound
from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.scores.table import DP_SGD, ScoreTable
from discreet.core.design import Design
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats import auroc_estimate, share_estimate

say = Sentences.read(__package__).of("verdict")

THRESHOLD = 10
"""Fewest records of a cell that may be released, and fewest residual degrees of freedom: the usual rule of ten."""
DECIMALS = 9
"""To which probabilities are equal: sums over trees differ in their last bits."""


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


@dataclass(frozen=True, slots=True)
class TreeStructure(Part):
    """The structure of trees, counted over `members` distinct training records.

    Attributes
    ----------
    trees, leaves : int
        Trees, and leaves of all of them.
    smallest_leaf, in_small_leaves : int
        Fewest members of a leaf that has members; members that some tree keeps in a leaf of fewer than `threshold`.
    groups, smallest_group, in_small_groups : int
        The same of groups of members to whom the model gives equal probabilities: what its outputs alone show.
    in_one_class_groups : int
        Members of groups whose members all have one class.
    parameters, degrees_of_freedom : int
        Two for each split, and one for each class but the first in each leaf; members less these.
    """

    derived: ClassVar[tuple[str, ...]] = ("risks",)

    model_type: str
    threshold: int
    members: int
    trees: int
    leaves: int
    smallest_leaf: int
    in_small_leaves: int
    groups: int
    smallest_group: int
    in_small_groups: int
    in_one_class_groups: int
    parameters: int
    degrees_of_freedom: int

    @property
    def risks(self) -> tuple[str, ...]:
        """Which checks the model does not pass."""
        found = {"small_leaves": self.in_small_leaves > 0, "small_groups": self.in_small_groups > 0,
                 "class_disclosure": self.in_one_class_groups > 0,
                 "degrees_of_freedom": self.degrees_of_freedom < self.threshold}
        return tuple(name for name, holds in found.items() if holds)


def tree_structure(model: Any, inputs: Any, labels: Any) -> TreeStructure | None:
    """The structure of a fitted tree, forest or boosted trees of scikit-learn, alone or at the end of a pipeline; None
    for other models.

    `inputs` and `labels` (n,) are of its training records, as `model` takes them.
    """
    steps, last = _last_step(model)
    trees = _trees(last)
    if trees is None:
        return None
    features = inputs if steps is None else steps.transform(inputs)
    leaf_of: IntArray = np.asarray(last.apply(features), dtype=np.int64).reshape(len(labels), -1)
    sizes = np.stack([_sizes(column) for column in leaf_of.T])
    probabilities = np.round(np.asarray(model.predict_proba(inputs), dtype=np.float64), DECIMALS) + 0.0
    group = np.unique(probabilities, axis=0, return_inverse=True)[1].reshape(-1)
    group_sizes = _sizes(group)
    codes = np.unique(np.asarray(labels).astype(str), return_inverse=True)[1].reshape(-1)
    pairs = np.unique(np.column_stack([group, codes]), axis=0)[:, 0]
    of_one_class = np.bincount(pairs, minlength=int(group.max()) + 1)[group] == 1
    # A tree of a boosted ensemble has one number in a leaf, a tree of a forest a share of each class but the first.
    in_leaf = [max(1, int(one.tree_.value.shape[2]) - 1) for one in trees]
    parameters = sum(2 * (int(one.tree_.node_count) - int(one.tree_.n_leaves)) + n * int(one.tree_.n_leaves)
                     for one, n in zip(trees, in_leaf, strict=True))
    return TreeStructure(
        type(last).__name__, THRESHOLD, len(labels), len(trees), sum(int(one.tree_.n_leaves) for one in trees),
        int(sizes.min()), int((sizes.min(axis=0) < THRESHOLD).sum()), int(group.max()) + 1, int(group_sizes.min()),
        int((group_sizes < THRESHOLD).sum()), int(of_one_class.sum()), parameters, len(labels) - parameters)


def _last_step(model: Any) -> tuple[Any, Any]:
    """What stands before the classifier (None if nothing does), and the classifier, of a pipeline or a search."""
    found = getattr(model, "best_estimator_", model)
    steps = getattr(found, "steps", None)
    if isinstance(steps, list) and hasattr(found, "__getitem__"):
        return (found[:-1] if len(steps) > 1 else None), steps[-1][1]
    return None, found


def _trees(last: Any) -> list[Any] | None:
    """The fitted trees of a model; None for one that consists of anything else."""
    found = [last] if hasattr(last, "tree_") else list(np.ravel(getattr(last, "estimators_", [])))
    able = found and all(hasattr(one, "tree_") for one in found) and all(
        hasattr(last, name) for name in ("apply", "predict_proba"))
    return found if able else None


def _sizes(codes: IntArray) -> IntArray:
    """How many have the same code as each, (n,)."""
    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray(counts[place.reshape(-1)], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Guarantee(Part):
    """`epsilon` at `delta`, for adding or removing one training row, is what the accountant of the training says;
    `lower` is what an audit shows of ε at the same δ, and above `epsilon` it breaks the guarantee."""

    derived: ClassVar[tuple[str, ...]] = ("broken", "sentence")

    epsilon: float
    delta: float
    lower: Estimate

    @property
    def broken(self) -> bool:
        """Whether training gives away more than it guarantees: of 20 that keep theirs, at most one is called so."""
        return self.lower.value is not None and self.lower.value > self.epsilon

    @property
    def sentence(self) -> Sentence:
        """The guarantee next to what the audit shows."""
        said = {"epsilon": f"{self.epsilon:.3g}", "delta": f"{self.delta:.2g}"}
        if self.lower.value is None:
            return say("guarantee_unresolved", reason=self.lower.reason, **said)
        return say("guarantee_broken" if self.broken else "guarantee", lower=f"{self.lower.value:.2f}", **said)


def guaranteed(table: ScoreTable, target: int) -> tuple[float, float] | None:
    """ε and δ of a model whose mechanism is "dp-sgd" with a finite ε, else None. InputError for a δ that is no share
    below 1, or none."""
    model = table.models[target]
    if model.mechanism != DP_SGD or not isfinite(model.epsilon):
        return None
    given = model.facts.get("delta")
    try:
        delta = float("nan" if given is None else given)
    except ValueError:
        delta = float("nan")
    if not 0.0 <= delta < 1.0:
        raise InputError(f"the model {model.name!r} has the mechanism {DP_SGD} and "
                         f"{'no delta' if given is None else f'the delta {given[:20]!r}'}; expected a column 'delta' "
                         "with a number from 0 to below 1")
    return model.epsilon, delta


def guarantee_of(table: ScoreTable, sets: EvaluationSets, scores: Scores, design: Design, rng: Generator,
                 alpha: float) -> Guarantee | None:
    """The guarantee of a target, and the bound by these scores with confidence 1 − `alpha`; None without one.

    A guarantee is about one row. So planted records, which are repeated, and rows of a group, near-duplicates among
    them, are left out of the bound. InputError as `guaranteed`.
    """
    found = guaranteed(table, sets.target)
    if found is None:
        return None
    alone = _alone(table)
    sets = replace(sets, members=_kept(sets.members, alone),
                   clean={kind: _kept(rows, alone) for kind, rows in sets.clean.items()})
    return Guarantee(*found, one_run_bound(scores, sets, design, Units(None), rng, delta=found[1], alpha=alpha))


def _alone(table: ScoreTable) -> BoolArray:
    """(N,) whether no other row of the table is in an example's group."""
    group = table.examples.group
    if group is None:
        return np.ones(len(table.examples), dtype=np.bool_)
    _, place, counts = np.unique(group, return_inverse=True, return_counts=True)
    return np.asarray(counts[place.reshape(-1)] == 1)


def _kept(rows: IntArray, alone: BoolArray) -> IntArray:
    return rows[alone[rows]]
