"""`reproduce mia`: the items that were asked for, from data to one record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.core.errors import UsageError
from discreet.studies.mia.extras import figure_4, first_seed, section_7_1, sides, statistics
from discreet.studies.mia.items import ITEMS, sizes_of_models
from discreet.studies.mia.settings import Setting
from discreet.studies.mia.worlds import Study, audits

EXTRA = {"table 1": "Sizes of the sides", "table 2": "The corpora", "table 8": "Sizes of the sides: depression",
         "figure 4": "The Laplace frontier", "section 7.1": "Are boundary records outliers?"}
ORDER = ("table 1", "table 2", "table 7", "figure 2", "figure 3", "table 6", "section 7.1", "figure 4", "section 8.2",
         "table 8", "table 9", "table 10", "size", "mismatched", "users")
"""Every item, in the order in which they are made: what most others need comes first."""


def known_items(tables: Sequence[int], figures: Sequence[int], sections: Sequence[str]) -> list[str]:
    """Names of the items asked for, in `ORDER`; all where nothing is. UsageError for one that is not there."""
    asked = [f"table {number}" for number in tables] + [f"figure {number}" for number in figures]
    asked += [name if name in ORDER else f"section {name}" for name in sections]
    if unknown := [name for name in asked if name not in ORDER]:
        known = ", ".join(name if " " in name else f"section {name}" for name in ORDER)
        raise UsageError(f"there is no {unknown[0]}; expected {known}")
    return [name for name in ORDER if name in asked or not asked]


def reproduce(setting: Setting, study: Study, items: Sequence[str], **options: Any) -> dict[str, Any]:
    """The record of the items: `{"items": {name: {"title", "rows"}}}`.

    `options` are those of `engine.run`: engine, workers, quiet. Raises DiscreetError where data or a model is not
    there.
    """
    found: dict[str, Any] = {}
    for name in items:
        if name in ITEMS:
            item = ITEMS[name]
            cells = item.cells(setting)
            title, rows = item.title, item.rows(
                setting, audits(cells, study, beside=item.beside, **options))
        else:
            title, rows = EXTRA[name], _extra(name, setting, study, options)
        found[name] = {"title": title, "rows": rows}
    return {"items": found}


def _extra(name: str, setting: Setting, study: Study, options: dict[str, Any]) -> list[dict[str, Any]]:
    if name == "figure 4":
        return figure_4(first_seed(sizes_of_models(setting), setting), study, **options)
    if name == "section 7.1":
        return section_7_1(first_seed(sizes_of_models(setting), setting, setting.sweep), study, **options)
    cells = ITEMS["table 9" if name == "table 8" else "table 7"].cells(setting)
    return statistics(cells, study) if name == "table 2" else sides(cells, study, name, **options)
