"""The figures of a benchmark: pure functions of labelled passages and predictions, in one order.

Positive is a cluster bound to a third person or the speaker (`Passage.leaks`), negative a passage that binds nothing;
passages with one attribute stand apart. *Flagged* is the guard's own action, *held* whatever is not safe. Documents are
resampled where several passages come from one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np

from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.guard.benchmark import matching
from discreet.guard.benchmark.guards import PredictedSpan, Prediction
from discreet.guard.benchmark.passages import BOUND, Passage
from discreet.guard.domains import IDENTIFYING
from discreet.guard.evaluate import resampled
from discreet.stats import (
    auroc_estimate,
    bootstrap_estimate,
    calibrated_error,
    calibration_error,
    precision_recall_estimates,
    reliability,
    share_estimate,
    tpr_at_fpr_estimate,
)

HELD_NEGATIVES = 0.10
LENGTHS = (250, 500, 1000, 4000)
COUNTED = (*IDENTIFYING, "sex")


@dataclass(frozen=True, slots=True)
class Judged:
    """A passage with what a guard made of it, and the milliseconds that it took."""

    passage: Passage
    prediction: Prediction
    ms: float | None = None

    @property
    def flagged(self) -> bool:
        """By context alone where the guard tells it apart."""
        return self.prediction.action == "flag"

    @property
    def held(self) -> bool:
        """Flagged, abstained or failed."""
        return self.prediction.action != "safe"

    @property
    def spans(self) -> tuple[PredictedSpan, ...]:
        """Predicted spans, none where the guard gives no places."""
        return self.prediction.spans or ()


Cases = Sequence[Judged]


def figures_of(cases: Cases, *, threshold: float | None = None, probability: bool = False, others: Cases = ()
               ) -> dict[str, Any]:
    """Everything that is reported of a guard on one set; leaves are Estimates or plain values.

    `registers` and `pooled` are `detection`; `threshold` and `probability` are the guard's (see `TestedGuard`);
    `others` are the passages of other sets, whose first-person negatives set the threshold of `people`.
    """
    cases = sorted(cases, key=lambda c: c.passage.id)
    names = sorted({c.passage.register for c in cases if c.passage.register is not None})
    found: dict[str, Any] = {
        "counts": counts(cases),
        "registers": {name: {"counts": counts(those), **detection(those), "people": people(those, [*others, *cases])}
                      for name in names if (those := [c for c in cases if c.passage.register == name])},
        "pooled": detection(cases), "people": people(cases, others), "latency": latency(cases)}
    if any(c.prediction.spans is not None for c in cases):
        found["spans"] = spans(cases)
    if _binds(cases):
        found |= {"classes": classes(cases), "subjects": subjects(cases)}
    if probability:
        found["calibration"] = calibration(cases)
    if threshold is not None:
        found["abstention"] = abstention(cases, threshold, probability=probability)
    return found


def counts(cases: Cases) -> dict[str, int]:
    """Passages by what the labels say."""
    said = [c.passage.leaks for c in cases]
    one = sum(c.passage.cluster == "one" for c in cases)
    return {"passages": len(cases), "positive": said.count(True), "negative": said.count(False), "one": one,
            "apart": said.count(None) - one}


def detection(cases: Cases) -> dict[str, Estimate]:
    """AUROC of the score, and shares flagged and held by the context alone (`flagged`, `held`) and with direct
    identifiers (`…_with_direct`), of positives, negatives and passages with one attribute."""
    of = {"positives": [c for c in cases if c.passage.leaks is True],
          "negatives": [c for c in cases if c.passage.leaks is False],
          "one": [c for c in cases if c.passage.cluster == "one"]}
    known, scores = _scored([*of["positives"], *of["negatives"]])
    labels = [c.passage.leaks is True for c in known]
    direct = any(c.prediction.direct is not None for c in cases)
    found = {"auroc": auroc_estimate(scores, labels, **_unit(known)),
             "recall_at_held_negatives": tpr_at_fpr_estimate(scores, labels, HELD_NEGATIVES, **_unit(known))}
    for name, those in of.items():
        found[f"flagged_{name}"] = _share(those, lambda c: c.flagged)
        found[f"held_{name}"] = _share(those, lambda c: c.held)
        if direct:
            found[f"flagged_{name}_with_direct"] = _share(those, lambda c: c.flagged or bool(c.prediction.direct))
            found[f"held_{name}_with_direct"] = _share(those, lambda c: c.held or bool(c.prediction.direct))
    return found | {"abstained": _share(cases, lambda c: c.prediction.action == "abstain"),
                    "failed": _share(cases, lambda c: c.prediction.action == "failed")}


def people(cases: Cases, others: Cases = ()) -> dict[str, Any]:
    """Passages in which one person has two or more stated identifying attributes, and those where that takes inferred
    ones: `held` and `flagged` at the guard's point, `held_at_threshold` at the lowest threshold that holds at most 10%
    of the first-person negatives of other sets (of this one where they have none), and `bound`, per person whether the
    guard binds two classes to them."""
    first = _first_person(others) or _first_person(cases)
    out: dict[str, Any] = {"first_person_negatives": len(first)}
    for name in ("stated", "inferred"):
        those = [c for c in cases if c.passage.stated == name]
        known, scores = _scored([*those, *first])
        row = {"held": _share(those, lambda c: c.held), "flagged": _share(those, lambda c: c.flagged),
               "held_at_threshold": tpr_at_fpr_estimate(
                   scores, np.arange(len(known)) < len(known) - len(first), HELD_NEGATIVES, unit="passage")}
        if _binds(cases):
            row["bound"] = _bound(cases, name)
        out[name] = row
    return out


def _first_person(cases: Cases) -> list[Judged]:
    return [c for c in cases if c.passage.leaks is False and "speaker" in c.passage.people.values()
            and c.prediction.score is not None]


def _binds(cases: Cases) -> bool:
    """Whether the guard says of any span which person it is of; of one that never does, nothing is right or wrong."""
    return any(s.person is not None for c in cases for s in c.spans)


def _bound(cases: Cases, name: str) -> Estimate:
    hits, documents = [], []
    for c in cases:
        for person, kind in c.passage.people.items() if c.passage.cluster != "unclear" else ():
            stated, inferred = c.passage.attributes(person)
            if kind in BOUND and (stated >= 2 if name == "stated" else stated < 2 <= stated + inferred):
                hits.append(matching.bound_to(c.passage, c.spans, person, IDENTIFYING) >= 2)
                documents.append(c.passage.document or c.passage.id)
    return share_estimate(hits, of="people", **resampled(documents, "person"))


def classes(cases: Cases) -> dict[str, dict[str, Any]]:
    """Precision and recall of triples (passage, person, class) by class, and of the classes that identify together."""
    found = [(t, c.passage) for c in cases if c.passage.cluster != "unclear"
             for t in matching.triples(c.passage, c.spans)]
    out = {}
    for name, kinds in (*((kind, (kind,)) for kind in (*COUNTED, "domain")), ("identifying", IDENTIFYING)):
        those = [(t, p) for t, p in found if t.kind in kinds]
        if not any(t.labelled for t, _ in those):
            continue
        both = precision_recall_estimates([t.predicted for t, _ in those], [t.labelled for t, _ in those],
                                          **resampled([p.document or p.id for _, p in those], "triple"))
        out[name] = {"precision": both.precision, "recall": both.recall,
                     "positives": sum(t.labelled for t, _ in those), "predicted": sum(t.predicted for t, _ in those)}
    return out


def spans(cases: Cases) -> dict[str, dict[str, Any]]:
    """F1 of spans by class, where an overlap is enough (`overlap`) and where the ends must agree (`exact`)."""
    clear = [c for c in cases if c.passage.cluster != "unclear"]
    groups = _unit(clear)
    tallies = {kind: {exact: np.array([matching.span_counts(c.passage, c.spans, kind, exact=exact) for c in clear]
                                      ).reshape(-1, 4) for exact in (False, True)}
               for kind in (*COUNTED, "domain", "name", "address", "contact", "date")}
    tallies["identifying"] = {exact: np.add.reduce([tallies[kind][exact] for kind in IDENTIFYING])
                              for exact in (False, True)}
    return {kind: {"overlap": _f1(of[False], groups), "exact": _f1(of[True], groups),
                   "labelled": int(of[False][:, 0].sum()), "predicted": int(of[False][:, 2].sum())}
            for kind, of in tallies.items() if of[False][:, 0].any()}


def _f1(table: IntArray, groups: Mapping[str, Any]) -> Estimate:
    def statistic(weights: IntArray) -> FloatArray:
        labelled, found, predicted, right = (weights @ table).T.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = right / predicted, found / labelled
            harmonic = 2 * precision * recall / (precision + recall)
        # Without a hit F1 is 0; without labels there is none.
        return np.where(labelled == 0, np.nan, np.where(right + found == 0, 0.0, harmonic))

    return bootstrap_estimate(statistic, len(table), reason="no labelled spans", **groups)


def subjects(cases: Cases) -> dict[str, Estimate]:
    """Share of labelled (person, class) found by a span whose subject is right: all, and by the kind of person."""
    found = [(right, kind, c.passage.document or c.passage.id) for c in cases if c.passage.cluster != "unclear"
             for name, kind, right in matching.subjects(c.passage, c.spans) if name in COUNTED]
    kinds = sorted({kind for _, kind, _ in found})
    rows = {"all": found, **{kind: [one for one in found if one[1] == kind] for kind in kinds}}
    return {name: share_estimate([right for right, *_ in those], of="triples found",
                                 **resampled([document for *_, document in those], "triple"))
            for name, those in rows.items()}


def calibration(cases: Cases) -> dict[str, Any]:
    """The expected calibration error of the probability of a cluster, that of a calibrated score of the same values
    (`control`), and the reliability diagram. Passages with one attribute count as holding no cluster."""
    known, p = _scored([c for c in cases if c.passage.leaks is not None or c.passage.cluster == "one"])
    y = [c.passage.leaks is True for c in known]
    bins = [{"low": b.low, "high": b.high, "mean": b.mean, "observed": b.observed} for b in reliability(p, y)]
    return {"error": calibration_error(p, y, **_unit(known)), "control": calibrated_error(p), "bins": bins}


def abstention(cases: Cases, threshold: float, *, probability: bool = False) -> dict[str, Any]:
    """Errors among the abstained, of what the score would have decided, and among the kept, with their ratio; and the
    curve of the error among the texts that are kept when the least sure are sent to review first."""
    known = [c for c in cases if c.passage.leaks is not None and c.prediction.score is not None]
    away = np.array([c.prediction.action == "abstain" for c in known], dtype=np.bool_)
    wrong = np.array([((c.prediction.score or 0.0) > threshold if c.prediction.action == "abstain" else c.flagged)
                      != c.passage.leaks for c in known], dtype=np.bool_)

    def statistic(weights: IntArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (weights @ (wrong & away) / (weights @ away)) / (weights @ (wrong & ~away) / (weights @ ~away))
        return np.where(np.isfinite(ratio), ratio, np.nan)

    def errors(among: BoolArray) -> Estimate:
        those = [c for c, here in zip(known, among, strict=True) if here]
        return share_estimate(wrong[among], of="passages", **_unit(those))

    return {"abstained_negatives": _share([c for c in known if not c.passage.leaks],
                                          lambda c: c.prediction.action == "abstain"),
            "errors_abstained": errors(away), "errors_kept": errors(~away),
            "ratio": bootstrap_estimate(statistic, len(known), reason="no errors among the kept, or nobody abstained",
                                        **_unit(known)),
            "curve": risk_coverage([_sureness(c.prediction, threshold, probability) for c in known], wrong)}


def _sureness(prediction: Prediction, threshold: float, probability: bool) -> float:
    """How far from the threshold, in log-odds of a probability; what abstains is less sure than all else."""
    score = prediction.score or 0.0
    far = abs(_logit(score) - _logit(threshold)) if probability else abs(score - threshold)
    return -inf if prediction.action == "abstain" else far


def _logit(p: float) -> float:
    clipped = min(max(p, 1e-12), 1.0 - 1e-12)
    return log(clipped / (1.0 - clipped))


def risk_coverage(sureness: Sequence[float], wrong: Sequence[bool] | BoolArray, steps: int = 20
                  ) -> list[dict[str, float]]:
    """Shares of wrong decisions among the surest `coverage` of n decisions; of equals a share is taken."""
    sure, bad = np.asarray(sureness, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    if not sure.size:
        return []
    values, at = np.unique(-sure, return_inverse=True)
    # Equals are in no order: each stands for the mean of its level.
    level = np.bincount(at, weights=bad, minlength=values.size) / np.bincount(at, minlength=values.size)
    total = np.cumsum(level[np.sort(at)])
    kept = sorted({max(1, round(sure.size * k / steps)) for k in range(1, steps + 1)})
    return [{"coverage": n / sure.size, "risk": float(total[n - 1] / n)} for n in kept]


def latency(cases: Cases) -> dict[str, dict[str, float | int]]:
    """Median and 95th percentile of milliseconds a text, by length in characters."""
    out: dict[str, dict[str, float | int]] = {}
    for low, high in zip((0, *LENGTHS), (*LENGTHS, inf), strict=True):
        ms = [c.ms for c in cases if c.ms is not None and low <= len(c.passage.text) < high]
        if ms:
            name = f"{low} or more" if high == inf else f"{low} to {high - 1:g}"
            out[name] = {"n": len(ms), "p50": float(np.percentile(ms, 50)), "p95": float(np.percentile(ms, 95))}
    return out


def _scored(cases: Cases) -> tuple[list[Judged], FloatArray]:
    """The cases that have a score, with it: a guard that failed has none."""
    pairs = [(c, c.prediction.score) for c in cases if c.prediction.score is not None]
    return [c for c, _ in pairs], np.array([score for _, score in pairs], dtype=np.float64)


def _unit(cases: Cases) -> dict[str, Any]:
    return resampled([c.passage.document for c in cases], "passage")


def _share(cases: Cases, event: Callable[[Judged], bool]) -> Estimate:
    return share_estimate([event(c) for c in cases], of="passages", **_unit(cases))
