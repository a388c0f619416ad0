"""Tables of docs/results/membership_validity.md from the figures that membership_validity.py kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, t

from discreet.audit.power import power_of
from discreet.files import write_atomic

PAGE = Path(__file__).parents[1] / "docs" / "results" / "membership_validity.md"
MARKS = ("<!-- figures -->", "<!-- /figures -->")
ARMS = ("innocent", "overfitted", "regularised", "stopped early")
TOLERANCE = 0.55
Runs = list[dict[str, Any]]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]


def share(hits: Sequence[bool]) -> str:
    """Hits of all, with the Clopper–Pearson interval."""
    k, n = int(np.sum(hits)), len(hits)
    low, high = binomtest(k, n).proportion_ci(0.95, method="exact")
    return f"{k} of {n} ({low:.2f} to {high:.2f})"


def mean(values: Sequence[float]) -> str:
    """Mean over seeds with Student's 95% interval."""
    v = np.asarray(values, dtype=np.float64)
    half = float(t.ppf(0.975, v.size - 1) * v.std(ddof=1) / v.size**0.5)
    return f"{v.mean():+.3f} ({v.mean() - half:+.3f} to {v.mean() + half:+.3f})"


def spread(values: Sequence[float]) -> str:
    """Mean, and where 90% of the seeds lie."""
    v = np.asarray(values, dtype=np.float64)
    return f"{v.mean():.3f} ({np.quantile(v, 0.05):.3f} to {np.quantile(v, 0.95):.3f})"


def at_least(hits: Sequence[bool], nominal: float) -> str:
    return f"{binomtest(int(np.sum(hits)), len(hits), nominal, alternative='less').pvalue:.3f}"


def verdicts(runs: Runs) -> list[str]:
    rows = []
    for arm in ARMS:
        found = [run[arm] for run in runs]
        recipe, side = ("overfitted", "innocent") if arm == "innocent" else (arm, "a")
        fit, test = np.mean([run["accuracy"][f"{side}, {recipe}"] for run in runs], axis=0)
        rows.append([arm, f"{fit:.2f} / {test:.2f}", spread([one["primary"][0] for one in found]),
                     spread([one["placebo"][0] for one in found]), share([one["verdict"] == "fail" for one in found]),
                     *(sum(one["verdict"] == word for one in found) for word in ("pass", "inconclusive"))])
    return table(["target", "accuracy, trained on / clean", "primary AUC: mean (90% of seeds)", "its placebo's", "fail",
                  "pass", "inconclusive"], rows)


def reasons(runs: Runs) -> list[str]:
    rows = []
    for arm in ARMS:
        why = [run[arm]["why"] for run in runs if run[arm]["verdict"] == "inconclusive"]
        for one in sorted(set(why), key=lambda one: (-why.count(one), one)):
            rows.append([arm, " ".join(one.split()[:11]) + " …", why.count(one)])
    return ["Why inconclusive:", "", *table(["target", "first reason begins", "seeds"], rows)] if rows else []


AUTHORS = (("global", "p", "global"), ("boundary, n = 20", "p", "boundary"), ("union boundary", "p", "boundary_union"),
           ("global", "logit", "global"), ("boundary, n = 20", "logit", "boundary"))


def authors(runs: Runs) -> list[str]:
    rows = []
    for name, scale, selection in AUTHORS:
        found = [run["innocent"][f"paper/{scale}/{selection}"] for run in runs]
        rows.append([f"{name}, {scale} scale", spread([one[0] for one in found]), spread([one[3] for one in found]),
                     share([one[1] > 0.5 for one in found]),
                     share([one[1] > 0.5 and one[0] > TOLERANCE for one in found])])
    return table(["authors' protocol, innocent target", "AUC: mean (90% of seeds)", "placebo's AUC",
                  "lower bound above ½", "and point above .55"], rows)


CHECKS: tuple[tuple[str, Callable[[dict[str, Any]], bool], float], ...] = (
    ("primary interval holds ½", lambda a: a["primary"][1] <= 0.5 <= a["primary"][2], 0.95),
    ("placebo's interval holds ½", lambda a: a["placebo"][1] <= 0.5 <= a["placebo"][2], 0.95),
    ("interval of target less placebo holds 0", lambda a: a["difference"][1] <= 0 <= a["difference"][2], 0.95),
    ("blind baseline's interval holds ½", lambda a: a["blind"][1] <= 0.5 <= a["blind"][2], 0.95),
    ("neutral boundary (n = 20, logit) interval holds ½",
     lambda a: a["neutral/logit/boundary"][1] <= 0.5 <= a["neutral/logit/boundary"][2], 0.95),
    ("paired boundary, clean non-members, holds ½",
     lambda a: a["paired, clean/p/boundary"][1] <= 0.5 <= a["paired, clean/p/boundary"][2], 0.95),
    ("no honest row with family-wise p ≤ .05", lambda a: a["least p, honest"] > 0.05, 0.95),
    ("no paired row on clean non-members with p ≤ .05", lambda a: a["least p, oracle"] > 0.05, 0.95),
    ("ε lower bound is 0", lambda a: a["epsilon"] == 0, 0.95),
)


def calibration(runs: Runs) -> list[str]:
    rows = []
    for name, check, nominal in CHECKS:
        hits = [check(run["innocent"]) for run in runs]
        rows.append([name, share(hits), at_least(hits, nominal)])
    count = runs[0]["innocent"]["rows, honest"]
    spreads = []
    for name, key in (("primary", "primary"), ("placebo", "placebo"), ("target less placebo", "difference"),
                      ("blind baseline", "blind"), ("neutral boundary, n = 20, logit", "neutral/logit/boundary")):
        found = np.array([run["innocent"][key][:3] for run in runs], dtype=np.float64)
        claimed = (found[:, 2] - found[:, 1]).mean() / (2 * 1.96)
        spreads.append([name, f"{found[:, 0].mean():.3f}", f"{found[:, 0].std(ddof=1):.4f}", f"{claimed:.4f}",
                        f"{found[:, 0].std(ddof=1) / claimed:.2f}", f"{(found[:, 2] - found[:, 1]).mean():.3f}"])
    return [*table(["on the innocent", "seeds", "p against 95%"], rows), "",
            f"{count} rows in the honest family. How far the figures scatter, and how far their intervals say:", "",
            *table(["figure", "mean", "sd over seeds", "mean half width / 1.96", "ratio", "mean width"], spreads)]


GAINS = (("authors': paired, what it trained on", "paper"), ("paired, clean non-members", "paired, clean"),
         ("neutral, clean non-members", "neutral"))


def gain(one: dict[str, Any], kind: str, scale: str, at: int) -> float:
    return float(one[f"{kind}/{scale}/boundary"][at] - one[f"{kind}/{scale}/global"][at])


def gains(runs: Runs) -> list[str]:
    rows, said = [], []
    for arm in ARMS:
        for scale in ("p", "logit"):
            net: dict[str, np.ndarray[Any, Any]] = {}
            raw: dict[str, np.ndarray[Any, Any]] = {}
            for name, kind in GAINS:
                ours, theirs = (np.array([gain(run[arm], kind, scale, at) for run in runs]) for at in (0, 3))
                raw[kind], net[kind] = ours, ours - theirs
                level = [np.mean([run[arm][f"{kind}/{scale}/{which}"][0] for run in runs])
                         for which in ("global", "boundary")]
                rows.append([arm, scale, name, f"{level[0]:.3f} → {level[1]:.3f}", mean(list(ours)), mean(list(theirs)),
                             mean(list(ours - theirs))])
            if arm != "innocent" and raw["paper"].mean() > 0.01:
                rng = np.random.default_rng(0)
                draws = rng.integers(0, len(runs), (2_000, len(runs)))
                kept = net["neutral"][draws].mean(1) / raw["paper"][draws].mean(1)
                said.append(f"- {arm}, {scale} scale: {net['neutral'].mean() / raw['paper'].mean():.0%} "
                            f"({np.quantile(kept, 0.025):.0%} to {np.quantile(kept, 0.975):.0%})")
    head = ["target", "scale", "reference and non-members", "AUC global → boundary", "gain: mean (95%)",
            "placebo's gain", "net of placebo"]
    return [*table(head, rows), "", "Net gain with neutral references as a share of the authors' gain (bootstrap over "
            "seeds):", "", *said]


def planted(runs: Runs) -> list[str]:
    rows = []
    for arm in ARMS:
        for times in (1, 4, 16):
            found = [one for run in runs for one in run[arm]["planted"] if one[0] == times]
            inside, out = (round(float(np.mean([one[at] for one in found]))) for at in (1, 2))
            auc = float(np.mean([one[3] for one in found]))
            rows.append([arm, times, f"{inside} / {out}", f"{auc:.3f}", f"{power_of(auc, inside, out):.2f}",
                         share([one[6] for one in found]), f"{np.mean([one[7] for one in found]):.2f}"])
    return table(["target", "repeated", "units in / out", "mean AUC", "power by the audit's formula at that AUC and size",
                  "detected", "mean power claimed for the primary"], rows)


def powers(runs: Runs) -> list[str]:
    flat = [row for run in runs for row in run["power"]]
    rows = []
    for recipe, n in sorted({(row[0], row[1]) for row in flat}, key=lambda one: (ARMS.index(one[0]), one[1])):
        found = [row for row in flat if (row[0], row[1]) == (recipe, n)]
        auc, units, others = (float(np.mean([row[at] for row in found])) for at in (5, 8, 9))
        seen = [row[6] > 0.5 for row in found]
        rows.append([recipe, n, f"{units:.0f}", f"{auc:.3f} ± {np.std([row[5] for row in found], ddof=1):.3f}",
                     f"{np.mean([row[11] for row in found]):.3f}", f"{np.mean([row[2] for row in found]):.2f}",
                     f"{power_of(auc, round(units), round(others)):.2f}", share(seen),
                     f"{np.mean([row[3] <= np.mean(seen) <= row[4] for row in found]):.2f}"])
    bins = []
    for low, high in ((0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 1.01)):
        found = [row for row in flat if low <= row[2] < high]
        if found:
            bins.append([f"{low:g} to {min(high, 1):g}", f"{np.mean([row[2] for row in found]):.2f}",
                         share([row[6] > 0.5 for row in found])])
    return [*table(["target", "records a side", "units a side", "primary AUC, mean ± sd", "AUC of planted once",
                    "claimed power, mean", "formula at the mean primary AUC", "leak seen (lower bound above ½)",
                    "claimed interval holds the share seen"], rows),
            "", "The same audits by the power that they claimed (several n of a seed share records):", "",
            *table(["claimed", "mean", "leak seen"], bins)]


PARTS: tuple[tuple[str, Callable[[Runs], list[str]]], ...] = (
    ("verdicts", verdicts), ("", reasons), ("the authors' protocol on the innocent", authors),
    ("calibration on the innocent", calibration), ("boundary gain", gains), ("planted records", planted),
    ("power claimed and seen", powers),
)


def parts(runs: Runs) -> Iterator[list[str]]:
    for name in ("diasafety", "hate_stormfront"):
        mine = [run for run in runs if run["data"] == name]
        if not mine:
            continue
        title = name if name == "diasafety" else f"{name}, by user"
        for heading, part in PARTS:
            said = part(mine)
            if said:
                yield [*([f"### {title}: {heading}", ""] if heading else []), *said]


def write(runs: Runs, made_by: str) -> None:
    cpu = np.sum([run["cpu"] for run in runs], axis=0) / 60
    made_by += (f" CPU minutes, both data sets: {cpu[0]:.0f} for the models, {cpu[1]:.0f} for the audits, {cpu[2]:.0f} "
                "for the small ones.")
    text = "\n\n".join("\n".join(part) for part in [[made_by], *parts(runs)])
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    write_atomic(PAGE, f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.split(MARKS[1])[1]}")
