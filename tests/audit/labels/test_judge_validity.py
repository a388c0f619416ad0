"""Whole audits of simulated worlds: quiet on the innocent, loud on memory, bounds that hold.

benchmarks/label_validity.py does the same with 300 draws and more worlds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.audit.labels.judge import audit_labels
from discreet.audit.labels.judge_result import LabelAudit
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.view import all_attacks

DRAWS = 100
QUIET = 87


def audits(attacks: str = "outputs", *, draws: int = DRAWS, **given: Any) -> list[LabelAudit]:
    world = LabelWorld(**{"canaries": 150, "placebos": 150, **given})
    chosen = [attack for attack in all_attacks(world.n_classes) if attack.access == attacks]
    return [audit_labels(simulated_labels(world, np.random.default_rng((seed, 7))), permutations=0, tune=False,
                         attacks=chosen) for seed in range(draws)]


@pytest.mark.parametrize("given", [
    {}, {"epsilon": 1.0}, {"n_classes": 3, "epsilon": 2.0}, {"references": 4}, {"signal": 4.0, "spread": 0.1}])
def test_honest_attacks_are_quiet_on_the_innocent(given: dict[str, Any]) -> None:
    found = audits(**given)
    assert sum(one.verdict != "fail" for one in found) >= QUIET
    truth = given.get("epsilon", np.inf)
    assert sum((one.models[0].epsilon_lower.value or 0.0) <= truth for one in found) >= QUIET
    # Innocent models prove no epsilon at all.
    assert sum(one.models[0].epsilon_lower.value == 0.0 for one in found) >= QUIET


@pytest.mark.parametrize(("epsilon", "n_classes"), [(0.5, 2), (2.0, 2), (1.0, 4)])
def test_memory_is_loud_and_its_bound_holds(epsilon: float, n_classes: int) -> None:
    found = audits(epsilon=epsilon, n_classes=n_classes, memory=4.0, draws=40)
    assert all(one.verdict == "fail" for one in found)
    assert sum((one.models[0].epsilon_lower.value or 0.0) > epsilon for one in found) <= 4
    best = [max(row.bounds.ladder.value or 0.0 for row in one.rows) for one in found]
    assert np.mean(best) > (0.0 if epsilon < 1.0 else 0.25 * epsilon)


def test_the_oracle_would_convict_the_innocent_and_is_not_asked() -> None:
    found = audits("oracle", draws=20, signal=4.0, spread=0.1)
    assert all(max(row.success.value or 0.0 for row in one.rows) > 0.6 for one in found)
    assert all(one.verdict == "inconclusive" for one in found)
