"""Validity of whole label audits on simulated worlds whose memory is known: quiet, loud, and bounds that hold.

    python -m benchmarks.label_validity [--draws 300] [--tables leak-free holm mechanisms passes] [--write]

Each world is drawn `--draws` times and audited with all attacks. `--write` puts the tables into
docs/results/label_validity.md. One core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.page import machine, replace_between
from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import LabelAttack, all_attacks
from discreet.audit.labels.audit import LabelAudit, audit_labels
from discreet.audit.labels.bounds import ceiling
from discreet.audit.labels.null import Assignment
from discreet.audit.labels.rows import LabelRow
from discreet.audit.scores.table import ScoreTable
from discreet.stats.mechanisms.labels.rr import HalvedRandomisedResponse

N = 250
ASSIGNMENTS: tuple[Assignment, ...] = ("uniform", "unknown")
LEAK_FREE: dict[str, dict[str, Any]] = {
    "no mechanism": {}, "RR, ε = 1": {"epsilon": 1.0}, "confident (.99)": {"signal": 4.0, "spread": 0.1},
    "10 classes": {"n_classes": 10}, "4 references": {"references": 4}}
PROMISES = tuple((classes, epsilon) for classes in (2, 10) for epsilon in (0.5, 1.0, 2.0, 4.0))
FEW_SEEN = {"signal": 1.0, "spread": 0.5}
WEAK: dict[str, dict[str, Any]] = {
    f"{name}, memory {memory:g}": {**FEW_SEEN, **given, "memory": memory}
    for name, given in (("2 classes", {}), ("4 references", {"references": 4})) for memory in (0.0, 0.25)}
FAINT: dict[str, dict[str, Any]] = {
    f"memory {memory:g}": {**FEW_SEEN, "memory": memory, "planted": (1, 4, 16), "canaries": 600, "held_out": 600}
    for memory in (0.0, 0.1, 0.2, 0.4, 0.8)}


@dataclass
class Seen:
    """What became of the draws of one world."""

    verdicts: list[str] = field(default_factory=list)
    joint: list[float] = field(default_factory=list)
    oracle: list[float] = field(default_factory=list)
    oracle_control: list[float] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    void: int = 0


def plain(rows: tuple[LabelRow, ...], source: str | None) -> LabelRow | None:
    for row in rows:
        settings = row.settings
        if row.target == "canary" and not row.tuned and settings.loss_labels == source and (
                settings.threshold == "fixed" if source is None else
                settings.alpha == settings.beta and settings.margin == "p1-second"):
            return row
    return None


def note(seen: Seen, audit: LabelAudit) -> None:
    one = audit.models[0]
    seen.verdicts.append(audit.verdict)
    seen.void += one.judged.void
    seen.joint.append(one.epsilon_lower.value or 0.0)
    first, oracle = plain(one.rows, None), plain(one.rows, "canary")
    assert first is not None
    assert oracle is not None
    seen.threshold.append(first.success.value or 0.0)
    seen.oracle.append(oracle.success.value or 0.0)
    seen.oracle_control.append(oracle.held_out.value or 0.0)


def attacks_on(world: LabelWorld) -> list[LabelAttack]:
    """All on outputs, and the published oracle: the oracles that are not printed here cost as much as all others."""
    return [attack for attack in all_attacks(world.n_classes) if attack.access == "outputs"
            or (attack.settings.loss_labels, attack.settings.beta, attack.settings.margin) == ("canary", 1.0, "p1-second")]


def simulated(given: dict[str, Any], stream: int, seed: int, promised: float | None = None) -> ScoreTable:
    """A table of a world; with `promised` its labels were randomised with another ε than the one that it names."""
    table = simulated_labels(LabelWorld(**{"canaries": N, "held_out": N, **given}), np.random.default_rng((stream, seed)))
    return table if promised is None else replace(
        table, models=tuple(replace(one, epsilon=promised, mechanism="rr") for one in table.models))


def draw(given: dict[str, Any], draws: int, stream: int, promised: float | None = None) -> Seen:
    seen = Seen()
    for seed in range(draws):
        table = simulated(given, stream, seed, promised)
        note(seen, audit_labels(table, tune=False, attacks=attacks_on(LabelWorld(**given)), seed=seed))
    return seen


def compared(given: dict[str, Any], draws: int, stream: int) -> tuple[int, int, int, int, int]:
    """Of the same tables: findings of all attacks together, whatever the control says; fails; void audits; findings
    that name an attack; and fails by Holm over Fisher's test against held-out canaries."""
    fails, holms, void, alone, named = 0, 0, 0, 0, 0
    honest = [attack for attack in all_attacks(LabelWorld(**given).n_classes) if attack.access == "outputs"]
    for seed in range(draws):
        table = simulated(given, stream, seed)
        both = [audit_labels(table, attacks=honest, tune=False, seed=seed, assignment=how) for how in ASSIGNMENTS]
        fails, holms = fails + (both[0].verdict == "fail"), holms + (both[1].verdict == "fail")
        one = both[0].models[0].judged
        void, alone, named = void + one.void, alone + one.found, named + bool(one.found and one.named)
    return alone, fails, void, named, holms


def leak_free(draws: int) -> list[str]:
    lines = ["| world | fail | audit void | bound above 0 | published attack (oracle) | on held-out canaries |",
             "|---|---|---|---|---|---|"]
    for place, (name, given) in enumerate(LEAK_FREE.items()):
        seen = draw(given, draws, place)
        lines.append(f"| {name} | {seen.verdicts.count('fail')} of {draws} | {seen.void} | "
                     f"{sum(value > 0 for value in seen.joint)} | {np.mean(seen.oracle):.1%} | "
                     f"{np.mean(seen.oracle_control):.1%} |")
    return lines


def against_holm(draws: int) -> list[str]:
    lines = ["| world | p < .05 together | fail | audit void | an attack is named | fail by Holm |", "|---|---|---|---|---|---|"]
    for place, (name, given) in enumerate(WEAK.items()):
        alone, fails, void, named, holms = compared(given, draws, 300 + place)
        lines.append(f"| {name} | {alone} of {draws} | {fails} | {void} | {named} | {holms} |")
    return lines


def mechanisms(draws: int) -> list[str]:
    lines = ["| world | pass | inconclusive | fail | threshold right | ceiling | mean bound | above ε | broken: fail |",
             "|---|---|---|---|---|---|---|---|---|"]
    for place, (classes, epsilon) in enumerate(PROMISES):
        world: dict[str, Any] = {"n_classes": classes, "memory": 6.0, "planted": (1, 4, 16), "canaries": 400}
        seen = draw({**world, "epsilon": epsilon}, draws, 100 + place)
        real = HalvedRandomisedResponse.at(epsilon, classes).exact_epsilon()
        broken = draw({**world, "epsilon": real}, draws, 150 + place, promised=epsilon)
        lines.append(f"| ε = {epsilon:g}, K = {classes} | {words(seen)} | {np.mean(seen.threshold):.1%} | "
                     f"{ceiling(epsilon, classes):.1%} | {np.mean(seen.joint):.2f} | "
                     f"{sum(value > epsilon for value in seen.joint)} | {broken.verdicts.count('fail')} of {draws} |")
    return lines


def passes(draws: int) -> list[str]:
    return ["| world | pass | inconclusive | fail |", "|---|---|---|---|", *(
        f"| {name} | {words(draw(given, draws, 200 + place))} |" for place, (name, given) in enumerate(FAINT.items()))]


def words(seen: Seen) -> str:
    return " | ".join(str(seen.verdicts.count(word)) for word in ("pass", "inconclusive", "fail"))


TABLES: dict[str, tuple[str, Callable[[int], list[str]]]] = {
    "leak-free": ("No false alarms on models that do not leak", leak_free),
    "holm": ("All attacks together against Holm", against_holm),
    "mechanisms": ("Randomised response that keeps its ε, and that does not", mechanisms),
    "passes": ("What passes without a mechanism", passes)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--commit", default="", help="the commit of the code, for the page")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for name in options.tables:
        title, table = TABLES[name]
        started, facts = time.process_time(), machine()
        lines = table(options.draws)
        text = "\n".join([*lines, "", (
            f"{options.draws} draws a world, seeds 0 to {options.draws - 1}, {time.process_time() - started:,.0f} s of one "
            f"core ({facts['machine']}, Python {facts['python']}, NumPy {facts['numpy']})"
            f"{options.commit and f', commit {options.commit}'}.")])
        print(f"## {title}\n\n{text}\n", flush=True)
        if options.write:
            replace_between("label_validity.md", f"<!-- {name} -->", f"<!-- /{name} -->", f"\n{text}\n")


if __name__ == "__main__":
    main()
