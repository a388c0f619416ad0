"""The safe side of a campaign of language models: passages of the seed corpora that tell nothing of anybody (IV-A).

They are real text and marked so (`synthetic` is false). A passage is cut at the end of a sentence to the words that an
answer may have, and judged as a safe record is; only an end it need not have, for tables and options of exams have
none.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.files import dump_json, write_atomic
from discreet.inputs.duplicates import NearDuplicates
from discreet.synth.campaign import SHARD, Shard
from discreet.synth.records import PASSAGES, Draft, Record, Spec
from discreet.synth.seeds import SeedPassage
from discreet.synth.validate import Check

_WORD = re.compile(r"\S+")
_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s|$)")


def shortened(text: str, most: int) -> str:
    """A text of at most `most` words: whole sentences where these are half of it, else so many words."""
    words = [found.end() for found in _WORD.finditer(text)]
    if len(words) <= most:
        return text
    ends = [found.end() for found in _END.finditer(text[:words[most - 1]])]
    return text[:ends[-1]] if ends and ends[-1] >= words[most // 2] else text[:words[most - 1]]


def record_of(domain: str, seed: SeedPassage, most: int) -> Record:
    """The safe record that a passage is; its profile is the corpus."""
    spec = Spec("safe", domain, seed.source, register=seed.register)
    return Record(f"{domain}-safe-{seed.id}", spec, Draft(seed.question or "", shortened(seed.text, most)), PASSAGES)


def read_safe(domain: str, n: int, seeds: Sequence[SeedPassage], seed: int, check: Check, most: int, kept: Path
              ) -> Shard:
    """The first `n` passages, in a seeded random order, that pass and are no near-copy of an earlier one.

    What was found of every 250 passages is kept in the folder `kept`, by id and reason without their text, so that a
    campaign that is killed goes on.
    """
    order = [seeds[int(i)] for i in np.random.default_rng((seed, SHARD)).permutation(len(seeds))]
    near, records, rejected, tried = NearDuplicates(), list[Record](), Counter[str](), 0
    for start in range(0, len(order), SHARD):
        some = {one.id: record_of(domain, one, most) for one in order[start: start + SHARD]}
        for name, reasons in _judged(some, check, kept / f"safe-{start:06d}.json").items():
            if len(records) == n:
                break
            tried += 1
            if reasons or not near.add(name, some[name].draft.answer):
                rejected.update(reasons or ["near_duplicate"])
            else:
                records.append(some[name])
        if len(records) == n:
            break
    return Shard(tuple(records), tried, len(records), n - len(records), 0, rejected, {})


def _judged(records: dict[str, Record], check: Check, path: Path) -> dict[str, list[str]]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if list(found) == list(records):
            return found
    except (OSError, ValueError):
        pass
    said = {name: list(check(record)) for name, record in records.items()}
    write_atomic(path, dump_json(said))
    return said
