from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.audit.core.simulate import World, simulated_table

WORLD = World(members=12, others=0, clean=12, selector=0, paired=0, group_size=3)


def test_whole_groups_stay_as_they_are() -> None:
    table = simulated_table(WORLD, np.random.default_rng(0))
    assert table.without_split_groups() == (table, 0)
    alone = replace(table, examples=replace(table.examples, group=None))
    assert alone.without_split_groups() == (alone, 0)


def test_every_record_of_a_split_group_goes_and_nothing_else() -> None:
    table = simulated_table(WORLD, np.random.default_rng(0))
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


def test_what_the_table_does_not_say_splits_nothing() -> None:
    table = simulated_table(WORLD, np.random.default_rng(0))
    member = table.member.copy()
    member[0, 4] = -1
    member[1] = np.arange(24) % 2
    assert replace(table, member=member).without_split_groups()[1] == 0
