"""Rules and gazetteers, a small learned tagger, or both? Decided on real text, on the half that tuned neither.

    python -m benchmarks.real_text.compare_tagger --data DATA

The learned side is a logistic regression over hashed word n-grams, one for the cluster and one for each class, trained
on the tuning half (whole passages: the labels are counts of a passage, not spans). "Both" adds the two log-odds.
Prints JSON: AUROC of each on the held-out half, all domains together, with paired DeLong tests, and F1 per class.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.real_text.passages import assemble
from numpy.typing import NDArray
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from discreet.core.records import Answer
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.text.evidence.mentions import IDENTIFYING
from discreet.stats import auroc_estimate, delong_test

VECTORS = HashingVectorizer(ngram_range=(1, 2), n_features=2**16, alternate_sign=False, norm="l2")
Array = NDArray[np.float64]


def usable(data: Path, half: str) -> list[dict[str, Any]]:
    return [r for r in assemble(data, half) if r["cluster"] != "unclear" and r["subject"] in ("third", "speaker", "none")]


def learned(tune: list[dict[str, Any]], held: list[dict[str, Any]], target: list[bool]) -> Array:
    model = LogisticRegression(C=10.0, class_weight="balanced", max_iter=2000)
    model.fit(VECTORS.transform([r["answer"] for r in tune]), target)
    return np.asarray(model.decision_function(VECTORS.transform([r["answer"] for r in held])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data: Path = parser.parse_args().data
    tune, held = usable(data, "tune"), usable(data, "held_out")
    guards = {d: Guard(Policy.of(d)) for d in ("medical", "finance", "law")}
    judged = [guards[r["domain"]].judge(Answer(id=r["id"], answer=r["answer"])) for r in held]
    rules = np.array([j.verdict.delta for j in judged], dtype=float)
    words = learned(tune, held, [r["cluster"] == "yes" for r in tune])
    keep = np.array([r["cluster"] in ("yes", "no") for r in held])
    labels = np.array([r["cluster"] == "yes" for r in held])[keep]
    scores = {"rules": rules[keep], "learned": words[keep], "both": (rules + words)[keep]}
    out: dict[str, Any] = {"n": int(keep.sum()), "auroc": {k: auroc_estimate(v, labels).to_json() for k, v in scores.items()}}
    out["rules against learned, p"] = delong_test(scores["rules"], scores["learned"], labels).p_value
    out["both against rules, p"] = delong_test(scores["both"], scores["rules"], labels).p_value
    out["f1"] = {}
    for kind in IDENTIFYING:
        truth = [r[kind] > 0 for r in held]
        found = [any(f.type == kind and f.subject in ("third", "speaker") for f in j.findings) for j in judged]
        guess = learned(tune, held, [r[kind] > 0 for r in tune]) > 0
        out["f1"][kind] = {"rules": round(f1_score(truth, found), 3), "learned": round(f1_score(truth, guess), 3)}
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
