"""Tables of docs/results/membership_validity.md from the figures that membership_validity.py kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binomtest, kstest, t

from benchmarks.page import replace_between, table
from discreet.audit.core.power import auc_deviation, power_of

READ, *_ = LEAK_FREE = ("leak-free", "leak-free, regularised")
LEAKING = ("overfitted", "stopped early", "regularised", "strongly regularised")
ARMS = (*LEAK_FREE, *LEAKING)
TOLERANCE = 0.55
Z = NormalDist().inv_cdf(0.975)
Runs = list[dict[str, Any]]


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


def verdicts(runs: Runs) -> list[str]:
    rows = []
    for arm in ARMS:
        found = [run[arm] for run in runs]
        key = {"leak-free": "leak-free, overfitted", "leak-free, regularised": arm}.get(arm, f"a, {arm}")
        fit, test = np.mean([run["utility"][key] for run in runs], axis=0)
        persons = [one["group auc"][0] for one in found]
        rows.append([arm, f"{fit:.2f} / {test:.2f}", spread([one["primary"][0] for one in found]),
                     spread([one["control"][0] for one in found]), *([] if None in persons else [spread(persons)]),
                     share([one["verdict"] == "fail" for one in found]),
                     *(sum(one["verdict"] == word for one in found) for word in ("pass", "inconclusive"))])
    by_user = ["by user: mean score"] if len(rows[0]) == 8 else []
    return table(["target", "AUC of its label, trained on / clean", "primary AUC: mean (90% of seeds)", "its control's",
                  *by_user, "fail", "pass", "inconclusive"], rows)


def reasons(runs: Runs) -> list[str]:
    rows = []
    for arm in ARMS:
        found = [run[arm] for run in runs if run[arm]["verdict"] == "inconclusive"]
        why = [re.split(r" \(AUC| anywhere| were", one["why"])[0] for one in found]
        for text in sorted(set(why), key=lambda text: (-why.count(text), text)):
            seen = sum(any(leak[6] for leak in one["planted"])
                       for one, its in zip(found, why, strict=True) if its == text)
            rows.append([arm, f"{text} …", why.count(text), seen])
    head = ["target", "first reason begins", "seeds", "of these, some planted leak was seen"]
    return ["Why inconclusive:", "", *table(head, rows)] if rows else []


AUTHORS = (("global", "p", "global"), ("boundary, n = 20", "p", "boundary"), ("union boundary", "p", "boundary_union"),
           ("global", "logit", "global"), ("boundary, n = 20", "logit", "boundary"))


def authors(runs: Runs) -> list[str]:
    rows = []
    for arm in LEAK_FREE:
        for name, scale, selection in AUTHORS:
            found = [run[arm][f"paper/{scale}/{selection}"] for run in runs]
            rows.append([arm, f"{name}, {scale} scale", spread([one[0] for one in found]),
                         spread([one[3] for one in found]), share([one[1] > 0.5 for one in found]),
                         share([one[1] > 0.5 and one[0] > TOLERANCE for one in found])])
    return table(["target", "authors' protocol", "AUC: mean (90% of seeds)", "control's AUC", "lower bound above ½",
                  "and point above .55"], rows)


CHECKS: tuple[tuple[str, Callable[[dict[str, Any]], bool]], ...] = (
    ("primary interval holds ½", lambda a: a["primary"][1] <= 0.5 <= a["primary"][2]),
    ("control's interval holds ½", lambda a: a["control"][1] <= 0.5 <= a["control"][2]),
    ("interval of target less control holds 0", lambda a: a["difference"][1] <= 0 <= a["difference"][2]),
    ("blind baseline's interval holds ½", lambda a: a["blind"][1] <= 0.5 <= a["blind"][2]),
    ("neutral boundary (n = 20, logit) interval holds ½",
     lambda a: a["neutral/logit/boundary"][1] <= 0.5 <= a["neutral/logit/boundary"][2]),
    ("paired boundary, clean non-members, holds ½",
     lambda a: a["paired, clean/p/boundary"][1] <= 0.5 <= a["paired, clean/p/boundary"][2]),
    ("no honest row with family-wise p ≤ .05", lambda a: a["least p, honest"] > 0.05),
    ("no paired row on clean non-members with p ≤ .05", lambda a: a["least p, oracle"] > 0.05),
    ("ε lower bound is 0", lambda a: a["epsilon"] == 0),
)


SCATTER = (("primary", "primary"), ("control", "control"), ("target less control", "difference"),
           ("blind baseline", "blind"), ("neutral boundary, n = 20, logit", "neutral/logit/boundary"))


def calibration(runs: Runs) -> list[str]:
    rows, scatter = [], []
    for arm in LEAK_FREE:
        mine = [run[arm] for run in runs]
        for name, check in CHECKS:
            if arm == READ or not name.startswith("blind"):
                hits = [check(one) for one in mine]
                below = binomtest(int(np.sum(hits)), len(hits), 0.95, alternative="less").pvalue
                rows.append([arm, name, share(hits), f"{below:.2g}"])
        for name, key in SCATTER:
            if arm == READ or key != "blind":
                found = np.array([one[key][:3] for one in mine])
                claimed, seen = (found[:, 2] - found[:, 1]).mean() / (2 * Z), found[:, 0].std(ddof=1)
                scatter.append([arm, name, mean(list(found[:, 0])).replace("+", ""), f"{seen:.4f}", f"{claimed:.4f}",
                                f"{seen / claimed:.2f}", f"{claimed * 2 * Z:.3f}"])
    return [*table(["target", "what should hold in 95 of 100", "seeds", "p against 95%"], rows), "",
            "How far the figures scatter, and how far their intervals say:", "",
            *table(["target", "figure", "mean (95%)", "sd over seeds", "mean half width / 1.96", "ratio",
                    "mean width"], scatter)]


def upper_p(one: dict[str, Any]) -> float:
    """One-sided p of the primary AUC against ½, from its interval."""
    value, low, high = one["primary"]
    return 1 - NormalDist().cdf((value - 0.5) * 2 * Z / (high - low))


NULLS: tuple[tuple[str, Callable[[dict[str, Any]], float]], ...] = (
    ("honest rows, family-wise", lambda one: float(one["least p, honest"])),
    ("paired reference, clean non-members, family-wise", lambda one: float(one["least p, oracle"])),
    ("authors' protocol, family-wise", lambda one: float(one["least p, authors"])),
    ("primary endpoint, by its interval", upper_p),
)
BANDS = {"honest rows": "honest", "paired reference, clean": "oracle", "authors' protocol": "authors"}


def nulls(runs: Runs) -> list[str]:
    rows = []
    for arm in LEAK_FREE:
        mine = [run[arm] for run in runs]
        for name, p_of in NULLS:
            p = np.array([p_of(one) for one in mine])
            band = next((f"{sum(one[f'in band, {key}'] for one in mine) / sum(one[f'rows, {key}'] for one in mine):.1%}"
                         f" of {mine[0][f'rows, {key}']}" for start, key in BANDS.items() if name.startswith(start)), "—")
            test = kstest(p, "uniform")
            rows.append([arm, name, " / ".join(f"{np.quantile(p, q):.2f}" for q in (0.05, 0.25, 0.5, 0.75, 0.95)),
                         share(list(p <= 0.05)), f"{test.statistic:.3f}", f"{test.pvalue:.3g}", band])
    return table(["target", "p of", "its 5 / 25 / 50 / 75 / 95% points", "p ≤ .05", "KS distance from uniform",
                  "KS p", "rows in their own 95% band"], rows)


GAINS = (("authors': paired, what it trained on", "paper"), ("paired, clean non-members", "paired, clean"),
         ("neutral, clean non-members", "neutral"))


def gain(one: dict[str, Any], kind: str, scale: str, at: int) -> float:
    return float(one[f"{kind}/{scale}/boundary"][at] - one[f"{kind}/{scale}/global"][at])


def gains(runs: Runs) -> list[str]:
    rows = []
    for arm in (READ, *LEAKING):
        for scale in ("p", "logit"):
            for name, kind in GAINS:
                ours, theirs = (np.array([gain(run[arm], kind, scale, at) for run in runs]) for at in (0, 3))
                level = [np.mean([run[arm][f"{kind}/{scale}/{which}"][0] for run in runs])
                         for which in ("global", "boundary")]
                rows.append([arm, scale, name, f"{level[0]:.3f} → {level[1]:.3f}", mean(list(ours)), mean(list(theirs)),
                             mean(list(ours - theirs))])
    return table(["target", "scale", "reference and non-members", "AUC global → boundary", "gain: mean (95%)",
                  "control's gain", "net of control"], rows)


Array = NDArray[np.float64]


def risen(found: Runs, what: str, at: int, draws: NDArray[np.int64], bent: bool) -> Array:
    """Boundary less global AUC, means over each draw of seeds; `bent`: of their normal quantiles instead."""
    after, before = (np.array([one[f"{what}/{which}"][at] for one in found])[draws].mean(-1)
                     for which in ("boundary", "global"))
    return np.asarray(ndtri(after) - ndtri(before) if bent else after - before)


def share_of(part: Array, whole: Array) -> str:
    """Ratio at the first draw (all seeds), and where 95% of the others lie; none of what may be nothing."""
    if np.quantile(whole[1:], 0.025) <= 0:
        return "—"
    low, high = np.quantile(part[1:] / whole[1:], [0.025, 0.975])
    return f"{part[0] / whole[0]:.0%} ({low:.0%} to {high:.0%})"


def survival(runs: Runs) -> list[str]:
    """Gains and heights at the boundary with neutral references, as shares of the authors'."""
    rng, every = np.random.default_rng(0), np.arange(len(runs))
    draws = np.vstack([every, rng.integers(0, every.size, (2_000, every.size))])
    rows = []
    for arm in LEAKING:
        found = [run[arm] for run in runs]
        for scale in ("p", "logit"):
            high_up = [np.array([one[f"{kind}/{scale}/boundary"][0] for one in found])[draws].mean(-1) - 0.5
                       for kind in ("neutral", "paper")]
            cells = [share_of(*high_up)]
            for bent in (False, True):
                theirs, control = (risen(found, f"paper/{scale}", at, draws, bent) for at in (0, 3))
                raw, beside = (risen(found, f"neutral/{scale}", at, draws, bent) for at in (0, 3))
                cells += [share_of(part, theirs) for part in (control, raw, raw - beside)[1 if bent else 0:]]
            rows.append([arm, scale, *cells])
    return ["As shares of the authors' figure for that target (intervals: bootstrap over seeds). d′: gains in the normal "
            "quantile of the mean AUC, which has no ceiling.", "", *table(
                ["target", "scale", "boundary AUC above ½, neutral", "authors' gain on the control", "neutral gain", "neutral gain less its control's",
                 "d′: neutral gain", "d′: neutral gain less its control's"], rows)]


def planted(runs: Runs) -> list[str]:
    rows = []
    for arm in ARMS:
        for times in (1, 4, 16):
            found = [one for run in runs for one in run[arm]["planted"] if one[0] == times]
            inside, out = (round(float(np.mean([one[at] for one in found]))) for at in (1, 2))
            auc = float(np.mean([one[3] for one in found]))
            rows.append([arm, times, f"{inside} / {out}", f"{auc:.3f}", f"{power_of(auc, inside, out):.2f}",
                         share([one[4] > 0.5 for one in found]), share([one[6] for one in found])])
    return table(["target", "repeated", "units in / out", "mean AUC", "power by the audit's formula at that AUC and size",
                  "lower bound above ½", "detected: and above the control"], rows)


def on_logits(auc: float, members: int, others: int) -> float:
    """Power of "lower bound above ½" for an interval that is symmetric on the logit scale, by the same deviation."""
    deviation = auc_deviation(auc, members, others) / (auc * (1 - auc))
    return NormalDist().cdf(float(np.log(auc / (1 - auc))) / deviation - Z)


def powers(runs: Runs) -> list[str]:
    every = [row for run in runs for row in run["power"]]
    # One user may bring all records of a side: neither an AUC nor a power can be had then.
    flat = [row for row in every if None not in (row[2], row[5])]
    rows, bins, real = [], [], {}
    for recipe, n in sorted({(row[0], row[1]) for row in flat}, key=lambda one: (LEAKING.index(one[0]), one[1])):
        found = [row for row in flat if (row[0], row[1]) == (recipe, n)]
        auc, units, others = (float(np.mean([row[at] for row in found])) for at in (5, 8, 9))
        seen = [row[6] > 0.5 for row in found]
        real[recipe, n] = power_of(auc, round(units), round(others))
        rows.append([recipe, n, f"{units:.0f}", f"{auc:.3f} ± {np.std([row[5] for row in found], ddof=1):.3f}",
                     f"{np.mean([row[11] for row in found]):.3f}", f"{np.mean([row[2] for row in found]):.2f}",
                     f"{real[recipe, n]:.2f}", f"{on_logits(auc, round(units), round(others)):.2f}", share(seen)])
    for low, high in ((0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 1.01)):
        found = [row for row in flat if low <= row[2] < high]
        if found:
            seen = [row[6] > 0.5 for row in found]
            bins.append([f"{low:g} to {min(high, 1):g}", f"{np.mean([row[2] for row in found]):.2f}",
                         f"{np.mean([real[row[0], row[1]] for row in found]):.2f}", share(seen)])
    return [*table(["target", "records a side", "units a side", "primary AUC, mean ± sd", "AUC of planted once",
                    "claimed power, mean", "formula at the mean primary AUC", "the same on logits",
                    "leak seen (lower bound above ½)"], rows),
            "", "The same audits by the power that they claimed; several n of a seed share records; "
            f"{len(every) - len(flat)} audits with one unit on a side, which claim nothing, are left out:", "",
            *table(["claimed", "mean", "formula at the mean AUC", "leak seen"], bins)]


PARTS: tuple[tuple[str, Callable[[Runs], list[str]]], ...] = (
    ("verdicts", verdicts), ("", reasons), ("the authors' protocol on leak-free targets", authors),
    ("calibration on leak-free targets", calibration), ("p values on leak-free targets", nulls), ("boundary gain", gains),
    ("", survival), ("planted records", planted), ("power claimed and seen", powers),
)


def parts(runs: Runs) -> Iterator[list[str]]:
    for name in ("diasafety", "hate_stormfront"):
        mine = [run for run in runs if run["data"] == name]
        title = name if name == "diasafety" else f"{name}, by user"
        for heading, part in PARTS if mine else ():
            said = part(mine)
            if said:
                yield [*([f"### {title}: {heading}", ""] if heading else []), *said]


def write(runs: Runs, made_by: str) -> None:
    cpu = np.sum([run["cpu"] for run in runs], axis=0) / 60
    made_by += (f" CPU minutes, both data sets: {cpu[0]:.0f} for the models, {cpu[1]:.0f} for the audits, {cpu[2]:.0f} "
                "for the small ones.")
    text = "\n\n".join("\n".join(part) for part in [[made_by], *parts(runs)])
    replace_between("membership_validity.md", "<!-- figures -->", "<!-- /figures -->", text)
