"""A table of scores beside the coins of its seal: did they decide who its members are?"""

from __future__ import annotations

import numpy as np

from discreet.audit.sealed.commit import Opening
from discreet.core.errors import InputError
from discreet.core.files import KeyedHash
from discreet.core.numbers import counted
from discreet.scores.read import short
from discreet.scores.table import IN, OUT, UNKNOWN, MemberArray, ScoreTable


def under_seal(table: ScoreTable, opening: Opening, keyed: KeyedHash, source: str) -> tuple[ScoreTable, int]:
    """`table` with the examples that coins decided, and how many others were left out.

    A record in no pair was trained on whatever the coins said, so it cannot stand beside those that were left to
    them. Examples that are never compared so are kept: planted ones and those of the split "population".

    Raises
    ------
    InputError
        Beginning with `source`: coins from a seed, which were no secret; a record of a pair without scores, for whoever
        leaves some out may choose which; a target whose 'member' says something else than the coins.
    """
    if opening.source != "os":
        raise InputError(f"{source}: the coins of this seal came from a seed and were no secret; expected a seal made "
                         f"without --seed, or --design randomised")
    coins = _coins(table, opening, keyed)
    expected = sum(len(side) for pair in opening.pairs for side in pair)
    if lacking := expected - int((coins != UNKNOWN).sum()):
        raise InputError(f"{source}: {counted(lacking, 'record')} of the {expected:,} in the pairs of the seal "
                         f"{'has' if lacking == 1 else 'have'} no scores; score every row of probe.jsonl, under the "
                         f"same ids")
    for target in table.of_role("target"):
        wrong = int(((coins != UNKNOWN) & (table.member[target] != coins)).sum())
        if wrong:
            raise InputError(f"{source}: 'member' of target {short(table.models[target].name)} is not what the coins "
                             f"say for {wrong:,} of {expected:,} sealed records; expected true for those of "
                             f"train.jsonl, or the seal that this target was trained under")
    kept = (coins != UNKNOWN) | (table.examples.planted > 0)
    if table.examples.split is not None:
        kept |= np.asarray(table.examples.split == "population", dtype=np.bool_)
    return (table if kept.all() else table.take(np.flatnonzero(kept))), int((~kept).sum())


def _coins(table: ScoreTable, opening: Opening, keyed: KeyedHash) -> MemberArray:
    """(N,) what the coins say of each example: trained on, left out, or nothing."""
    trained, left = opening.members()
    said = {name: code for sides, code in ((trained, IN), (left, OUT)) for side in sides for name in side}
    return np.array([said.get(keyed.of(str(name)), UNKNOWN) for name in table.examples.id], dtype=np.int8)
