"""What a campaign will write: how many records of which partition, profile and mode, and the axes of each.

The paper's campaign (section IV-D, Table III, appendix B) in small: per training generator 15,000 baseline records,
1,500 of INDIRECT_QI and 3,000 of DISTRACTOR_PADDED and STYLE_TRANSFER; a held-out generator; borderline-safe records
for training and, by another generator, for evaluation. Ours adds a matched pair, where unsafe and borderline records
come from one unseen profile, and clusters of the domain's own classes only, reported apart.

`distance` says how far the levels of an axis are from what was asked for: the paper promises ±5% after validation. It
drops a record whose retries are used up, and its shares of two, three and four classes came out as .53, .34 and .13.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.random import Generator as Rng
from pydantic import BaseModel, Field, ValidationError

from discreet.core.errors import InputError, UsageError
from discreet.core.files import why
from discreet.guard.domains import Domain, DomainLike, load_domain
from discreet.synth import records as axes
from discreet.synth.records import PASSAGES, SETTINGS, SHARED, Kind, Spec, Whole, first_problem

L = TypeVar("L")
SCHEMA = 1
ROLES: dict[str, dict[str, list[str]]] = SETTINGS["roles"]


@dataclass(frozen=True, slots=True)
class Partition:
    """A file of records: their kind, who writes them, the paper's count (None: the domain's), and if in all modes."""

    kind: Kind
    role: str
    count: int | None = None
    modes: bool = False


PARTITIONS = {name: Partition(**said) for name, said in SETTINGS["partitions"].items()}


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one partition by one writer profile in one mode."""

    partition: str
    profile: str
    mode: str
    n: Whole


class _File(BaseModel):
    """A plan as its file has it."""

    kind: Literal["synth plan"]
    schema_: Literal[1] = Field(alias="schema")
    domain: str
    domain_folder: str | None = None
    domain_hash: str | None = None
    seed: Whole
    generator: str
    batches: list[Batch] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Plan:
    """A campaign before it runs. The specifications follow from it and its seed alone."""

    domain: Domain
    seed: int
    generator: str
    batches: tuple[Batch, ...]

    def partitions(self) -> list[str]:
        """The partitions that have records, in their fixed order."""
        there = {b.partition for b in self.batches if b.n}
        return [name for name in PARTITIONS if name in there]

    def specs(self, partition: str) -> list[Spec]:
        """What to write into a partition, batch by batch in the plan's order."""
        writers = [(b.profile, b.mode) for b in self.batches if b.partition == partition for _ in range(b.n)]
        rng = np.random.default_rng((self.seed, zlib.crc32(f"{self.domain.name}/{partition}".encode())))
        kind = PARTITIONS[partition].kind
        return [Spec(kind, self.domain.name, profile, mode, **levels) for (profile, mode), levels
                in zip(writers, _axes(kind, self.domain, len(writers), rng), strict=True)]

    def by_models(self) -> Plan:
        """The part that is not passages of seed corpora."""
        return replace(self, batches=tuple(batch for batch in self.batches if batch.profile != PASSAGES))

    def key(self) -> str:
        """SHA-256 of the settings: 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self._settings(), sort_keys=True).encode()).hexdigest()

    def _settings(self) -> dict[str, Any]:
        own = {} if self.domain.builtin else {"domain_hash": self.domain.hash}
        return {"kind": "synth plan", "schema": SCHEMA, "domain": self.domain.name, **own, "seed": self.seed,
                "generator": self.generator, "batches": [asdict(b) for b in self.batches]}

    def to_json(self) -> dict[str, Any]:
        """The settings, and the marginals that follow from them (for readers: they are not read back)."""
        folder = {} if self.domain.builtin else {"domain_folder": str(self.domain.folder)}
        return {**self._settings(), **folder,
                "marginals": {name: marginals(self.specs(name)) for name in self.partitions()}}

    @classmethod
    def from_json(cls, data: Any, where: str = "plan") -> Plan:
        """Read back what `to_json` wrote. Raises InputError naming `where` and the key that is wrong."""
        try:
            said = _File.model_validate(data)
            domain = load_domain(said.domain_folder or said.domain)
        except ValidationError as error:
            raise InputError(f"{where}: {first_problem(error)}; expected the output of 'discreet synth plan'") from None
        except UsageError as error:
            raise InputError(f"{where}: {error}") from None
        if said.domain_hash not in (None, domain.hash):
            raise InputError(f"{where}: the domain in {domain.folder} was changed since: plan again, into a new folder")
        for number, batch in enumerate(said.batches, start=1):
            if batch.partition not in PARTITIONS or batch.mode not in axes.MODES:
                raise InputError(f"{where}, batch {number}: partition {batch.partition!r} and mode {batch.mode!r}; "
                                 f"expected one of {', '.join(PARTITIONS)} and one of {', '.join(axes.MODES)}")
        return cls(domain, said.seed, said.generator, tuple(said.batches))

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Read a plan file. Raises InputError where it is missing, no JSON or no plan."""
        expected = "expected the output of 'discreet synth plan'"
        try:
            return cls.from_json(json.loads(path.read_text(encoding="utf-8")), str(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {why(error)}; {expected}") from None
        except (ValueError, RecursionError):
            raise InputError(f"{path} is not JSON; {expected}") from None


def make_plan(domain: DomainLike, sizes: Mapping[str, int], seed: int, *, generator: str = "grammar",
              roles: Mapping[str, Sequence[str]] | None = None) -> Plan:
    """A plan of `sizes` records a partition: shared out evenly over profiles, then by the paper's pattern over modes.

    Raises UsageError for an unknown domain or partition, a count below 0, or a role without profiles.
    """
    who = ROLES["strict"] if roles is None else roles
    # Who writes unsafe training records writes the safe ones, too, where nothing else is said.
    who = {"safe": who.get("train", ()), **who}
    for name, size in sizes.items():
        if name not in PARTITIONS:
            raise UsageError(f"there is no partition {name!r}: expected some of {', '.join(PARTITIONS)}")
        if size < 0:
            raise UsageError(f"{name} is to have {size} records: expected a number from 0")
        if size and not who.get(PARTITIONS[name].role):
            raise UsageError(f"no writer profile has the role {PARTITIONS[name].role!r}, which writes {name}: name at "
                             "least one")
    batches: list[Batch] = []
    for name, partition in PARTITIONS.items():
        n, profiles = sizes.get(name, 0), who.get(partition.role, ())
        # Exact counts of every mode, assigned to the profiles in turn, so that both marginals hold.
        modes = apportion(n, SETTINGS["modes"]) if partition.modes else {"NONE": n}
        in_turn = [mode for mode, count in modes.items() for _ in range(count)]
        assigned = Counter((profiles[i % len(profiles)], mode) for i, mode in enumerate(in_turn))
        batches += [Batch(name, profile, mode, assigned[profile, mode])
                    for profile in profiles for mode in modes if assigned[profile, mode]]
    if not batches:
        raise UsageError("a plan of no records was asked for: expected at least one")
    return Plan(load_domain(domain), seed, generator, tuple(batches))


def equal_sizes(n: int) -> dict[str, int]:
    """n records in every partition."""
    return dict.fromkeys(PARTITIONS, n)


def paper_sizes(domain: DomainLike, scale: float) -> dict[str, int]:
    """The paper's counts (Table III) times `scale`, each at least 1. UsageError for a domain without such counts."""
    domain = load_domain(domain)
    safe = domain.templates.get("safe_records")
    if not isinstance(safe, int):
        raise UsageError(f"the domain {domain.name!r} has no counts to scale: expected --n instead, or safe_records in "
                         "its templates.yaml")
    if not 0 < scale <= 10:
        raise UsageError(f"a scale of {scale} was asked for: expected more than 0 and at most 10 (1 is the paper's)")
    own: dict[str, int] = {name: domain.templates.get(f"{name}_records", one.count) for name, one in PARTITIONS.items()}
    return {name: max(1, round(scale * count)) for name, count in own.items()}


def marginals(specs: Sequence[Spec]) -> dict[str, dict[str, int]]:
    """How often each level of each axis occurs; axes that nobody has are left out."""
    counts = {axis: Counter(level for s in specs if (level := getattr(s, axis)) is not None)
              for axis in ("profile", "register", "subtype", "framing", "placement")}
    counts["opening"] = Counter(str(s.opening) for s in specs if s.subtype)
    counts["mode"] = Counter(s.mode for s in specs if s.qi)
    counts["qi"] = Counter(qi for s in specs for qi in s.qi)
    counts["k"] = Counter(str(len(s.qi)) for s in specs if s.qi)
    return {axis: dict(sorted(count.items())) for axis, count in counts.items() if count}


def _axes(kind: Kind, domain: Domain, n: int, rng: Rng) -> list[dict[str, Any]]:
    """The levels of n records; each axis is exact over the partition and nearly so in every stretch of it."""
    if kind == "safe":
        return [{"register": r} for r in uniform(axes.REGISTERS, n, rng)]
    framings = uniform(axes.FRAMINGS, n, rng)
    if kind == "borderline":
        levels = zip(framings, uniform(axes.SUBTYPES, n, rng), uniform(range(5), n, rng), strict=True)
        return [{"framing": f, "subtype": s, "opening": o} for f, s, o in levels]
    allowed = domain.own_labels if kind == "domain_only" else tuple(domain.labels)
    sizes = spread(apportion(n, {k: share for k, share in SETTINGS["classes_bound"].items() if k <= len(allowed)}), rng)
    sets = class_sets(sizes, allowed, rng)
    return [{"framing": f, "placement": p, "qi": qi}
            for f, p, qi in zip(framings, uniform(axes.PLACEMENTS, n, rng), sets, strict=True)]


def apportion(total: int, weights: Mapping[L, float]) -> dict[L, int]:
    """`total` shared out by weight, each share within one of exact (largest remainders; ties to the earlier)."""
    whole = sum(weights.values())
    exact = {level: total * weight / whole for level, weight in weights.items()}
    counts = {level: int(share) for level, share in exact.items()}
    order = sorted(exact, key=lambda level: counts[level] - exact[level])
    for level in order[: total - sum(counts.values())]:
        counts[level] += 1
    return counts


def spread(counts: Mapping[L, int], rng: Rng) -> list[L]:
    """Every level as often as `counts` says, in a random order of which any stretch holds about the same shares.

    The j-th of c copies lies in the j-th c-th of the sequence.
    """
    places: list[tuple[float, float, L]] = []
    for level, count in counts.items():
        jitter = rng.random((count, 2))
        places += [((j + float(jitter[j, 0])) / count, float(jitter[j, 1]), level) for j in range(count)]
    return [level for _, _, level in sorted(places, key=lambda place: place[:2])]


def uniform(levels: Sequence[L], n: int, rng: Rng) -> list[L]:
    """n levels, each as often as any other or once more, spread; which ones get the rest is drawn."""
    order = [levels[int(i)] for i in rng.permutation(len(levels))]
    return spread({level: n // len(levels) + (i < n % len(levels)) for i, level in enumerate(order)}, rng)


def class_sets(sizes: Sequence[int], classes: Sequence[str], rng: Rng) -> list[tuple[str, ...]]:
    """For each size k a set of k distinct classes, in order, at least one of them shared where `classes` has such.

    Drawn uniformly, then classes are exchanged at random until each is used equally often (within one).
    """
    needs_shared = any(c in SHARED for c in classes)

    def sound(chosen: set[str]) -> bool:
        return not needs_shared or not chosen.isdisjoint(SHARED)

    sets: list[set[str]] = []
    for k in sizes:
        chosen: set[str] = set()
        while not chosen or not sound(chosen):
            chosen = {classes[int(i)] for i in rng.permutation(len(classes))[:k]}
        sets.append(chosen)
    used = Counter(c for chosen in sets for c in chosen)
    while sets and _exchanged(sets, used, classes, sound, rng):
        pass
    return [tuple(c for c in classes if c in chosen) for chosen in sets]


def _exchanged(sets: list[set[str]], used: Counter[str], classes: Sequence[str], sound: Callable[[set[str]], bool],
               rng: Rng) -> bool:
    """Exchange the class used most for the one used least in one set; False where all are balanced, or none can."""
    most, least = max(classes, key=lambda c: used[c]), min(classes, key=lambda c: used[c])
    if used[most] - used[least] <= 1:
        return False
    # A few draws, which nearly always find a set, then every place once.
    for few in (True, False):
        for i in (rng.integers(0, len(sets), 64) if few else rng.permutation(len(sets))).tolist():
            changed = (sets[i] - {most}) | {least}
            if most in sets[i] and least not in sets[i] and sound(changed):
                sets[i] = changed
                used.update({most: -1, least: 1})
                return True
    return False


BAND = 0.05
"""Largest difference from a share, as a part of it, that appendix B allows."""
PAPER_K = {"asked": {"2": 45, "3": 35, "4": 20}, "found": {"2": 53, "3": 34, "4": 13}}
"""Classes in a record, of a hundred: those of section IV-B, and what validation left of them (appendix B)."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Counts of the levels of one axis against the shares that were asked for.

    `n` records were counted; `total_variation`, in [0, 1], is half the sum of the differences of all shares;
    `deviation` the largest difference of a share, `relative` the largest as a part of the share that was asked for
    (infinite where a level was found that nobody asked for), and `level` where that is.
    """

    n: int
    total_variation: float
    deviation: float
    relative: float
    level: str

    def within(self) -> bool:
        """Whether every share is within `BAND`, as a part of it, of what was asked for."""
        # Whole records cannot do better than one record on a level.
        return self.relative <= BAND or self.deviation * self.n < 1


def distance(found: Mapping[str, int], asked: Mapping[str, float]) -> Distance | None:
    """The distance of counts from the counts or shares that were asked for; None where either has none.

    Raises ValueError for a count that is negative.
    """
    if min([0, *found.values(), *asked.values()]) < 0:
        raise ValueError("a count is negative; expected numbers from 0")
    n, whole = sum(found.values()), sum(asked.values())
    if not n or not whole:
        return None
    gaps = {level: abs(found.get(level, 0) / n - asked.get(level, 0) / whole) for level in sorted({*found, *asked})}

    def part(level: str) -> float:
        share = asked.get(level, 0) / whole
        return gaps[level] / share if share else (float("inf") if gaps[level] else 0.0)

    worst = max(gaps, key=part)
    return Distance(n, sum(gaps.values()) / 2, max(gaps.values()), part(worst), worst)


def distances(found: Mapping[str, Mapping[str, int]], asked: Mapping[str, Mapping[str, int]]
              ) -> dict[str, dict[str, Any] | None]:
    """`distance` of every axis that was asked for, as JSON has it; None where no record counts, and for `relative`
    where a level was found that nobody asked for."""
    out: dict[str, dict[str, Any] | None] = {}
    for axis, levels in asked.items():
        one = distance(found.get(axis, {}), levels)
        out[axis] = None if one is None else {
            **asdict(one), "relative": one.relative if isfinite(one.relative) else None, "within": one.within()}
    return out
