"""The parts that a verdict will cover, looked at before scores are read or models are trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.cli import library as lib
from discreet.cli.output import Output


def look_at_parts(table: lib.table.ScoreTable, output: Output, excluded: Sequence[str] | None = ()) -> None:
    """Refuse what is no part, and parts by what is nearly an id; note parts that are too small to decide. `excluded` is
    None where the command excludes no parts."""
    sizes = lib.membership_options.check_parts(table, excluded)
    for said in lib.membership_options.small_parts(sizes, can_exclude=excluded is not None):
        output.note(said)


def look_at_assigned(assigned: Any, output: Output, excluded: Sequence[str] | None = ()) -> None:
    """The same of records that an experiment has assigned and not trained on yet (`discreet.audit.experiments`)."""
    look_at_parts(lib.training_plan.assigned_table(assigned.results["prepare"], assigned.data), output, excluded)
