"""Validity of whole membership audits on trained small models: quiet on leak-free models, loud on leaks, power as claimed.

    python -m benchmarks.membership_validity --data DATA --runs RUNS.jsonl [--seeds 100] [--only NAME] [--write]

DATA holds `diasafety` and `hate_stormfront`, whose text is neither printed nor kept. RUNS gets one line of figures per
data set and seed; seeds that it has are not run again. `--write` puts the tables, made from RUNS, between the marks of
docs/results/membership_validity.md. One core; seeds are independent.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from benchmarks.membership_validity_models import RECIPES, Corpus, World, read
from benchmarks.membership_validity_tables import write
from benchmarks.page import machine
from discreet.audit.core.power import detectable_estimate
from discreet.audit.core.resampling import Units
from discreet.audit.membership.attack import Scale, primary_scores, score_all
from discreet.audit.membership.audit import TargetAudit, audit_membership
from discreet.audit.membership.controls import planted_leaks
from discreet.audit.membership.evaluation_sets import NonMembers, evaluation_sets
from discreet.audit.membership.rows import Row, Selection
from discreet.audit.scores.table import ReferenceKind
from discreet.stats import auroc_estimate

SMALL = (25, 50, 100, 200, 400)


def row_of(rows: Sequence[Row], kind: ReferenceKind, which: NonMembers, scale: Scale,
           selection: Selection = "global") -> Row | None:
    n = None if selection == "global" else 20
    for row in rows:
        asked = row.spec
        if asked.whole and (asked.attack, asked.reference_kind, asked.nonmembers, asked.scale, asked.selection, asked.n
                            ) == ("reference", kind, which, scale, selection, n):
            return row
    return None


def ends(estimate: Any) -> list[float | None]:
    return [estimate.value, estimate.low, estimate.high]


ASKED: dict[str, tuple[ReferenceKind, NonMembers]] = {
    "paper": ("paired", "reference_train"), "paired, clean": ("paired", "clean"), "neutral": ("neutral", "clean")}


def figures(audit: TargetAudit) -> dict[str, Any]:
    """What the page needs of one audit."""
    assert audit.primary is not None
    found: dict[str, Any] = {
        "verdict": audit.judgement.verdict, "why": audit.judgement.reasons[0][:70], "primary": ends(audit.primary.auc),
        "null p": audit.primary.null_p.value, "group auc": ends(audit.controls["group_auc"]),
        "control": ends(audit.primary.control_auc), "difference": ends(audit.primary.difference["auc"]),
        "n": [audit.primary.n_members, audit.primary.n_nonmembers], "blind": ends(audit.controls["blind_auc"]),
        "epsilon": audit.controls["epsilon_lower"].value, "planted": [
            [one.repetitions, one.auc.n_pos, one.auc.n_neg, *ends(one.auc), one.detected, one.power.value]
            for one in audit.planted]}
    for name, oracle, which in (("honest", False, "clean"), ("oracle", True, "clean"),
                                ("authors", True, "reference_train")):
        p = [row.null_p.value for row in audit.attacks
             if row.spec.oracle == oracle and row.spec.nonmembers == which and row.null_p.value is not None]
        found[f"least p, {name}"] = min(p, default=None)
        found[f"rows, {name}"] = len(p)
        found[f"in band, {name}"] = sum(
            row.null_band[0] <= row.auc.value <= row.null_band[1] for row in audit.attacks
            if row.spec.oracle == oracle and row.spec.nonmembers == which and row.null_band is not None
            and row.auc.value is not None)
    for name, (kind, which) in ASKED.items():
        for scale in ("p", "logit"):
            for selection in ("global", "boundary", "boundary_union"):
                row = row_of(audit.attacks, kind, which, scale, selection)
                if row is not None:
                    found[f"{name}/{scale}/{selection}"] = [*ends(row.auc), row.control_auc.value]
    return found


def powers(world: World) -> Iterator[list[Any]]:
    """Recipe, n and figures: the power that an audit of n claims for the leak of what was planted once, and its AUC.

    The same functions as a whole audit calls, for its primary endpoint alone.
    """
    for recipe in RECIPES:
        table = world.table("a", recipe)
        for n in SMALL:
            small = world.small(table, n, np.random.default_rng((world.seed, 2, n)))
            units, sides = Units.of(small), evaluation_sets(small, 0, np.random.default_rng(0))
            chosen = primary_scores(score_all(small, sides, seed=world.seed, names=("reference",)))
            assert chosen is not None
            assert chosen.target is not None
            rows = np.concatenate([sides.members, sides.clean[chosen.kind]])
            auc = auroc_estimate(chosen.target[rows], np.arange(rows.size) < sides.members.size, unit=units.name,
                                 groups=units.at(rows))
            once = planted_leaks(small, sides, chosen, auc, units)[0]
            assert once.repetitions == 1
            yield [recipe, n, *ends(once.power), *ends(auc), auc.n_pos, auc.n_neg, detectable_estimate(auc).value,
                   *ends(once.auc)]


ARMS = {"leak-free": ("leak-free", "overfitted"), "leak-free, regularised": ("leak-free", "regularised"),
        **{recipe: ("a", recipe) for recipe in RECIPES}}
PERMUTATIONS, BOOTSTRAPS = 199, 200
"""Fewer than an audit's own 999 and 1,000, for time; neither moves an AUC, its interval or a verdict."""


def one_seed(corpus: Corpus, seed: int) -> dict[str, Any]:
    world, start = World(corpus, seed), time.process_time()
    tables = {arm: world.table(*which) for arm, which in ARMS.items()}
    trained = time.process_time()
    texts = {f"e{row}": corpus.texts[row] for row in world.rows.tolist()}
    found: dict[str, Any] = {"data": corpus.name, "seed": seed, "sizes": {k: v.size for k, v in world.sides.items()},
                             "planted weight": int(world.times[world.planted].sum())}
    for arm, table in tables.items():
        # The blind baseline sees neither target nor scores, and its folds are drawn alike: once a seed is enough.
        [audit] = audit_membership(table, design="randomised", permutations=PERMUTATIONS, bootstraps=BOOTSTRAPS,
                                   seed=seed, texts=texts if arm == "leak-free" else None).targets
        found[arm] = figures(audit)
    audited = time.process_time()
    found["power"], found["utility"] = list(powers(world)), world.utility
    found["cpu"] = [trained - start, audited - trained, time.process_time() - audited]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--only", choices=("diasafety", "hate_stormfront"))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    old = args.runs.read_text(encoding="utf-8").splitlines() if args.runs.exists() else []
    done = {(one["data"], one["seed"]) for one in map(json.loads, old)}
    corpora = [read(args.data, name) for name in ("diasafety", "hate_stormfront") if args.only in (None, name)]
    for seed in range(args.seeds):
        for corpus in corpora:
            if (corpus.name, seed) not in done:
                line = json.dumps(one_seed(corpus, seed))
                with args.runs.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
    if args.write:
        write([json.loads(line) for line in args.runs.read_text(encoding="utf-8").splitlines()],
              "The same tables come out of `--write` on "
              f"{machine()['machine']}, Python {platform.python_version()}, numpy {np.__version__}, scikit-learn "
              f"{sklearn.__version__}, scipy {scipy.__version__}.")


if __name__ == "__main__":
    main()
