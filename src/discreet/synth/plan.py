"""What a campaign will write: how many records of which partition, lineage and mode, and the axes of each.

The paper's campaign (section IV-D, Table III, appendix B) in small: per training generator 15,000 baseline records,
1,500 of INDIRECT_QI and 3,000 of DISTRACTOR_PADDED and STYLE_TRANSFER; a held-out generator; borderline-safe records
for training and, by another generator, for evaluation. Ours adds a matched pair, where unsafe and borderline records
come from one unseen lineage, and clusters of domain facts only, reported apart.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.core.files import why
from discreet.domains import Domain, DomainLike, load_domain
from discreet.synth.axes import FRAMINGS, K_PRIOR, MODE_PATTERN, MODES, PLACEMENTS, REGISTERS
from discreet.synth.borderline import SUBTYPES
from discreet.synth.drafts import Kind, Spec
from discreet.synth.marginals import apportion, class_sets, spread, uniform

SCHEMA = 1
ROLES: dict[str, dict[str, tuple[str, ...]]] = {
    # Nobody who writes for training writes for evaluation.
    "strict": {"train": ("L1", "L2", "L3"), "heldout": ("L4",), "borderline": ("L5",), "borderline_eval": ("L6",),
               "matched": ("L7",)},
    # The paper's overlap: both borderline sets by generators that write unsafe training records too.
    "paper": {"train": ("L1", "L2", "L3"), "heldout": ("L4",), "borderline": ("L2",), "borderline_eval": ("L3",),
              "matched": ("L7",)},
}


@dataclass(frozen=True, slots=True)
class Partition:
    """A file of records: their kind, who writes them, in which modes, and the paper's count (ours where it has none).
    """

    name: str
    kind: Kind
    role: str
    count: int
    modes: bool = False


PARTITIONS: tuple[Partition, ...] = (
    Partition("safe", "safe", "train", 0),
    Partition("unsafe", "unsafe", "train", 58_500, modes=True),
    Partition("unsafe_heldout", "unsafe", "heldout", 2_000),
    Partition("borderline", "borderline", "borderline", 4_000),
    Partition("borderline_eval", "borderline", "borderline_eval", 1_000),
    Partition("matched_unsafe", "unsafe", "matched", 1_000),
    Partition("matched_borderline", "borderline", "matched", 1_000),
    Partition("domain_only", "domain_only", "train", 2_000),
)
_BY_NAME = {p.name: p for p in PARTITIONS}


@dataclass(frozen=True, slots=True)
class Batch:
    """Records of one partition by one lineage in one mode."""

    partition: str
    lineage: str
    mode: str
    n: int

    def to_json(self) -> dict[str, Any]:
        """The four fields."""
        return {"partition": self.partition, "lineage": self.lineage, "mode": self.mode, "n": self.n}


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
        return [p.name for p in PARTITIONS if p.name in there]

    def specs(self, partition: str) -> list[Spec]:
        """What to write into a partition, batch by batch in the plan's order."""
        batches = [b for b in self.batches if b.partition == partition and b.n]
        n = sum(b.n for b in batches)
        rng = np.random.default_rng((self.seed, zlib.crc32(f"{self.domain.name}/{partition}".encode())))
        kind = _BY_NAME[partition].kind
        writers = [(b.lineage, b.mode) for b in batches for _ in range(b.n)]
        return [Spec(kind, self.domain.name, lineage, mode, **axes)
                for (lineage, mode), axes in zip(writers, _axes(kind, self.domain, n, rng), strict=True)]

    def marginals(self) -> dict[str, dict[str, dict[str, int]]]:
        """Counts of every level of every axis, by partition."""
        return {name: marginals(self.specs(name)) for name in self.partitions()}

    def key(self) -> str:
        """SHA-256 of the plan: 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self._settings(), sort_keys=True).encode()).hexdigest()

    def _settings(self) -> dict[str, Any]:
        own = {} if self.domain.builtin else {"domain_hash": self.domain.hash}
        return {"kind": "synth plan", "schema": SCHEMA, "domain": self.domain.name, **own, "seed": self.seed,
                "generator": self.generator, "batches": [b.to_json() for b in self.batches]}

    def to_json(self) -> dict[str, Any]:
        """The settings, and the marginals that follow from them (for readers: they are not read back)."""
        folder = {} if self.domain.builtin else {"domain_folder": str(self.domain.folder)}
        return {**self._settings(), **folder, "marginals": self.marginals()}

    @classmethod
    def from_json(cls, data: Any, where: str = "plan") -> Plan:
        """Read back what `to_json` wrote. Raises InputError naming `where` and the key that is wrong."""
        if not isinstance(data, Mapping) or data.get("kind") != "synth plan":
            raise InputError(f"{where} is no plan; expected the output of 'discreet synth plan'")
        if data.get("schema") != SCHEMA:
            raise InputError(f"{where} is a plan of schema {data.get('schema')!r}; expected {SCHEMA}: plan again")
        batches = data.get("batches")
        if not isinstance(batches, list) or not batches:
            raise InputError(f"{where}: 'batches' must be a list of partition, lineage, mode and n")
        seed = _field(data, "seed", int, where)
        generator = _field(data, "generator", str, where)
        if seed < 0:
            raise InputError(f"{where}: the seed is {seed}; expected a whole number from 0")
        return cls(_domain(data, where), seed, generator, tuple(_batch(row, i, where) for i, row in enumerate(batches)))

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Read a plan file. Raises InputError where it is missing, no JSON or no plan."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read {path}: {why(error)}; expected the output of 'discreet synth plan'"
                             ) from None
        except (ValueError, RecursionError):
            raise InputError(f"{path} is not JSON; expected the output of 'discreet synth plan'") from None
        return cls.from_json(data, str(path))


def make_plan(domain: DomainLike, sizes: Mapping[str, int], seed: int, *, generator: str = "grammar",
              roles: Mapping[str, Sequence[str]] | None = None) -> Plan:
    """A plan of `sizes` records a partition: shared out evenly over lineages, then by the paper's pattern over modes.

    Raises UsageError for an unknown domain or partition, a count below 0, or a role without lineages.
    """
    domain = load_domain(domain)
    who = ROLES["strict"] if roles is None else roles
    for name, size in sizes.items():
        if name not in _BY_NAME:
            raise UsageError(f"there is no partition {name!r}: expected some of {', '.join(_BY_NAME)}")
        if size < 0:
            raise UsageError(f"{name} is to have {size} records: expected a number from 0")
        if size and not who.get(_BY_NAME[name].role):
            raise UsageError(f"no lineage has the role {_BY_NAME[name].role!r}, which writes {name}: name at least one")
    batches: list[Batch] = []
    for partition in PARTITIONS:
        batches += _batches(partition, sizes.get(partition.name, 0), who.get(partition.role, ()))
    if not batches:
        raise UsageError("a plan of no records was asked for: expected at least one")
    return Plan(domain, seed, generator, tuple(batches))


def _batches(partition: Partition, n: int, lineages: Sequence[str]) -> list[Batch]:
    """Exact counts of every mode, dealt to the lineages in turn, so that both marginals hold."""
    if not n:
        return []
    modes = apportion(n, MODE_PATTERN) if partition.modes else {"NONE": n}
    deal = [mode for mode, count in modes.items() for _ in range(count)]
    dealt = Counter((lineages[i % len(lineages)], mode) for i, mode in enumerate(deal))
    return [Batch(partition.name, lineage, mode, dealt[lineage, mode])
            for lineage in lineages for mode in modes if dealt[lineage, mode]]


def equal_sizes(n: int) -> dict[str, int]:
    """n records in every partition."""
    return {p.name: n for p in PARTITIONS}


def paper_sizes(domain: DomainLike, scale: float) -> dict[str, int]:
    """The paper's counts (Table III) times `scale`, each at least 1. UsageError for a domain without such counts."""
    domain = load_domain(domain)
    safe = domain.templates.get("safe_records")
    if not isinstance(safe, int):
        raise UsageError(f"the domain {domain.name!r} has no counts to scale: expected --n instead, or safe_records in "
                         "its templates.yaml")
    if not 0 < scale <= 10:
        raise UsageError(f"a scale of {scale} was asked for: expected more than 0 and at most 10 (1 is the paper's)")
    return {p.name: max(1, round(scale * (p.count or safe))) for p in PARTITIONS}


def marginals(specs: Sequence[Spec]) -> dict[str, dict[str, int]]:
    """How often each level of each axis occurs; axes that nobody has are left out."""
    counts = {axis: Counter(level for s in specs if (level := getattr(s, axis)) is not None)
              for axis in ("lineage", "register", "subtype", "framing", "placement")}
    counts["opening"] = Counter(str(s.opening) for s in specs if s.subtype)
    counts["mode"] = Counter(s.mode for s in specs if s.qi)
    counts["qi"] = Counter(qi for s in specs for qi in s.qi)
    counts["k"] = Counter(str(s.k) for s in specs if s.qi)
    return {axis: dict(sorted(count.items())) for axis, count in counts.items() if count}


def _axes(kind: Kind, domain: Domain, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """The levels of n records; each axis is exact over the partition and nearly so in every stretch of it."""
    if kind == "safe":
        return [{"register": r} for r in uniform(REGISTERS, n, rng)]
    framings = uniform(FRAMINGS, n, rng)
    if kind == "borderline":
        levels = zip(framings, uniform(SUBTYPES, n, rng), uniform(range(5), n, rng), strict=True)
        return [{"framing": f, "subtype": s, "opening": o} for f, s, o in levels]
    allowed = domain.own_labels if kind == "domain_only" else tuple(domain.labels)
    sizes = spread(apportion(n, {k: share for k, share in K_PRIOR.items() if k <= len(allowed)}), rng)
    sets = class_sets(sizes, allowed, rng)
    return [{"framing": f, "placement": p, "qi": qi}
            for f, p, qi in zip(framings, uniform(PLACEMENTS, n, rng), sets, strict=True)]


def _domain(data: Mapping[str, Any], where: str) -> Domain:
    """The domain of a plan: a built-in one, or the folder that the plan names, unchanged."""
    name = _field(data, "domain", str, where)
    try:
        domain = load_domain(_field(data, "domain_folder", str, where) if "domain_folder" in data else name)
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None
    if domain.hash != data.get("domain_hash", domain.hash):
        raise InputError(f"{where}: the domain in {domain.folder} was changed since: plan again")
    return domain


def _field(data: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    value = data.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputError(f"{where}: {key!r} must be a {'string' if kind is str else 'whole number'}")
    return value


def _batch(row: Any, i: int, where: str) -> Batch:
    place = f"{where}, batch {i + 1}"
    if not isinstance(row, Mapping):
        raise InputError(f"{place} is no object of partition, lineage, mode and n")
    texts = [_field(row, key, str, place) for key in ("partition", "lineage", "mode")]
    batch = Batch(*cast(tuple[str, str, str], tuple(texts)), n=_field(row, "n", int, place))
    if batch.partition not in _BY_NAME or batch.mode not in MODES or batch.n < 0:
        raise InputError(f"{place}: unknown partition or mode, or a count below 0")
    return batch
