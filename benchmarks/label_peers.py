"""Label audit against published packages: bounds on ε, randomised labels, and false alarms on a model without memory.

    python -m benchmarks.label_peers [--draws 300] [--seed 0] [--only bounds,mechanisms,null] [--write]

Contenders are processes of their own, under the interpreter of the environment that `make bench` made for them, and are
given the same draws. Costs are CPU seconds of the calls alone. `--write` puts the tables of the parts that were run into
docs/results/label_peers.md.

`bounds`      fair bits, released by randomised response at ε, seen through noise: 1.5 (2z − 1) + N(0, 1)
`mechanisms`  100,000 labels randomised at ε = 1
`null`        logistic regression on 20,000 rows of 20 features, 400 canaries among them and 400 held-out canaries
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.label_tasks import DRAWS
from benchmarks.page import machine, replace_between
from discreet.audit.labels.attacks.lia_delta_margin import delta_margin
from discreet.audit.labels.audit import audit_labels
from discreet.audit.labels.conformance import conform
from discreet.audit.scores.table import CANARY, CONTROL, Canaries, Model, ScoreTable
from discreet.stats.mechanisms.labels.rr import RandomisedResponse
from discreet.stats.testing import fisher_exact

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / ".benchenv"
EPSILONS, SIZES = (0.0, 0.5, 1.0, 2.0, 4.0), (500, 1000, 3000)
LABELS, ROWS, FEATURES, CANARIES = 100_000, 20_000, 20, 400
ALPHA, LEAK_FREE = 0.05, "leak-free"

Arrays: TypeAlias = dict[str, Any]


def interpreter(environment: str) -> tuple[Path, dict[str, str]]:
    """Of the environment that has the peer, and what it needs beside. PrivacyGuard needs torch, which ours has."""
    place = PLACE / environment
    if environment != "ours" and not place.exists():
        raise SystemExit(f"{place} is not there: run `make bench`, which makes the peers' environments")
    if environment == "privacyguard":
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return Path(sys.executable), {"LABEL_PEERS_LAST": str(place / "lib" / version / "site-packages")}
    return Path(sys.executable) if environment == "ours" else place / "bin" / "python", {}


ENVIRONMENTS = {"discreet": "ours", "jax": "jax", "guard": "privacyguard"}


def run(tasks: Iterable[str], data: Path) -> dict[str, Arrays]:
    """What each task made of `data`; tasks that share an environment share a process."""
    by_place: dict[str, list[str]] = {}
    for task in tasks:
        by_place.setdefault(ENVIRONMENTS.get(task.split("_")[0], "labels"), []).append(task)
    found: dict[str, Arrays] = {}
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for environment, some in by_place.items():
        python, extra = interpreter(environment)
        result = data.with_name(f"{data.stem}-{environment}.npz")
        subprocess.run([python, "-m", "benchmarks.label_tasks", ",".join(some), data, result], cwd=ROOT, check=True,
                       env={**os.environ, **one, **extra})
        with np.load(result) as file:
            for name, array in file.items():
                task, key = name.split("/", 1)
                found.setdefault(task, {})[key] = array
    return found


def cell(epsilon: float, n: int) -> str:
    return f"ε = {epsilon:g}, n = {n}"


def fair_bits(folder: Path, draws: int, seed: int) -> Path:
    arrays: Arrays = {}
    for place, epsilon in enumerate(EPSILONS):
        truth = 1.0 / (1.0 + np.exp(-epsilon))
        for n in SIZES:
            rng = np.random.default_rng((seed, place, n))
            secret = rng.integers(0, 2, (draws, n))
            released = np.where(rng.random((draws, n)) < truth, secret, 1 - secret)
            arrays[f"{cell(epsilon, n)}/secret"] = secret
            arrays[f"{cell(epsilon, n)}/score"] = 1.5 * (2 * released - 1) + rng.standard_normal((draws, n))
    np.savez(folder / "bits.npz", **arrays)
    return folder / "bits.npz"


AUDITORS = {
    "discreet_ladder": "**discreet, ladder**", "discreet_all_guesses": "discreet, all guesses",
    "discreet_two_rates": "discreet, two rates", "jax_clopper_pearson": "jax-privacy, Clopper–Pearson",
    "jax_clopper_pearson_two_sided": "jax-privacy, Clopper–Pearson, both directions",
    "jax_one_run": "jax-privacy, one run, δ = 1e-9", "estimates_clopper_pearson": "privacy-estimates, Clopper–Pearson",
    "estimates_jeffreys": "privacy-estimates, Jeffreys"}


def bounds(folder: Path, draws: int, seed: int) -> list[str]:
    data = fair_bits(folder, draws, seed)
    found = run([*AUDITORS, "estimates_joint_beta"], data)
    head = [f"ε = {epsilon:g}" for epsilon in EPSILONS]
    lines: list[str] = []
    for n in SIZES:
        lines += ["", f"**n = {n:,}**", "", f"| bound | {' | '.join(head)} | CPU ms a call |", "|---" * 7 + "|"]
        for task, name in AUDITORS.items():
            row = [found[task][f"{cell(epsilon, n)}/bound"] for epsilon in EPSILONS]
            cost = np.mean([found[task][f"{cell(epsilon, n)}/seconds"] for epsilon in EPSILONS])
            over = [f"{one.mean():.3f} ({(one > epsilon).mean():.1%})" for one, epsilon in zip(row, EPSILONS, strict=True)]
            note = f" ({DRAWS[task]} draws)" if task in DRAWS else ""
            lines.append(f"| {name}{note} | {' | '.join(over)} | {1e3 * cost:.2g} |")
    ours, theirs = found["discreet_ladder"], ("jax_clopper_pearson", "jax_clopper_pearson_two_sided")
    gaps = {name: min(float(ours[name].mean() - found[task][name].mean()) for task in theirs)
            for name in ours if name.endswith("bound")}
    worst = min(gaps, key=lambda name: gaps[name])
    lower = sum(gap < 0 for gap in gaps.values())
    lines += ["", f"Cells in which the ladder's mean bound is lower than that of jax-privacy's Clopper–Pearson, in either form: "
              f"**{lower} of {len(gaps)}** (smallest lead: {gaps[worst]:.3f} at {worst.removesuffix('/bound')})."]
    slow, which = found["estimates_joint_beta"], cell(1.0, 1000)
    draws = slow[f"{which}/bound"].size
    others = [found[task][f"{which}/bound"][:draws].mean() for task in (
        "discreet_ladder", "discreet_all_guesses", "jax_clopper_pearson_two_sided")]
    return [*lines, "", f"privacy-estimates' joint-beta, a Bayesian region, on the first {draws} draws of {which} alone: "
            f"{slow[f'{which}/bound'].mean():.2f}, {slow[f'{which}/seconds']:.1f} CPU s a call. On the same draws: ladder "
            f"{others[0]:.2f}, all guesses {others[1]:.2f}, jax-privacy in both directions {others[2]:.2f}."]


MECHANISMS = {
    "discreet_rr_2": ("discreet", 2, "numpy's PCG64"), "discreet_rr_10": ("discreet", 10, "numpy's PCG64"),
    "diffprivlib_2": ("diffprivlib, `Binary`", 2, "the operating system's"),
    "diffprivlib_seeded_2": ("diffprivlib, `Binary`, seeded", 2, "numpy's `RandomState`"),
    "opendp_2": ("opendp, `make_randomized_response_bool`", 2, "secure"),
    "opendp_bits_2": ("opendp, `make_randomized_response_bitvec`", 2, "secure"),
    "opendp_10": ("opendp, `make_randomized_response`", 10, "secure")}


def mechanisms(folder: Path, draws: int, seed: int) -> list[str]:
    rng, data = np.random.default_rng((seed, 1)), folder / "labels.npz"
    labels: Arrays = {str(k): rng.integers(0, k, LABELS) for k in (2, 10)}
    np.savez(data, **labels)
    lines = ["", "| mechanism | K | randomness | CPU ms | times ours | flipped | expected | conforms |", "|---" * 8 + "|"]
    ours: dict[int, float] = {}
    every = run(MECHANISMS, data)
    for task, (name, k, source) in MECHANISMS.items():
        found, seconds = every[task], float(every[task]["seconds"])
        # The first of each K is ours.
        ratio = seconds / ours.setdefault(k, seconds)
        check = conform(RandomisedResponse.at(1.0, k), labels[str(k)], found["released"])
        lines.append(f"| {name} | {k} | {source} | {1e3 * seconds:,.1f} | {ratio:,.0f} | {check.observed.value:.4f} | "
                     f"{check.expected_flip:.4f} | {'yes' if check.ok else 'NO: ' + '; '.join(check.reasons)} |")
    return lines


def leak_free(rng: Generator) -> tuple[ScoreTable, NDArray[np.float64]]:
    """A linear model that cannot remember 2% of its rows; log odds of class 1 of canaries, then controls."""
    n = ROWS + CANARIES
    x, slope = rng.standard_normal((n, FEATURES)), rng.standard_normal(FEATURES)
    slope *= 4.0 / np.linalg.norm(slope)
    original = (rng.random(n) < 1.0 / (1.0 + np.exp(-x @ slope))).astype(np.int64)
    judged = np.r_[:CANARIES, ROWS:n]
    secret = original.copy()
    secret[judged] ^= rng.integers(0, 2, judged.size)
    rows, labels, weights = x[:ROWS], secret[:ROWS], np.zeros(FEATURES)
    for _ in range(8):
        p = 1.0 / (1.0 + np.exp(-rows @ weights))
        curvature = (rows * (p * (1.0 - p))[:, None]).T @ rows + 1e-3 * np.eye(FEATURES)
        weights += np.linalg.solve(curvature, rows.T @ (labels - p))
    odds = x[judged] @ weights
    role = np.repeat([CANARY, CONTROL], CANARIES).astype(np.int8)[None]
    own = secret[judged][None]
    table = ScoreTable.of_canaries(
        (Model("target", seed="0"),), np.array([f"e{i}" for i in range(judged.size)], dtype=np.object_), original[judged],
        Canaries(role, own, own.copy(), np.zeros_like(own)), np.stack([np.zeros(odds.size), odds], axis=1)[None])
    return table, odds


def published(odds: NDArray[np.float64], secret: NDArray[np.int64]) -> NDArray[np.int64]:
    """LIA-Delta-Margin as published, α = β = 1: its loss is taken at the very label that it guesses."""
    log_p = -np.logaddexp(0.0, np.stack([odds, -odds], axis=1))
    return delta_margin(log_p, secret, 1.0, 1.0, "p1-second").label


NULL = {"discreet_ladder": "discreet's bound as a function, fed by hand",
        **{task: AUDITORS[task] for task in AUDITORS if not task.startswith("discreet")},
        "jax_gdp": "jax-privacy, GDP, δ = 1e-5"}


def null(folder: Path, draws: int, seed: int) -> list[str]:
    """False alarms: a verdict of fail, a bound above 0, p under .05."""
    arrays: dict[str, list[NDArray[Any]]] = {}
    fails, joint, shares, differences = 0, 0, [], []
    for draw in range(draws):
        table, odds = leak_free(np.random.default_rng((seed, 2, draw)))
        audit = audit_labels(table, tune=False, seed=draw)
        fails += audit.verdict == "fail"
        joint += (audit.models[0].epsilon_lower.value or 0.0) > 0.0
        secret = table.canaries.label[0]
        guess = published(odds, secret)
        right = (guess == secret).reshape(2, CANARIES).sum(axis=1)
        shares.append(right / CANARIES)
        differences.append(fisher_exact(int(right[0]), CANARIES, int(right[1]), CANARIES))
        for name, score in ((LEAK_FREE, odds[:CANARIES]), ("published", 2.0 * guess[:CANARIES] - 1.0)):
            arrays.setdefault(f"{name}/secret", []).append(secret[:CANARIES])
            arrays.setdefault(f"{name}/score", []).append(score)
    stacked: Arrays = {name: np.stack(rows) for name, rows in arrays.items()}
    np.savez(folder / "null.npz", **stacked)
    canary, control = np.mean(shares, axis=0)
    lines = ["", "| tool | given the model's outputs | given the published attack's guesses | mean bound on the former, the latter |",
             "|---|---|---|---|",
             f"| **`discreet audit labels`, verdict** | {fails / draws:.1%} | none: an oracle decides nothing | |",
             f"| **`discreet audit labels`, bound of all attacks** | {joint / draws:.1%} | none: an oracle has no bound | |",
             f"| success on canaries against controls, Fisher, p < .05 | | {np.mean(np.array(differences) < ALPHA):.1%} | |"]
    found = run([*NULL, "guard"], folder / "null.npz")
    for task, name in NULL.items():
        both = [found[task][f"{which}/bound"] for which in (LEAK_FREE, "published")]
        note = f" ({both[0].size} draws)" if task in DRAWS else ""
        lines.append(f"| {name}{note} | " + " | ".join(f"{(one > 0).mean():.1%}" for one in both)
                     + f" | {both[0].mean():.2f}, {both[1].mean():.2f} |")
    guard = found["guard"][f"{LEAK_FREE}/bound"].T
    for name, one in zip(("eps", "eps_lb"), guard, strict=True):
        lines.append(f"| PrivacyGuard, `{name}`, δ = 1e-5 ({one.size} draws) | {(one > 0).mean():.0%} | it takes no guesses | "
                     f"{one.mean():.2f} |")
    lines += ["", f"The published attack is right about {canary:.1%} of the canaries, and of {control:.1%} of the controls."]
    return lines


PARTS = {"bounds": bounds, "mechanisms": mechanisms, "null": null}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    for name in args.only.split(","):
        load, started = os.getloadavg()[0], time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            lines = PARTS[name](Path(folder), args.draws, args.seed)
        lines += ["", footer("" if name == "mechanisms" else f"{args.draws} draws unless said, ", args.seed, load,
                             time.perf_counter() - started)]
        print("\n".join(lines), flush=True)
        if args.write:
            replace_between("label_peers.md", f"<!-- {name} -->", f"<!-- /{name} -->", "\n".join([*lines, ""]))


def footer(drawn: str, seed: int, load: float, seconds: float) -> str:
    facts = machine()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True,
                            check=False).stdout.strip()
    return (f"{drawn}seed {seed}; {seconds:,.0f} s by the clock of a shared machine "
            f"({facts['cores']} cores, load before {load:.1f}); commit {commit or 'unknown'}, {facts['machine']}, Python "
            f"{facts['python']}, NumPy {facts['numpy']}.")


if __name__ == "__main__":
    main()
