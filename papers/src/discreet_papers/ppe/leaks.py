"""The three leak classes of the threat model (section III-B): how many of each a guard holds, and of their controls,
which had the same question and passages.

The guard reads the answer and compares nothing with the passages that the paper's threat model lets it see: where an
attribute comes from changes nothing about what the answer tells.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.records import Estimate
from discreet.guard.guard import Guard
from discreet.stats import rate_estimate
from discreet.synth.leaks import LEAKS, LeakCase


def measure_leaks(guard: Guard, cases: Sequence[LeakCase]) -> dict[str, tuple[Estimate, Estimate]]:
    """By leak, the shares of leaking answers and of controls that are flagged or not decided, of those that pass
    layer 1. Wilson intervals at 95%."""
    return {leak: (_held(guard, mine, 0), _held(guard, mine, 1)) for leak in LEAKS
            if (mine := [case for case in cases if case.leak == leak])}


def _held(guard: Guard, cases: Sequence[LeakCase], place: int) -> Estimate:
    verdicts = [guard.check(case.answers()[place]) for case in cases]
    passed = [verdict.action for verdict in verdicts if verdict.layer != "direct"]
    return rate_estimate(sum(action != "safe" for action in passed), len(passed), unit="answer", of="answers",
                         method="wilson")
