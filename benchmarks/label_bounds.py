"""Lower bounds on ε against label mechanisms whose ε is known: do they hold, and how much of it do they find?

    python -m benchmarks.label_bounds [--draws 300] [--seed 0] [--write]

The attacker is a perfect memoriser: it has the released label of every canary, or ALIBI's posterior. `--write` puts the
table into docs/results/label_bounds.md. One core.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from benchmarks.page import machine, replace_between
from discreet.audit.labels.bounds import guess_epsilon, ladder_bound
from discreet.stats.mechanisms.labels.alibi import Alibi, log_weights, map_truth
from discreet.stats.mechanisms.labels.base import epsilon_of_truth, truth_probability
from discreet.stats.mechanisms.labels.rr import RandomisedResponse
from discreet.stats.mechanisms.labels.rr_top_k import RRWithPrior, best_k, ranked

EPSILONS, CLASSES = (0.5, 1.0, 2.0, 4.0), (2, 10, 100)
ALPHA, CHECK = 0.05, 0.001
N = 1000

Drawn: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.float64]]


class World(NamedTuple):
    """`draw(rng)` gives for N canaries whether the guess is the secret, one of `n_classes` equally likely, and how sure it
    is; `success` is how often it is right in the long run."""

    n_classes: int
    success: float
    draw: Callable[[Generator], Drawn]


def randomised(epsilon: float, n_classes: int) -> World:
    mechanism = RandomisedResponse.at(epsilon, n_classes)

    def draw(rng: Generator) -> Drawn:
        secret = rng.integers(0, n_classes, N)
        return mechanism.apply(secret, rng) == secret, np.zeros(N)

    return World(n_classes, truth_probability(epsilon, n_classes), draw)


def half_likely(n_classes: int) -> NDArray[np.float64]:
    """A prior of which one half of the classes has 90%; of two classes .6 and .4."""
    if n_classes == 2:
        return np.array([0.6, 0.4])
    return np.repeat([1.8, 0.2], n_classes // 2) / n_classes


def with_prior(epsilon: float, n_classes: int, *, anywhere: bool = False) -> World:
    """Canaries in Y_k, drawn from its k classes; or `anywhere`, drawn from all K: those outside of Y_k are erased."""
    mechanism, prior = RRWithPrior.at(epsilon, n_classes), half_likely(n_classes)
    k = int(best_k(prior, epsilon))
    classes = np.arange(n_classes) if anywhere else ranked(prior)[:k]

    def draw(rng: Generator) -> Drawn:
        secret = rng.choice(classes, N)
        return mechanism.apply(secret, rng, prior) == secret, np.zeros(N)

    return World(classes.size, truth_probability(epsilon, k) * k / classes.size, draw)


def alibi(epsilon: float, n_classes: int) -> World:
    """Guesses the likeliest class of the posterior; sure by its lead, in nats, over the second."""
    mechanism = Alibi.at(epsilon, n_classes)

    def draw(rng: Generator) -> Drawn:
        secret = rng.integers(0, n_classes, N)
        observed = mechanism.observe(secret, rng)
        weights = np.partition(log_weights(observed, None, mechanism.scale), n_classes - 2, axis=1)
        return mechanism.likeliest(observed) == secret, weights[:, -1] - weights[:, -2]

    return World(n_classes, map_truth(epsilon, n_classes), draw)


WORLDS: dict[str, Callable[[float, int], World]] = {
    "RR": randomised, "RRWithPrior": with_prior,
    "RRWithPrior, canaries anywhere": lambda epsilon, n_classes: with_prior(epsilon, n_classes, anywhere=True),
    "ALIBI": alibi}


def above(bounds: NDArray[np.float64], epsilon: float) -> tuple[int, float]:
    """Draws whose bound is above ε, and the exact chance of so many or more if that happens with chance ALPHA."""
    count = int((bounds > epsilon).sum())
    return count, float(stats.binomtest(count, bounds.size, ALPHA, alternative="greater").pvalue)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    started = time.process_time()
    parts, least = ["| mechanism | K | ε | classes drawn from | right | ε of that | mean bound, all guesses | above ε | mean "
                    "bound, ladder | above ε |", "|---|---|---|---|---|---|---|---|---|---|"], 1.0
    for place, (name, make) in enumerate(WORLDS.items()):
        for n_classes in CLASSES:
            for epsilon in EPSILONS:
                world = make(epsilon, n_classes)
                if name.endswith("anywhere") and world.n_classes == with_prior(epsilon, n_classes).n_classes:
                    continue
                found = []
                for draw in range(options.draws):
                    right, sure = world.draw(np.random.default_rng((options.seed, place, n_classes, int(10 * epsilon),
                                                                    draw)))
                    found.append((guess_epsilon(int(right.sum()), N, world.n_classes, ALPHA),
                                  ladder_bound(right, sure, world.n_classes, ALPHA).epsilon))
                plain, ladder = np.array(found).T
                over, ladder_over = above(plain, epsilon), above(ladder, epsilon)
                least = min(least, over[1], ladder_over[1])
                parts.append(f"| {name} | {n_classes} | {epsilon:g} | {world.n_classes} | {world.success:.1%} | "
                             f"{epsilon_of_truth(world.success, world.n_classes):.2f} | {plain.mean():.2f} | {over[0]} | "
                             f"{ladder.mean():.2f} | {ladder_over[0]} |")
    facts = machine()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    parts += ["", f"The least exact binomial p of all counts is {least:.2g}: "
              f"{'none' if least > CHECK else 'some, WRONGLY,'} under {CHECK}.",
              "", f"{options.draws} draws a row, seed {options.seed}, {time.process_time() - started:,.0f} s of one core; commit "
              f"{commit.strip()}, {facts['machine']}, Python {facts['python']}, NumPy {facts['numpy']}."]
    text = "\n".join(parts)
    print(text)
    if options.write:
        replace_between("label_bounds.md", "<!-- measured -->", "<!-- /measured -->", f"\n{text}")


if __name__ == "__main__":
    main()
