"""The calibrated score of an answer: what the reader counts, the spans that it shows, and the rules, in one logistic.

The weights are not negative, and were fitted with the thresholds on labelled passages of families that taught the
reader nothing (`benchmarks/reader/calibrate.py`, `docs/results/reader.md`). The reader counts up to four attributes of
the identifying classes, of the subjects `TOLD`; under a policy that counts others, or where the user had said one of
them or a direct identifier, spans and rules decide alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import isfinite, log

from discreet.core.errors import DetectorError
from discreet.domains import IDENTIFYING
from discreet.guard.policy import Policy
from discreet.guard.reading import Cluster, EvidenceScore, Read, clusters, fitted, score_evidence
from discreet.text.evidence.mentions import Attribute
from discreet.text.reader import TOLD

MOST = 12.0
"""Log-odds beyond which a part says no more."""
OVERLOOKED = 0.1
"""Probability that an attribute stands there that nothing found, as many times as the cluster has attributes."""
SEEN = 0.5
"""From this probability on a class that no words state is said to be inferable."""


@dataclass(frozen=True, slots=True)
class Combined:
    """Intercept and weights of the parts, `whole` over (counts, spans, rules) and `spans` over (spans, rules), and the
    log-odds of each operating point: flagged above `tau`, not decided above `unsure`."""

    whole: tuple[float, ...]
    spans: tuple[float, ...]
    tau: dict[str, float]
    unsure: dict[str, float]

    def logit(self, counts: float | None, spans: float, rules: float) -> float:
        """The log-odds that the answer holds a cluster; without the reader's count where that is None."""
        weights, parts = (self.spans, (spans, rules)) if counts is None else (self.whole, (counts, spans, rules))
        return weights[0] + sum(w * _bounded(p) for w, p in zip(weights[1:], parts, strict=True))

    def threshold(self, point: str) -> float:
        """The log-odds above which evidence flags at an operating point; that of conservative at "costs"."""
        return self.tau.get(point, self.tau["conservative"])

    def unsure_above(self, point: str) -> float:
        """The log-odds above which an answer that is not flagged is not called safe either."""
        return self.unsure.get(point, self.unsure["conservative"])


@cache
def combined() -> Combined:
    """The weights that ship with discreet."""
    said = json.loads(files("discreet.guard").joinpath("combined.json").read_text(encoding="utf-8"))
    return Combined(tuple(said["whole"]), tuple(said["spans"]), said["tau"], said["unsure"])


def parts(read: Read, policy: Policy) -> tuple[float | None, float, float, Cluster | None]:
    """Log-odds of the reader's count, of the spans and of the rules that somebody has a cluster, and who shows it most:
    by all spans, by the rules alone where only these show enough. The count is None where it does not speak of what the
    policy counts."""
    rules = score_evidence(read.ruled, policy, fitted())
    scored = [(at_least(c.attributes, policy.cluster), c) for c in clusters(read.attributes, policy)]
    spans, best = max(scored, key=lambda pair: (pair[0], pair[1].size), default=(at_least((), policy.cluster), None))
    if rules.cluster and (best is None or best.size < policy.cluster):
        best = rules.best
    told = [i for i, subject in enumerate(TOLD) if subject in policy.subjects]
    counted = [a for a in (*read.attributes, *read.ruled) if a.kind in policy.counted]
    other = any(a.subject == "asker" or a.overruled for a in counted) or any(s == "asker" for _, s in read.direct)
    if read.seen is None or other or not told or set(policy.counted) != set(IDENTIFYING):
        return None, spans, rules.logit, best
    if policy.cluster > read.seen.counts.shape[1]:
        return None, spans, rules.logit, best
    return float(read.seen.counts[told, policy.cluster - 1].max()), spans, rules.logit, best


def odds(read: Read, policy: Policy) -> tuple[float, float, float]:
    """Log-odds of the reader's count, of the spans and of the rules, bounded; where the count is silent the spans stand
    for it. Without what a spaCy pipeline adds: weights that are fitted to these may have any sign."""
    read = replace(read, attributes=tuple(a for a in read.attributes if a not in read.further))
    counts, spans, rules, _ = parts(read, policy)
    return _bounded(spans if counts is None else counts), _bounded(spans), _bounded(rules)


def score(read: Read, policy: Policy, model: Combined) -> EvidenceScore:
    """The calibrated log-odds of an answer, and the person of whom most is shown.

    Raises DetectorError where the log-odds are no number: a comparison with them would let the answer pass.
    """
    counts, spans, rules, best = parts(read, policy)
    logit = model.logit(counts, spans, rules)
    if not isfinite(logit):
        raise DetectorError("the scorer", "a score that is no number")
    stated = {a.kind for a in best.attributes} if best is not None else set()
    inferred = counts is not None and policy.inferred
    seen = read.seen.inferred if inferred and read.seen is not None else {}
    classes = tuple(k for k, p in seen.items() if p >= SEEN and k not in stated)
    size = 0 if best is None else best.size
    # Where nothing is shown at all, nothing is flagged: such an answer is at most not decided.
    told = size > 0 or bool(classes)
    return EvidenceScore(logit, best, told and (inferred or size >= policy.cluster), classes)


def at_least(attributes: Iterable[Attribute], least: int) -> float:
    """Log-odds that at least so many distinct attributes of a person stand there, each with its own probability."""
    each: dict[tuple[str, str], float] = {}
    for a in attributes:
        each[a.kind, a.value] = max(each.get((a.kind, a.value), 0.0), min(_chance(a), 0.995))
    exactly = [1.0] + [0.0] * least
    for p in [*each.values(), *[OVERLOOKED] * least]:
        exactly = [(exactly[k] * (1 - p) if k < least else exactly[k]) + (exactly[k - 1] * p if k else 0.0)
                   for k in range(least + 1)]
    reached = min(max(exactly[least], 1e-9), 1 - 1e-9)
    return _bounded(log(reached / (1 - reached)))


def _bounded(logit: float) -> float:
    """Within `MOST` of zero; what is no number stays so."""
    return min(max(logit, -MOST), MOST)


def _chance(a: Attribute) -> float:
    """What a rule finds weakly is as good as not told."""
    return a.probability * (0.5 if a.weak and a.probability == 1.0 else 1.0)
