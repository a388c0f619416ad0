from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.audit.membership.audit import audit_membership
from discreet.audit.membership.simulate import World, simulated_table
from discreet.cli.audit_words import audit_lines
from discreet.report.audited import audited
from discreet.report.tiles import lines

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    world = World(members=60, others=0, clean=60, selector=20, paired=0, leak=2.0)
    found = audit_membership(simulated_table(world, np.random.default_rng(1)), design="randomised", permutations=9,
                             bootstraps=5)
    return {"kind": "audit membership", "schema": 1, **json.loads(json.dumps(found.to_json()))}


def test_ppv_and_epsilon_stand_between_the_table_and_the_controls(record: dict[str, Any]) -> None:
    said = audit_lines(record)
    places = [next(at for at, line in enumerate(said) if line.startswith(start)) for start in (
        "attack ", "PPV where 1% are members", "Epsilon of this training run: at least ", "Controls")]
    assert places == sorted(places)
    between = " ".join(" ".join(said[places[1]:places[2] + 1]).split())
    assert between == " ".join(lines(audited(record)[0], record))
    assert between.count("; placebo ") == 2


def test_a_label_free_attack_below_one_half_is_explained_under_them(record: dict[str, Any]) -> None:
    changed = copy.deepcopy(record)
    for row in changed["attacks"]:
        if (row["attack"], row["selection"]) == ("entropy", "boundary"):
            row["auc"] |= {"value": 0.2, "low": 0.1, "high": 0.3}
    assert "entropy gives .200" in " ".join(audit_lines(changed))


def test_the_help_says_that_deciding_attacks_are_always_run(cli: Cli) -> None:
    said = " ".join(cli("audit", "membership", "--help").out.replace("│", " ").split())
    assert "The reference and loss attacks, which a verdict rests on, are run in any case." in said
    assert "--embeddings" in said
