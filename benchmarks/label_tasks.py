"""Contenders of `label_peers.py`: bounds on ε from guesses about fair bits, or randomised labels, and their cost.

    PYTHON -m benchmarks.label_tasks TASK,TASK,… DATA.npz RESULT.npz

Runs under the interpreter of the environment that has the peer, so only numpy and the standard library are imported
at the top. An auditor is given, for each cell of DATA, secrets and scores (draws, n): the higher the score the likelier
the secret is 1, and 0 is in the middle. A mechanism is given labels (n,). RESULT holds what they made of it and the CPU
seconds of a call; imports and reading are not timed.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Auditor: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], float | tuple[float, ...]]
Mechanism: TypeAlias = Callable[[NDArray[Any]], Any]
ALPHA = 0.05
TINY = 1e-9
"""For what wants δ > 0 and is asked about δ = 0."""
USUAL = 1e-5
DRAWS = {"jax_one_run": 50, "estimates_joint_beta": 2, "guard": 5}
"""Of what takes long, of each cell; elsewhere all."""
CELLS = {"estimates_joint_beta": ("ε = 1, n = 1000",), "guard": ("leak-free",)}
"""The same; elsewhere all."""


def discreet_ladder() -> Auditor:
    from discreet.audit.labels.bounds import ladder_bound

    return lambda secret, score: ladder_bound((score > 0) == secret, np.abs(score), 2, ALPHA).epsilon


def discreet_all_guesses() -> Auditor:
    from discreet.audit.labels.bounds import guess_epsilon

    return lambda secret, score: guess_epsilon(int(((score > 0) == secret).sum()), secret.size, 2, ALPHA)


def discreet_two_rates() -> Auditor:
    from discreet.audit.labels.bounds import two_rate_epsilon

    def bound(secret: NDArray[Any], score: NDArray[Any]) -> float:
        guess, ones = score > 0, secret == 1
        return two_rate_epsilon(int(guess[ones].sum()), int(ones.sum()), int(guess[~ones].sum()), int((~ones).sum()), ALPHA)

    return bound


def _jax(call: Callable[[Any], float]) -> Auditor:
    auditor = importlib.import_module("jax_privacy.auditing").CanaryScoreAuditor
    return lambda secret, score: float(call(auditor(score[secret == 1], score[secret == 0])))


def jax_clopper_pearson() -> Auditor:
    """Its default: one direction, Bonferroni over all thresholds on the frontier."""
    return _jax(lambda auditor: auditor.epsilon_clopper_pearson(ALPHA))


def jax_clopper_pearson_two_sided() -> Auditor:
    return _jax(lambda auditor: auditor.epsilon_clopper_pearson(ALPHA, one_sided=False))


def jax_one_run() -> Auditor:
    """It raises for δ = 0."""
    return _jax(lambda auditor: auditor.epsilon_one_run(ALPHA, TINY))


def jax_gdp() -> Auditor:
    return _jax(lambda auditor: auditor.epsilon_from_gdp(ALPHA, USUAL))


def _estimates(method: str) -> Auditor:
    peer = importlib.import_module("privacy_estimates")

    def bound(secret: NDArray[Any], score: NDArray[Any]) -> float:
        guess, ones = score > 0, secret == 1
        tp, fp = int(guess[ones].sum()), int(guess[~ones].sum())
        counts = peer.AttackResults(FN=int(ones.sum()) - tp, FP=fp, TN=int((~ones).sum()) - fp, TP=tp)
        return float(peer.compute_eps_lo(counts, 0.0, ALPHA, method))

    return bound


def estimates_clopper_pearson() -> Auditor:
    return _estimates("beta")


def estimates_jeffreys() -> Auditor:
    return _estimates("jeffreys")


def estimates_joint_beta() -> Auditor:
    return _estimates("joint-beta")


def guard() -> Auditor:
    """PrivacyGuard's label inference: was a label trained on, or drawn anew? Canaries' labels are fair bits, so that what
    is known of them without the model is ½; a fifth of its 100 draws of the game, for time. What it prints first, `eps`
    (the highest upper bound over a hundred thresholds), and its `eps_lb`."""
    import pandas as pd

    # Last, so that of its environment only what ours lacks is taken.
    sys.path.append(os.environ["LABEL_PEERS_LAST"])
    attacks = importlib.import_module("privacy_guard.attacks.lia_attack")
    node = importlib.import_module("privacy_guard.analysis.lia.lia_analysis_node").LIAAnalysisNode
    none = importlib.import_module("privacy_guard.analysis.mia.aggregate_analysis_input").AggregationType.NONE

    def bound(secret: NDArray[Any], score: NDArray[Any]) -> tuple[float, float]:
        np.random.seed(0)  # noqa: NPY002 (it draws from the global generator)
        user, p = np.arange(secret.size), 1.0 / (1.0 + np.exp(-score))
        target = pd.DataFrame({"user_id": user, "predictions": p, "label": secret})
        known = pd.DataFrame({"user_id": user, "predictions": np.full(secret.size, 0.5)})
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            given = attacks.LIAAttackInput(target, known, none).prepare_attack_input()
            found = node(attacks.LIAAttack(given, none, num_resampling_times=20).run_attack(), USUAL).run_analysis()
        return float(found.eps), float(found.eps_lb)

    return bound


def _discreet(n_classes: int) -> Mechanism:
    from discreet.stats.mechanisms.labels.rr import RandomisedResponse

    mechanism, rng = RandomisedResponse.at(1.0, n_classes), np.random.default_rng(0)
    return lambda labels: mechanism.apply(labels, rng)


def discreet_rr_2() -> Mechanism:
    return _discreet(2)


def discreet_rr_10() -> Mechanism:
    return _discreet(10)


def _diffprivlib(seed: int | None) -> Mechanism:
    binary = importlib.import_module("diffprivlib.mechanisms").Binary(
        epsilon=1.0, value0="0", value1="1", random_state=seed)
    return lambda labels: [int(binary.randomise(str(one))) for one in labels.tolist()]


def diffprivlib_2() -> Mechanism:
    """Draws from the operating system, its default."""
    return _diffprivlib(None)


def diffprivlib_seeded_2() -> Mechanism:
    """Draws from numpy's `RandomState`."""
    return _diffprivlib(0)


def _opendp() -> Any:
    peer = importlib.import_module("opendp.prelude")
    peer.enable_features("contrib")
    return peer


def opendp_2() -> Mechanism:
    response = _opendp().m.make_randomized_response_bool(prob=float(1.0 / (1.0 + np.exp(-1.0))))
    return lambda labels: [int(response(bool(one))) for one in labels.tolist()]


def opendp_bits_2() -> Mechanism:
    """All labels as one vector of bits: each is drawn anew with chance f, so that it flips with chance f / 2."""
    peer = _opendp()
    f = float(2.0 / (1.0 + np.e))

    def release(labels: NDArray[Any]) -> Any:
        domain = peer.bitvector_domain(max_weight=int(labels.size))
        response = peer.m.make_randomized_response_bitvec(domain, peer.discrete_distance(), f=f)
        packed = np.packbits(labels.astype(np.uint8))
        return np.unpackbits(np.frombuffer(response(packed.tobytes()), dtype=np.uint8))[: labels.size]

    return release


def opendp_10() -> Mechanism:
    response = _opendp().m.make_randomized_response(categories=list(range(10)), prob=float(np.e / (np.e + 9.0)))
    return lambda labels: [response(one) for one in labels.tolist()]


AUDITORS: dict[str, Callable[[], Auditor]] = {task.__name__: task for task in (
    discreet_ladder, discreet_all_guesses, discreet_two_rates, jax_clopper_pearson, jax_clopper_pearson_two_sided,
    jax_one_run, jax_gdp, estimates_clopper_pearson, estimates_jeffreys, estimates_joint_beta, guard)}
MECHANISMS: dict[str, Callable[[], Mechanism]] = {task.__name__: task for task in (
    discreet_rr_2, discreet_rr_10, diffprivlib_2, diffprivlib_seeded_2, opendp_2, opendp_bits_2, opendp_10)}


def audited(task: str, data: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    bound = AUDITORS[task]()
    found: dict[str, NDArray[Any]] = {}
    for cell in sorted({name.rsplit("/", 1)[0] for name in data}):
        if cell not in CELLS.get(task, (cell,)):
            continue
        few = slice(DRAWS.get(task))
        pairs = list(zip(data[f"{cell}/secret"][few], data[f"{cell}/score"][few], strict=True))
        if not found:
            # The first call of a library fills its caches.
            bound(*pairs[0])
        started = time.process_time()
        found[f"{task}/{cell}/bound"] = np.array([bound(*pair) for pair in pairs])
        found[f"{task}/{cell}/seconds"] = np.array((time.process_time() - started) / len(pairs))
    return found


def randomised(task: str, labels: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The least CPU time of as many calls as a second holds, at least one."""
    release = MECHANISMS[task]()
    release(labels[:100])
    taken: list[float] = []
    while not taken or sum(taken) < 1.0:
        started = time.process_time()
        released = release(labels)
        taken.append(time.process_time() - started)
    return {f"{task}/seconds": np.array(min(taken)), f"{task}/released": np.asarray(released, dtype=np.int64)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks")
    parser.add_argument("data", type=Path)
    parser.add_argument("result", type=Path)
    args = parser.parse_args()
    with np.load(args.data) as file:
        data = dict(file)
    found: dict[str, Any] = {}
    for task in args.tasks.split(","):
        found |= audited(task, data) if task in AUDITORS else randomised(task, data[task.rsplit("_", 1)[-1]])
    np.savez(args.result, **found)


if __name__ == "__main__":
    main()
