from __future__ import annotations

import numpy as np

from discreet.audit.membership.attacker_view import true_class_p
from discreet.audit.membership.boundary_records import edge_records
from discreet.audit.membership.simulate import World, simulated_table


def test_the_least_likely_of_each_label_and_side() -> None:
    table = simulated_table(World(members=30, others=0, clean=30, selector=10, paired=0), np.random.default_rng(0))
    texts = {name: f"text of {name}" for name in table.examples.id}
    found = edge_records(table, texts, each=2)
    assert [(one["label"], one["side"]) for one in found] == [
        (label, side) for label in (0, 1) for side in ("member", "non-member") for _ in range(2)]
    p = true_class_p(table, table.of_role("selection"))
    assert p is not None
    rows = [row for row in range(70) if table.examples.label[row] == 1 and table.member[0, row] == 1]
    least = sorted(rows, key=lambda row: p[row])[:2]
    mine = found[4:6]
    assert [one["id"] for one in mine] == [table.examples.id[row] for row in least]
    assert [one["text"] for one in mine] == [f"text of {table.examples.id[row]}" for row in least]
    assert [one["p"] for one in mine] == [float(p[row]) for row in least]


def test_nothing_without_a_selector_and_no_record_without_text() -> None:
    table = simulated_table(World(members=5, others=0, clean=5, selector=0, paired=0), np.random.default_rng(0))
    assert edge_records(table, dict.fromkeys(table.examples.id, "t")) == []
    table = simulated_table(World(members=5, others=0, clean=5, selector=5, paired=0), np.random.default_rng(0))
    assert [one["id"] for one in edge_records(table, {"e3": "t"})] == ["e3"]


def test_nothing_by_a_selector_that_may_have_been_trained_on_the_records() -> None:
    table = simulated_table(World(members=5, others=0, clean=5, selector=5, paired=0), np.random.default_rng(0))
    table.member[table.of_role("selection")[0]] = -1
    assert edge_records(table, dict.fromkeys(table.examples.id, "t")) == []
