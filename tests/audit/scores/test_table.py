from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from tests.audit.labels.tables import changed

from discreet.audit.core.simulate import LabelWorld, World, simulated_labels, simulated_table
from discreet.audit.scores.table import Model
from discreet.core.arrays import log_softmax


@given(st.lists(st.lists(st.floats(-800, 800), min_size=3, max_size=3), min_size=1, max_size=5))
def test_log_softmax_is_scipy_s(rows: list[list[float]]) -> None:
    logits = np.array(rows)
    assert log_softmax(logits) == pytest.approx(special.log_softmax(logits, axis=-1), abs=1e-9)


def test_what_a_table_says_of_itself() -> None:
    table = simulated_labels(LabelWorld(canaries=6, held_out=5, n_classes=4, references=3), np.random.default_rng(0))
    assert (len(table.examples), table.n_classes, table.targets, table.label_references(0)) == (11, 4, (0,), (1, 2, 3))
    assert table.log_p.shape == (4, 11, 1, 4)
    assert np.exp(table.log_p).sum(axis=-1) == pytest.approx(1.0)


def test_references_are_of_the_target_s_seed_then_of_its_mechanism() -> None:
    table = simulated_labels(LabelWorld(canaries=6, held_out=5, references=4), np.random.default_rng(0))
    said = [("target", "none", inf, "1"), ("reference", "none", inf, "1"), ("reference", "rr", 2.0, "1"),
            ("reference", "none", inf, "2"), ("reference", "none", inf, None)]

    def among(*models: tuple[str, str, float, str | None]) -> tuple[int, ...]:
        named = tuple(Model(str(place), role, mechanism=mechanism, epsilon=epsilon,  # type: ignore[arg-type]
                            seed=seed)
                      for place, (role, mechanism, epsilon, seed) in enumerate(models))
        return changed(table, models=named).label_references(0)

    assert among(*said) == (1, 4)
    # Of another mechanism rather than of another seed; of another seed rather than none.
    assert among(("target", "alibi", 1.0, "1"), *said[1:]) == (1, 2, 4)
    assert among(("target", "none", inf, "3"), *said[1:4], said[3]) == (1, 3, 4)


WORLD = World(members=12, others=0, clean=12, selector=0, paired=0, group_size=3)


def test_every_record_of_a_split_group_goes_and_nothing_else() -> None:
    table = simulated_table(WORLD, np.random.default_rng(0))
    alone = replace(table, examples=replace(table.examples, group=None))
    for whole in (table, alone):
        assert whole.without_split_groups() == (whole, 0)
    member = table.member.copy()
    # What the table does not say splits nothing, nor does another model.
    member[0, 4], member[1] = -1, np.arange(24) % 2
    assert replace(table, member=member).without_split_groups()[1] == 0
    member = table.member.copy()
    member[0, 4] = 0
    left, count = replace(table, member=member).without_split_groups()
    assert count == 1
    kept = np.delete(np.arange(24), [3, 4, 5])
    assert left.examples.id.tolist() == table.examples.id[kept].tolist()
    np.testing.assert_array_equal(left.member, member[:, kept])
    np.testing.assert_array_equal(left.logits, table.logits[:, kept])
    assert left.examples.group is not None
    assert left.examples.group.tolist() == (kept // 3).tolist()
    assert left.examples.categories == tuple(table.examples.categories[row] for row in kept)  # type: ignore[index]
