"""Writing a shard so that its marginals hold after validation.

The paper drops a record whose retries are used up, which tilts its marginals (two-QI records .53 for .45). Here a
specification that cannot be written trades the level of one axis with another of its shard, and both are tried again:
what is counted over the shard never changes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.domains import Domain
from discreet.synth.profiles import read_data
from discreet.synth.records import Draft, Generator, Record, Spec

RETRIES: dict[str, int] = read_data("campaign")["drafts"]
"""Drafts of one specification before an axis is traded, by mode."""
ROUNDS = 30
"""How often a specification may use up its retries, trading after each, before it is given up."""

DRAFTS = 80
"""Drafts of a shard, for each of its records, after which nothing is traded any more: an impossible request ends."""

_AXES = ("qi", "framing", "placement", "subtype", "opening", "register")


@dataclass(frozen=True, slots=True)
class Shard:
    """What came of a few specifications: records in their order, and how it went.

    `short` counts specifications that were given up; `drafts` and `kept` say what share of drafts was good.
    """

    records: tuple[Record, ...]
    drafts: int
    kept: int
    short: int
    traded: int
    rejected: Mapping[str, int]


class ShardWriter:
    """Writes specifications of one partition, profile and mode, each draft from its own stream of `seed`.

    `check` says why a record fails, nothing where it is good; ids are `prefix` and a number; `made_by` is the name of
    the generator. What `run` returns depends on these arguments alone.
    """

    def __init__(self, specs: Sequence[Spec], domain: Domain, seed: Sequence[int], generator: Generator,
                 check: Callable[[Record], Sequence[str]], *, prefix: str, made_by: str) -> None:
        self.specs, self.domain, self.seed = list(specs), domain, tuple(seed)
        self.generator, self.check, self.prefix, self.made_by = generator, check, prefix, made_by
        self.rng = np.random.default_rng((*self.seed, len(specs)))
        self.tried: Counter[int] = Counter()
        self.rounds: Counter[int] = Counter()
        self.rejected: Counter[str] = Counter()
        self.written: dict[int, Record] = {}
        self.texts: set[str] = set()
        self.drafts = self.kept = self.traded = 0

    def run(self) -> Shard:
        """Write until nothing is open that may still be tried."""
        pending = deque(range(len(self.specs)))
        most = DRAFTS * len(self.specs)
        while pending and self.drafts < most:
            i = pending.popleft()
            if self._try(i):
                continue
            self.rounds[i] += 1
            if self.rounds[i] < ROUNDS:
                self._trade(i, pending)
                pending.append(i)
        for i in pending:
            # What was taken back last has had no other chance.
            self._try(i)
        records = tuple(self.written[i] for i in sorted(self.written))
        return Shard(records, self.drafts, self.kept, len(self.specs) - len(records), self.traded, self.rejected)

    def _try(self, i: int) -> bool:
        spec = self.specs[i]
        for _ in range(RETRIES[spec.mode]):
            self.tried[i] += 1
            self.drafts += 1
            rng = np.random.default_rng((*self.seed, i, self.tried[i]))
            draft = self.generator.generate(spec, self.domain, rng)
            record = Record(f"{self.prefix}-{i:03d}", spec, draft, self.made_by)
            reasons = ("duplicate",) if _key(draft) in self.texts else self.check(record)
            if not reasons:
                self.kept += 1
                self.texts.add(_key(draft))
                self.written[i] = record
                return True
            self.rejected.update(reasons)
        return False

    def _trade(self, i: int, pending: deque[int]) -> None:
        """Exchange one axis with a spec that is still open; every third time with one that is written already.

        What is open may be stuck in the same way, but each record that is taken back has to be written again.
        """
        take_back = self.rounds[i] % 3 == 0
        others = list(self.written) if take_back else list(pending)
        if not others:
            return
        j = others[int(self.rng.integers(len(others)))]
        axes = [axis for axis in _AXES if getattr(self.specs[i], axis) != getattr(self.specs[j], axis)]
        if not axes:
            return
        axis = axes[int(self.rng.integers(len(axes)))]
        ours, theirs = getattr(self.specs[i], axis), getattr(self.specs[j], axis)
        self.specs[i], self.specs[j] = (
            replace(self.specs[i], **{axis: theirs}), replace(self.specs[j], **{axis: ours}))
        self.traded += 1
        if take_back:
            self.texts.discard(_key(self.written.pop(j).draft))
            pending.append(j)


def _key(draft: Draft) -> str:
    return " ".join(draft.answer.casefold().split())
