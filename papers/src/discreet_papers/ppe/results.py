"""Figures of one detector on the paper's pairings (VI-A), as pure functions of what it said of each text, and their
means over runs that differ in their seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray
from discreet.guard import stress_figures
from discreet.guard.fit import population
from discreet.stats import bootstrap_weights, percentile_interval, share_estimate
from discreet.stats.roc import Reweighting, RocCore
from discreet_papers.ppe.baselines import DISCRETE, fpr_at_tpr
from discreet_papers.ppe.corpora import FIT, PPECorpus
from discreet_papers.ppe.detectors import Scored
from discreet_papers.shared import averaged

PAIRINGS: Mapping[str, tuple[str, str]] = {
    "within": ("unsafe_holdout", "safe_holdout"), "cross_generator": ("unsafe_heldout", "safe_holdout"),
    "borderline": ("unsafe_holdout", "borderline_eval"), "matched": ("matched_unsafe", "matched_borderline")}
"""Pairing to the sets of its positives and negatives."""
RULES = ("paper", "identifying")
"""What is a cluster: any two of the eight classes, or two attributes that identify (the default of the guard)."""
UNIT, RESAMPLES, BINS, SEED = "text", 1_000, 24, 42
TPRS = {"fpr95": 0.95, "fpr90": 0.90}


def chosen(corpus: PPECorpus, name: str, rule: str = "paper") -> BoolArray:
    """Which texts of a set count under a rule: all of safe ones, of unsafe ones those that leak under it."""
    if rule == "paper" or not name.startswith(("unsafe", "matched_unsafe")):
        return np.ones(len(corpus.records[name]), dtype=np.bool_)
    return corpus.leaks(name)


def figures(corpus: PPECorpus, scored: Scored, pairing: str, rule: str = "paper") -> dict[str, dict[str, Any]]:
    """`kept` and `full`: AUROC, FPR95, FPR90, and TPR and FPR at τ = 0, *balanced* and *strict*, of the texts that the
    detector decides about, and of all; with `abstain_safe`, `abstain_unsafe`, `n_kept_unsafe` and `n_kept_safe`. Where
    scores have few levels (a judge's), no FPR is interpolated between two of them: it is unresolved."""
    positives, negatives = PAIRINGS[pairing]
    among = chosen(corpus, positives, rule)
    unsafe, held = scored.delta[positives][among], scored.abstains[positives][among]
    safe, held_safe = scored.delta[negatives], scored.abstains[negatives]
    taus = {"tau0": 0.0, **{name: scored.taus[name] for name in ("balanced", "strict")}}
    of = "borderline" if "borderline" in negatives else "safe"
    shared = {"abstain_unsafe": share_estimate(held, unit=UNIT, of="unsafe texts"),
              "abstain_safe": share_estimate(held_safe, unit=UNIT, of=f"{of} texts")}
    discrete = scored.facts.get("distinct", DISCRETE) < DISCRETE

    def of_texts(unsafe: FloatArray, safe: FloatArray) -> dict[str, Any]:
        found = population(unsafe, safe, taus, of)
        if discrete and unsafe.size and safe.size:
            found |= {name: fpr_at_tpr(unsafe, safe, tpr) for name, tpr in TPRS.items()}
        return {**found, **shared, "n_kept_unsafe": unsafe.size, "n_kept_safe": safe.size}

    return {"kept": of_texts(unsafe[~held], safe[~held_safe]), "full": of_texts(unsafe, safe)}


def changes(corpus: PPECorpus, before: Scored, after: Scored, pairing: str) -> dict[str, Estimate]:
    """AUROC, FPR95 and FPR90 of `after` less those of `before` on all texts of a pairing: a bootstrap of texts, paired,
    stratified by class."""
    positives, negatives = PAIRINGS[pairing]
    labels = np.repeat([1, 0], [len(corpus.records[positives]), len(corpus.records[negatives])])
    cores = [RocCore.of(np.concatenate([one.delta[positives], one.delta[negatives]]), labels)
             for one in (before, after)]
    drawn = [Reweighting.of(core, np.arange(labels.size)) for core in cores]
    differences: dict[str, list[FloatArray]] = {name: [] for name in ("auroc", *TPRS)}
    for weights in bootstrap_weights(labels.size, np.random.default_rng(SEED), n_resamples=RESAMPLES, strata=labels):
        old, new = (one.counts(weights) for one in drawn)
        differences["auroc"].append(new.auroc() - old.auroc())
        for name, tpr in TPRS.items():
            differences[name].append(new.fpr_at_tpr(tpr) - old.fpr_at_tpr(tpr))
    values = {"auroc": cores[1].auroc() - cores[0].auroc(),
              **{name: cores[1].fpr_at_tpr(tpr) - cores[0].fpr_at_tpr(tpr) for name, tpr in TPRS.items()}}
    return {name: _around(float(values[name]), np.concatenate(found), labels)
            for name, found in differences.items()}


def _around(value: float, draws: FloatArray, labels: Any) -> Estimate:
    low, high = percentile_interval(draws, 0.95)
    return Estimate(value, min(low, value), max(high, value), n=labels.size, n_pos=int(labels.sum()),
                    n_neg=int((labels == 0).sum()), unit=UNIT, method=f"percentile bootstrap, paired, {RESAMPLES}")


def rates_by(corpus: PPECorpus, scored: Scored, name: str, axis: str) -> dict[str, dict[str, Any]]:
    """By level of an axis of a set: the share flagged at τ = 0 of all texts (`full`) and of those kept; abstentions."""
    levels = corpus.axis(name, axis)
    found = {}
    for level in sorted(set(levels.tolist())):
        among = levels == level
        flagged, held = scored.delta[name][among] > 0.0, scored.abstains[name][among]
        found[level] = {"n": int(among.sum()), "full": share_estimate(flagged, unit=UNIT, of="texts"),
                        "kept": share_estimate(flagged[~held], unit=UNIT, of="texts that are kept"),
                        "abstain": share_estimate(held, unit=UNIT, of="texts")}
    return found


def controls(corpus: PPECorpus, scored: Scored) -> dict[str, Estimate]:
    """On the borderline pairing, all texts: AUROC under permuted labels (½), and FPR at 95% TPR with half of the unsafe
    planted among the borderline texts, and without them."""
    rng = np.random.default_rng(SEED)
    unsafe, borderline = (scored.delta[name] for name in PAIRINGS["borderline"])
    planted, unplanted, _ = stress_figures.planted(unsafe, borderline, 0.95, None, rng)
    return {"control_auroc": stress_figures.control(unsafe, borderline, rng), "planted_fpr": planted,
            "unplanted_fpr": unplanted}


def profile_only(corpus: PPECorpus, *, v4: bool) -> Scored:
    """The negative control: who wrote a text, and nothing of what it says. δ is the log-odds of unsafe among the texts
    of the writer profile that are fitted on (½ added to each count), those of all texts for a profile that is unknown.
    """
    sides = {0: [f"safe_{FIT}", *(["borderline_fit"] if v4 else [])], 1: [f"unsafe_{FIT}"]}
    wrote = [np.concatenate([corpus.axis(name, "profile") for name in names]) for names in sides.values()]

    def odds(safe: int, unsafe: int) -> float:
        return float(np.log((unsafe + 0.5) / (safe + 0.5)))

    known = {profile: odds(*(int((one == profile).sum()) for one in wrote))
             for profile in set(np.concatenate(wrote).tolist())}
    prior = odds(wrote[0].size, wrote[1].size)
    delta = {name: np.array([known.get(profile, prior) for profile in corpus.axis(name, "profile").tolist()])
             for name in corpus.records}
    return Scored(f"profile only, {'v4' if v4 else 'v3'}", delta,
                  {name: np.zeros(len(rows), dtype=np.bool_) for name, rows in delta.items()},
                  {"conservative": 0.0, "balanced": 0.0, "strict": 0.0})


def histograms(scored: Scored) -> dict[str, Any]:
    """Counts of δ in `BINS` equal bins between the 1st and the 99th percentile of what is shown, by set; values beyond
    are in the outermost bins."""
    shown = [name for name in ("safe_holdout", "unsafe_holdout", "borderline_eval", "unsafe_heldout")
             if scored.delta[name].size]
    low, high = np.percentile(np.concatenate([scored.delta[name] for name in shown]), [1.0, 99.0])
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    return {"edges": edges.tolist(), "counts": {
        name: np.histogram(np.clip(scored.delta[name], edges[0], edges[-1]), edges)[0].tolist() for name in shown}}


def risk_coverage(scored: Scored, pairing: str = "borderline", steps: int = 21) -> list[dict[str, Any]]:
    """How often the detector errs at τ = 0 on the share of a pairing, both classes weighing the same, that it is surest
    of (largest |δ|): `coverage`, `risk`, from 5% to all."""
    positives, negatives = PAIRINGS[pairing]
    unsafe, safe = scored.delta[positives], scored.delta[negatives]
    sure = np.abs(np.concatenate([unsafe, safe]))
    wrong = np.concatenate([unsafe <= 0.0, safe > 0.0]).astype(np.float64)
    weights = np.repeat([0.5 / unsafe.size, 0.5 / safe.size], [unsafe.size, safe.size])
    order = np.argsort(-sure, kind="stable")
    covered, erred = np.cumsum(weights[order]), np.cumsum((weights * wrong)[order])
    found = []
    for coverage in np.linspace(0.05, 1.0, steps - 1):
        at = min(int(np.searchsorted(covered, coverage - 1e-12)), covered.size - 1)
        found.append({"coverage": float(covered[at]), "risk": float(erred[at] / covered[at])})
    return found


__all__ = ["mean_items"]

DRAWN = ("edges", "counts")
"""Of a histogram, whose bins are those of one run: the first seed's."""


def mean_items(runs: Sequence[Mapping[str, Any]], *, fresh: bool) -> dict[str, Any]:
    """The items of the first run with means over all `runs`, row by row.

    Where every seed has texts of its own (`fresh`) an estimate of three seeds or more gets a t interval over seeds. Of
    the same texts the ends of intervals are averaged: seeds then differ in what is fitted alone, and to average leaves
    the texts as few as they are. A figure that is unresolved with one seed is unresolved.
    """
    found = {}
    for name, item in runs[0].items():
        by = [_by_identity(run[name]["rows"]) for run in runs]
        found[name] = {**item, "rows": [_row([one[key] for one in by if key in one], fresh) for key in by[0]]}
    return found


def _by_identity(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Mapping[str, Any]]:
    """Rows by what they are of: their words, and of a curve its step; rows that are alike in these by their order."""
    found: dict[Any, Mapping[str, Any]] = {}
    alike: defaultdict[Any, int] = defaultdict(int)
    for row in rows:
        words = tuple((key, value) for key, value in row.items()
                      if isinstance(value, str) or (key == "borderline" and isinstance(value, int)))
        found[words, alike[words]] = row
        alike[words] += 1
    return found


def _row(rows: Sequence[Mapping[str, Any]], fresh: bool) -> dict[str, Any]:
    within = (-1.0 if rows[0].get("difference") else 0.0, 1.0)
    return {key: rows[0][key] if key in DRAWN else _mean([row.get(key) for row in rows], within, fresh)
            for key in rows[0]}


def _mean(values: Sequence[Any], within: tuple[float, float], fresh: bool) -> Any:
    first = values[0]
    if all(value == first for value in values) and not fresh:
        return first
    if all(isinstance(value, Mapping) for value in values):
        if "value" in first and "method" in first:
            each = [Estimate.from_json(value) for value in values]
            low = -1.0 if "difference" in first["method"] else within[0]
            return averaged([[one] for one in each] if fresh else [each], (low, within[1])).to_json()
        return {key: _mean([value.get(key) for value in values], within, fresh) for key in first}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [_mean(each, within, fresh) for each in zip(*values, strict=True)]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        mean = fmean(values)
        return round(mean) if all(isinstance(value, int) for value in values) else mean
    return first
