"""Are lists of members who can be named empty for models without a leak, and as right as they say for others?

    OMP_NUM_THREADS=1 python -m benchmarks.record_risk [--only NAME] [--seeds N]

A third of the non-members is called members, held out from the controls: whoever of them is named is named falsely. With
a model that saw neither set, everybody who is named is.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from scipy.stats import binom, norm
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import discreet
from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership import in_memory, record_risk
from discreet.audit.membership.attack import primary_scores, score_all
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.membership.rows import judged_row
from discreet.audit.scores.table import IN, ScoreTable
from discreet.core.records import Estimate
from discreet.stats.attackers import benjamini_hochberg

ERROR = record_risk.ERROR
UNKNOWN = Estimate.unresolved("not asked")
Make = Callable[[int], ScoreTable]


class _FoundError(Exception):
    """Carries the table that an audit of a model in memory would judge."""


def simulated(leak: float, leak_in: str = "", group_size: int = 1, members: int = 1000, shadows: int = 8) -> Make:
    """Tables of a world in which members leak so much."""
    noise = 0.5 if group_size > 1 else 0.0
    world = World(members=members, others=200, clean=3 * members // 2, selector=0, leak=leak, leak_in=leak_in,
                  group_size=group_size, group_noise=noise, shadows=shadows, paired=0)
    return lambda seed: simulated_table(world, np.random.default_rng((seed, 27)))


def forest(trees: int, noise: float, *, clean: bool = False, size: int = 1000, references: int = 8) -> Make:
    """Tables of random forests on made-up features, a share `noise` of the labels drawn at random."""

    def make(seed: int) -> ScoreTable:
        x, y = make_classification(5 * size, 12, n_informative=6, flip_y=noise, random_state=seed)
        inside, outside, other = np.split(np.random.default_rng(seed).permutation(5 * size), [size, 4 * size])
        seen = other if clean else inside
        model = RandomForestClassifier(trees, random_state=seed).fit(x[seen], y[seen])

        def stop(table: ScoreTable, **_: object) -> None:
            raise _FoundError(table)

        with patch.object(in_memory, "audit_membership", stop):
            try:
                discreet.audit_model(model, (x[inside], y[inside]), (x[outside], y[outside]), references=references,
                                     design="randomised", seed=seed)
            except _FoundError as found:
                table: ScoreTable = found.args[0]
                return table
        raise AssertionError("an audit ended without a table")

    return make


SCENES: dict[str, tuple[Make, bool]] = {
    "simulated, no leak": (simulated(0.0), True),
    "simulated, no leak, users of 3 records": (simulated(0.0, group_size=3), True),
    "forests that saw neither set": (forest(15, 0.3, clean=True, size=500, references=4), True),
    "simulated, all members leak": (simulated(2.5), False),
    "simulated, one class of two leaks": (simulated(4.0, "class 1"), False),
    "simulated, one category of three leaks": (simulated(4.0, "category fraud"), False),
    "forests": (forest(40, 0.4, references=16), False)}


def judged(table: ScoreTable, seed: int, *, hold_out: bool) -> Iterator[tuple[str, int, int]]:
    """Rule, members named, and how many of them are held-out non-members."""
    held = np.zeros(len(table.examples), dtype=np.bool_)
    if hold_out:
        rng = np.random.default_rng((seed, 1))
        sets = evaluation_sets(table, 0, np.random.default_rng(0))
        out = sets.clean[None]
        unit = out if table.examples.group is None else table.examples.group[out]
        names = rng.permutation(np.unique(unit))
        held[out[np.isin(unit, names[:names.size // 3])]] = True
    member = table.member.copy()
    member[0, held] = IN
    table = replace(table, member=member)
    sets, units = evaluation_sets(table, 0, np.random.default_rng(0)), Units.of(table)
    scores = score_all(table, sets, seed=0)
    chosen = primary_scores(scores)
    assert chosen is not None
    rows = [judged_row(table, sets, one, "clean") for one in scores if one.target is not None]
    own = next(one for one in rows if one.scores is chosen)
    risk = record_risk.record_risk(own, rows, table, units, "randomised", UNKNOWN, 0.55)
    is_held = held[own.rows[own.truth]]
    # The rule's own list, also where the control model's makes it void.
    yield "joint score, void with the control's", int(risk.is_named.sum()), int((risk.is_named & is_held).sum())
    by = {"joint score": risk.p, "deciding attack alone": risk.attack_p[record_risk.called(own.spec)],
          "Bonferroni": np.minimum(1.0, risk.joined * np.nanmin(list(risk.attack_p.values()), axis=0))}
    for name, p in by.items():
        named = benjamini_hochberg(p) <= ERROR
        yield name, int(named.sum()), int((named & is_held).sum())


def main() -> None:
    """A line of JSON for each scene and rule."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", default="")
    asked.add_argument("--seeds", type=int, default=60)
    given = asked.parse_args()
    for name, (make, clean) in SCENES.items():
        if given.only not in name:
            continue
        found = dict[str, list[tuple[int, int]]]()
        n = given.seeds if clean else max(1, given.seeds // 3)
        for seed in range(n):
            for rule, named, false in judged(make(seed), seed, hold_out=not clean):
                found.setdefault(rule, []).append((named, false))
        for rule, counts in found.items():
            shares = [false / named if named else 0.0 for named, false in counts]
            lists = sum(named > 0 for named, _ in counts)
            half = norm.ppf(0.975) * float(np.std(shares)) / np.sqrt(n)
            print(json.dumps({"scene": name, "rule": rule, "models": n, "lists": lists,
                              "named": round(float(np.mean([named for named, _ in counts])), 1),
                              **({"p of so many lists at 5%": round(float(binom.sf(lists - 1, n, ERROR)), 3)}
                                 if clean else {"false share": round(float(np.mean(shares)), 4),
                                                   "half width": round(half, 4)})}), flush=True)


if __name__ == "__main__":
    main()
