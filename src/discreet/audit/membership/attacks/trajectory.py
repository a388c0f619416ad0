"""Loss trajectory: how did the loss of a record move while the model was trained, and where did it end?

Liu et al. 2022, "Membership inference attacks by exploiting loss trajectory": the losses of members fall in another way
than those of others, which an attack model learns on a shadow model. They distil the target to get a trajectory at
all and learn with a perceptron; here the losses are those of real checkpoints, which whoever trains a model has, and a
logistic regression learns.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from discreet.audit.membership.attack import View, attacks
from discreet.audit.membership.attacks.probe import Probe
from discreet.audit.scores.signals import query_mean, true_log_p
from discreet.audit.scores.table import ReferenceKind
from discreet.core.types import FloatArray, IntArray


@attacks.register("trajectory")
class Trajectory(Probe):
    """Log odds of "member" from log p_y at each checkpoint and at the end, learned as by `Probe`."""

    title: ClassVar[str] = "loss trajectory"
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("neutral", "population")

    def requirements(self, view: View, kind: ReferenceKind | None) -> str | None:
        """As `Probe.requirements`, and checkpoints of the target and, as many, of each reference."""
        given = view.references.get(kind) if kind is not None else None
        before = None if given is None else given.checkpoints
        if given is not None and (view.checkpoints is None or before is None
                                  or view.checkpoints.shape != before.shape[1:]):
            return (f"it needs scores of checkpoints of the target and, as many, of each of the {kind} references "
                    "(model_role 'checkpoint', 'checkpoint_of' the model)")
        return super().requirements(view, kind)

    def features(self, log_p: FloatArray, label: IntArray, checkpoints: FloatArray | None) -> FloatArray:
        """(N, T + 1) log p_y, means over queries."""
        assert checkpoints is not None
        return np.column_stack([checkpoints, query_mean(true_log_p(log_p, label))])
