"""Guards fitted on real safe text, on the labelled real passages: which discriminator decides best?

    python -m benchmarks.real_text.fitted --data DATA [--n 400] [--seed 7] [--output F]

The safe side is real text of professionals (medquad, pubmedqa; tatqa contexts, fiqa; legalbench answers, MMLU law) and
grammar text; the unsafe and the borderline side are grammar text: no real leak is fitted on. Passages of documents that
are labelled are left out of the fit. Scores every passage of both halves with every discriminator, with the density, and
with the rules that were fitted on the tuning half of the real passages (`evidence rules`). Prints JSON: AUROC by domain
with intervals, the share of clusters held when a fixed share of all passages is held (the review load), and paired
tests against evidence+logistic.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.real_text.passages import LONGEST, PERSONAL, cut, document, rows
from numpy.typing import NDArray

from discreet.core.files import dump_json
from discreet.core.records import Estimate
from discreet.guard.density.corpus import read_corpus
from discreet.guard.density.detector import Detector, rows_of
from discreet.guard.density.discriminators import DENSITY
from discreet.guard.density.dual_density import DualDensity
from discreet.guard.domains import builtin_domains
from discreet.guard.fit import DEFAULT_DENSITY, encode_corpus, fit_detector
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.inputs.answers import LabelledAnswer, read_labelled
from discreet.inputs.encode.presets import build_encoders, default_cache
from discreet.stats import auroc_estimate, delong_test, share_estimate
from discreet.synth.campaign import run_campaign
from discreet.synth.plan import equal_sizes, make_plan

HERE = Path(__file__).parent
SAFE = {
    "medical": [("medquad", "all.jsonl.gz", "answer"), ("pubmedqa", "all.jsonl.gz", "context")],
    "finance": [("finqa_like", "tatqa.jsonl.gz", "context"), ("fiqa", "qa.jsonl.gz", "answer")],
    "law": [("legalbench", "legal_qa.jsonl.gz", "answer"), ("mmlu_law_med_fin", "law.jsonl.gz", "question")],
}
LOADS = (0.1, 0.2, 0.3)
RULES, BASE, ABSTAINS = "evidence rules", "evidence+logistic", "abstains"
PROFESSIONAL = ("professional", "advice")


def safe_texts(data: Path, domain: str, n: int, seed: int) -> list[dict[str, str]]:
    """n texts of each source, of documents that no labelled passage comes from and without words of a personal story."""
    labelled = {(p["source"], p["document"]) for p in map(json.loads, (HERE / "passages.jsonl").open(encoding="utf-8"))}
    rng, out = random.Random(seed), []
    for source, file, field in SAFE[domain]:
        pool = {row[field]: row for row in rows(data / source / file) if isinstance(row[field], str)}
        found = [row for text, row in pool.items() if len(text) >= 80 and not PERSONAL.search(text)
                 and (source, document(source, row)) not in labelled]
        rng.shuffle(found)
        for row in found[:n]:
            start, end = cut(row[field], rng.randrange(max(1, len(row[field]) - LONGEST)))
            out.append({"id": f"{source}/{row['id']}", "answer": row[field][start:end], "register": source})
    return out


def fitted(data: Path, domain: str, n: int, seed: int) -> Detector:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        made = safe_texts(data, domain, n, seed)
        (home / "real.jsonl").write_text("".join(json.dumps(r) + "\n" for r in made), encoding="utf-8")
        sizes = {**dict.fromkeys(equal_sizes(1), 0), "safe": n // 2, "unsafe": 2 * n, "borderline": n}
        run_campaign(make_plan(domain, sizes, seed), home / "synth")
        corpus = read_corpus(Policy.of(domain), [home / "real.jsonl", home / "synth" / "safe.jsonl"],
                             home / "synth" / "unsafe.jsonl", home / "synth" / "borderline.jsonl", seed=seed)
        encoded = encode_corpus(corpus, build_encoders("embedded", domain=domain, cache=default_cache()))
    return fit_detector(encoded, DualDensity(DEFAULT_DENSITY, random_state=seed), seed=seed)


def passages(data: Path, half: str) -> list[LabelledAnswer]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.jsonl"
        subprocess.run([sys.executable, str(HERE / "passages.py"), "assemble", "--data", str(data), "--half", half,
                        "--output", str(out)], check=True, stdout=subprocess.DEVNULL)
        return read_labelled(out)


def scored(detector: Detector, given: list[LabelledAnswer]) -> dict[str, NDArray[np.float64]]:
    policy = Policy.of(detector.domain)
    answers = [row.answer for row in given]
    made = rows_of(detector.fusion, detector.evidence, [read_answer(a, policy, reader=detector.reader) for a in answers], "answer")
    sigmas = detector.dual.sigmas(made.features)
    found = {kind: detector.deciding(kind).score(made, sigmas).delta for kind in (DENSITY, *detector.discriminators)}
    guard = Guard(policy)
    found[RULES] = np.array([guard.check(a).delta for a in answers], dtype=np.float64)
    found[ABSTAINS] = detector.score(made, sigmas).out_of_distribution.astype(np.float64)
    return found


def held_at(delta: NDArray[np.float64], clusters: NDArray[np.bool_], load: float) -> Estimate:
    """Share of clusters among the `load` highest of all passages; ties are held in their fair share at random order."""
    rng = np.random.default_rng(0)
    order = np.lexsort((rng.random(delta.size), -delta))
    held = np.zeros(delta.size, dtype=np.bool_)
    held[order[:round(load * delta.size)]] = True
    return share_estimate(held[clusters], unit="passage", of="clusters")


def figures(found: dict[str, NDArray[np.float64]], given: list[LabelledAnswer]) -> dict[str, Any]:
    cluster = np.array([row.cluster for row in given])
    professional = np.array([row.register in PROFESSIONAL for row in given])
    yes = cluster == "yes"
    out: dict[str, Any] = {"abstained": share_estimate(found[ABSTAINS] > 0, unit="passage", of="passages")}
    for kind, delta in found.items():
        if kind == ABSTAINS:
            continue
        out[kind] = {}
        for name, among in (("professional", yes | ((cluster == "no") & professional)), ("any", yes | (cluster == "no"))):
            out[kind][name] = auroc_estimate(delta[among], yes[among], unit="passage")
            if kind != BASE:
                out[kind][f"{name}_p"] = delong_test(delta[among], found[BASE][among], yes[among]).p_value
        known = np.isin(cluster, ("yes", "no"))
        out[kind]["held"] = {f"{load:g}": held_at(delta[known], yes[known], load) for load in LOADS}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    halves = {half: passages(args.data, half) for half in ("held_out", "tune")}
    domains: dict[str, dict[str, Any]] = {half: {} for half in halves}
    pooled: dict[str, dict[str, NDArray[np.float64]]] = {half: {} for half in halves}
    order: dict[str, list[LabelledAnswer]] = {half: [] for half in halves}
    for domain in builtin_domains():
        detector = fitted(args.data, domain, args.n, args.seed)
        for half, every in halves.items():
            given = [row for row in every if row.domain == domain]
            found = scored(detector, given)
            order[half] += given
            for kind, delta in found.items():
                pooled[half][kind] = np.concatenate([pooled[half].get(kind, np.empty(0)), delta])
            domains[half][domain] = figures(found, given)
    record = {"benchmark": "real_text_fitted", "n": args.n, "seed": args.seed, "halves": {
        half: {"domains": domains[half], "all": figures(pooled[half], order[half])} for half in halves}}
    text = dump_json(record, indent=2)
    if args.output:
        args.output.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
