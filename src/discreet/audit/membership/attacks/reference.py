"""Reference log-ratio: the target's confidence less that of models which did not see the row.

The membership paper calls it LiRA (section 4.3); it is difficulty calibration (Watson et al. 2022) with one reference.
Gaussian LiRA is in `lira.py`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.audit.scores.signals import clipped_log_p, masked_mean, phi, query_mean
from discreet.audit.scores.table import ReferenceKind
from discreet.core.types import FloatArray


@attacks.register("reference")
class Reference(Attack):
    """Target minus the mean of the references, per query, then the mean over queries.

    Scale "p": log p_y with p_y clipped to [1e-7, 1 − 1e-7]. Scale "logit": φ.

    Several references of a kind are averaged. Of population references only those count for a row that did not train
    on it: half of them did, and *they* are as sure of it as a target that did, so a mean over all would subtract half
    of the very difference that is looked for, and another share of it for every row.
    """

    title: ClassVar[str] = "reference ratio"
    scales: ClassVar[tuple[Scale, ...]] = ("p", "logit")
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("paired", "neutral", "population")
    n_out: ClassVar[int] = 1

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores; NaN where no reference may stand for a row."""
        assert kind is not None
        references = view.references[kind]
        signal = clipped_log_p if scale == "p" else phi

        def mean() -> FloatArray:
            values = references.of(signal, view.label)
            return masked_mean(values, np.broadcast_to(references.outside(kind)[..., None], values.shape))

        return query_mean(signal(view.target, view.label) - view.once((self, scale, kind), mean))
