"""Does the stress test stress? Text-only controls on grammar data, for the three domains: self-consistency (grammar).

    python benchmarks/synth_stress.py [--n 2000] [--seeds 3]

A TF-IDF logistic regression (words and word pairs) is trained on safe against unsafe records of the training profiles
(`v3`), and with the borderline training records on the safe side (`v4`). Pairings as in the paper's section VI-A:
unsafe against safe holdout, held-out profile against safe holdout, unsafe holdout against borderline-eval, and unsafe
against borderline of one unseen profile. Beside it stand a classifier that sees only which profile wrote
(`profile_only`), one that sees only function words, punctuation and sentence length (`style_only`; pronouns are left
out, for they are the voice), and the evidence rules of the built-in guard, which train on nothing (`evidence`). Prints
one line of JSON: AUROC for each seed, and the first seed's with its interval.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discreet.core.records import Answer
from discreet.guard.domains import builtin_domains
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.stats import auroc, auroc_estimate
from discreet.synth.campaign import run_campaign
from discreet.synth.plan import equal_sizes, make_plan
from discreet.synth.writer import PROFILES

Row = dict[str, Any]
Score = Callable[[Sequence[Row]], NDArray[np.float64]]

FUNCTION = ("the a an of to in on at for from with by and or but as if that than then when while which is are be been "
            "has have had do does not no so because since until after before between under again very too also there "
            "what how why whilst although shall should would may might could let").split()
MARKS = ";:,.?!-()\"“\n'’"
HOLDOUT = 0.3


def written(domain: str, n: int, seed: int) -> dict[str, list[Row]]:
    """The partitions of a campaign, read back from its files."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = run_campaign(make_plan(domain, equal_sizes(n), seed), Path(folder) / "run")
        return {name: [json.loads(line) for line in (Path(folder) / "run" / part["file"]).open(encoding="utf-8")]
                for name, part in manifest["partitions"].items()}


def style(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Rates of function words and marks, sentence and word length: how a text is written and not what it says."""
    table = []
    for row in rows:
        text = row["answer"]
        words = re.findall(r"[a-z']+", text.lower())
        counts = [words.count(w) / len(words) for w in FUNCTION] + [text.count(m) / len(text) for m in MARKS]
        table.append([*counts, len(words) / max(1, len(re.findall(r"[.!?]", text))), len(text) / len(words)])
    return np.array(table)


def profile(rows: Sequence[Row]) -> NDArray[np.float64]:
    """Which profile wrote, one column each."""
    return np.array([[float(row["profile"] == name) for name in PROFILES] for row in rows])


def fitted(make: Callable[[], Any], features: Callable[[Sequence[Row]], Any], safe: Sequence[Row],
           unsafe: Sequence[Row]) -> Score:
    """A classifier's score, trained on safe (0) and unsafe (1)."""
    model = make().fit(features([*safe, *unsafe]), [0] * len(safe) + [1] * len(unsafe))
    return lambda rows: model.decision_function(features(rows))


def answers(rows: Sequence[Row]) -> list[str]:
    return [row["answer"] for row in rows]


def evidence(domain: str) -> Score:
    guard = Guard(Policy.of(domain))
    return lambda rows: np.array([guard.check(Answer(row["id"], row["answer"], row["question"])).delta
                                  for row in rows], dtype=np.float64)


def scorers(domain: str, safe: Sequence[Row], unsafe: Sequence[Row], borderline: Sequence[Row]) -> dict[str, Score]:
    """Every control, trained."""
    def tfidf() -> Any:
        return make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=2_000))

    def plain() -> Any:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000))

    made: dict[str, Score] = {}
    for name, make, features in (("tfidf", tfidf, answers), ("style_only", plain, style),
                                 ("profile_only", plain, profile)):
        made[f"{name}_v3"] = fitted(make, features, safe, unsafe)
        made[f"{name}_v4"] = fitted(make, features, [*safe, *borderline], unsafe)
    return {**made, "evidence": evidence(domain)}


def controls(domain: str, n: int, seed: int) -> dict[str, dict[str, dict[str, Any]]]:
    """AUROC with its interval, by scorer and pairing."""
    data = written(domain, n, seed)
    cut = int(n * (1 - HOLDOUT))
    made = scorers(domain, data["safe"][:cut], data["unsafe"][:cut], data["borderline"])
    safe, unsafe = data["safe"][cut:], data["unsafe"][cut:]
    pairings = {
        "within": (unsafe, safe), "cross_generator": (data["unsafe_heldout"], safe),
        "borderline": (unsafe, data["borderline_eval"]),
        "matched": (data["matched_unsafe"], data["matched_borderline"]),
        "domain_only": (data["domain_only"], data["borderline_eval"]),
    }
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, score in made.items():
        found[name] = {}
        for pairing, (positives, negatives) in pairings.items():
            scores = np.concatenate([score(positives), score(negatives)])
            labels = np.repeat([1, 0], [len(positives), len(negatives)])
            found[name][pairing] = {"auroc": auroc(scores, labels), **auroc_estimate(scores, labels).to_json()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    domains: dict[str, Any] = {}
    for domain in builtin_domains():
        runs = [controls(domain, args.n, seed) for seed in range(args.seeds)]
        domains[domain] = {
            name: {pairing: {"seeds": [round(run[name][pairing]["auroc"], 3) for run in runs],
                             "low": round(first["low"], 3), "high": round(first["high"], 3)}
                   for pairing, first in pairings.items()}
            for name, pairings in runs[0].items()
        }
    worst = {domain: max(d["tfidf_v3"]["borderline"]["seeds"]) for domain, d in domains.items()}
    print(json.dumps({"benchmark": "synth_stress", "heading": "self-consistency (grammar)", "n_per_partition": args.n,
                      "stresses": all(w <= 0.85 for w in worst.values()), "worst_tfidf_v3_borderline": worst,
                      "domains": domains}))


if __name__ == "__main__":
    main()
