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
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from benchmarks.machine import machine
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from discreet.audit.labels.bounds import guess_epsilon, ladder_bound
from discreet.stats.mechanisms.labels.alibi import Alibi, log_weights, map_truth
from discreet.stats.mechanisms.labels.base import epsilon_of_truth, truth_probability
from discreet.stats.mechanisms.labels.rr import RandomisedResponse
from discreet.stats.mechanisms.labels.rr_top_k import RRWithPrior, best_k, ranked

PAGE = Path(__file__).parents[1] / "docs" / "results" / "label_bounds.md"
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
        head = PAGE.read_text(encoding="utf-8").split("<!-- measured -->")[0] if PAGE.is_file() else HEAD
        PAGE.write_text(f"{head}<!-- measured -->\n\n{text}\n", encoding="utf-8")


HEAD = f"""# Lower bounds on ε, against mechanisms whose ε is known

`python -m benchmarks.label_bounds --write`. {N:,} canaries; the attacker has the released label of each (RR, RRWithPrior)
or ALIBI's posterior, as a model would that memorised all it saw. Bounds at 95%: of 300 draws about 15 may be above ε;
29 and more have an exact binomial p under .001.

- *Right* is the long-run share of right guesses, *ε of that* what an unlimited number of such guesses would prove. Under
  RR it is ε: nothing is lost but what {N:,} canaries cost. Of 100 classes at ε = ½ most of it is lost, since 1.6% right
  is hard to tell from 1%: bring more canaries, or fewer classes.
- With every guess equally sure (RR) the ladder has nothing to choose from and pays .02 to .11 for its five rungs. Where some
  guesses are surer it earns more than it pays: of ALIBI with two classes the likeliest labels prove 30% to 43% of ε, the
  surest of them 56% to 81%. Of 100 classes ALIBI's likeliest label says too little, and nobody's confidence mends that.
- **RRWithPrior erases a canary whose label is outside of Y_k.** Here one half of the classes has 90% of the prior (of two
  classes 60%). Canaries drawn *from Y_k*, with k classes in the bound, show all of ε; canaries drawn *anywhere* are still
  bounded validly with K classes, but part of ε is out of reach whatever their number. Rows where Y_k is all classes, and
  so both are one, are printed once.

"""

if __name__ == "__main__":
    main()
