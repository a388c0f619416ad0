"""One folder a paper, and what the studies share: settings and figures as data, files of corpora, names of items."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeVar

import yaml

from discreet.core.errors import InputError, UsageError
from discreet.core.files import write_atomic
from discreet.core.records import Estimate
from discreet.stats.arrays import scipy_module

__all__ = ["averaged", "chosen_items", "merged_items", "need_files", "paper_figures", "read_settings", "setting_of",
           "write_once"]

ROOM = Path(__file__).parent
SEEDS_FOR_INTERVAL = 3
S = TypeVar("S")


def read_settings(study: str) -> dict[str, dict[str, Any]]:
    """`settings.yaml` of a study: what each scale trains on what; lists as tuples."""
    found: dict[str, dict[str, Any]] = _fixed(yaml.safe_load((ROOM / study / "settings.yaml").read_text("utf-8")))
    return {name: value for name, value in found.items() if name != "shared"}


def _fixed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _fixed(one) for name, one in value.items()}
    return tuple(map(_fixed, value)) if isinstance(value, list) else value


def setting_of(settings: Mapping[str, S], scale: str) -> S:
    """The setting of a scale. UsageError for one that is not there."""
    if scale not in settings:
        raise UsageError(f"there is no scale {scale!r}; expected one of {', '.join(settings)}")
    return settings[scale]


@cache
def paper_figures(study: str) -> tuple[dict[str, str], ...]:
    """The rows of `<study>/paper.csv`: what the paper prints in its text and tables."""
    with (ROOM / study / "paper.csv").open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


def chosen_items(order: Sequence[str], tables: Sequence[int | str], figures: Sequence[int], sections: Sequence[str]
                 ) -> list[str]:
    """Names of the items asked for, in `order`; all where nothing is. UsageError for one that is not there.

    A section is named with or without the word "section".
    """
    asked = [f"table {number}" for number in tables] + [f"figure {number}" for number in figures]
    asked += [name if name in order else f"section {name}" for name in sections]
    if unknown := [name for name in asked if name not in order]:
        known = ", ".join(name if " " in name else f"section {name}" for name in order)
        raise UsageError(f"there is no {unknown[0]}; expected {known}")
    return [name for name in order if name in asked or not asked]


def merged_items(earlier: Mapping[str, Any], later: Mapping[str, Any], order: Sequence[str], keys: Sequence[str]
                 ) -> dict[str, Any]:
    """Items of two calls, in `order`; of an item of both, the earlier call's rows whose `keys` (the corpus; domain and
    roles) no row of the later call has, then the later call's."""
    def of(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row.get(key) for key in keys)

    found: dict[str, Any] = {}
    for name in order:
        if name in earlier and name in later:
            anew = {of(row) for row in later[name]["rows"]}
            rows = [row for row in earlier[name]["rows"] if of(row) not in anew] + later[name]["rows"]
            found[name] = {**later[name], "rows": rows}
        elif name in earlier or name in later:
            found[name] = later.get(name, earlier.get(name))
    return found


def write_once(path: Path, folder: Path, make: Callable[[], str | bytes], *, on_disk: bool) -> Path:
    """Write what `make` gives to `path` where nothing is there yet; the path.

    What is made of data `on_disk` remembers the `folder` that they were read from. Raises UsageError where the file was
    made from another folder.
    """
    source, whence = path.with_suffix(".source"), str(folder.resolve())
    if path.exists():
        if source.exists() and source.read_text(encoding="utf-8") != whence:
            raise UsageError(f"{path} was made from {source.read_text(encoding='utf-8')}, not from {folder}; name "
                             "another --out, or the folder of before")
        return path
    content = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    if on_disk:
        write_atomic(source, whence)
    write_atomic(path, content)
    return path


def need_files(folder: Path, files: Collection[str]) -> None:
    """InputError where the folder of a public data set lacks one of its files."""
    if lacking := next((name for name in files if not (folder / name).is_file()), None):
        raise InputError(f"{folder} holds no {lacking}; expected the folder of public data with the data set "
                         f"{folder.name} in it")


def averaged(found: Sequence[Sequence[Estimate]], within: tuple[float, float] = (0.0, 1.0)) -> Estimate:
    """The mean over seeds of means over directions; unresolved where any part is.

    From three seeds on with a t interval over seeds, kept `within` what the figure can be; with fewer, as the paper
    averages over A and B, value and ends are averaged: the ends of one training run, which say nothing of how another
    would come out.
    """
    parts = [one for seed in found for one in seed]
    if not parts:
        return Estimate.unresolved("no such row in the audit")
    if lacking := next((one for one in parts if one.value is None), None):
        return Estimate.unresolved(lacking.reason or "unresolved")
    means = [fmean(one.value or 0.0 for one in seed) for seed in found if seed]
    value, n = sum(means) / len(means), parts[0].n
    if len(means) >= SEEDS_FOR_INTERVAL:
        quantile = float(scipy_module("stats", "an interval over seeds").t.ppf(0.975, len(means) - 1))
        half = quantile * stdev(means) / sqrt(len(means))
        return Estimate(value, max(within[0], value - half), min(within[1], value + half), n=len(means), unit="seed",
                        method="t over seeds")
    if any(one.low is None or one.high is None for one in parts):
        return Estimate(value, None, None, n=n, unit=parts[0].unit, method="mean over directions")
    low, high = (fmean(ends) for ends in zip(*((one.low or 0.0, one.high or 0.0) for one in parts), strict=True))
    return Estimate(value, low, high, n=n, n_pos=parts[0].n_pos, n_neg=parts[0].n_neg, unit=parts[0].unit,
                    method="value and ends averaged over directions and seeds")
