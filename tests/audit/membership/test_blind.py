from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership.blind import blind_auc
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.scores.table import ScoreTable

WORLD = World(members=120, others=0, clean=120, selector=0, paired=0)
WORDS = ["red", "green", "blue", "grey", "pink"]


def blind(table: ScoreTable, texts: dict[str, str] | None = None, seed: int = 0) -> Estimate:
    sides = evaluation_sets(table, 0, np.random.default_rng(0))
    return blind_auc(table, sides, np.random.default_rng(seed), texts=texts, units=Units.of(table))


def texts_of(table: ScoreTable, rng: np.random.Generator, mark: str = "") -> dict[str, str]:
    return {str(one): " ".join(rng.choice(WORDS, 6)) + (mark if table.member[0, row] == 1 else "")
            for row, one in enumerate(table.examples.id)}


def test_hears_a_word_that_only_members_have() -> None:
    table = simulated_table(WORLD, np.random.default_rng(0))
    found = blind(table, texts_of(table, np.random.default_rng(1), " marked"))
    assert found.value == 1.0
    assert "texts" in found.method


def test_is_quiet_on_texts_of_one_kind() -> None:
    """Out of fold and ranked within folds: ½ lies inside in at least 87 of 100, and the mean is ½."""
    values, inside = [], 0
    for seed in range(100):
        table = simulated_table(replace(WORLD, members=60, clean=60), np.random.default_rng(seed))
        found = blind(table, texts_of(table, np.random.default_rng(seed + 1000)), seed)
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        values.append(found.value)
        inside += found.low <= 0.5 <= found.high
    assert inside >= 87
    assert np.mean(values) == pytest.approx(0.5, abs=0.025)


def test_a_person_is_never_on_both_sides_of_a_fold() -> None:
    # Every person has a word of their own: only a fold that knows the person could tell.
    table = simulated_table(replace(WORLD, group_size=4), np.random.default_rng(0))
    group = table.examples.group
    assert group is not None
    found = blind(table, {str(one): f"word{group[row]}" for row, one in enumerate(table.examples.id)})
    assert found.value is not None
    assert found.value < 0.65
    assert found.unit == "group"


def test_columns_stand_in_for_texts() -> None:
    table = simulated_table(WORLD, np.random.default_rng(0))
    length = np.where(table.member[0] == 1, 30, 10).astype(object)
    table = replace(table, examples=replace(table.examples, columns={"length": length}))
    found = blind(table)
    assert found.value == 1.0
    assert "length" in found.method
    assert "label" in found.method


def test_what_it_cannot_say() -> None:
    table = simulated_table(WORLD, np.random.default_rng(0))
    bare = replace(table, examples=replace(table.examples, categories=None, label=np.zeros_like(table.examples.label)))
    assert "there are no texts" in str(blind(bare).reason)
    few = simulated_table(replace(WORLD, members=4), np.random.default_rng(0))
    assert "at least 5 examples" in str(blind(few).reason)
    texts = texts_of(table, np.random.default_rng(1))
    del texts["e3"]
    with pytest.raises(InputError, match="1 of 240 judged examples have no text"):
        blind(table, texts)
