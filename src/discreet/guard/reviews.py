"""Thresholds that reviewers' decisions would support, with intervals: a proposal, which nothing applies by itself.

What reviewers saw is what the guard held. So their decisions say where, on the score of evidence, reviewing was not
worth its time: at the lower end almost everything was released, at the upper end almost everything was blocked. They
say nothing about answers that passed; for these label a sample, and give it to `calibrate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, takewhile
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import UsageError
from discreet.core.records import Estimate, plain
from discreet.inputs.rows import Place, iter_rows, unique
from discreet.stats import clopper_pearson, kappa_estimate, rate_estimate

LEAST = 20
"""Decisions by score that a proposal needs."""
STEPS = 10
REQUIRED = ("id", "guard", "policy", "decision", "action", "layer", "logit", "why")
DECISIONS = ("release", "release_edited", "block")
UNTOLD = "cannot_tell"
"""The reason of a block that says nothing of the answer."""


@dataclass(frozen=True, slots=True)
class Review:
    """One decided ticket: its guard and policy, why it was held, the log-odds of evidence, and what was decided.

    `held` is "unsure" or "contextual" where evidence's score held it, else direct, language, empty or other. An edited
    answer leaked before it was edited. `again` is what a blind second reviewer decided, None where none did.
    """

    id: str
    guard: str
    held: str
    logit: float | None
    leaks: bool
    again: bool | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A threshold of the log-odds: how many decided answers lie beyond it, and the share of leaks among them.

    `nearest` is that share in the tenth of the answers that lies next to it.
    """

    at: float
    n: int
    leaks: Estimate
    nearest: float


@dataclass(frozen=True, slots=True)
class ReviewCalibration:
    """What the decisions about one guard under one policy say.

    `held` is the share of leaks by why answers were held. `below` and `above` are the shares at or below, and above,
    thresholds at tenths of the scores; their intervals hold together at 95%. `unsure_above` is the largest threshold
    at or below which at most `most_missed` leak, together at the upper end of the interval and in each tenth as
    observed; `evidence_tau` is the smallest above which at most `most_false` do not leak, in the same way. None where
    the decisions support none, and `note` says why. `saved` of these tickets would not have been reviewed.
    `agreement` and `kappa` are of blind second decisions: the intervals do not know of reviewers' errors.
    """

    held: Mapping[str, Estimate]
    below: Sequence[Edge]
    above: Sequence[Edge]
    unsure_above: float | None
    evidence_tau: float | None
    saved: int
    agreement: Estimate
    kappa: Estimate
    note: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Nested mappings with Estimates as records."""
        found = {name: getattr(self, name) for name in self.__slots__}
        said: dict[str, Any] = plain(found | {
            side: [{**asdict(one), "leaks": one.leaks} for one in found[side]] for side in ("below", "above")})
        return said


def read_reviews(path: Path | str) -> list[Review]:
    """The decisions of a file that `discreet serve reviews` wrote, but for those of reviewers who could not tell: they
    judged no leak. Raises InputError."""
    rows = ((place, row) for place, row in iter_rows(Path(path), REQUIRED, REQUIRED)
            if row.get("reason") != UNTOLD)
    return [found for _, found in unique(rows, _review, lambda one: one.id)]


def calibrate_on_reviews(reviews: Iterable[Review], *, most_missed: float = 0.05,
                         most_false: float = 0.1) -> dict[str, ReviewCalibration]:
    """For each guard and policy what its reviewers' decisions support. UsageError for shares not between 0 and 1."""
    for name, value in (("most_missed", most_missed), ("most_false", most_false)):
        if not 0 < value < 1:
            raise UsageError(f"{name} is {value:g}; expected a share between 0 and 1")
    groups: dict[str, list[Review]] = {}
    for one in reviews:
        groups.setdefault(one.guard, []).append(one)
    return {name: _calibrated(found, most_missed, most_false) for name, found in sorted(groups.items())}


def _calibrated(reviews: Sequence[Review], most_missed: float, most_false: float) -> ReviewCalibration:
    held = {}
    for why in sorted({one.held for one in reviews}):
        leaks = [one.leaks for one in reviews if one.held == why]
        held[why] = rate_estimate(sum(leaks), len(leaks), unit="ticket", of="tickets")
    twice = [one for one in reviews if one.again is not None]
    first, again = [one.leaks for one in twice], [bool(one.again) for one in twice]
    agreement = rate_estimate(sum(a == b for a, b in zip(first, again, strict=True)), len(twice), unit="ticket",
                              of="blind second decisions")
    kappa = (kappa_estimate(np.array(first, dtype=int), np.array(again, dtype=int), unit="ticket") if twice else
             Estimate.unresolved("kappa of no blind second decisions: at least 1 is needed", n=0, unit="ticket"))
    scored = [one for one in reviews if one.held in ("unsure", "contextual") and one.logit is not None]
    if len(scored) < LEAST:
        few = (f"{len(scored)} decisions about answers that were held for their score: at least {LEAST} are needed "
               "for a proposal")
        return ReviewCalibration(held, (), (), None, None, 0, agreement, kappa, few)
    below, above = _edges(scored)
    low = [one for one in takewhile(lambda one: one.nearest <= most_missed, below)
           if (one.leaks.high or 0.0) <= most_missed]
    high = [one for one in takewhile(lambda one: one.nearest >= 1 - most_false, above[::-1])
            if (one.leaks.low or 0.0) >= 1 - most_false][::-1]
    unsure_above, evidence_tau = low[-1].at if low else None, high[0].at if high else None
    saved = (low[-1].n if low else 0) + (high[0].n if high else 0)
    note = None if saved else (
        "no threshold is supported: with none of them wrong it takes "
        f"{_needed(most_missed)} releases in a row at the lower end, or {_needed(most_false)} blocks at the upper end")
    return ReviewCalibration(held, below, above, unsure_above, evidence_tau, saved, agreement, kappa, note)


def _edges(scored: Sequence[Review]) -> tuple[list[Edge], list[Edge]]:
    """The shares of leaks on both sides of thresholds that the scores alone choose."""
    logits, leaks = np.array([one.logit for one in scored]), np.array([one.leaks for one in scored])
    places = np.unique(np.quantile(logits, np.arange(1, STEPS) / STEPS, method="lower"))
    edges = np.unique([np.nextafter(logits.min(), -np.inf), *places, logits.max()])
    tenths = [float(leaks[(logits > low) & (logits <= high)].mean()) for low, high in pairwise(edges)]
    below = [_edge(at, leaks[logits <= at], nearest) for at, nearest in zip(edges[1:], tenths, strict=True)]
    above = [_edge(at, leaks[logits > at], nearest) for at, nearest in zip(edges[:-1], tenths, strict=True)]
    return below, above


def _edge(at: Any, leaks: Any, nearest: float) -> Edge:
    k, n = int(leaks.sum()), int(leaks.size)
    return Edge(float(at), n, Estimate(k / n, *clopper_pearson(k, n, _LEVEL), n=n, unit="ticket",
                                method=f"Clopper–Pearson, {2 * STEPS} intervals together at 95%"), nearest)


_LEVEL = 1 - 0.05 / (2 * STEPS)


def _needed(most: float) -> int:
    """Decisions without one of the other kind that bring the end of the interval to `most`."""
    return next(n for n in range(1, 10**6) if clopper_pearson(0, n, _LEVEL).high <= most)


def _review(place: Place, row: Mapping[str, Any]) -> Review:
    for name in ("id", "guard", "policy"):
        if not isinstance(row[name], str) or not row[name]:
            place.fail(f"{name!r} is not a name; expected a file that 'discreet serve reviews' wrote")
    if row["decision"] not in DECISIONS:
        place.fail(f"'decision' is not one that is known; expected one of {', '.join(DECISIONS)}")
    logit = None if row["logit"] in (None, "") else row["logit"]
    try:
        logit = None if logit is None else float(logit)
    except (TypeError, ValueError):
        logit = float("nan")
    if logit is not None and not isfinite(logit):
        place.fail("'logit' is not a finite number; expected one, or null")
    held = str(row["layer"] if row["action"] == "flag" else row["why"])
    again = row.get("recheck")
    return Review(row["id"], f"{row['guard']} ({row['policy']})", held, logit, row["decision"] != "release",
                  None if again in (None, "") else again != "release")
