"""A score table without the groups that have records on both sides of a target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.scores.table import IN, OUT, Examples, IntArray, ScoreTable


def without_split_groups(table: ScoreTable) -> tuple[ScoreTable, int]:
    """`table` without every record of the groups that some target has on both sides, and how many groups those are.

    What is left are whole groups on one side, which is what an audit by group can judge.
    """
    group = table.examples.group
    if group is None:
        return table, 0
    _, code = np.unique(group, return_inverse=True)
    split = np.zeros(int(code.max()) + 1, dtype=np.bool_)
    for target in table.of_role("target"):
        inside, outside = (np.bincount(code[table.member[target] == side], minlength=split.size) for side in (IN, OUT))
        split |= (inside > 0) & (outside > 0)
    return (only_rows(table, np.flatnonzero(~split[code])) if split.any() else table), int(split.sum())


def only_rows(table: ScoreTable, rows: IntArray) -> ScoreTable:
    """`table` with these examples alone, in this order."""
    examples = table.examples
    kept = Examples(
        id=examples.id[rows], label=examples.label[rows], planted=examples.planted[rows],
        group=None if examples.group is None else examples.group[rows],
        split=None if examples.split is None else examples.split[rows],
        categories=None if examples.categories is None else tuple(examples.categories[row] for row in rows),
        columns={name: values[rows] for name, values in examples.columns.items()})
    return replace(table, examples=kept, logits=table.logits[:, rows], member=table.member[:, rows])
