"""What each operating point costs on an operator's own labelled answers, and thresholds refitted to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from discreet.core.errors import InputError
from discreet.core.records import Estimate, Verdict, plain
from discreet.core.types import BoolArray
from discreet.guard.density.points import BY_COSTS, TPRS, Costs, operating_points
from discreet.guard.evaluate import leaks_in
from discreet.guard.guard import Guard
from discreet.guard.score import EvidenceScore
from discreet.inputs.answers import LabelledAnswer
from discreet.stats import share_estimate

LEAST = 20
"""Answers of each kind that refitting needs."""
FOLDS = 5
Prices = Mapping[str, Mapping[str, Estimate]]


@dataclass(frozen=True, slots=True)
class _Judged:
    """One answer as the guard would judge it were every δ over τ and evidence silent."""

    verdict: Verdict
    evidence: EvidenceScore | None
    leaks: bool
    document: str | None
    delta: float

    guard: Guard

    def by_evidence(self, point: str) -> bool:
        """Whether the evidence flags it at an operating point, whatever τ is."""
        model = self.guard.model
        return self.verdict.layer != "direct" and self.evidence is not None and self.evidence.flags(
            model.threshold(point), model.counted_above(point))

    def by_delta(self, point: str) -> bool:
        """Whether τ decides about it."""
        cause = self.verdict.cause
        decides = cause is not None and cause.cause in ("density", "disagree")
        return decides and not self.by_evidence(point)

    def action(self, point: str, tau: float) -> str:
        """What the guard does with it at an operating point with this τ."""
        if self.by_evidence(point):
            return "flag"
        undecided = self.evidence is not None and self.evidence.logit > self.guard.unsure_above(point)
        if not self.by_delta(point):
            of_evidence = self.verdict.cause is not None and self.verdict.cause.cause in ("suppressed", "unsure")
            return ("abstain" if undecided else "safe") if of_evidence else self.verdict.action
        if self.delta > tau:
            return "flag" if undecided else "abstain"
        return "abstain" if undecided else "safe"


@dataclass(frozen=True, slots=True)
class Calibration:
    """τ of the guard's operating points with their prices, and of those refitted to the sample.

    Prices are leak recall (flagged), leaks held (flagged or reviewed), false flags, review load, and with costs the
    expected cost per answer; those of refitted thresholds are cross-fitted: each fold by thresholds of the others.
    They are empty where the sample is too small, and `note` says so.
    """

    points: Mapping[str, float]
    prices: Prices
    refitted: Mapping[str, float]
    refitted_prices: Prices
    counts: Mapping[str, int]
    note: str | None = None
    costs: Costs | None = None

    def to_json(self) -> dict[str, Any]:
        """Nested mappings with Estimates as records."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}


def calibrate(guard: Guard, rows: Iterable[LabelledAnswer], *, costs: Costs | None = None,
              seed: int = 42) -> Calibration:
    """Judge the labelled answers and say what each operating point costs. InputError without leaks, or nothing else."""
    detector = guard.detector
    # Without a second detector: τ says nothing about what it flags.
    bare = Guard(guard.policy, detector=detector, point=guard.point).at(-inf, evidence_tau=inf)
    judged = []
    for row in rows:
        leaks = leaks_in(row)
        if row.domain in (None, guard.policy.domain.name) and leaks is not None:
            judgement = bare.judge(row.answer)
            judged.append(_Judged(judgement.verdict, judgement.evidence, leaks, row.document,
                                  judgement.verdict.delta or 0.0, guard))
    for which, word in ((True, "leaks (label yes)"), (False, "does not leak (label no)")):
        if not any(j.leaks == which for j in judged):
            raise InputError(f"no answer of {guard.policy.domain.name} {word}: both kinds are needed, add rows")
    points = dict(detector.points[detector.decides])
    found = {name: _price(judged, name, [tau] * len(judged), costs) for name, tau in points.items()}
    counts = {"leaks": sum(j.leaks for j in judged), "harmless": sum(not j.leaks for j in judged),
              "flagged_by_evidence": sum(j.by_evidence(guard.point) for j in judged),
              "decided_by_delta": sum(j.by_delta(guard.point) for j in judged)}
    refitted = _points(judged, costs)
    if refitted is None:
        note = (f"thresholds were not refitted: {LEAST} answers of each kind that evidence flags or the density keeps "
                "are needed")
        return Calibration(points, found, {}, {}, counts, note, costs)
    crossed = _crossed(judged, costs, seed)
    prices = {name: _price(judged, name, taus, costs) for name, taus in crossed.items()}
    return Calibration(points, found, refitted, prices, counts, None, costs)


def with_points(guard: Guard, points: Mapping[str, float], note: Mapping[str, Any]) -> Guard:
    """A copy of a guard with other thresholds for the discriminator that decides; the card says where from."""
    detector = guard.detector
    changed = replace(detector, points={**detector.points, detector.decides: dict(points)})
    card = {**guard.card, "calibrated": dict(note)}
    return Guard(guard.policy, detector=changed, point=guard.point, second=guard.second, card=card)


def _points(judged: Sequence[_Judged], costs: Costs | None, least: int = LEAST) -> dict[str, float] | None:
    """τ of every operating point; None with fewer than `least` answers of a kind.

    Point by point, because evidence has thresholds of its own at each.
    """
    found = {}
    for name in ("conservative", *TPRS, *([] if costs is None else [BY_COSTS])):
        kinds = [[j for j in judged if j.leaks == leaks] for leaks in (True, False)]
        held = [sum(j.by_evidence(name) for j in kind) for kind in kinds]
        unsafe, safe = (np.array([j.delta for j in kind if j.by_delta(name)]) for kind in kinds)
        if min(unsafe.size + held[0], safe.size + held[1]) < least:
            return None
        found[name] = operating_points(unsafe, safe, costs, (held[0], held[1]))[name]
    return found


def _crossed(judged: Sequence[_Judged], costs: Costs | None, seed: int) -> dict[str, list[float]]:
    """τ by point for each answer, from the folds that its document is not in; empty where a fold leaves too few."""
    documents = [j.document if j.document is not None else f"\0{i}" for i, j in enumerate(judged)]
    names = sorted(set(documents))
    folds = np.random.default_rng(seed).permutation(len(names)) % FOLDS
    fold = dict(zip(names, folds.tolist(), strict=True))
    made = [_points([j for j, d in zip(judged, documents, strict=True) if fold[d] != k], costs, least=1)
            for k in range(FOLDS)]
    points = [one for one in made if one is not None]
    return {} if len(points) < FOLDS else {name: [points[fold[d]][name] for d in documents] for name in points[0]}


def _price(judged: Sequence[_Judged], point: str, taus: Sequence[float], costs: Costs | None) -> dict[str, Estimate]:
    actions = np.array([j.action(point, tau) for j, tau in zip(judged, taus, strict=True)])
    leaks = np.array([j.leaks for j in judged])
    documents = [j.document for j in judged]
    grouped = None not in documents and len(set(documents)) < len(documents)
    review = np.isin(actions, ("abstain", "failed"))

    def share(hits: BoolArray, among: BoolArray, of: str) -> Estimate:
        groups = np.array(documents)[among] if grouped else None
        return share_estimate(hits[among], groups=groups, unit="document" if grouped else "answer", of=of)

    price = {
        "leak_recall": share(actions == "flag", leaks, "leaks"),
        "leaks_held": share(actions != "safe", leaks, "leaks"),
        "false_flags": share(actions == "flag", ~leaks, "harmless answers"),
        "review_load": share(review, np.ones_like(leaks), "answers"),
    }
    if costs is not None:
        # Mean cost per answer at the stated prevalence; no interval, the shares have theirs.
        prevalence = costs.prevalence if costs.prevalence is not None else float(leaks.mean())
        of_leaks = (review * costs.review + (actions == "safe") * costs.miss)[leaks].mean()
        of_harmless = (review * costs.review + (actions == "flag") * costs.false_flag)[~leaks].mean()
        price["expected_cost"] = Estimate(float(prevalence * of_leaks + (1 - prevalence) * of_harmless), None, None,
                                          n=leaks.size, unit="answer",
                                          method="shares times stated costs at the stated prevalence")
    return price
