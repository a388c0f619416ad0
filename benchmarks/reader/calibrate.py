"""Weights and thresholds of the score, from passages and answers of families and writers that taught the reader nothing.

    python -m benchmarks.reader.calibrate --data DATA [--texts F …] [--keep]    # writes combined.json and thresholds in reader.json

A text with two or more attributes bound to a private person or the speaker is a cluster; one with one or none is not. Answers are read
alone, but for those whose frame may stand in the question, and behind their questions, where leaks and all others weigh the same. The
weights are not negative. Answers of writers who judged before (`SPENT`) choose too. Each family (each writer) is scored by weights that the others gave; the thresholds stand where those scores
flag a share of the texts that are read alone and hold no cluster of anybody private. `--keep` leaves thresholds and the weights of what the
classifier does not read as they are, for another classifier: its weights move along by one number, so that as many are flagged at balanced.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reader.answers import CHOOSING, IN_QUESTION, answers, of_answer
from benchmarks.reader.corpus import labelled
from benchmarks.reader.export import write_card
from benchmarks.reader.passages import HERE
from benchmarks.reader.rows import CLASSES, Row, lines
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.core.records import Answer
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.guard.score import MOST, combined, parts, score
from discreet.guard.text import reader as package

Floats = NDArray[np.float64]
COMBINED = Path("src/discreet/guard/combined.json")
SHARES = {"conservative": 0.02, "balanced": 0.035, "strict": 0.07}
COUNTED = {"conservative": 0.0, "balanced": -1.5, "strict": -3.0}
SPENT = ("e", "i")
"""Sets of unseen answers that no longer judge."""
LIFT = 0.4
"""Added to the log-odds of what is read without a question: answers are told from leaks better than passages are, and at equal log-odds
fewer clusters in passages of the families that judged before would be flagged than are asked for."""
UNSURE = {"conservative": 0.05, "balanced": 0.08, "strict": 0.12}
"""Of each operating point: the share of the texts without an attribute of anybody private whose odds lie above its threshold, the
log-odds of the reader's count that a flag asks for besides, and the share of those texts that are held."""


def fit(x: Floats, y: Floats, ridge: float = 0.5, *, even: bool = False) -> Floats:
    """Intercept and weights of a logistic, the weights not negative; `even`: both kinds weigh the same."""
    z = np.c_[np.ones(len(x)), x]
    each = np.where(y > 0, (1 - y).sum() / y.sum(), 1.0) if even else np.ones(len(y))

    def loss(w: Floats) -> tuple[float, Floats]:
        odds = z @ w
        p = 1 / (1 + np.exp(-odds))
        lost = each @ (np.logaddexp(0, odds) - y * odds)
        return float(lost + ridge * w[1:] @ w[1:]), z.T @ (each * (p - y)) + 2 * ridge * np.r_[0, w[1:]]

    bounds = [(None, None)] + [(0, None)] * x.shape[1]
    return np.asarray(minimize(loss, np.zeros(z.shape[1]), jac=True, bounds=bounds).x)


def left_out(x: Floats, y: Floats, names: NDArray[np.str_], *, even: bool = False) -> Floats:
    """Log-odds of each passage by weights that the other families gave."""
    out = np.zeros(len(y))
    for name in set(names.tolist()):
        w = fit(x[names != name], y[names != name], even=even)
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


def _of_others(row: Row) -> bool:
    """Whether a cluster is of nobody who counts."""
    return row["cluster"] == "yes" and row["people"].get(str(row["main"])) not in ("third", "speaker")


def _read(rows: list[Row], asked: bool) -> list[Row]:
    """Rows with what speaks for a cluster in them, behind their questions or alone."""
    found = []
    for row in rows:
        policy = Policy.of(row["domain"])
        read = read_answer(Answer(row["passage"], row["text"], user_words=row["question"] or None if asked else None), policy)
        found.append({**row, "parts": parts(read, policy), "shown": score(read, policy, combined()).cluster})
    return found


def _columns(rows: list[Row], key: str, value: str) -> tuple[Floats, Floats, NDArray[np.str_]]:
    """The parts (n, 4), which rows have a value, and families."""
    said = [one["parts"] for one in rows]
    x = np.array([[one.text or 0.0, one.spans, one.tells or 0.0, one.together or 0.0] for one in said], np.float64)
    return np.clip(x, -MOST, MOST), np.array([one[key] == value for one in rows], np.float64), np.array([one["family"] for one in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    pool = [r for r in labelled(args.data, args.texts) if not r["teaches"]]
    said = [{**of_answer(item), "family": item["writer"], "domain": "medical", "passage": item["id"]}
            for item in (*(item for writer in CHOOSING for item in answers(writer)),
                          *(item for name in SPENT for path in sorted((HERE / "unseen").glob(f"confirm_{name}?.jsonl")) for item in lines(path)))]
    card_file = package.FOLDER / package.CARD
    card = json.loads(card_file.read_text(encoding="utf-8"))
    card["thresholds"] = thresholds(pool)
    write_card(package.FOLDER, card)
    package.packaged.cache_clear()

    alone = _read([r for r in (*pool, *said) if r.get("subtype") not in IN_QUESTION and not _of_others(r)], False)
    asked = [one for one in _read(said, True) if one["parts"].text is not None]
    given, is_cluster, families = _columns(alone, "cluster", "yes")
    none, told = np.array([one["cluster"] == "no" for one in alone]), np.array([one["shown"] for one in alone])
    full = np.array([one["parts"].text is not None for one in alone])
    counted = np.array([one["parts"].counted for one in alone])
    behind, is_leak, writers = _columns(asked, "kind", "leak")
    both = np.array([one["parts"].together is not None for one in asked])
    by_both = np.array([one["parts"].together is not None for one in alone])
    out: dict[str, Any] = {"whole": fit(given[full][:, :3], is_cluster[full]).round(4).tolist(),
                           "asked": fit(behind[:, :3], is_leak, even=True).round(4).tolist(),
                           "together": fit(behind[both], is_leak[both], even=True).round(4).tolist(),
                           "alone": fit(given[by_both], is_cluster[by_both]).round(4).tolist(),
                           "spans": fit(given[:, [1]], is_cluster).round(4).tolist()}
    odds = left_out(given[:, [1]], is_cluster, families)
    odds[full] = left_out(given[full][:, :3], is_cluster[full], families[full])
    odds[by_both] = left_out(given[by_both], is_cluster[by_both], families[by_both])
    out["tau"] = {name: round(float(np.quantile(odds[none], 1 - share)), 4) for name, share in SHARES.items()}
    out["alone"][0] = round(out["alone"][0] + LIFT, 4)
    out["counted"] = COUNTED
    out["unsure"] = {name: min(tau, round(float(np.quantile(odds[none], 1 - UNSURE[name])), 4)) for name, tau in out["tau"].items()}
    if args.keep:
        before = json.loads(COMBINED.read_text(encoding="utf-8"))
        by = before["tau"]["balanced"] - out["tau"]["balanced"]
        moved = {name: [round(out[name][0] + by, 4), *out[name][1:]] for name in ("together", "alone")}
        COMBINED.write_text(json.dumps({name: moved.get(name, before.get(name)) for name in out}, indent=1) + "\n", encoding="utf-8")
    else:
        COMBINED.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(out))
    kinds = {"clusters": is_cluster > 0, "none": none, "one": (is_cluster == 0) & ~none}
    for name, tau in out["tau"].items():
        flagged = (odds > tau) & told & (counted > COUNTED[name])
        print(name, "flagged", {k: round(float(flagged[m].mean()), 3) for k, m in kinds.items()},
              "held", {k: round(float((odds[m] > out["unsure"][name]).mean()), 3) for k, m in kinds.items()})
    odds_asked = left_out(behind[:, :3], is_leak, writers, even=True)
    odds_asked[both] = left_out(behind[both], is_leak[both], writers[both], even=True)
    for name, tau in out["tau"].items():
        print(name, "behind questions", {k: [round(float((odds_asked[m] > limit).mean()), 3) for limit in (tau, out["unsure"][name])]
                                         for k, m in (("leaks", is_leak > 0), ("others", is_leak == 0))})  # fmt: skip
    for k, name in enumerate(("text", "spans", "tells", "together")):
        alone_too = f"alone AUROC {auroc(given[is_cluster > 0, k], given[none, k]):.4f}, "
        print(f"{name:8} {alone_too}behind questions {auroc(behind[is_leak > 0, k], behind[is_leak == 0, k]):.4f}")
    print(f"all     AUROC {auroc(odds[is_cluster > 0], odds[none]):.4f}; with one {auroc(odds[is_cluster > 0], odds[is_cluster == 0]):.4f}")


def auroc(positive: Floats, negative: Floats) -> float:
    return float(np.mean([(p > negative).mean() + (p == negative).mean() / 2 for p in positive]))


if __name__ == "__main__":
    main()
