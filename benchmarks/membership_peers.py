"""Bootstraps, RMIA and LiRA of the membership audit against published packages: ratios in one run, results compared.

    python -m benchmarks.membership_peers [--authors DIR] [--leakpro DIR] [--only roc,authors,rmia,lira]

Every contender is a process of its own, under the interpreter of the environment that `make bench` made for it, with
one thread for numerical libraries; runs are interleaved, and the least wall time and the least CPU time of `--repeat`
runs count, fewer where a peer takes long (a peer's own thread pool is its own affair: CPU time shows it). Prints one
JSON document.

`roc`      1,000 resamples, 50,000 + 50,000 normal scores: jax-privacy 2.0.0
`authors`  the same, 2,000 + 2,000: `bootstrap_ci` of a checkout of the authors' code, or its scikit-learn calls
`rmia`     offline RMIA, 50,000 rows by 50,000 population records: privacyguard-platform 0.0.2
`lira`     online LiRA, 50,000 rows by 64 models: `run_attack` of a checkout of LeakPro, or a loop written from it
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.page import machine
from discreet.stats import RocCore

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".benchenv"
GIB = 2**30


@dataclass
class Contender:
    """A running process with one task, its least costs so far and its last result."""

    task: str
    data: Path
    python: Path = Path(sys.executable)
    options: tuple[str, ...] = ()
    best: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.python.exists():
            raise SystemExit(f"{self.python} is not there: run `make bench`, which makes the peers' environments")
        self.result = self.data.with_name(f"{self.data.stem}-{self.task}-{abs(hash(self.options))}.npz")
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [self.python, "-m", "benchmarks.membership_tasks", self.task, self.data, self.result, *self.options],
            cwd=ROOT, env={**os.environ, **one}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.task} ended with {self.process.wait()} and no figures")
        for name, value in json.loads(line).items():
            self.best[name] = max(self.best.get(name, 0.0), value) if name == "peak_rss_mib" else min(
                self.best.get(name, np.inf), value)

    def end(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.close()
        if self.process.wait():
            raise SystemExit(f"{self.task} ended with {self.process.returncode}")
        with np.load(self.result) as found:
            return dict(found)


def race(contenders: Mapping[str, Contender], repeat: int) -> dict[str, dict[str, Any]]:
    """Best of `repeat` interleaved runs of each; their results."""
    for _ in range(repeat):
        for one in contenders.values():
            one.run()
    return {name: one.end() for name, one in contenders.items()}


def costs(contenders: Mapping[str, Contender]) -> dict[str, Any]:
    return {name: {part: float(f"{value:.4g}") for part, value in one.best.items()}
            for name, one in contenders.items()}


def ratio(ours: Contender, *peers: Contender) -> dict[str, float]:
    return {part: round(sum(one.best[part] for one in peers) / ours.best[part], 1) for part in ("wall_s", "cpu_s")}


def hull_figures(members: NDArray[Any], nonmembers: NDArray[Any], fprs: tuple[float, ...]) -> list[float]:
    """AUROC and TPRs of the convex hull of our ROC curve, interpolated: jax-privacy's definition."""
    core = RocCore.of(np.concatenate([members, nonmembers]), np.repeat([1, 0], [members.size, nonmembers.size]))
    counts = core.counts
    x, y = np.append(0, counts.cum_neg[0]), np.append(0, counts.cum_pos[0])
    kept: list[int] = []
    for place in range(x.size):
        while len(kept) > 1 and (x[kept[-1]] - x[kept[-2]]) * (y[place] - y[kept[-2]]) >= (
                x[place] - x[kept[-2]]) * (y[kept[-1]] - y[kept[-2]]):
            kept.pop()
        kept.append(place)
    fpr, tpr = x[kept] / core.n_neg, y[kept] / core.n_pos
    return [float(np.trapezoid(tpr, fpr)), *(float(np.interp(one, fpr, tpr)) for one in fprs)]


def normals(folder: Path, n: int) -> tuple[Path, NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    members, nonmembers = rng.normal(0.3, 1.0, n), rng.normal(0.0, 1.0, n)
    np.savez(folder / f"normals-{n}.npz", members=members, nonmembers=nonmembers)
    return folder / f"normals-{n}.npz", members, nonmembers


def roc(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    data, members, nonmembers = normals(folder, args.n)
    python, few = PLACE / "jax" / "bin" / "python", ("--resamples", str(args.resamples))
    run = {
        "ours": Contender("discreet_roc", data, options=few), "ours_auroc": Contender("discreet_auroc", data, options=few),
        "jax_auroc": Contender("jax_auroc", data, python, few),
        "jax_tpr_01": Contender("jax_tpr", data, python, (*few, "--fpr", "0.01")),
        "jax_tpr_05": Contender("jax_tpr", data, python, (*few, "--fpr", "0.05")),
    }
    found = race(run, args.repeat)
    theirs = [found[name] for name in ("jax_auroc", "jax_tpr_01", "jax_tpr_05")]
    hull = hull_figures(members, nonmembers, (0.01, 0.05))
    return {
        "n": args.n, "resamples": args.resamples, "costs": costs(run),
        "ratio_all_three": ratio(run["ours"], run["jax_auroc"], run["jax_tpr_01"], run["jax_tpr_05"]),
        "ratio_auroc_alone": ratio(run["ours_auroc"], run["jax_auroc"]),
        "ratio_one_tpr": ratio(run["ours"], run["jax_tpr_01"]),
        "ours": plain(found["ours"]), "jax": [plain(one) for one in theirs],
        "hull_of_our_curve": hull,
        "largest_difference_hull": max(abs(float(a["point"]) - b) for a, b in zip(theirs, hull, strict=True)),
        "null_20_plus_20": null_auroc(),
    }


def null_auroc(worlds: int = 2000, n: int = 20) -> dict[str, float]:
    """Mean AUROC of scores that say nothing, empirical and of the hull."""
    rng = np.random.default_rng(0)
    both = []
    for _ in range(worlds):
        members, nonmembers = rng.normal(size=n), rng.normal(size=n)
        both.append((float((members[:, None] > nonmembers).mean()), hull_figures(members, nonmembers, ())[0]))
    empirical, hull = np.mean(both, axis=0)
    return {"empirical": round(float(empirical), 3), "hull": round(float(hull), 3)}


def authors(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    data, _, _ = normals(folder, args.small)
    few = ("--resamples", str(args.resamples))
    source = () if args.authors is None else ("--source", str(args.authors))
    run = {"ours": Contender("discreet_roc", data, options=few),
           "authors": Contender("authors_roc", data, options=(*few, *source))}
    found = race(run, args.repeat)
    same = race({"same": Contender("discreet_same_draws", data, options=few)}, 1)["same"]
    return {
        "n": args.small, "resamples": args.resamples, "costs": costs(run), "ratio": ratio(run["ours"], run["authors"]),
        "run": "their bootstrap_ci" if args.authors else "their scikit-learn calls",
        "ours": plain(found["ours"]), "authors": plain(found["authors"]),
        "largest_difference_points": distance(found["ours"]["point"], found["authors"]["point"]),
        "largest_difference_intervals_same_draws": distance(same["interval"], found["authors"]["interval"]),
    }


def rmia(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    python = PLACE / "privacyguard" / "bin" / "python"
    figures: dict[str, Any] = {"references": args.references}
    for n in (args.n // 5, args.n):
        # Theirs holds (n / 2) x n ratios as floats and as truth values, and numpy's mean of the latter.
        needed, free = 1.3 * (n / 2) * n * 9, available()
        if needed > free:
            figures[f"{n}x{n}"] = {"left_out": f"needs {needed / GIB:.1f} GiB, {free / GIB:.1f} are free"}
            continue
        rng = np.random.default_rng(0)
        data = folder / f"rmia-{n}.npz"
        audit, population = 1 / (1 + np.exp(-rng.normal(1, 1.5, (2, 1 + args.references, n))))
        np.savez(data, audit=audit, population=population)
        run = {"ours": Contender("discreet_rmia", data), "share": Contender("discreet_share", data),
               "privacyguard": Contender("privacyguard_rmia", data, python)}
        found = race(run, args.repeat if n < args.n else 1 + args.repeat // 3)
        figures[f"{n}x{n}"] = {
            "costs": costs(run), "ratio_whole": ratio(run["ours"], run["privacyguard"]),
            "ratio_to_comparison_alone": ratio(run["share"], run["privacyguard"]),
            "rows_that_differ": int((found["ours"]["scores"] != found["privacyguard"]["scores"]).sum()),
            "largest_difference": distance(found["ours"]["scores"], found["privacyguard"]["scores"]),
            "largest_difference_comparison_alone": distance(found["share"]["scores"], found["privacyguard"]["scores"]),
        }
    return figures


def lira(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n, models, data = args.n, args.models, folder / "lira.npz"
    member = rng.permuted(np.tile(np.arange(models)[:, None] % 2, (1, n)), axis=0)
    member = np.concatenate([np.zeros((1, n)), member]).astype(np.int8)
    phi = rng.normal(1, 1, (models + 1, n)) + member
    label = rng.integers(0, 2, n)
    logits = np.where(label[:, None] == np.arange(2), phi[..., None], -phi[..., None]) / 2
    np.savez(data, logits=logits, phi=phi, label=label, member=member)
    source = () if args.leakpro is None else ("--source", str(args.leakpro))
    run = {name: Contender(task, data, options=source if task.startswith("leakpro") else ()) for name, task in {
        "ours": "discreet_lira", "leakpro": "leakpro_lira",
        "ours_from_phi": "discreet_lira_phi", "leakpro_from_phi": "leakpro_lira_phi"}.items()}
    found = race(run, 1 + args.repeat // 3)
    return {
        "rows": n, "models": models, "costs": costs(run), "run": "their run_attack" if args.leakpro else "a loop of ours",
        "ratio_whole": ratio(run["ours"], run["leakpro"]),
        "ratio_scoring_alone": ratio(run["ours_from_phi"], run["leakpro_from_phi"]),
        "largest_difference": distance(found["ours"]["scores"], found["leakpro"]["scores"]),
        "largest_score": float(np.abs(found["ours"]["scores"]).max()),
    }


def distance(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(np.abs(np.asarray(a) - np.asarray(b)).max())


def plain(found: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    return {name: np.round(value, 5).tolist() for name, value in found.items()}


def available() -> float:
    """Bytes of memory that are free, as Linux says; unbounded elsewhere."""
    facts = Path("/proc/meminfo")
    if not facts.exists():
        return np.inf
    return 1024.0 * next(int(line.split()[1]) for line in facts.read_text().splitlines() if "MemAvailable" in line)


PARTS = {"roc": roc, "authors": authors, "rmia": rmia, "lira": lira}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=50_000, help="of each side; rows, and population records")
    parser.add_argument("--small", type=int, default=2_000, help="of each side, for the authors' loop")
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--models", type=int, default=64, help="of LiRA")
    parser.add_argument("--references", type=int, default=4, help="of RMIA, trained on no row")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--authors", type=Path, help="checkout of anthonyhughes/safety-classifiers")
    parser.add_argument("--leakpro", type=Path, help="checkout of aidotse/LeakPro")
    parser.add_argument("--only", default=",".join(PARTS))
    args = parser.parse_args()
    figures: dict[str, Any] = {"benchmark": "membership_peers", **machine()}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.only.split(","):
            load = round(os.getloadavg()[0], 2)
            figures[name] = {"load_before": load, **PARTS[name](Path(folder), args)}
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
