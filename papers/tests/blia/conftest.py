"""Tables of label scores of simulated worlds, and one tiny study that is really trained."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.attacker_view import Guesses
from discreet.audit.labels.rows import Tried
from discreet_papers.blia.reproduction import Setting, Study, Work
from discreet_papers.blia.results import Part
from discreet_papers.blia.tables import HALVED, RR


def parts_of(n: int = 2, **world: float) -> list[Part]:
    """The targets of `n` seeds of one simulated condition."""
    found = []
    for seed in range(n):
        table = simulated_labels(LabelWorld(**{"canaries": 120, "held_out": 120, "references": 4, **world}),  # type: ignore[arg-type]
                                 np.random.default_rng(seed))
        models = tuple(replace(model, seed=str(seed)) for model in table.models)
        found.append((changed(table, models=models), 0))
    return found


def tried(guess: np.ndarray[Any, Any], secret: np.ndarray[Any, Any]) -> Tried:
    return Tried(Guesses(guess, np.ones(guess.size)), secret, secret, 2)


@pytest.fixture(scope="session")
def remembering() -> list[Part]:
    """Three seeds of a model that remembers what it was trained on, under ε = 1."""
    return parts_of(3, memory=6.0, epsilon=1.0)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Study:
    work = Work({"name": "mlp", "hidden": 16, "epochs": 3, "batch": 32, "rate": 0.01}, 60, 60, 60, 400, planted_each=3,
                mechanisms=(RR, HALVED), epsilons=(inf, 1.0), seeds=(1, 2), references=1)
    few = replace(work, rows=300, epsilons=(inf,), seeds=(1,), references=0)
    return Study(Setting({"made_up": work}, "made_up", few, shares=(0.2, 0.5)), None,
                 Path(tmp_path_factory.mktemp("blia")))
