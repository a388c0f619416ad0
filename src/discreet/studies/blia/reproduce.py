"""`reproduce blia`: the items that were asked for, from data to one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.errors import UsageError
from discreet.studies.blia.corpora import CORPORA
from discreet.studies.blia.items import ITEMS, Condition, prevalence
from discreet.studies.blia.trials import Study, conditions, prevalences

PREVALENCE = "section prevalence"
ORDER = ("table 2", "table 3", "table 4", "table 5", "table 6", "table 7", "table 8", "figure 2", "section utility",
         "section stronger", PREVALENCE)
"""Every item, in the order in which they are shown."""


def known_items(tables: Sequence[int], figures: Sequence[int], sections: Sequence[str]) -> list[str]:
    """Names of the items asked for, in `ORDER`; all where nothing is. UsageError for one that is not there."""
    asked = [f"table {number}" for number in tables] + [f"figure {number}" for number in figures]
    asked += [f"section {name}" for name in sections]
    if unknown := [name for name in asked if name not in ORDER]:
        raise UsageError(f"there is no {unknown[0]}; expected {', '.join(ORDER)}")
    return [name for name in ORDER if name in asked or not asked]


def reproduce(study: Study, items: Sequence[str], **options: Any) -> dict[str, Any]:
    """The record of the items: `{"items": {name: {"title", "rows"}}}`.

    `options` are those of `train`: engine, workers, quiet. Raises DiscreetError where data are not there.
    """
    wanted = {name: ITEMS[name].corpora(study.setting) for name in items if name in ITEMS}
    names = list(dict.fromkeys(corpus for corpora in wanted.values() for corpus in corpora))
    done: dict[str, list[dict[str, Any]]] = conditions(names, study, **options)
    found: dict[str, Any] = {}
    for name in items:
        if name == PREVALENCE:
            shares: list[Condition] = [*prevalences(study, **options)]
            found[name] = {"title": "The share of class 1", "rows": prevalence(shares)}
        else:
            found[name] = {"title": ITEMS[name].title,
                           "rows": ITEMS[name].rows({corpus: done[corpus] for corpus in wanted[name]})}
    return {"items": found}


def merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Items of two calls, in `ORDER`; of an item of both, the later call's rows and the earlier's of other corpora."""
    found: dict[str, Any] = {}
    for name in ORDER:
        if name in earlier and name in later:
            anew = {row["corpus"] for row in later[name]["rows"]}
            rows = [row for row in earlier[name]["rows"] if row["corpus"] not in anew] + later[name]["rows"]
            found[name] = {**later[name], "rows": sorted(rows, key=lambda row: list(CORPORA).index(row["corpus"]))}
        elif name in earlier or name in later:
            found[name] = later.get(name, earlier.get(name))
    return found
