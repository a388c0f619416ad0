"""Opening a seal: coins as they were committed, joined with scores by keyed id; and the record of openings.

The first opening gives the coins away, and every further one is another chance. Their record is a file in the folder
of the seal. Whoever holds the coins can delete it; it keeps honest people honest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.sealed.opening import Opening, hash_of, is_hash, read_object
from discreet.audit.sealed.scores import Scores
from discreet.audit.sealed.sealing import COINS_KIND, COMMITMENT_KIND
from discreet.core.errors import InputError
from discreet.core.files import KeyedHash, dump_json, write_atomic
from discreet.core.numbers import counted
from discreet.core.types import FloatArray
from discreet.scores.read import short
from discreet.scores.table import IN, OUT, UNKNOWN, ScoreTable

OPENINGS_KIND = "discreet.openings"
OPENINGS_SCHEMA = 1
OPENINGS_FILE = "opened.json"
SHOWN = ("when", "scores", "log10_e_value")
"""What a certificate says of the other openings."""


@dataclass(frozen=True, slots=True, repr=False)
class Revealed:
    """An opening with the scores of its members.

    Attributes
    ----------
    names : tuple of str
        What the scores are, such as ("log_p", "margin").
    scores : mapping of keyed id to one number per name
        In the order of pairs, first members first.
    """

    opening: Opening
    names: tuple[str, ...]
    scores: Mapping[str, Sequence[float]]

    def differences(self) -> FloatArray:
        """Score of the trained side minus that of the other (means over their records), shape (names, pairs)."""
        trained, left = ([np.mean([self.scores[keyed] for keyed in side], axis=0) for side in sides]
                         for sides in self.opening.members())
        return np.asarray(np.subtract(trained, left), dtype=np.float64).T

    def scores_hash(self) -> str:
        """SHA-256 of the scores under keyed ids: the same whatever file they came in."""
        return hash_of({"names": list(self.names), "values": {k: list(v) for k, v in self.scores.items()}})


def known_commitment(given: str) -> str:
    """The published hash that is given itself, in letters of either size, or in the `commitment.json` of that name."""
    plain = given.strip().lower()
    return plain if is_hash(plain) else _published(Path(given))[0]


def _published(path: Path) -> tuple[str, Any]:
    """Hash (in small letters) and α of a `commitment.json`; α None where it has none."""
    value = read_object(path, "the commitment.json of a seal")
    given = value.get("commitment")
    if value.get("kind") != COMMITMENT_KIND or not isinstance(given, str) or not is_hash(given.lower()):
        raise InputError(f"{path} holds no commitment; expected the commitment.json of a seal, unaltered")
    return given.lower(), value.get("alpha")


def read_coins(folder: Path) -> tuple[Opening, KeyedHash]:
    """The opening of a sealed folder and the key of its ids.

    Raises InputError where a file is missing or is not what it should be, and where the coins are not those of the
    commitment. Of coins, key and hash it says which were altered, as far as that can be told.
    """
    path = folder / "coins.json"
    value = read_object(path, "the coins.json of a seal")
    key = value.get("key")
    if value.get("kind") != COINS_KIND or not isinstance(key, str) or not is_hash(key):
        raise InputError(f"{path} holds no coins; expected the coins.json of a seal, unaltered")
    opening = Opening.from_json(value.get("opened"), str(path))
    published, alpha = _published(folder / "commitment.json")
    found = opening.commitment()
    if found != published:
        raise InputError(f"{path} does not open the commitment: it hashes to {found[:12]}… and {published[:12]}… was "
                         f"committed; the coins or the commitment were altered after the seal")
    if opening.key_hash not in (None, hashlib.sha256(bytes.fromhex(key)).hexdigest()):
        raise InputError(f"{path}: 'key' is not the key of the commitment, so no id can be told; it was altered after "
                         f"the seal: expected it as discreet seal wrote it")
    if opening.alpha is not None and alpha != opening.alpha:
        raise InputError(f"{folder / 'commitment.json'}: 'alpha' is not the {opening.alpha:g} that was committed to; "
                         f"it was altered after the seal: expected it as discreet seal wrote it")
    return opening, KeyedHash(bytes.fromhex(key), scope="seal")


def reveal(opening: Opening, keyed: KeyedHash, scores: Scores, source: str = "scores") -> Revealed:
    """Join opening and scores; scores of records in no pair are passed over. InputError where a member has none."""
    of = {keyed.of(name): row for name, row in zip(scores.ids, scores.values.tolist(), strict=True)}
    wanted = [(number, k) for number, pair in enumerate(opening.pairs, start=1) for side in pair for k in side]
    missing = [number for number, k in wanted if k not in of]
    if len(missing) == len(wanted):
        altered = "" if opening.key_hash else ", or the 'key' in coins.json was altered after the seal"
        raise InputError(f"{source} has no score for any of the {len(wanted)} members of the pairs: its ids are those "
                         f"of other records{altered}; expected one for every row of probe.jsonl, under the same ids")
    if missing:
        raise InputError(f"{source} has no score for {len(missing)} members of the {len(opening.pairs)} pairs (the "
                         f"first in pair {missing[0]}); expected one for every row of probe.jsonl, under the same ids")
    return Revealed(opening, scores.names, {k: tuple(of[k]) for _, k in wanted})


def under_seal(table: ScoreTable, opening: Opening, keyed: KeyedHash, source: str) -> tuple[ScoreTable, int]:
    """A membership table with the examples that coins decided, and how many others were left out.

    A record in no pair was trained on whatever the coins said, so it cannot be compared with those that were left to
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
    trained, left = opening.members()
    said = {name: code for sides, code in ((trained, IN), (left, OUT)) for side in sides for name in side}
    coins = np.array([said.get(keyed.of(str(name)), UNKNOWN) for name in table.examples.id], dtype=np.int8)
    if absent := len(said) - int((coins != UNKNOWN).sum()):
        raise InputError(f"{source}: {counted(absent, 'record')} of the {len(said):,} in the pairs of the seal "
                         f"{'has' if absent == 1 else 'have'} no scores; score every row of probe.jsonl, under the "
                         f"same ids")
    for target in table.of_role("target"):
        if wrong := int(((coins != UNKNOWN) & (table.member[target] != coins)).sum()):
            raise InputError(f"{source}: 'member' of target {short(table.models[target].name)} is not what the coins "
                             f"say for {wrong:,} of {len(said):,} sealed records; expected true for those of "
                             f"train.jsonl, or the seal that this target was trained under")
    kept = (coins != UNKNOWN) | (table.examples.planted > 0)
    if table.examples.split is not None:
        kept |= np.asarray(table.examples.split == "population", dtype=np.bool_)
    return (table if kept.all() else table.take(np.flatnonzero(kept))), int((~kept).sum())


def read_openings(folder: Path, commitment: str) -> list[dict[str, Any]]:
    """The openings that `record_opening` wrote, oldest first; none where there is no file.

    InputError for a file that is none, or is of another seal.
    """
    path = folder / OPENINGS_FILE
    if not path.exists():
        return []
    value = read_object(path, "the record of openings that discreet unseal keeps")
    head = {"kind": OPENINGS_KIND, "schema": OPENINGS_SCHEMA, "commitment": commitment}
    if any(value.get(name) != one for name, one in head.items()) or not are_openings(value.get("openings")):
        raise InputError(f"{path} is no record of the openings of this seal; expected it as discreet unseal left it")
    return list(value["openings"])


def record_opening(folder: Path, openings: Sequence[Mapping[str, Any]], certificate: Mapping[str, Any]) -> None:
    """Add what `certificate` says to the record in `folder`, once for each file of scores; whole or not at all."""
    if any(one["scores"] == certificate["scores_hash"] for one in openings):
        return
    new = {"when": certificate["made"], "scores": certificate["scores_hash"],
           **{name: certificate[name] for name in ("log10_e_value", "e_value", "rejected", "alpha")}}
    record = {"kind": OPENINGS_KIND, "schema": OPENINGS_SCHEMA, "commitment": certificate["commitment"],
              "openings": [*openings, new]}
    write_atomic(folder / OPENINGS_FILE, dump_json(record, indent=1) + "\n")


def are_openings(given: Any) -> bool:
    """Whether this is a list of openings with different scores, each with what `SHOWN` says."""
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        return False
    for one in given:
        when, scores, value = (one.get(name) for name in SHOWN)
        number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 and isfinite(value)
        if not isinstance(when, str) or not is_hash(scores) or not number:
            return False
    return len({one["scores"] for one in given}) == len(given)
