"""A population that can be asked how many of its people fit."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.core.errors import InputError
from discreet.core.files import dump_json, why, write_atomic
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.population.calibration import Calibration, Range
from discreet.population.classes import LatentClasses
from discreet.population.columns import Asked, Column
from discreet.population.count import Count
from discreet.population.places import Places

FORMAT = "discreet population 1"
PLACE = "place"
DEEPEST = 40.0
"""Probabilities are kept as logarithms from 0 to −DEEPEST in 16 bits: to .03 percent."""
PLACE_SPREAD = 0.3
"""Standard deviation, on the log scale, of how far a group's share in a place is from everybody's: of 0, .2, .3 and .4
the least with which intervals for Austrian regions hold about what they say (docs/results/population.md)."""
SURELY_SEEN = 10.0
"""Two attributes contradict each other where no row has both, and independence expects at least so many rows."""
WELL_SEEN = 100.0
"""From so many expected rows the sampling error of the table is known better than calibration can show it."""
IMPOSSIBLE_BELOW = 0.01
"""The same without the table: the model has less than this share of what independence expects."""


class Gain(NamedTuple):
    """What saying one attribute less exactly would do."""

    attribute: str
    to: str
    estimate: float
    factor: float


@dataclass(frozen=True)
class Population:
    """A model of how many people have which attributes together.

    Attributes
    ----------
    columns : mapping of str to Column
        What can be asked, by name; a population with places answers `place` too.
    classes : LatentClasses
    people, rows : float, int
        People in the population, and rows of the table that it was fitted on.
    effective_rows : float
        Rows of equal weight that would tell as much (Kish): (sum of weights)² over the sum of their squares.
    calibration : Calibration
    seen : (V, V) bool or None
        Which two categories some row of the table has together; None under differential privacy.
    source, year : str
        Where the table comes from, and of when; said in every answer.
    places : Places or None
    privacy : str
        The guarantee of a fit under differential privacy; empty without.
    """

    columns: Mapping[str, Column]
    classes: LatentClasses
    people: float
    rows: int
    effective_rows: float
    calibration: Calibration
    source: str
    year: str
    places: Places | None = None
    seen: BoolArray | None = None
    privacy: str = ""

    @classmethod
    def load(cls, path: Path | str | None = None) -> Population:
        """A population that `save` or `discreet population fit` wrote; by default the one that ships.

        The one that ships is the Census-Income table of the Current Population Survey, United States, 1994-95, with
        sizes of places from the census of 2020 and GeoNames. InputError for a file that is none.
        """
        if path is None:
            return shipped()
        try:
            return _read(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {why(error)}; expected a file that 'discreet population fit' wrote"
                             ) from None

    def save(self, path: Path | str) -> None:
        """Write the population to one file (.npz), whole or not at all."""
        meta = {"format": FORMAT, "columns": [column.to_json() for column in self.columns.values()],
                "people": self.people, "rows": self.rows, "effective_rows": self.effective_rows,
                "source": self.source, "year": self.year, "privacy": self.privacy,
                "places": self.places.to_json() if self.places else None}
        logs = -np.log(np.maximum(self.classes.tables, math.exp(-DEEPEST)))
        out = io.BytesIO()
        np.savez_compressed(
            out, meta=np.frombuffer(dump_json(meta).encode(), np.uint8), shares=self.classes.shares.astype(np.float32),
            tables=np.round(logs / DEEPEST * 65535).astype(np.uint16),
            calibration_sizes=self.calibration.sizes.astype(np.float32),
            calibration_residuals=self.calibration.residuals.astype(np.float32),
            seen=np.packbits(self.seen if self.seen is not None else np.zeros((0, 0), np.bool_)))
        write_atomic(path, out.getvalue())

    def count(self, cluster: Mapping[str, Asked]) -> Count:
        """How many people have every attribute of `cluster`, with intervals.

        Parameters
        ----------
        cluster : mapping of str to values
            By column a value, a range or a set of these: ``{"age": range(50, 55), "sex": "female", "place":
            "Nebraska"}``. A column that the population lacks is dropped, and so is one with a value that it does not
            know: the count is then an upper bound. Two attributes that nobody has together leave the count undefined.
        """
        asked = self._asked(cluster)
        expected, used = asked.expected * self.people, tuple(asked.used)
        upper = bool(asked.dropped or asked.unknown)
        about: dict[str, Any] = {
            "dropped": asked.dropped, "unknown": asked.unknown, "source": self.source, "year": self.year,
            "upper_bound": upper, "population": self.people, "place_independent": PLACE in used}
        impossible = self._impossible(asked)
        if impossible or not used:
            # Of a group of m people, a sample of one in `people / rows` misses all with probability (1 − 1/that)^m.
            rows = self.people / max(self.rows, 1)
            missed = [-math.log(miss) * rows if impossible else self.people for miss in (0.1, 0.025)]
            least = 0.0 if impossible else 1.0
            return Count(None, (least, missed[0]), (least, missed[1]), used, expected=0.0, impossible=impossible,
                         **about)
        found = self._calibrated(expected, asked.attributes)
        if asked.share is not None:
            found, expected = of_share(found, asked.share), expected * asked.share
        return Count(found.estimate, found.interval80, found.interval95, used, expected=expected, **about)

    def _calibrated(self, expected: float, attributes: int) -> Range:
        """The calibrated count; where many rows have it, at least as wide as sampling them makes it.

        Calibration takes the table for the population and has no group that is both large and a small part of it.
        """
        if not attributes:
            return Range(expected, (expected, expected), (expected, expected))
        found = self.calibration.at(expected, attributes)
        share = expected / self.people
        if share * self.effective_rows < WELL_SEEN:
            return found
        left = max(0.0, 1 - share) * max(0.0, 1 - self.rows / self.people)
        ends = [expected * math.exp(side * z * math.sqrt(left / (share * self.effective_rows)))
                for z in (1.2816, 1.96) for side in (-1, 1)]
        (a, d), (b, c) = found.interval95, found.interval80
        return Range(expected, (min(b, ends[0]), max(c, ends[1])), (min(a, ends[2]), max(d, ends[3])))

    def narrowing(self, cluster: Mapping[str, Asked]) -> dict[str, float]:
        """By attribute used, how many times more people would fit without it, by the model before calibration."""
        asked = self._asked(cluster)
        found = {}
        for at, name in enumerate(asked.used):
            if name == PLACE:
                found[name] = 1 / asked.share if asked.share else math.inf
            else:
                rest = np.delete(asked.vectors, at, 0).prod(0) @ self.classes.shares
                found[name] = float(rest / max(asked.expected, 1e-300))
        return found

    def generalise(self, cluster: Mapping[str, Asked]) -> tuple[Gain, ...]:
        """What it would gain to say one attribute less exactly, the largest gain first.

        Ages to bands of five and ten years, values to the groups of their column, a town to its region. `estimate` is
        the count of the whole cluster with that one attribute changed, `factor` that over the present estimate.
        """
        now = self.count(cluster).estimate
        if now is None:
            return ()
        gains = []
        for name, to, values in self._coarser(cluster):
            wider = self.count({**cluster, name: values}).estimate
            if wider is not None and wider > now:
                gains.append(Gain(name, to, wider, wider / now))
        return tuple(sorted(gains, key=lambda gain: -gain.factor))

    def _coarser(self, cluster: Mapping[str, Asked]) -> list[tuple[str, str, Any]]:
        found: list[tuple[str, str, Any]] = []
        for name, given in cluster.items():
            column = self.columns.get(name)
            codes = column.codes(given) if column else None
            if column and codes:
                values = {column.values[code] for code in codes}
                if column.ordered:
                    low, high = int(column.values[codes[0]]), int(column.values[codes[-1]])
                    bands = [(low // wide * wide, high // wide * wide + wide - 1) for wide in (5, 10)]
                    found += [(name, f"{a} to {b}", (a, b)) for a, b in bands if b - a > high - low]
                found += [(name, group, frozenset(of)) for group, of in column.groups.items() if values < set(of)]
            elif name == PLACE and self.places and (region := self.places.wider(given)):
                found.append((name, region, region))
        return found

    def _asked(self, cluster: Mapping[str, Asked]) -> _Asked:
        start = self.classes.offsets
        index = {name: at for at, name in enumerate(self.columns)}
        used, vectors, places, dropped, unknown, share = [], [], [], [], [], None
        for name, given in cluster.items():
            if name == PLACE and self.places and PLACE not in self.columns:
                share, exact = self.places.share(given)
                if not exact:
                    unknown.append(name)
                continue
            column = self.columns.get(name)
            codes = column.codes(given) if column else None
            if column is None:
                dropped.append(name)
            elif codes is None:
                unknown.append(name)
            else:
                used.append(name)
                places.append(start[index[name]] + np.asarray(codes))
                vectors.append(self.classes.tables[places[-1]].sum(0))
        stacked = np.asarray(vectors).reshape(len(vectors), len(self.classes.shares))
        expected = float(stacked.prod(0) @ self.classes.shares) if vectors else 1.0
        if share is not None:
            used.append(PLACE)
        return _Asked(used, stacked, places, expected, share, tuple(dropped), tuple(unknown))

    def _impossible(self, asked: _Asked) -> tuple[str, str] | None:
        """The two attributes that contradict each other most; None where no two do."""
        if asked.attributes < 2:
            return None
        single = asked.vectors @ self.classes.shares
        both = (asked.vectors * self.classes.shares) @ asked.vectors.T
        apart = np.outer(single, single)
        ratio = np.where(apart * self.rows >= SURELY_SEEN, both / np.maximum(apart, 1e-300), np.inf)
        for at in np.argsort(ratio, axis=None):
            one, other = divmod(int(at), len(ratio))
            if not np.isfinite(ratio[one, other]):
                return None
            if one < other and (ratio[one, other] < IMPOSSIBLE_BELOW if self.seen is None else
                                not self.seen[np.ix_(asked.categories[one], asked.categories[other])].any()):
                return asked.used[one], asked.used[other]
        return None


class _Asked(NamedTuple):
    """A cluster in the population's terms; `vectors` are (A, K), P(attribute | class)."""

    used: list[str]
    vectors: FloatArray
    categories: list[IntArray]
    expected: float
    share: float | None
    dropped: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def attributes(self) -> int:
        return len(self.vectors)


def of_share(whole: Range, share: float, spread: float = PLACE_SPREAD) -> Range:
    """How many of a group live in a place with `share` of the population, if place is independent of the rest.

    The person of whom it is said is there; of the others each is with probability `share`, so that their number is
    about Poisson: the ends of the intervals are quantiles of it at the ends for the whole population. Place is
    not quite independent, and groups differ by place: the ends hold `spread` too, less for a place that is nearly the
    whole.
    """
    others = max(0.0, whole.estimate - 1) * share
    spread *= math.sqrt(max(0.0, 1 - share))

    def between(ends: tuple[float, float], z: float, tail: float) -> tuple[float, float]:
        found = []
        for end, side, level in zip(ends, (-1, 1), (tail, 1 - tail), strict=True):
            there = max(0.0, end - 1) * share
            # On the log scale the error of the whole count and that of independence add up in squares.
            known = min(there, others) > 0
            away = math.hypot(math.log(there / others) if known else 0.0, z * spread)
            found.append(1 + poisson_quantile((others if known else there) * math.exp(side * away), level))
        return found[0], found[1]

    return Range(1 + others, between(whole.interval80, 1.2816, 0.1), between(whole.interval95, 1.96, 0.025))


def poisson_quantile(mean: float, level: float) -> float:
    """Least k with P(Poisson(mean) <= k) >= level; from a mean of 500 by the normal approximation."""
    if mean >= 500:
        from statistics import NormalDist

        return max(0.0, mean + NormalDist().inv_cdf(level) * math.sqrt(mean))
    term = total = math.exp(-mean)
    k = 0
    while total < level and k < 2000:
        k += 1
        term *= mean / k
        total += term
    return float(k)


@cache
def shipped() -> Population:
    """The population that ships, read once."""
    return _read(files("discreet.population").joinpath("data", "us_1994_95.npz").read_bytes(), "us_1994_95.npz")


def _read(content: bytes, name: str) -> Population:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            meta = json.loads(held["meta"].tobytes())
            if meta.get("format") != FORMAT:
                raise InputError(f"{name} has the format {meta.get('format')!r}: expected {FORMAT!r}; fit it again")
            columns = {one["name"]: Column.of(one) for one in meta["columns"]}
            sizes = tuple(len(column.values) for column in columns.values())
            tables = np.exp(held["tables"].astype(np.float64) * (-DEEPEST / 65535))
            for end, size in zip(np.cumsum(sizes), sizes, strict=True):
                tables[end - size:end] /= tables[end - size:end].sum(0)
            shares = held["shares"].astype(np.float64)
            bits = np.unpackbits(held["seen"]).astype(np.bool_)[:sum(sizes) ** 2]
            calibration = Calibration(held["calibration_sizes"].astype(np.float64),
                                      held["calibration_residuals"].astype(np.float64))
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
        raise InputError(f"{name} is no population: expected a file that 'discreet population fit' wrote") from None
    if tables.shape != (sum(sizes), len(shares)):
        raise InputError(f"{name} holds tables of shape {tables.shape}: expected {(sum(sizes), len(shares))}")
    return Population(columns, LatentClasses(shares / shares.sum(), tables, sizes), float(meta["people"]),
                      int(meta["rows"]), float(meta["effective_rows"]), calibration, meta["source"], meta["year"],
                      Places.of(meta["places"]) if meta["places"] else None,
                      bits.reshape(sum(sizes), sum(sizes)) if len(bits) else None, meta["privacy"])
