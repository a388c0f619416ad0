"""What stands beside the attacks: does the mechanism keep its ε, what is the model good for, what does it remember?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.labels.bounds import ceiling
from discreet.audit.labels.conformance import LEVEL, conform, epsilon_json
from discreet.audit.labels.exposure import class_exposure, mean_exposure
from discreet.audit.labels.judge_rows import Sides
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray
from discreet.mechanisms.labels.base import label_mechanisms
from discreet.mechanisms.labels.rr import RandomisedResponse
from discreet.scores.table import CANARY, HELDOUT, NO_MECHANISM, PLACEBO, TRAIN, UNKNOWN, ScoreTable
from discreet.stats.estimates import rate_estimate
from discreet.stats.intervals import binomial_upper

BINS = 20


@dataclass(frozen=True, slots=True)
class ConformanceRow:
    """Observed flips of one model's labels against what its ε demands.

    Attributes
    ----------
    expected_flip : float
        The share of labels that should change; at least that many where `at_least`.
    ok : bool or None
        None where nothing can be said, for the reason in `reasons`.
    """

    model: str
    mechanism: str
    epsilon: float
    seed: str | None
    expected_flip: float
    at_least: bool
    observed: Estimate
    ok: bool | None
    reasons: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the attributes; an infinite ε is the string "inf"."""
        return {"model": self.model, "mechanism": self.mechanism, "epsilon": epsilon_json(self.epsilon),
                "seed": self.seed, "expected_flip": self.expected_flip, "at_least": self.at_least,
                "observed": self.observed.to_json(), "ok": self.ok, "reasons": list(self.reasons)}


def refuse_broken(table: ScoreTable) -> None:
    """InputError where a model's mechanism is one that is broken on purpose."""
    for model in table.models:
        if model.mechanism in set(label_mechanisms) and label_mechanisms[model.mechanism].broken:
            raise InputError(f"model {model.name[:40]!r} was trained under {model.mechanism!r}, which is broken on "
                             f"purpose and serves `discreet reproduce` only; expected a mechanism that keeps its ε")


def conformance_of(table: ScoreTable, target: int) -> ConformanceRow:
    """The check of one model's released labels.

    A registered mechanism with one transition matrix is held against that (`conform`). Of any other only the fair
    draws of canaries and placebos tell: no mechanism of that ε leaves more of them as they are than its ceiling.
    """
    model = table.models[target]
    known = (table.canaries.trained[target] != UNKNOWN) & (table.canaries.role[target] != HELDOUT)
    before, after = table.canaries.label[target][known], table.canaries.trained[target][known]
    facts = (model.name, model.mechanism, model.epsilon, model.seed)
    least = 1.0 - ceiling(model.epsilon, table.n_classes)
    if not known.any():
        why = "the labels that were trained on are not in the table"
        none = Estimate.unresolved(why, level=LEVEL, n=0, unit="label")
        return ConformanceRow(*facts, least, True, none, None, (why,))
    kind = RandomisedResponse if model.mechanism == NO_MECHANISM else (
        label_mechanisms[model.mechanism] if model.mechanism in set(label_mechanisms) else None)
    # The chances of one that takes a prior depend on that, and a table of scores does not hold it.
    if kind is not None and kind.takes_prior == "no":
        found = conform(kind.at(model.epsilon, table.n_classes), before, after)
        return ConformanceRow(*facts, found.expected_flip, False, found.observed, found.ok, found.reasons)
    drawn = known & ((table.canaries.role[target] == CANARY) | (table.canaries.role[target] == PLACEBO))
    changed, n = int((table.canaries.label[target] != table.canaries.trained[target])[drawn].sum()), int(drawn.sum())
    observed = rate_estimate(changed, n, level=LEVEL, unit="label", of="labels")
    too_few = n > 0 and binomial_upper(changed, n, 1.0 - LEVEL) < least
    why_not = (f"{changed} of {n} labels changed where at least {least:.4g} of them must",) if too_few else ()
    return ConformanceRow(*facts, least, True, observed, None if not n else not too_few, why_not)


def utility_of(table: ScoreTable, target: int) -> dict[str, Any]:
    """`{"train_accuracy": {"trained", "secret", "original"}, "test_accuracy"}` of one model.

    Train accuracy over the rows of the table that it was trained on (canaries and train), against each of the labels;
    test accuracy over those that it was not (heldout and placebos), against the data set's own.
    """
    role, guess = table.canaries.role[target], np.argmax(table.logits[target, :, 0], axis=1)
    inside, outside = np.isin(role, (CANARY, TRAIN)), np.isin(role, (HELDOUT, PLACEBO))
    trained = table.canaries.trained[target]

    def accuracy(labels: np.ndarray[Any, Any], rows: BoolArray) -> Estimate:
        return rate_estimate(int((guess == labels)[rows].sum()), int(rows.sum()), of="rows")

    return {"train_accuracy": {
        "trained": accuracy(trained, inside & (trained != UNKNOWN)),
        "secret": accuracy(table.canaries.label[target], inside),
        "original": accuracy(table.examples.label, inside)}, "test_accuracy": accuracy(table.examples.label, outside)}


def histogram_of(sides: Sides) -> dict[str, Any]:
    """How sure the model is of each row's secret: `{"edges" (21), "canary" (20), "placebo" (20) or None}`, counts.

    Without memory the two are alike, as a secret is drawn by chance.
    """
    edges = np.linspace(0.0, 1.0, BINS + 1)

    def counts(part: Any) -> list[int] | None:
        if part is None:
            return None
        p = np.exp(part.view.log_p[np.arange(len(part)), part.secret])
        return [int(one) for one in np.histogram(np.clip(p, 0.0, 1.0), edges)[0]]

    return {"edges": [round(float(edge), 10) for edge in edges], "canary": counts(sides.canary),
            "placebo": counts(sides.placebo)}


def exposure_of(sides: Sides) -> dict[str, Estimate]:
    """Mean exposure of the secrets among the K classes, in bits, of canaries and of placebos."""
    parts = {"canary": sides.canary, "placebo": sides.placebo}
    return {name: Estimate.unresolved("there are no placebo canaries", n=0, unit="canary") if part is None else
            mean_exposure(class_exposure(part.view.log_p, part.secret)) for name, part in parts.items()}


def plain(value: Any) -> Any:
    """Estimates and records in mappings, lists and tuples as plain values."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.to_json() if hasattr(value, "to_json") else value
