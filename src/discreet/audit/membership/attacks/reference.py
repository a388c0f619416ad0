"""Reference log-ratio: the target's confidence less that of models which did not see the row.

The membership paper calls it LiRA (section 4.3); it is difficulty calibration (Watson et al. 2022) with one reference.
Gaussian LiRA is in `lira.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.requirements import lacking, must_have, out_models
from discreet.audit.membership.view import Scale, View, attacks
from discreet.core.types import FloatArray
from discreet.scores.signals import clipped_log_p, masked_mean, per_model, phi, query_mean
from discreet.scores.table import ReferenceKind


@attacks.register("reference")
class Reference:
    """Target minus the mean of the references, per query, then the mean over queries.

    Scale "p": log p_y with p_y clipped to [1e-7, 1 − 1e-7]. Scale "logit": φ.

    Several references of a kind are averaged. Of population references only those count for a row that did not train
    on it: half of them did, and *they* are as sure of it as a target that did, so a mean over all would subtract half
    of the very difference that is looked for, and another share of it for every row.
    """

    scales: tuple[Scale, ...] = ("p", "logit")
    kinds: tuple[ReferenceKind | None, ...] = ("paired", "neutral", "population")

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """References of the kind, one of them at least not trained on the row."""
        return lacking(self, view, kind, n_out=1)

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores; NaN where no reference may stand for a row."""
        must_have(self, view, scale, kind)
        assert kind is not None
        references = view.references[kind]
        signal = clipped_log_p if scale == "p" else phi
        values = per_model(signal, references.log_p, view.label)
        outside = np.broadcast_to(out_models(references, kind)[..., None], values.shape)
        return query_mean(signal(view.target, view.label) - masked_mean(values, outside))
