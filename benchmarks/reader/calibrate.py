"""Weights and thresholds of the score, from passages and answers of families and writers that taught the reader nothing.

    python -m benchmarks.reader.calibrate --data DATA [--texts F …]        # writes combined.json and thresholds in reader.json

A text with two or more attributes bound to a private person or the speaker is a cluster; one with one or none is not. Answers that
repeat what the asker said are left out. The weights are not negative. Each family (each writer) is scored by weights that the others
gave; the thresholds stand where those scores flag a share of the texts without a cluster of anybody private.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reader.answers import CHOOSING, answers, of_answer
from benchmarks.reader.corpus import labelled
from benchmarks.reader.export import write_card
from benchmarks.reader.rows import CLASSES, Row
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.core.records import Answer
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.guard.score import MOST, combined, parts, score
from discreet.guard.text import reader as package

Floats = NDArray[np.float64]
SHARES = {"conservative": 0.02, "balanced": 0.035, "strict": 0.07}
COUNTED = {"conservative": 0.0, "balanced": -1.5, "strict": -3.0}
UNSURE = {"conservative": 0.05, "balanced": 0.08, "strict": 0.12}
"""Of each operating point: the share of the texts without an attribute of anybody private whose odds lie above its threshold, the
log-odds of the reader's count that a flag asks for besides, and the share of those texts that are held."""


def fit(x: Floats, y: Floats, ridge: float = 0.5) -> Floats:
    """Intercept and weights of a logistic, the weights not negative."""
    z = np.c_[np.ones(len(x)), x]

    def loss(w: Floats) -> tuple[float, Floats]:
        odds = z @ w
        p = 1 / (1 + np.exp(-odds))
        return float(np.logaddexp(0, odds).sum() - y @ odds + ridge * w[1:] @ w[1:]), z.T @ (p - y) + 2 * ridge * np.r_[0, w[1:]]

    bounds = [(None, None)] + [(0, None)] * x.shape[1]
    return np.asarray(minimize(loss, np.zeros(z.shape[1]), jac=True, bounds=bounds).x)


def left_out(x: Floats, y: Floats, names: NDArray[np.str_]) -> Floats:
    """Log-odds of each passage by weights that the other families gave."""
    out = np.zeros(len(y))
    for name in set(names.tolist()):
        w = fit(x[names != name], y[names != name])
        out[names == name] = w[0] + x[names == name] @ w[1:]
    return out


def thresholds(rows: list[Row]) -> dict[str, float]:
    """For each class the probability above which spans of individuals have the best F1."""
    scores: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    missed: dict[str, int] = defaultdict(int)
    model = package.Reader()
    model._cut[:] = 0.2
    for row in rows:
        spans = model.read(row["text"]).spans
        for c in CLASSES:
            gold = [s for s in row["spans"] if s[2] == c and "w" not in s[4]]
            mine = [s for s in spans if s.kind == c]
            scores[c] += [(s.probability, any(s.start < g[1] and g[0] < s.end for g in gold)) for s in mine if s.subject != "nobody"]
            missed[c] += sum(not any(s.start < g[1] and g[0] < s.end for s in mine) for g in gold)
    out = {}
    for c, found in scores.items():
        total = missed[c] + sum(hit for _, hit in found)

        def f1(cut: float, found: list[tuple[float, bool]] = found, total: int = total) -> float:
            kept = [hit for p, hit in found if p > cut]
            return 2 * sum(kept) / max(1, len(kept) + total)

        out[c] = round(max(np.arange(0.25, 0.8, 0.05), key=f1), 2)
        print(f"{c:12} cut {out[c]:.2f} F1 {f1(out[c]):.2f} of {total}")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    pool = [r for r in labelled(args.data, args.texts) if not r["teaches"]]
    rows = pool + [{**of_answer(item), "family": item["writer"], "domain": "medical", "passage": item["id"], "asked": item["question"]}
                   for writer in CHOOSING for item in answers(writer) if item["subtype"] not in ("own", "kin")]
    card_file = package.FOLDER / package.CARD
    card = json.loads(card_file.read_text(encoding="utf-8"))
    card["thresholds"] = thresholds(pool)
    write_card(package.FOLDER, card)
    package.packaged.cache_clear()

    x, y, family, nothing, shown, whole, counted = ([] for _ in range(7))
    for row in rows:
        main = row["people"].get(str(row["main"]))
        if row["cluster"] == "yes" and main not in ("third", "speaker"):
            continue
        policy = Policy.of(row["domain"])
        read = read_answer(Answer(row["passage"], row["text"], user_words=row.get("asked")), policy)
        said = parts(read, policy)
        shown.append(score(read, policy, combined()).cluster)
        whole.append(said.text is not None)
        counted.append(said.counted)
        x.append([said.text or 0.0, said.spans])
        y.append(row["cluster"] == "yes")
        nothing.append(row["cluster"] == "no")
        family.append(row["family"])
    given, is_cluster = np.clip(np.array(x, np.float64), -MOST, MOST), np.array(y, np.float64)
    none, told, full = np.array(nothing), np.array(shown), np.array(whole)
    families = np.array(family)
    out: dict[str, Any] = {"whole": fit(given[full], is_cluster[full]).round(4).tolist(),
                           "spans": fit(given[:, 1:], is_cluster).round(4).tolist()}
    odds = left_out(given[:, 1:], is_cluster, families)
    odds[full] = left_out(given[full], is_cluster[full], families[full])
    out["tau"] = {name: round(float(np.quantile(odds[none], 1 - share)), 4) for name, share in SHARES.items()}
    out["counted"] = COUNTED
    out["unsure"] = {name: min(tau, round(float(np.quantile(odds[none], 1 - UNSURE[name])), 4)) for name, tau in out["tau"].items()}
    Path("src/discreet/guard/combined.json").write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(out))
    kinds = {"clusters": is_cluster > 0, "none": none, "one": (is_cluster == 0) & ~none}
    for name, tau in out["tau"].items():
        flagged = (odds > tau) & told & (np.array(counted) > COUNTED[name])
        print(name, "flagged", {k: round(float(flagged[m].mean()), 3) for k, m in kinds.items()},
              "held", {k: round(float((odds[m] > out["unsure"][name]).mean()), 3) for k, m in kinds.items()})
    for k, name in enumerate(("text", "spans")):
        print(f"{name:7} alone AUROC {auroc(given[is_cluster > 0, k], given[none, k]):.4f}")
    print(f"all     AUROC {auroc(odds[is_cluster > 0], odds[none]):.4f}; with one {auroc(odds[is_cluster > 0], odds[is_cluster == 0]):.4f}")


def auroc(positive: Floats, negative: Floats) -> float:
    return float(np.mean([(p > negative).mean() + (p == negative).mean() / 2 for p in positive]))


if __name__ == "__main__":
    main()
