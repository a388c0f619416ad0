"""What a fitted tree, or an ensemble of trees, gives away by its structure alone, before anybody is attacked.

The checks of disclosure control for classifiers (Ritchie et al. 2023, "SACRO: semi-automated checking of research
outputs", and its package `sacroml`, structural attack), of the members that a model was trained on:

- *k-anonymity*: leaves, and groups of members with equal probabilities, of fewer than `THRESHOLD` members;
- *class disclosure*: groups of equal probabilities in which all members have one class, so that whoever knows that a
  person was in the training set, and asks the model, knows the class;
- *degrees of freedom*: members less the parameters of the model.

They are facts of a model, not attacks: they have no control model and no part in the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.audit.core.verdict import Part
from discreet.core.types import IntArray

THRESHOLD = 10
"""Fewest records of a cell that may be released, and fewest residual degrees of freedom: the usual rule of ten."""
DECIMALS = 9
"""To which probabilities are equal: sums over trees differ in their last bits."""


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
