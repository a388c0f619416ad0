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
from discreet.guard.population.calibration import (
    UNSEEN_ROWS,
    UNSEEN_SPREAD,
    Calibration,
    Range,
    fitted_rows,
    normal_errors,
    people_of,
    widened,
)
from discreet.guard.population.classes import LatentClasses
from discreet.guard.population.columns import Asked, Column
from discreet.guard.population.count import Count
from discreet.guard.population.places import Places

FORMAT = "discreet population 2"
PLACE = "place"
DEEPEST = 40.0
"""Probabilities are kept as logarithms from 0 to −DEEPEST in 16 bits: to .03 percent."""
PLACE_SPREAD = 0.5
"""Standard deviation, on the log scale, of how far a group's share in a place is from everybody's: of .3, .4, .5 and .6
the least with which 95% intervals hold .90 of groups of every size in Austrian regions (docs/results/population.md)."""
ORIGIN = frozenset({"race", "ethnicity", "hispanic_origin", "country_of_birth", "citizenship", "nationality",
                    "ancestry"})
"""Columns of whom a place holds many or few: people of one origin live together."""
ORIGIN_SPREAD = 3.0
"""PLACE_SPREAD for them: of .3, .5, 1, 1.5, 2, 2.5 and 3 the least with which 95% intervals hold .90 of counties for
each of four groups (docs/results/population.md)."""
LEAST_PEOPLE = 1.0
"""Other people who are expected at least, of a sample: somebody has the attributes, so that the model underrates the
group. Of 0, .03, .1, .3 and 1 the one with which intervals hold best where fewer are expected."""
SURELY_SEEN = 10.0
"""Two attributes contradict each other where no row has both, and independence expects at least so many rows."""
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
            calibration_rows=self.calibration.rows.astype(np.float32),
            calibration_weights=self.calibration.weights.astype(np.float32),
            seen=np.packbits(self.seen if self.seen is not None else np.zeros((0, 0), np.bool_)))
        write_atomic(path, out.getvalue())

    def count(self, cluster: Mapping[str, Asked]) -> Count:
        """How many people have every attribute of `cluster`, with intervals.

        Parameters
        ----------
        cluster : mapping of str to values
            By column a value, a range or a set of these: ``{"age": range(50, 55), "sex": "female", "place":
            "Nebraska"}``. A column that the population lacks is dropped: the count is then an upper bound. A value that
            no row has counts as under one row. Two attributes that nobody has together leave the count undefined.
        """
        asked = self._asked(cluster)
        used = tuple(asked.used)
        by_origin = PLACE in used and not ORIGIN.isdisjoint(used)
        about: dict[str, Any] = {
            "used": used, "dropped": asked.dropped, "unknown": asked.unknown, "unseen": asked.unseen,
            "source": self.source, "year": self.year, "population": self.people, "place_independent": PLACE in used,
            "origin_by_place": by_origin, "upper_bound": bool(asked.dropped or asked.unknown) and not by_origin}
        impossible = self._impossible(asked)
        if impossible or not used:
            least, (most80, most95) = (0.0, self._missed()) if impossible else (1.0, (self.people, self.people))
            return Count(None, (least, most80), (least, most95), impossible=impossible, **about)
        found = self._range(asked, by_origin)
        return Count(*found, expected=asked.expected * self.people * (asked.share or 1.0), **about)

    def _range(self, asked: _Asked, by_origin: bool) -> Range:
        """Estimate and intervals; with a place those of the group in the place."""
        share = asked.share or 1.0
        if not asked.attributes:
            people = self.people * share
            return Range(people, (people, people), (people, people))
        # Fitted rows are known, but for a private fit and where the table is the population and was asked about itself.
        inside = self.rows if self.rows < self.people and not self.privacy else 0
        expected = max(asked.expected, LEAST_PEOPLE / self.people) if inside else asked.expected
        fitted = float(fitted_rows(np.asarray(expected), self.effective_rows))
        weights = (normal_errors(UNSEEN_SPREAD) if asked.unseen else
                   self.calibration.at(fitted, asked.attributes, sampled=inside > 0))
        whole = people_of(weights, expected * (self.people - inside), expected * inside)
        most80, most95 = self._missed() if asked.unseen else (self.people, self.people)
        if asked.share is None:
            return _at_most(whole, most80, most95)
        spread = (ORIGIN_SPREAD if by_origin else PLACE_SPREAD) * math.sqrt(max(0.0, 1 - share))
        there = people_of(widened(weights, spread), expected * self.people * share)
        most = min(self.people * share, whole.interval95[1])
        return _at_most(there, min(most, most80), min(most, most95))

    def _missed(self) -> tuple[float, float]:
        """The largest groups that a sample of this size misses in 10 and in 2.5% of cases.

        Of a group of m people, one in `people / rows` misses all with probability (1 − rows / people)^m.
        """
        each = self.people / max(self.rows, 1)
        return max(1.0, -math.log(0.1) * each), max(1.0, -math.log(0.025) * each)

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
        used, vectors, places, dropped, unknown, unseen, share = [], [], [], [], [], [], None
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
                places.append(start[index[name]] + np.asarray(codes, np.int64))
                if codes and (self.seen is None or self.seen[places[-1], places[-1]].any()):
                    vectors.append(self.classes.tables[places[-1]].sum(0))
                else:
                    vectors.append(np.full(len(self.classes.shares), UNSEEN_ROWS / self.rows))
                    unseen.append(name)
        stacked = np.asarray(vectors).reshape(len(vectors), len(self.classes.shares))
        expected = float(stacked.prod(0) @ self.classes.shares) if vectors else 1.0
        if share is not None:
            used.append(PLACE)
        return _Asked(used, stacked, places, expected, share, tuple(dropped), tuple(unknown), tuple(unseen))

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
    unseen: tuple[str, ...]

    @property
    def attributes(self) -> int:
        return len(self.vectors)


def _at_most(found: Range, most80: float, most95: float) -> Range:
    """The same with no end of an interval above `most80` and `most95`."""
    (a, d), (b, c) = found.interval95, found.interval80
    return Range(min(found.estimate, most80), (min(b, most80), min(c, most80)), (min(a, most95), min(d, most95)))


@cache
def shipped() -> Population:
    """The population that ships, read once."""
    return _read(files("discreet.guard.population").joinpath("data", "us_1994_95.npz").read_bytes(), "us_1994_95.npz")


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
            calibration = Calibration(held["calibration_rows"].astype(np.float64),
                                      held["calibration_weights"].astype(np.float64))
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
        raise InputError(f"{name} is no population: expected a file that 'discreet population fit' wrote") from None
    if tables.shape != (sum(sizes), len(shares)):
        raise InputError(f"{name} holds tables of shape {tables.shape}: expected {(sum(sizes), len(shares))}")
    return Population(columns, LatentClasses(shares / shares.sum(), tables, sizes), float(meta["people"]),
                      int(meta["rows"]), float(meta["effective_rows"]), calibration, meta["source"], meta["year"],
                      Places.of(meta["places"]) if meta["places"] else None,
                      bits.reshape(sum(sizes), sum(sizes)) if len(bits) else None, meta["privacy"])
