"""Saved audits of small simulated worlds, as a run folder holds them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.audit import audit_membership
from discreet.report import summarise, to_html

Record = dict[str, Any]

RICH = World(members=160, others=160, clean=160, selector=60, planted={1: 30, 4: 30}, shadows=4)


def saved(world: World, *, design: str = "randomised", tolerance: float = 0.65, permutations: int = 19) -> Record:
    found = audit_membership(simulated_table(world, np.random.default_rng(1)), design=design, tolerance_auc=tolerance,
                             permutations=permutations, bootstraps=20, seed=3)
    record = {"kind": "audit membership", "schema": 1, **found.to_json()}
    # What is not in the file cannot be on the page.
    return dict(json.loads(json.dumps(record)))


@pytest.fixture(scope="session")
def passing() -> Record:
    return saved(RICH)


@pytest.fixture(scope="session")
def leaking() -> Record:
    return saved(World(members=160, others=160, clean=160, selector=60, leak=1.6, planted={4: 30}))


@pytest.fixture(scope="session")
def bare() -> Record:
    """A target alone: no references, control, selector or permutations; groups of two."""
    return saved(World(members=60, others=0, clean=60, selector=0, paired=0, neutral=0, controls=0, group_size=2),
                 design="convenience", permutations=0)


@pytest.fixture(scope="session")
def passing_page(passing: Record) -> str:
    return to_html(summarise(passing))
