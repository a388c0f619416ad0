"""The items of runs that differ in their seed as one: a mean of every figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from discreet.core.records import Estimate
from discreet_papers.shared import averaged

__all__ = ["mean_items"]

DRAWN = ("edges", "counts")
"""Of a histogram, whose bins are those of one run: the first seed's."""


def mean_items(runs: Sequence[Mapping[str, Any]], *, fresh: bool) -> dict[str, Any]:
    """The items of the first run with means over all `runs`, row by row.

    Where every seed has texts of its own (`fresh`) an estimate of three seeds or more gets a t interval over seeds. Of
    the same texts the ends of intervals are averaged: seeds then differ in what is fitted alone, and to average leaves
    the texts as few as they are. A figure that is unresolved with one seed is unresolved.
    """
    found = {}
    for name, item in runs[0].items():
        by = [_by_identity(run[name]["rows"]) for run in runs]
        found[name] = {**item, "rows": [_row([one[key] for one in by if key in one], fresh) for key in by[0]]}
    return found


def _by_identity(rows: Sequence[Mapping[str, Any]]) -> dict[Any, Mapping[str, Any]]:
    """Rows by what they are of: their words, and of a curve its step; rows that are alike in these by their order."""
    found: dict[Any, Mapping[str, Any]] = {}
    alike: defaultdict[Any, int] = defaultdict(int)
    for row in rows:
        words = tuple((key, value) for key, value in row.items()
                      if isinstance(value, str) or (key == "borderline" and isinstance(value, int)))
        found[words, alike[words]] = row
        alike[words] += 1
    return found


def _row(rows: Sequence[Mapping[str, Any]], fresh: bool) -> dict[str, Any]:
    within = (-1.0 if rows[0].get("difference") else 0.0, 1.0)
    return {key: rows[0][key] if key in DRAWN else _mean([row.get(key) for row in rows], within, fresh)
            for key in rows[0]}


def _mean(values: Sequence[Any], within: tuple[float, float], fresh: bool) -> Any:
    first = values[0]
    if all(value == first for value in values) and not fresh:
        return first
    if all(isinstance(value, Mapping) for value in values):
        if "value" in first and "method" in first:
            each = [Estimate.from_json(value) for value in values]
            low = -1.0 if "difference" in first["method"] else within[0]
            return averaged([[one] for one in each] if fresh else [each], (low, within[1])).to_json()
        return {key: _mean([value.get(key) for value in values], within, fresh) for key in first}
    if all(isinstance(value, list) and len(value) == len(first) for value in values):
        return [_mean(each, within, fresh) for each in zip(*values, strict=True)]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        mean = fmean(values)
        return round(mean) if all(isinstance(value, int) for value in values) else mean
    return first
