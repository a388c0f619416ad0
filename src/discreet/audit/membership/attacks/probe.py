"""Probe: a logistic regression on the whole output vector, trained on references whose membership is known.

Shokri et al. 2017 in the form of the membership paper's appendix M and its authors' code ("shadow attack"): a linear
probe on softmax, entropy, largest probability, rank of the true class and margin.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.attack import Attack, Scale, View, attacks
from discreet.audit.scores.signals import entropy, margin, query_mean, top_p, true_rank
from discreet.audit.scores.table import ReferenceKind
from discreet.core.errors import need
from discreet.core.types import FloatArray, IntArray

MIN_ROWS = 10
"""Member and non-member rows, each, that a probe is trained on at least."""

MAX_ROWS = 100_000
"""Rows that a probe is trained on at most; more are thinned at random."""


@attacks.register("probe")
class Probe(Attack):
    """Log odds of "member" from the probe, fitted on references and applied to the target.

    Trained on (reference, row) pairs of known membership; rows that are judged take no part. Kind "paired" is the
    exception and an oracle: the paper fits on the paired model *over the judged rows*, which it saw the other way
    round. Features are averaged over queries.
    """

    title: ClassVar[str] = "logit probe"
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = ("paired", "neutral", "population")
    reads_others: ClassVar[bool] = True

    def requirements(self, view: View, kind: ReferenceKind | None) -> str | None:
        """As `Attack.requirements`, and ten member and ten non-member rows of the references that may be used."""
        clause = super().requirements(view, kind)
        if clause is not None or kind is None:
            return clause
        member = view.references[kind].member[:, _fitted_rows(view, kind)]
        n_in, n_out = int((member == 1).sum()), int((member == 0).sum())
        if min(n_in, n_out) < MIN_ROWS:
            where = "" if kind == "paired" else " outside the judged rows"
            return (f"it needs {MIN_ROWS} member and {MIN_ROWS} non-member scores of {kind} references{where} "
                    f"and there are {n_in} and {n_out}")
        return None

    def features(self, log_p: FloatArray, label: IntArray, checkpoints: FloatArray | None) -> FloatArray:
        """What is read of a model: its answers (N, Q, K) and its checkpoints' log p_y (N, T) to (N, d)."""
        return features(log_p, label)

    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) log odds; NaN where the target did not score a row. MissingExtraError without scikit-learn."""
        assert kind is not None
        scores = np.full(view.label.size, np.nan)
        probe = view.once((self, kind), lambda: self._fitted(view, kind, rng))
        asked = self.features(view.target, view.label, view.checkpoints)
        known = np.isfinite(asked).all(axis=-1)
        if probe is not None and known.any():
            scores[known] = probe.decision_function(asked[known])
        return scores

    def _fitted(self, view: View, kind: ReferenceKind, rng: Generator) -> Any:
        """The probe, None without a member and a non-member to fit it on."""
        linear_model, pipeline, preprocessing = (need(f"sklearn.{name}", "the probe attack", "audit")
                                                 for name in ("linear_model", "pipeline", "preprocessing"))
        references, allowed = view.references[kind], _fitted_rows(view, kind)
        made, truths = [], []
        for place, (log_p, member) in enumerate(zip(references.log_p, references.member, strict=True)):
            known = allowed[member[allowed] >= 0]
            before = None if references.checkpoints is None else references.checkpoints[place, known]
            found = self.features(log_p[known], view.label[known], before)
            whole = np.isfinite(found).all(axis=-1)
            made.append(found[whole])
            truths.append(member[known][whole] == 1)
        rows, truth = np.concatenate(made), np.concatenate(truths)
        # Sorted by value: neither the solver's sums nor the draw then depend on the order of the table.
        order = np.lexsort((truth, *rows.T))
        if order.size > MAX_ROWS:
            order = order[np.sort(rng.choice(order.size, MAX_ROWS, replace=False))]
        if truth[order].all() or not truth[order].any():
            return None
        steps = preprocessing.StandardScaler(), linear_model.LogisticRegression(max_iter=1_000)
        return pipeline.make_pipeline(*steps).fit(rows[order], truth[order])


def features(log_p: FloatArray, label: IntArray) -> FloatArray:
    """Softmax, entropy, largest probability, rank of the true class, margin: (N, Q, K) to (N, K + 4)."""
    probabilities = [np.exp(log_p[..., k]) for k in range(log_p.shape[-1])]
    others = [entropy(log_p), top_p(log_p), true_rank(log_p, label), margin(log_p, label)]
    return np.stack([query_mean(values) for values in probabilities + others], axis=-1)


def _fitted_rows(view: View, kind: ReferenceKind) -> IntArray:
    every = np.arange(view.label.size)
    return every if kind == "paired" else np.setdiff1d(every, view.judged)
