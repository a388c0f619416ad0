"""Tables III to XI and figure 4 of the paper, and what it has not, as rows with the paper's figures next to ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.core.records import Estimate, plain
from discreet.stats import share_estimate
from discreet_papers.ppe import baselines, results
from discreet_papers.ppe.corpora import GRAMMAR, PPECorpus
from discreet_papers.ppe.detectors import Scored
from discreet_papers.shared import paper_figures

GMM_V3, OCSVM_V4, MLP, JUDGE = "T3+GMM-v3", "T3+OCSVM-v4", "MLP-v4", "LLM judge"
GRID = (GMM_V3, "T3+GMM-v4", "T3+OCSVM-v3", OCSVM_V4)
NOT_RUN = "not run"
MODELS = ("Qwen2.5-7B-Instruct", "Mistral-7B-Instruct-v0.3", "Phi-3-medium-4k-instruct")
HELD_OUT = "Yi-1.5-9B-Chat"
UNITS = {"%": 0.01, "pp": 0.01}

Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """What the tables are made of: a corpus, what each detector said of it, and yields of its campaigns where a model
    wrote them (by mode and generator, from the manifests)."""

    corpus: PPECorpus
    scored: Mapping[str, Scored]
    yields: Sequence[Mapping[str, Any]] = ()

    @property
    def name(self) -> str:
        """The domain's name."""
        return self.corpus.domain.name


def paper(table: str, domain: str, detector: str, part: str) -> dict[str, float] | None:
    """What the paper prints, by metric; shares and differences of shares in [−1, 1]. None where it prints nothing."""
    found = {row["metric"]: round(float(row["value"]) * UNITS.get(row["unit"], 1.0), 8) for row in paper_figures("ppe")
             if (row["table"], row["domain"], row["detector"], row["part"]) == (table, domain, detector, part)}
    return found or None


def _line(domain: Domain, scored: Scored, pairing: str, population: str = "kept", rule: str = "paper",
          table: str = "", part: str = "kept") -> dict[str, Any]:
    found = results.figures(domain.corpus, scored, pairing, rule)[population]
    return {"domain": domain.name, "detector": scored.detector, "pairing": pairing, "population": population,
            "rule": rule, **found, "paper": paper(table, domain.name, scored.detector, part) if table else None}


def counts(domains: Sequence[Domain]) -> Rows:
    """Table III: texts of each set, and the paper's; what a model's campaigns yielded, mode by mode."""
    rows = []
    for one in domains:
        corpus = one.corpus
        ours = {"safe": ("safe_fit", "safe_calibration", "safe_holdout"), "unsafe": (
            "unsafe_fit", "unsafe_calibration", "unsafe_holdout"), "unsafe_heldout": ("unsafe_heldout",),
            "borderline": ("borderline_fit",), "borderline_eval": ("borderline_eval",),
            "matched_unsafe": ("matched_unsafe",), "matched_borderline": ("matched_borderline",)}
        for part, names in ours.items():
            said = paper("III", one.name, "", part)
            rows.append({"domain": one.name, "set": part, "n": sum(len(corpus.records[name]) for name in names),
                         "domain_only": sum(int((~corpus.leaks(name)).sum()) for name in names) if part == "unsafe"
                         else None, "paper": said and int(said["records"]), "source": corpus.source,
                         "yield": None if one.yields else NOT_RUN, "short": sum(corpus.short.get(n, 0) for n in names)})
        rows += [{"domain": one.name, **said} for said in one.yields]
    return rows


def abstention(domains: Sequence[Domain]) -> Rows:
    """Table IV: how much of each set a detector leaves to review."""
    rows = []
    for one in domains:
        for scored in one.scored.values():
            said = {part: paper("IV", one.name, scored.detector, part) for part in ("safe", "unsafe", "borderline")}
            rows.append({"domain": one.name, "detector": scored.detector, **{
                part: share_estimate(scored.abstains[name], unit=results.UNIT, of=f"{part} texts")
                for part, name in (("safe", "safe_holdout"), ("unsafe", "unsafe_holdout"),
                                   ("borderline", "borderline_eval"), ("matched", "matched_borderline"))},
                "paper": {part: found["abstain"] for part, found in said.items() if found} or None})
    return rows


def within(domains: Sequence[Domain]) -> Rows:
    """Table V: unsafe against safe hold-out, of texts kept and of all."""
    return [_line(one, scored, "within", population, table="V" if population == "kept" else "")
            for one in domains for scored in one.scored.values() for population in ("kept", "full")]


def borderline(domains: Sequence[Domain]) -> Rows:
    """Table VI: unsafe hold-out against borderline texts, and what v4 changes; the matched pair below it."""
    rows = []
    for one in domains:
        rows += [_line(one, scored, "borderline", population, table="VI" if population == "kept" else "")
                 for scored in one.scored.values() for population in ("kept", "full")]
        pairs = [(GMM_V3, OCSVM_V4), (GMM_V3, "T3+GMM-v4"), (GMM_V3, "T3+OCSVM-v3")]
        for before, after in pairs:
            if before in one.scored and after in one.scored:
                change = results.changes(one.corpus, one.scored[before], one.scored[after], "borderline")
                rows.append({"domain": one.name, "detector": f"{after} less {before}", "pairing": "borderline",
                             "population": "full", "rule": "paper", **change, "difference": True,
                             "paper": paper("VI", one.name, "difference", "kept") if after == OCSVM_V4 else None})
        rows += [_line(one, scored, "matched", "full") for scored in one.scored.values()]
    return rows


def subtypes(domains: Sequence[Domain]) -> Rows:
    """Table VII: FPR at τ = 0 by subtype of borderline texts, of all; their mean; and of those kept, with TPR."""
    rows: Rows = []
    for one in domains:
        for scored in (one.scored[name] for name in GRID if name in one.scored):
            by = results.rates_by(one.corpus, scored, "borderline_eval", "subtype")
            tpr = results.figures(one.corpus, scored, "borderline")
            shared = {"domain": one.name, "detector": scored.detector, "tpr_tau0": tpr["full"]["tpr_tau0"]}

            def said(part: str, of: Mapping[str, Any] = shared) -> float | None:
                found = paper("VII", of["domain"], of["detector"], part)
                return found["fpr_tau0"] if found else None

            rows += [{**shared, "subtype": name, "n": found["n"], "fpr_tau0": found["full"],
                      "abstain": found["abstain"], "paper": said(name)}
                     for name, found in by.items()]
            values = [found["full"].value for found in by.values() if found["full"].value is not None]
            if values:
                mean = Estimate(float(np.mean(values)), None, None, n=len(values), unit="subtype", method="mean")
                rows.append({**shared, "subtype": "mean of subtypes", "n": None, "fpr_tau0": mean, "abstain": None,
                             "paper": said("mean")})
            rows.append({**shared, "subtype": "all, kept", "n": tpr["kept"]["n_kept_safe"],
                         "tpr_tau0": tpr["kept"]["tpr_tau0"], "fpr_tau0": tpr["kept"]["fpr_tau0"],
                         "abstain": tpr["kept"]["abstain_safe"], "paper": said("global_kept")})
    return rows


def cross_generator(domains: Sequence[Domain]) -> Rows:
    """Table VIII: unsafe texts of the profile that is held out against the same safe ones, next to within."""
    return [_line(one, scored, pairing, "kept", table="VIII", part=pairing) for one in domains
            for scored in one.scored.values() if scored.detector in (*GRID, MLP)
            for pairing in ("within", "cross_generator")]


def architectures(domains: Sequence[Domain]) -> Rows:
    """Table IX: the density, the perceptron and a language model on the borderline pairing."""
    rows = []
    for one in domains:
        for name in dict.fromkeys((OCSVM_V4, MLP, *one.scored, JUDGE)):
            said = {**(paper("IX", one.name, name, "kept") or {}), **{
                f"{metric}_full" if metric == "fpr_tau0" else metric: value
                for metric, value in (paper("IX", one.name, name, "full") or {}).items()}}
            row: dict[str, Any] = {"domain": one.name, "detector": name, "paper": said or None}
            if name in one.scored:
                scored = one.scored[name]
                found = results.figures(one.corpus, scored, "borderline")
                kept, full = found["kept"], found["full"]
                rows.append(row | {
                    "run": "run", "abstain": kept["abstain_safe"], "auroc": kept["auroc"], "fpr_kept": kept["fpr_tau0"],
                    "tpr_kept": kept["tpr_tau0"], "n_kept": kept["n_kept_safe"],
                    "n": len(one.corpus.records["borderline_eval"]), "fpr_full": full["fpr_tau0"],
                    "tpr_full": full["tpr_tau0"], "score_ms": scored.facts.get("score_ms"),
                    "cost_usd": scored.facts.get("cost_usd")})
            else:
                rows.append(row | {"run": NOT_RUN})
    return rows


def grid(domains: Sequence[Domain]) -> Rows:
    """Table X: density by data, AUROC of all texts, in every domain, with FPR95, FPR90, and FPR and TPR at τ = 0."""
    return [_line(one, one.scored[name], pairing, "full", table="X", part=pairing) for one in domains
            for name in GRID if name in one.scored for pairing in results.PAIRINGS]


def profiles(domains: Sequence[Domain]) -> Rows:
    """Table XI: TPR at τ = 0 by writer profile, of all unsafe texts; their spread, and the held-out less their mean."""
    rows: Rows = []
    for one in domains:
        scored = one.scored.get(OCSVM_V4)
        if scored is None:
            continue
        said = {name: paper("XI", one.name, OCSVM_V4, name) for name in (*MODELS, HELD_OUT, "spread",
                                                                         "held out less mean")}
        pool = results.rates_by(one.corpus, scored, "unsafe_holdout", "profile")
        held = results.rates_by(one.corpus, scored, "unsafe_heldout", "profile")
        for models, found, role in ((MODELS, pool, "training pool"), ((HELD_OUT,), held, "held out")):
            for place, (profile, of) in enumerate(found.items()):
                model = _stands_for(profile, models, place if one.corpus.source == GRAMMAR else None)
                figure = said[model] if model else None
                rows.append({"domain": one.name, "profile": profile, "role": role, "n": of["n"],
                             "tpr_tau0": of["full"], "tpr_kept": of["kept"], "stands_for": model,
                             "paper": figure and figure["tpr_tau0"]})
        rates = [of["full"].value for of in pool.values()]
        for name, value in (("spread", max(rates) - min(rates)),
                            ("held out less mean", _mean(held) - float(np.mean(rates)))):
            figure = said[name]
            rows.append({"domain": one.name, "profile": name, "role": "", "n": None, "tpr_tau0": Estimate(
                value, None, None, unit="profile", method="difference of shares"), "tpr_kept": None,
                "stands_for": None, "paper": figure and figure["tpr_tau0"]})
    return rows


def _stands_for(profile: str, models: Sequence[str], place: int | None) -> str | None:
    """The paper's model that a writer is compared with: of the grammar that of the same place, else of the same family.
    """
    if place is not None:
        return models[place] if place < len(models) else None
    families = re.findall("[a-z]+", profile.casefold())
    return next((name for name in models if re.findall("[a-z]+", name.casefold())[0] in families), None)


def _mean(found: Mapping[str, Mapping[str, Any]]) -> float:
    return float(np.mean([of["full"].value for of in found.values()]))


def remedy(domains: Sequence[Domain]) -> Rows:
    """Figure 4: the confound and its remedy, AUROC within and on the borderline, FPR and TPR at τ = 0."""
    rows = []
    for one in domains:
        for name in GRID:
            if name not in one.scored:
                continue
            found = {pairing: _line(one, one.scored[name], pairing, "kept", table=table)
                     for pairing, table in (("within", "V"), ("borderline", "VI"))}
            inside, outside = found["within"], found["borderline"]
            rows.append({"domain": one.name, "detector": name, "within": inside["auroc"],
                         "borderline": outside["auroc"], "fpr_tau0": outside["fpr_tau0"],
                         "tpr_tau0": inside["tpr_tau0"],
                         "fpr_balanced": outside["fpr_balanced"], "tpr_balanced": inside["tpr_balanced"],
                         "paper": {"within": (inside["paper"] or {}).get("auroc"), **(outside["paper"] or {})}
                         if inside["paper"] else None})
    return rows


def by_rule(domains: Sequence[Domain]) -> Rows:
    """The same detectors with positives under the paper's rule of a cluster, and under the default one."""
    return [_line(one, one.scored[name], pairing, "full", rule) for one in domains for name in GRID
            if name in one.scored for pairing in ("within", "borderline") for rule in results.RULES]


def control_rows(domains: Sequence[Domain]) -> Rows:
    """Permuted and planted labels for every detector; the classifier that sees the writer profile alone."""
    rows: Rows = []
    for one in domains:
        for scored in (*one.scored.values(), *(results.profile_only(one.corpus, v4=v4) for v4 in (False, True))):
            full = {pairing: results.figures(one.corpus, scored, pairing)["full"]["auroc"]
                    for pairing in results.PAIRINGS}
            rows.append({"domain": one.name, "detector": scored.detector, **full,
                         **results.controls(one.corpus, scored)})
    return rows


def drawn(domains: Sequence[Domain]) -> Rows:
    """Histograms of δ by set, and risk over coverage on the borderline pairing."""
    return [{"domain": one.name, "detector": scored.detector, **results.histograms(scored),
             "risk": results.risk_coverage(scored), "abstains": float(scored.abstains["borderline_eval"].mean())}
            for one in domains for scored in one.scored.values()]


def reviewed(domains: Sequence[Domain]) -> Rows:
    """Each detector and baseline on the borderline pairing: with the review that it asks for itself, and with that of
    T3+OCSVM-v4 on safe calibration texts; with cohort-scoped quantities gated (IX-B); scores of few levels with their
    `points`, none interpolated."""
    rows: Rows = []
    for one in domains:
        load = one.scored.get(OCSVM_V4)
        share = None if load is None else float(np.mean(load.abstains["safe_calibration"]))
        only = baselines.cohorts(one.corpus)
        every = [scored for scored in one.scored.values() if not scored.facts.get("shuffled")]
        for scored in (*every, *(baselines.gated(one.scored[name], only) for name in (OCSVM_V4, MLP)
                                 if name in one.scored)):
            rows += [_reviewed(one, said, review) for said, review in (
                (scored, "own"), *([] if share is None else [(baselines.matched_load(scored, share), "matched")]))]
        if JUDGE not in one.scored:
            rows.append({"domain": one.name, "detector": JUDGE, "review": NOT_RUN})
    return rows


def _reviewed(domain: Domain, scored: Scored, review: str) -> dict[str, Any]:
    found = results.figures(domain.corpus, scored, "borderline")
    unsafe, safe = scored.delta["unsafe_holdout"], scored.delta["borderline_eval"]
    points = baselines.achievable(unsafe, safe)
    kept, full = found["kept"], found["full"]
    return {"domain": domain.name, "detector": scored.detector, "review": review,
            "reached": scored.facts.get("review"), "abstain_safe": full["abstain_safe"],
            "abstain_unsafe": full["abstain_unsafe"], "auroc": full["auroc"],
            "fpr95": baselines.fpr_at_tpr(unsafe, safe), "tpr_kept": kept["tpr_tau0"], "fpr_kept": kept["fpr_tau0"],
            "tpr_full": full["tpr_tau0"], "fpr_full": full["fpr_tau0"],
            "tpr_heldout": results.figures(domain.corpus, scored, "cross_generator")["full"]["tpr_tau0"],
            "points": points if len(points) < baselines.DISCRETE else None, "gated": scored.facts.get("gated"),
            "score_ms": scored.facts.get("score_ms")}


def detectors(domains: Sequence[Domain]) -> Rows:
    """What was fitted: rows, dimensions, components, ν, θ, τ, seconds."""
    return [{"domain": one.name, "detector": scored.detector, **dict(scored.facts),
             **{f"tau_{name}": value for name, value in scored.taus.items()}}
            for one in domains for scored in one.scored.values()]


TABLES: Mapping[str, tuple[str, Callable[[Sequence[Domain]], Rows]]] = {
    "table III": ("Texts of each set", counts), "table IV": ("Abstentions", abstention),
    "table V": ("Within the distribution", within), "table VI": ("The borderline-safe stress test", borderline),
    "table VII": ("FPR at τ = 0 by subtype", subtypes), "table VIII": ("A writer that is held out", cross_generator),
    "table IX": ("Three architectures", architectures), "table X": ("Density by data", grid),
    "table XI": ("TPR by writer profile", profiles), "figure 4": ("The confound and its remedy", remedy),
    "section rule": ("What is a cluster?", by_rule), "section controls": ("Controls", control_rows),
    "section scores": ("Scores, risk and coverage", drawn),
    "section baselines": ("Baselines and gating, at their own and at the same review", reviewed),
    "section detectors": ("What was fitted", detectors)}
"""Every item in the order in which it is shown: its title and its rows."""


def made(domains: Iterable[Domain], items: Iterable[str]) -> dict[str, Any]:
    """`{name: {"title", "rows"}}`, as plain JSON values."""
    given = list(domains)
    return {name: {"title": TABLES[name][0], "rows": plain(TABLES[name][1](given))} for name in items}
