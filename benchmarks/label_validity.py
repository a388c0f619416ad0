"""Validity of whole label audits on simulated worlds whose memory is known: quiet, loud, and bounds that hold.

    python -m benchmarks.label_validity [--draws 300] [--write]

Each world is drawn `--draws` times and audited with all attacks. `--write` puts the tables into
docs/results/label_validity.md. One core; the verdict does not rest on permutations, so none are drawn.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.machine import machine

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import all_attacks
from discreet.audit.labels.audit import LabelAudit, audit_labels
from discreet.audit.labels.rows import LabelRow

PAGE = Path(__file__).parents[1] / "docs" / "results" / "label_validity.md"
N = 250
LEAK_FREE: dict[str, dict[str, Any]] = {
    "no mechanism": {}, "RR, ε = 1": {"epsilon": 1.0}, "confident (.99)": {"signal": 4.0, "spread": 0.1},
    "10 classes": {"n_classes": 10}, "4 references": {"references": 4}}
MEMORISING: dict[str, dict[str, Any]] = {
    f"RR, ε = {epsilon:g}, K = {classes}": {"epsilon": epsilon, "n_classes": classes, "memory": 6.0}
    for classes in (2, 10) for epsilon in (0.5, 1.0, 2.0, 4.0)}
FAINT: dict[str, dict[str, Any]] = {
    f"memory {memory:g}": {"memory": memory, "signal": 1.0, "spread": 0.5, "planted": (1, 4, 16), "canaries": 600,
                           "held_out": 600} for memory in (0.0, 0.1, 0.2, 0.4, 0.8)}


@dataclass
class Seen:
    """What became of the draws of one world."""

    verdicts: list[str] = field(default_factory=list)
    joint: list[float] = field(default_factory=list)
    one: list[float] = field(default_factory=list)
    oracle: list[float] = field(default_factory=list)
    oracle_control: list[float] = field(default_factory=list)
    honest_void: int = 0
    honest: int = 0
    threshold: list[float] = field(default_factory=list)


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
    seen.joint.append(one.epsilon_lower.value or 0.0)
    first, oracle = plain(one.rows, None), plain(one.rows, "canary")
    assert first is not None
    assert oracle is not None
    seen.one.append(first.bounds.ladder.value or 0.0)
    seen.threshold.append(first.success.value or 0.0)
    seen.oracle.append(oracle.success.value or 0.0)
    seen.oracle_control.append(oracle.held_out.value or 0.0)
    honest = [row for row in one.rows if row.access == "outputs" and row.held_out.resolved]
    seen.honest += len(honest)
    seen.honest_void += sum(row.vetoed for row in honest)


def draw(given: dict[str, Any], draws: int, stream: int) -> Seen:
    world = LabelWorld(**{"canaries": N, "held_out": N, **given})
    # The oracles that are not printed here cost as much as all honest attacks.
    chosen = [attack for attack in all_attacks(world.n_classes) if attack.access == "outputs"
              or (attack.settings.loss_labels, attack.settings.beta, attack.settings.margin) == (
                  "canary", 1.0, "p1-second")]
    seen = Seen()
    for seed in range(draws):
        table = simulated_labels(world, np.random.default_rng((stream, seed)))
        note(seen, audit_labels(table, permutations=0, tune=False, attacks=chosen, seed=seed))
    return seen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    started, parts = time.process_time(), []
    parts += ["## Quiet on leak-free models", "", "| world | fail | bound above 0 | honest rows void | published attack (oracle) "
              "| on controls |", "|---|---|---|---|---|---|"]
    for place, (name, given) in enumerate(LEAK_FREE.items()):
        seen = draw(given, options.draws, place)
        parts.append(f"| {name} | {seen.verdicts.count('fail')} of {options.draws} | "
                     f"{sum(value > 0 for value in seen.joint)} | {seen.honest_void:,} of {seen.honest:,} | "
                     f"{np.mean(seen.oracle):.1%} | {np.mean(seen.oracle_control):.1%} |")
    parts += ["", "## Loud on memory, and bounds that hold", "", "| world | fail | threshold right | its mean bound | above ε "
              "| mean of all attacks | above ε |", "|---|---|---|---|---|---|---|"]
    for place, (name, given) in enumerate(MEMORISING.items()):
        seen = draw(given, options.draws, 100 + place)
        parts.append(f"| {name} | {seen.verdicts.count('fail')} of {options.draws} | {np.mean(seen.threshold):.1%} | "
                     f"{np.mean(seen.one):.2f} | {sum(value > given['epsilon'] for value in seen.one)} | "
                     f"{np.mean(seen.joint):.2f} | {sum(value > given['epsilon'] for value in seen.joint)} |")
    parts += ["", "## What passes", "", "| world | pass | inconclusive | fail |", "|---|---|---|---|"]
    for place, (name, given) in enumerate(FAINT.items()):
        seen = draw(given, options.draws, 200 + place)
        parts.append(f"| {name} | " + " | ".join(str(seen.verdicts.count(word)) for word in (
            "pass", "inconclusive", "fail")) + " |")
    facts = machine()
    parts += ["", f"{options.draws} draws a world, {time.process_time() - started:,.0f} s of one core "
              f"({facts['machine']}, Python {facts['python']}, NumPy {facts['numpy']})."]
    text = "\n".join(parts)
    print(text)
    if options.write:
        head = PAGE.read_text(encoding="utf-8").split("<!-- measured -->")[0] if PAGE.is_file() else HEAD
        PAGE.write_text(f"{head}<!-- measured -->\n\n{text}\n", encoding="utf-8")


HEAD = f"""# Label audits on worlds whose memory is known

`python -m benchmarks.label_validity --write`. Whole audits of simulated tables ({N} canaries and {N} controls unless said)
by all attacks on outputs, untuned, with the published attack (LIA-Delta-Margin with the loss at the secret) beside them.

- *Quiet*: a fail of a leak-free model is a false alarm, and so is a bound above 0; at most 28 of 300 may be (5% and what
  chance adds). With two classes the published attack is right about 70% to 75% of labels, which nobody remembers.
- *Loud*: models that remember the label they were trained on fail, also at ε = 0.5. A bound at 95% may be above ε in at most
  28 of 300. "Its mean bound" is that of LIA-Threshold at ½ (of 10 classes: the likeliest class), "of all attacks" pays for
  the choice of the best.
- *What passes*: 600 canaries, of which 60 each stand 1, 4 and 16 times in training. With no memory an audit does not pass,
  since planted memorisation is not seen (but for a few, by chance); with faint memory only what is planted is seen.

"""

if __name__ == "__main__":
    main()
