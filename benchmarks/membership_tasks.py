"""One contender of `membership_peers.py` in a process of its own: a run for each line of stdin, its cost as JSON.

    PYTHON -m benchmarks.membership_tasks TASK DATA.npz RESULT.npz [--resamples N] [--fpr F] [--source DIR]

Runs under the interpreter of the environment that has the peer, so only numpy and the standard library are imported
at the top. What is read from DATA, and what the peer wants made of it before its first call, is not timed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Run = Callable[[], dict[str, Any]]
FPRS = (0.01, 0.05)
QUANTILES = (0.025, 0.975)


def discreet_roc(data: Arrays, args: argparse.Namespace) -> Run:
    """1,000 resamples of AUROC and TPR at 1% and 5% FPR; sorting and quantiles included."""
    return _discreet_roc(data, args, True)


def discreet_auroc(data: Arrays, args: argparse.Namespace) -> Run:
    """The same with the AUROC alone."""
    return _discreet_roc(data, args, False)


def _discreet_roc(data: Arrays, args: argparse.Namespace, with_tpr: bool) -> Run:
    from discreet.stats import RocCore, StepCounts, bootstrap_roc

    labels = np.repeat([1, 0], [data["members"].size, data["nonmembers"].size])
    scores = np.concatenate([data["members"], data["nonmembers"]])
    statistics = [StepCounts.auroc, *(lambda c, f=fpr: c.tpr_at_fpr(f) for fpr in FPRS if with_tpr)]

    def run() -> dict[str, Any]:
        core = RocCore.of(scores, labels)
        draws = bootstrap_roc(core, statistics, np.random.default_rng(0), n_resamples=args.resamples)
        point = [float(one(core.counts)[0]) for one in statistics]
        return {"point": point, "interval": np.quantile(draws, QUANTILES, axis=1).T}

    return run


def jax_auroc(data: Arrays, args: argparse.Namespace) -> Run:
    """jax-privacy's AUROC and its percentile bootstrap."""
    auditor, params = _jax(data, args)

    def run() -> dict[str, Any]:
        return {"point": auditor().attack_auroc(), "interval": auditor().attack_auroc(bootstrap_params=params)}

    return run


def jax_tpr(data: Arrays, args: argparse.Namespace) -> Run:
    """jax-privacy's TPR at one FPR (its bootstrap takes one at a time)."""
    auditor, params = _jax(data, args)

    def run() -> dict[str, Any]:
        return {"point": auditor().tpr_at_given_fpr(args.fpr),
                "interval": auditor().tpr_at_given_fpr(args.fpr, bootstrap_params=params)}

    return run


def _jax(data: Arrays, args: argparse.Namespace) -> tuple[Callable[[], Any], Any]:
    auditing = importlib.import_module("jax_privacy.auditing")
    params = auditing.BootstrapParams(num_samples=args.resamples, bias_correction=False, seed=0)
    return lambda: auditing.CanaryScoreAuditor(data["members"], data["nonmembers"]), params


def authors_roc(data: Arrays, args: argparse.Namespace) -> Run:
    """The authors' `bootstrap_ci`, or without `--source` the scikit-learn calls that it makes."""
    from sklearn.metrics import roc_auc_score, roc_curve

    if args.source is None:
        metrics, loop = _sklearn_metrics, _sklearn_loop
    else:
        space = functions_from(args.source / "utils.py", ("compute_mi_metrics", "bootstrap_ci"), {
            "np": np, "roc_auc_score": roc_auc_score, "roc_curve": roc_curve, "Callable": Callable,
            "config": SimpleNamespace(BOOTSTRAP_N_RESAMPLES=1000, SEED=42),
        })
        metrics, loop = space["compute_mi_metrics"], space["bootstrap_ci"]

    def run() -> dict[str, Any]:
        found = loop(data["members"], data["nonmembers"], n_resamples=args.resamples)
        return {"point": list(metrics(data["members"], data["nonmembers"]).values()), "interval": list(found.values())}

    return run


def _sklearn_metrics(members: NDArray[Any], nonmembers: NDArray[Any]) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score, roc_curve

    labels = np.repeat([1, 0], [members.size, nonmembers.size])
    scores = np.concatenate([members, nonmembers])
    fpr, tpr, _ = roc_curve(labels, scores)
    at = {f"tpr_{f}": float(tpr[np.searchsorted(fpr, f, side="right") - 1]) for f in FPRS}
    return {"auroc": float(roc_auc_score(labels, scores)), **at}


def _sklearn_loop(members: NDArray[Any], nonmembers: NDArray[Any], n_resamples: int) -> dict[str, Any]:
    draw = np.random.RandomState(42)
    found = []
    for _ in range(n_resamples):
        drawn = [side[draw.choice(side.size, size=side.size)] for side in (members, nonmembers)]
        found.append(list(_sklearn_metrics(*drawn).values()))
    return {str(place): ends for place, ends in enumerate(np.quantile(np.array(found), QUANTILES, axis=0).T)}


def discreet_same_draws(data: Arrays, args: argparse.Namespace) -> Run:
    """Our statistics on the resamples that the authors' seed draws: their intervals to the last bit but rounding."""
    from discreet.stats.roc import Reweighting, RocCore

    n_in, n_out = data["members"].size, data["nonmembers"].size
    core = RocCore.of(np.concatenate([data["members"], data["nonmembers"]]), np.repeat([1, 0], [n_in, n_out]))

    def run() -> dict[str, Any]:
        draw = np.random.RandomState(42)
        weights = np.array([
            np.concatenate([np.bincount(draw.choice(n, size=n, replace=True), minlength=n) for n in (n_in, n_out)])
            for _ in range(args.resamples)])
        reweighting = Reweighting.of(core, np.arange(n_in + n_out))
        counts = [reweighting.counts(block) for block in np.array_split(weights, max(1, weights.size >> 16))]
        values = np.concatenate([[c.auroc(), *(c.tpr_at_fpr(f) for f in FPRS)] for c in counts], axis=1)
        return {"interval": np.quantile(values, QUANTILES, axis=1).T}

    return run


def discreet_rmia(data: Arrays, args: argparse.Namespace) -> Run:
    """`RmiaOffline` from log probabilities to shares."""
    from discreet.audit.membership.attack import References, View
    from discreet.audit.membership.attacks.rmia import RmiaOffline

    p = np.concatenate([data["audit"], data["population"]], axis=1)
    log_p = np.log(np.stack([1.0 - p, p], axis=-1))[:, :, None, :]
    n, label = data["audit"].shape[1], np.ones(p.shape[1], dtype=np.int64)
    references = References(log_p[1:], np.zeros(log_p.shape[:2], dtype=np.int8)[1:])
    view = View(log_p[0], label, {"neutral": references}, np.arange(n, p.shape[1]), np.arange(n))
    return lambda: {"scores": RmiaOffline().scores(view, "p", "neutral", np.random.default_rng(0))[:n]}


def discreet_share(data: Arrays, args: argparse.Namespace) -> Run:
    """The comparison alone, from ratios."""
    from discreet.audit.membership.attacks.rmia import share_beaten

    audit, population = (p[0] / (0.65 * p[1:].mean(axis=0) + 0.35) for p in (data["audit"], data["population"]))
    return lambda: {"scores": share_beaten(audit, population, 1.0)}


def privacyguard_rmia(data: Arrays, args: argparse.Namespace) -> Run:
    """PrivacyGuard's `RmiaAttack`, half of the rows as its train frame and half as its test frame."""
    import pandas as pd

    attack = importlib.import_module("privacy_guard.attacks.rmia_attack").RmiaAttack
    none = importlib.import_module("privacy_guard.analysis.mia.aggregate_analysis_input").AggregationType.NONE

    def frame(p: NDArray[Any]) -> pd.DataFrame:
        columns = {"user_id": np.arange(p.shape[1]), "score_orig": p[0]}
        for place, one in enumerate(p[1:]):
            columns |= {f"score_ref_{place}": one, f"member_ref_{place}": np.zeros(one.size, dtype=np.bool_)}
        return pd.DataFrame(columns)

    half, models = data["audit"].shape[1] // 2, data["audit"].shape[0] - 1
    frames = [frame(data["audit"][:, :half]), frame(data["audit"][:, half:]), frame(data["population"])]

    def run() -> dict[str, Any]:
        found = attack(*frames, none, num_reference_models=models, alpha_coefficient=0.3).run_attack()
        return {"scores": np.concatenate([found.df_train_merge["score"], found.df_test_merge["score"]])}

    return run


def discreet_lira(data: Arrays, args: argparse.Namespace) -> Run:
    """Online LiRA from logits to scores."""
    from discreet.audit.membership.attack import References, View
    from discreet.audit.membership.attacks.lira import Lira
    from discreet.audit.scores.table import Examples, Model, ScoreTable

    n = data["label"].size
    examples = Examples(np.arange(n).astype(str).astype(object), data["label"], np.zeros(n, dtype=np.int64))
    models = tuple(Model(str(place), "shadow", "population") for place in range(len(data["logits"])))

    def run() -> dict[str, Any]:
        log_p = ScoreTable(models, examples, data["logits"][:, :, None, :], data["member"]).log_p
        references = {"population": References(log_p[1:], data["member"][1:])}
        view = View(log_p[0], data["label"], references, np.arange(0), np.arange(n))  # type: ignore[arg-type]
        return {"scores": Lira().scores(view, "logit", "population", np.random.default_rng(0))}

    return run


def discreet_lira_phi(data: Arrays, args: argparse.Namespace) -> Run:
    """The scoring alone, from log odds."""
    from discreet.audit.scores.signals import log_ratio, masked_moments

    inside = data["member"][1:] == 1

    def run() -> dict[str, Any]:
        mean_in, std_in, _ = masked_moments(data["phi"][1:], inside)
        mean_out, std_out, _ = masked_moments(data["phi"][1:], ~inside)
        return {"scores": log_ratio(data["phi"][0], mean_in, std_in, mean_out, std_out)}

    return run


def leakpro_lira(data: Arrays, args: argparse.Namespace) -> Run:
    """LeakPro's `rescale_logits` and `run_attack`: from logits to scores."""
    return _leakpro(data, args, True)


def leakpro_lira_phi(data: Arrays, args: argparse.Namespace) -> Run:
    """LeakPro's loop alone, from log odds."""
    return _leakpro(data, args, False)


def _leakpro(data: Arrays, args: argparse.Namespace, from_logits: bool) -> Run:
    """Their methods on a bare object, without a progress bar; or without `--source` a loop written from them."""
    if args.source is None:
        inside, phi = data["member"][1:].T == 1, data["phi"]
        return lambda: {"scores": lira_loop(phi[0], phi[1:].T, inside)}
    from scipy.stats import norm

    methods = functions_from(args.source / "leakpro" / "attacks" / "mia_attacks" / "lira.py", (
        "rescale_logits", "run_attack", "get_std", "_fixed_variance", "_carlini_variance", "_individual_carlini",
    ), {"np": np, "norm": norm, "tqdm": lambda rows, **_: rows,
        "MIAResult": SimpleNamespace(from_full_scores=lambda **_: None)})
    attack: Any = type("Attack", (), {name: one for name, one in methods.items() if callable(one)})()
    n, references = data["label"].size, data["member"].shape[0] - 1
    attack.online, attack.var_calculation, attack.fix_var_threshold = True, "carlini", 32
    attack.num_shadow_models, attack.out_indices = references, data["member"][1:] == 0
    attack.audit_dataset = {"in_members": np.arange(n), "out_members": np.arange(0)}
    attack.configs = SimpleNamespace(model_dump=dict)

    def run() -> dict[str, Any]:
        phi = data["phi"] if not from_logits else np.array(
            [attack.rescale_logits(one, data["label"]) for one in data["logits"]])
        attack.target_logits, attack.shadow_models_logits = phi[0], phi[1:]
        attack.run_attack()
        return {"scores": attack.in_member_signals[:, 0]}

    return run


def lira_loop(value: np.ndarray, references: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """(n,), (n, R), (n, R): a row at a time."""
    from scipy.stats import norm

    scores = np.zeros(value.size)
    for i in range(value.size):
        seen, unseen = references[i][inside[i]], references[i][~inside[i]]
        scores[i] = (norm.logpdf(value[i], np.mean(seen), np.std(seen) + 1e-30)
                     - norm.logpdf(value[i], np.mean(unseen), np.std(unseen) + 1e-30))
    return scores


def functions_from(path: Path, names: tuple[str, ...], space: dict[str, Any]) -> dict[str, Any]:
    """The functions (or methods) `names` of a file, defined in `space` without what the file imports."""
    found = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.FunctionDef) and node.name in names]
    if len(found) != len(names):
        raise SystemExit(f"{path} has {len(found)} of {', '.join(names)}: expected all; is it another version?")
    module = ast.Module([ast.parse("from __future__ import annotations").body[0], *found], [])
    given = set(space)
    exec(compile(module, str(path), "exec"), space)
    return {name: one for name, one in space.items() if name in names and name not in given}


TASKS: dict[str, Callable[[Arrays, argparse.Namespace], Run]] = {task.__name__: task for task in (
    discreet_roc, discreet_auroc, jax_auroc, jax_tpr, authors_roc, discreet_same_draws, discreet_rmia, discreet_share,
    privacyguard_rmia, discreet_lira, discreet_lira_phi, leakpro_lira, leakpro_lira_phi,
)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=sorted(TASKS))
    parser.add_argument("data", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--fpr", type=float, default=FPRS[0])
    parser.add_argument("--source", type=Path)
    args = parser.parse_args()
    with np.load(args.data) as data:
        run = TASKS[args.task](dict(data), args)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        result = run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        np.savez(args.result, **result)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"wall_s": wall, "cpu_s": cpu, "peak_rss_mib": peak}), flush=True)


if __name__ == "__main__":
    main()
