"""Does the verdict of a membership audit cover parts? Whole audits of simulated score tables whose leak is known.

    OMP_NUM_THREADS=1 python -m benchmarks.membership_gate [--seeds 20] [--null-seeds 60] [--only PLACE]

Cells are: where the leak is (everywhere, in the rare class only, in one category only, nowhere), the share of the rare
class, the number of members, and the attacker (the loss alone, or a neutral reference). The AUC of a leak has a closed
form, so that what a sample can resolve is said before any verdict is read. Prints a table in Markdown. One core.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod, sqrt
from statistics import NormalDist

import numpy as np

from discreet.audit.core.power import auc_deviation
from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.options import WHOLE
from discreet.audit.scores.table import ScoreTable
from discreet.stats import clopper_pearson

SHARES = {"1:2": 0.5, "1:20": 1 / 21, "1:50": 1 / 51}
MEMBERS = (1400, 5000)
PLACES = {"everywhere": "", "rare class": "class 1", "one category": "category fraud", "nowhere": "none"}
STRENGTHS = (0.7, 0.85)
"""AUC of the deciding attack where the leak is."""
NORMAL = NormalDist()
TOLERANCE, IN_PART, PARTS = 0.55, 0.65, 7
SURE, DECIDED = 0.95, 0.85
"""A leak is resolvable where each condition of a fail holds with this probability; a model without a leak where all
conditions of a pass together do."""


@dataclass(frozen=True)
class Cell:
    """One row of the truth table."""

    place: str
    share: str
    members: int
    neutral: bool
    auc: float

    @property
    def world(self) -> World:
        """The score table that is simulated; its closed form turns the AUC into what training adds to the log odds."""
        world = World(members=self.members, others=0, clean=self.members, paired=0, neutral=int(self.neutral),
                      selector=600, planted={16: 120}, rare=SHARES[self.share])
        spread = world.noise * sqrt(2.0) if self.neutral else sqrt(world.spread**2 + world.noise**2)
        leak = 0.0 if self.place == "nowhere" else NORMAL.inv_cdf(self.auc) * sqrt(2.0) * spread
        return replace(world, leak=leak, leak_in="" if self.place in ("everywhere", "nowhere") else PLACES[self.place])

    @property
    def sizes(self) -> dict[str, float]:
        """Expected members of each part; as many others."""
        rare = self.members * SHARES[self.share]
        return {WHOLE: self.members, "class 0": self.members - rare, "class 1": rare,
                **{f"category {place}": self.members / 3 for place in range(3)}, "boundary": min(rare, 50) + 50}

    @property
    def resolvable(self) -> bool:
        """Whether the sample is to decide, from sizes and the true AUC alone."""
        if self.place == "nowhere":
            return can_pass(self.sizes)
        where = {"everywhere": WHOLE, "rare class": "class 1", "one category": "category 0"}[self.place]
        return can_fail(self.auc, self.sizes[where], tolerance_of(where), PARTS)


def tolerance_of(part: str) -> float:
    """The tolerated AUC of a part by its name."""
    return TOLERANCE if part == WHOLE else IN_PART


def can_pass(sizes: Mapping[str, float]) -> bool:
    """Whether a model without a leak should pass, from the members of each part, with as many others."""
    return prod(NORMAL.cdf((tolerance_of(part) - 0.5) / deviation(0.5, n) - 1.645)
                for part, n in sizes.items()) >= DECIDED


def can_fail(auc: float, n: float, tolerance: float, parts: int) -> bool:
    """Whether a leak of this true AUC in a part of n members and n others should fail, as one of so many parts."""
    at, null = deviation(auc, n), deviation(0.5, n)
    conditions = ((auc - tolerance) / at, (auc - 0.5 - NORMAL.inv_cdf(1.0 - 0.05 / parts) * null) / at,
                  (auc - 0.5) / sqrt(at**2 + null**2) - 1.96)
    return min(map(NORMAL.cdf, conditions)) >= SURE


def deviation(auc: float, n: float) -> float:
    """Standard error of an AUC of n members and n others."""
    return auc_deviation(auc, round(n), round(n))


def cells() -> Iterator[Cell]:
    """All cells; a leak in the rare class is not asked where no class is rare."""
    for place, share, members, neutral, auc in product(PLACES, SHARES, MEMBERS, (False, True), STRENGTHS):
        if not (place == "rare class" and share == "1:2") and not (place == "nowhere" and auc != STRENGTHS[0]):
            yield Cell(place, share, members, neutral, auc)


def audited(table: ScoreTable, seed: int) -> MembershipAudit:
    """A whole audit with nothing that the verdict does not need."""
    return audit_membership(table, design="randomised", permutations=0, bootstraps=1, seed=seed, attacks=["loss"])


def share_of(k: int, n: int) -> str:
    """"3 of 400 (at most 1.9%)": the upper end of the exact one-sided 95% interval."""
    high = clopper_pearson(k, n, 0.90)[1] if n else 1.0
    return f"{k} of {n} (at most {100 * high:.1f}%)"


def run(seeds: int, null_seeds: int, only: str) -> None:
    """Print the truth table and its totals."""
    hidden = 0
    totals: dict[str, Counter[str]] = {"leak": Counter(), "resolvable leak": Counter(), "none": Counter(),
                                       "resolvable none": Counter()}
    print("| leak | AUC there | rare class | members | attacker | resolvable | fail | inconclusive | pass |")
    print("|---|---|---|---|---|---|---|---|---|")
    for cell in cells():
        nowhere, found = cell.place == "nowhere", Counter[str]()
        if only not in ("", cell.place):
            continue
        for seed in range(null_seeds if nowhere else seeds):
            audit = audited(simulated_table(cell.world, np.random.default_rng([seed, 27])), seed)
            found[audit.verdict] += 1
            hidden += not nowhere and audit.decisive.parts[0].state == "within"
        kind = "none" if nowhere else "leak"
        totals[kind] += found
        totals[f"resolvable {kind}"] += found if cell.resolvable else Counter()
        print(f"| {cell.place} | {'–' if nowhere else f'{cell.auc:g}'[1:]} | {cell.share} | {cell.members:,} | "
              f"{'neutral reference' if cell.neutral else 'loss'} | {'yes' if cell.resolvable else 'no'} | "
              f"{found['fail']} | {found['inconclusive']} | {found['pass']} |", flush=True)
    leak, seen, none, quiet = totals.values()
    print(f"\nleaks that pass: {share_of(leak['pass'], leak.total())}")
    print(f"leaks that are within the tolerance over all records: {hidden} of {leak.total()}")
    print(f"models without a leak that fail: {share_of(none['fail'], none.total())}")
    print(f"resolvable leaks that fail: {seen['fail']} of {seen.total()}")
    print(f"resolvable models without a leak that pass: {quiet['pass']} of {quiet.total()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--null-seeds", type=int, default=60)
    parser.add_argument("--only", default="", choices=["", *PLACES])
    given = parser.parse_args()
    started = time.process_time()
    run(given.seeds, given.null_seeds, given.only)
    print(f"\n{(time.process_time() - started) / 60:.1f} minutes of CPU time")


if __name__ == "__main__":
    main()
