"""The baselines and the curves of the guard paper on grammar campaigns: self-consistency (grammar).

    python -m benchmarks.ppe_baselines baselines --domain medical --out DIR [--only NAME …] [--endpoint URL --model M]
    python -m benchmarks.ppe_baselines curves --domain medical --out DIR
    python -m benchmarks.ppe_baselines encoders --domain medical --out DIR

Campaigns, vectors and scores are kept in DIR: a run that is stopped goes on. Prints a Markdown table and writes the
rows, with intervals, to DIR/<what>-<domain>.json; curves are drawn as DIR/<name>.svg too. `--seed` is that of the
campaigns (11) and of every fit; `--fit`, `--borderline` and `--most` (texts that encoders are trained on) are sizes.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import machine

from discreet.core.errors import MissingExtraError, UsageError
from discreet.core.files import write_atomic
from discreet.core.records import Estimate, plain
from discreet.encode.presets import build_encoders, default_cache
from discreet.endpoints import ChatEndpoint
from discreet.report import policy_curves
from discreet.report.figure import save_figures
from discreet.studies import read_settings
from discreet.studies.ppe import baselines, curves, results
from discreet.studies.ppe.corpora import CALIBRATION, PPECorpus, Sizes, read_corpus, write_campaigns
from discreet.studies.ppe.detectors import SCORED, DetectorSettings, Scored, fit_and_score

HELD = {"calibration": 250, "holdout": 300, "unsafe_heldout": 200, "borderline_eval": 400, "matched": 2}
WRITTEN = Sizes(fit=1000, borderline=4000, **HELD)
DENSITIES = ("T3+GMM-v3", "T3+OCSVM-v4", "MLP-v4")
LOAD = "T3+OCSVM-v4"


def corpus_of(given: argparse.Namespace, encoders: str, sizes: Sizes) -> PPECorpus:
    """The corpus of a domain; campaigns are those of `WRITTEN` whatever the sizes."""
    folders = list(write_campaigns(given.domain, WRITTEN, given.seed, given.out / "data", block=WRITTEN.fit))
    return read_corpus(given.domain, folders, build_encoders(encoders, domain=given.domain, cache=default_cache()),
                       sizes, given.out / "store")


def kept(path: Path, make: Callable[[], Scored]) -> Scored:
    """What a detector said, made once."""
    if path.is_file():
        with np.load(path, allow_pickle=False) as there:
            said = json.loads(str(there["facts"]))
            return Scored(said["detector"], {part: there[f"delta/{part}"] for part in SCORED},
                          {part: there[f"abstains/{part}"] for part in SCORED}, said["taus"], said["facts"])
    found, packed = make(), io.BytesIO()
    arrays = {f"{what}/{part}": getattr(found, what)[part] for what in ("delta", "abstains") for part in SCORED}
    np.savez(packed, facts=np.array(json.dumps({"detector": found.detector, "taus": dict(found.taus),
                                                "facts": plain(found.facts)})), **arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, packed.getvalue())
    return found


def row_of(corpus: PPECorpus, scored: Scored) -> dict[str, Any]:
    """Figures on the borderline pairing: of kept texts and of all, review, and where scores are few their points."""
    found = results.figures(corpus, scored, "borderline")
    unsafe, safe = scored.delta["unsafe_holdout"], scored.delta["borderline_eval"]
    points = baselines.achievable(unsafe, safe)
    return {"baseline": scored.detector, "full": {**found["full"], "fpr95": baselines.fpr_at_tpr(unsafe, safe)},
            "kept": found["kept"], "heldout_tpr": results.figures(corpus, scored, "cross_generator")["full"]["tpr_tau0"],
            "points": points if len(points) < baselines.DISCRETE else None, "facts": dict(scored.facts)}


def said(estimate: Estimate, digits: int = 3) -> str:
    """Value and interval."""
    if estimate.value is None:
        return "–"
    ends = "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.{digits}f}–{estimate.high:.{digits}f})"
    return f"{estimate.value:.{digits}f}{ends}"


def compare(given: argparse.Namespace) -> list[dict[str, Any]]:
    sizes = Sizes(**HELD | {"fit": given.fit, "borderline": given.borderline})
    texts_only = given.only and not set(given.only) & set(DENSITIES)
    corpus = corpus_of(given, "hashed:dim=64" if texts_only else "embedded", sizes)
    store = given.out / "store" / "baselines" / f"{given.domain}-{given.seed}-{given.fit}-{given.borderline}-{given.most}"
    wanted = given.only or [*DENSITIES, *baselines.BASELINES]
    fits = dict(baselines.BASELINES)
    if given.endpoint:
        fits[baselines.JUDGE] = baselines.judge(ChatEndpoint(given.endpoint, given.model, cache=given.out / "judge"))
        wanted = [*wanted, baselines.JUDGE]
    found: dict[str, Scored] = {}
    absent: list[dict[str, Any]] = []
    for name in wanted:
        path = store / f"{name.replace(' ', '_').replace('+', '_').replace(',', '')}.npz"
        if name in DENSITIES:
            make = partial(fit_and_score, corpus, settings_of(name), seed=given.seed)
        else:
            make = partial(baselines.run_baseline, corpus, name, fits[name], seed=given.seed,
                           most=given.most if name.startswith("MiniLM") else None)
        try:
            found[name] = kept(path, make)
        except (UsageError, MissingExtraError) as error:
            absent.append({"baseline": name, "status": f"not run: {error}"})
            print(f"# {name}: not run: {error}", flush=True)
            continue
        print(f"# {name}: fit {found[name].facts['fit_seconds']} s, {found[name].facts['score_ms']} ms a text", flush=True)
    if LOAD not in found:
        return []
    gated = baselines.gate_cohorts(corpus, found[LOAD])
    share = float(np.mean(found[LOAD].abstains[f"safe_{CALIBRATION}"]))
    every = [*found.values(), gated, *(baselines.matched_load(one, share) for one in found.values())]
    rows = [{**row_of(corpus, one), "share": share} for one in every]
    rows += absent
    if baselines.JUDGE not in found:
        rows.append({"baseline": baselines.JUDGE, "status": "not run: no endpoint was given"})
    rows.append({"baseline": "subtypes", "by": {one.detector: results.rates_by(corpus, one, "borderline_eval", "subtype")
                                                for one in (found[LOAD], gated)}})
    print("| baseline | review, borderline | review, unsafe | AUROC, all | FPR95, all | TPR τ=0, kept | FPR τ=0, kept | "
          "FPR τ=0, all | TPR τ=0, unseen profile | ms |\n|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        if "full" in row:
            full, own = row["full"], row["kept"]
            cells = [full["abstain_safe"], full["abstain_unsafe"], full["auroc"], full["fpr95"], own["tpr_tau0"],
                     own["fpr_tau0"], full["fpr_tau0"], row["heldout_tpr"]]
            print(f"| {row['baseline']} | {' | '.join(map(said, cells))} | {row['facts']['score_ms']} |")
    return rows


def lines(rows: Sequence[dict[str, Any]], key: str) -> None:
    print(f"| detector | {key} | AUROC | FPR95 | TPR τ=0 | FPR τ=0 | review, borderline |\n|---|---|---|---|---|---|---|")
    for row in rows:
        cells = [row[name] for name in ("auroc", "fpr95", "tpr_tau0", "fpr_tau0", "abstain")]
        print(f"| {row['detector']} | {row[key]} | {' | '.join(map(said, cells))} |")


def draw(given: argparse.Namespace) -> list[dict[str, Any]]:
    corpus = corpus_of(given, "embedded", Sizes(**HELD | {"fit": given.fit, "borderline": WRITTEN.borderline}))
    rows = curves.augmentation(corpus, [settings_of("T3+OCSVM-v4"), settings_of("T3+GMM-v4")], seed=given.seed, note=note)
    save_figures([policy_curves.augmentation(plain(rows)).named(f"{given.domain}-")], given.out)
    lines(rows, "borderline")
    return rows


def ablate(given: argparse.Namespace) -> list[dict[str, Any]]:
    sizes = Sizes(**HELD | {"fit": given.fit, "borderline": given.borderline})
    rows = curves.encoders(lambda words: corpus_of(given, words, sizes), given.encoders,
                           [settings_of("T3+OCSVM-v4")], seed=given.seed, note=note)
    lines(rows, "encoders")
    return rows


def settings_of(name: str) -> DetectorSettings:
    return DetectorSettings(name, **read_settings("ppe")["detectors"][name])


def note(said: str) -> None:
    print(f"# {said}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("baselines", "curves", "encoders"))
    parser.add_argument("--domain", default="medical")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--endpoint")
    parser.add_argument("--model")
    parser.add_argument("--encoders", nargs="*", default=["embedded", "reader", "hashed:dim=1024"])
    for name, value in (("seed", 11), ("fit", 1000), ("borderline", 400), ("most", 1600)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args(arguments)
    rows = {"baselines": compare, "curves": draw, "encoders": ablate}[given.what](given)
    if rows:
        write_atomic(given.out / f"{given.what}-{given.domain}.json", json.dumps(
            {"machine": machine(), "seed": given.seed, "fit": given.fit, "borderline": given.borderline,
             "most": given.most, "rows": plain(rows)}, indent=1))


if __name__ == "__main__":
    main()
