"""What each operating point costs on an operator's own labelled answers, and thresholds refitted to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.records import Estimate, Verdict
from discreet.data.answers import LabelledAnswer
from discreet.guard.evaluate import leaks_in, plain
from discreet.guard.guard import Guard
from discreet.guard.points import BY_COSTS, TPRS, Costs, Held, operating_points
from discreet.guard.scoring import EvidenceScore, fitted
from discreet.stats import share_estimate

LEAST = 20
"""Answers of each kind that refitting needs."""
FOLDS = 5
Price = dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class _Judged:
    """One answer as the guard would judge it were every δ over τ and the evidence rules silent."""

    verdict: Verdict
    rules: EvidenceScore | None
    leaks: bool
    document: str | None

    def by_evidence(self, point: str) -> bool:
        """Whether the evidence rules flag it at an operating point, whatever τ is."""
        return self.verdict.layer != "direct" and self.rules is not None and self.rules.flags(fitted().threshold(point))

    def by_delta(self, point: str) -> bool:
        """Whether τ decides about it."""
        return self.verdict.layer == "contextual" and not self.by_evidence(point)

    def action(self, point: str, tau: float) -> str:
        """What the guard does with it at an operating point with this τ."""
        if self.by_evidence(point):
            return "flag"
        return "safe" if self.by_delta(point) and float(self.verdict.delta or 0.0) <= tau else self.verdict.action


@dataclass(frozen=True, slots=True)
class Calibration:
    """Prices of the guard's operating points, and of those refitted to the sample.

    Attributes
    ----------
    points : mapping
        Operating point to its τ now.
    prices : mapping
        Operating point to leak recall (flagged), leaks held (flagged or reviewed), false flags, review load, and with
        costs the expected cost per answer.
    refitted, refitted_prices : mapping
        The same for thresholds of this sample; the prices are cross-fitted: each fold by thresholds of the others.
        Empty where the sample is too small, and `note` says so.
    """

    points: Mapping[str, float]
    prices: Mapping[str, Price]
    refitted: Mapping[str, float]
    refitted_prices: Mapping[str, Price]
    counts: Mapping[str, int]
    note: str | None = None
    costs: Costs | None = field(default=None)

    def to_json(self) -> dict[str, Any]:
        """Nested mappings with Estimates as records."""
        return {"points": dict(self.points), "prices": plain(self.prices), "refitted": dict(self.refitted),
                "refitted_prices": plain(self.refitted_prices), "counts": dict(self.counts), "note": self.note,
                "costs": None if self.costs is None else self.costs.to_json()}


def calibrate(guard: Guard, rows: Iterable[LabelledAnswer], *, costs: Costs | None = None,
              seed: int = 42) -> Calibration:
    """Judge the labelled answers and say what each operating point costs.

    Raises
    ------
    InputError
        Where no answer leaks or none does not.
    """
    detector = guard.detector
    # Without a second detector: τ says nothing about what it flags.
    bare = Guard(guard.policy, detector=detector, point=guard.point).at(-inf, rules_tau=inf)
    judged = []
    for row in rows:
        leaks = leaks_in(row)
        if row.domain in (None, guard.policy.domain.name) and leaks is not None:
            judgement = bare.judge(row.answer)
            judged.append(_Judged(judgement.verdict, judgement.evidence, leaks, row.document))
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
    crossed = _crossed(judged, list(refitted), costs, seed)
    prices = {name: _price(judged, name, crossed[name], costs) for name in refitted} if crossed else {}
    return Calibration(points, found, refitted, prices, counts, None, costs)


def with_points(guard: Guard, points: Mapping[str, float], note: Mapping[str, Any]) -> Guard:
    """A copy of a guard with other thresholds for the discriminator that decides; the card says where from."""
    detector = guard.detector
    changed = replace(detector, points={**detector.points, detector.decides: dict(points)})
    card = {**guard.card, "calibrated": dict(note)}
    return Guard(guard.policy, detector=changed, point=guard.point, second=guard.second, card=card)


def _points(judged: Sequence[_Judged], costs: Costs | None, least: int = LEAST) -> dict[str, float] | None:
    """τ of every operating point; None with fewer than `least` answers of a kind.

    Point by point, because the evidence rules have thresholds of their own at each.
    """
    names = ("conservative", *TPRS, *([] if costs is None else [BY_COSTS]))
    found = {}
    for name in names:
        deltas, held = {}, {}
        for leaks in (True, False):
            side = [j for j in judged if j.leaks == leaks]
            held[leaks] = sum(j.by_evidence(name) for j in side)
            deltas[leaks] = np.array([float(j.verdict.delta or 0.0) for j in side if j.by_delta(name)])
        if min(deltas[leaks].size + held[leaks] for leaks in (True, False)) < least:
            return None
        found[name] = operating_points(deltas[True], deltas[False], costs, Held(held[True], held[False]))[name]
    return found


def _crossed(judged: Sequence[_Judged], names: Sequence[str], costs: Costs | None,
             seed: int) -> dict[str, list[float]] | None:
    """τ by point for each answer, from the folds that its document is not in."""
    documents = [j.document if j.document is not None else f"\0{i}" for i, j in enumerate(judged)]
    order = np.random.default_rng(seed).permutation(len(set(documents)))
    fold = dict(zip(sorted(set(documents)), (order % FOLDS).tolist(), strict=True))
    found: dict[str, list[float]] = {name: [0.0] * len(judged) for name in names}
    for k in range(FOLDS):
        points = _points([j for j, d in zip(judged, documents, strict=True) if fold[d] != k], costs, least=1)
        if points is None:
            return None
        for i, d in enumerate(documents):
            if fold[d] == k:
                for name in names:
                    found[name][i] = points[name]
    return found


def _price(judged: Sequence[_Judged], point: str, taus: Sequence[float], costs: Costs | None) -> Price:
    actions = [j.action(point, tau) for j, tau in zip(judged, taus, strict=True)]
    leaks = np.array([j.leaks for j in judged])
    documents = [j.document for j in judged]
    grouped = None not in documents and len(set(documents)) < len(documents)

    def share(event: Callable[[str], bool], among: NDArray[np.bool_], of: str) -> Estimate:
        hits = np.array([event(a) for a in actions])[among]
        groups = np.array(documents)[among] if grouped else None
        return share_estimate(hits, groups=groups, unit="document" if grouped else "answer", of=of)

    every = np.ones(leaks.size, dtype=np.bool_)
    price = {
        "leak_recall": share(lambda a: a == "flag", leaks, "leaks"),
        "leaks_held": share(lambda a: a != "safe", leaks, "leaks"),
        "false_flags": share(lambda a: a == "flag", ~leaks, "harmless answers"),
        "review_load": share(lambda a: a in ("abstain", "failed"), every, "answers"),
    }
    return price if costs is None else price | {"expected_cost": _expected(actions, leaks, costs)}


def _expected(actions: Sequence[str], leaks: NDArray[np.bool_], costs: Costs) -> Estimate:
    """Mean cost per answer at the stated prevalence; no interval, the shares have theirs."""
    share = costs.prevalence if costs.prevalence is not None else float(leaks.mean())
    done = np.array(actions)
    review = np.isin(done, ("abstain", "failed")) * costs.review
    of_leaks = (review + (done == "safe") * costs.miss)[leaks].mean()
    of_harmless = (review + (done == "flag") * costs.false_flag)[~leaks].mean()
    return Estimate(float(share * of_leaks + (1 - share) * of_harmless), None, None, n=leaks.size, unit="answer",
                    method="shares times stated costs at the stated prevalence")
