"""The commitment: SHA-256 over a random salt, keyed ids, coins, and the α that the evidence will be held against.

*Hiding*: the salt has 256 random bits and stays in `coins.json`, so the published hash tells nothing of the coins,
however few they are. *Binding*: another opening of the same hash would be a collision of SHA-256. Ids are HMAC-SHA256
under a key that is never published (ids may be guessable), so a certificate names no record to who lacks the key.
The commitment holds SHA-256 of that key, which has 256 random bits: a key that was altered is told from other scores.

Seals of schema 1, the first, had neither α nor the hash of the key; they are still read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from discreet.core.errors import InputError

KIND = "discreet.seal"
SCHEMA = 2
OLDEST = 1
HEX64 = re.compile("[0-9a-f]{64}")

Side = tuple[str, ...]
Unit = Literal["record", "group"]
Source = Literal["os", "seed"]


def canonical(value: Any) -> bytes:
    """The one byte string of a JSON value: sorted keys, no spaces, ASCII, shortest floats. ValueError for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


@dataclass(frozen=True, slots=True, repr=False)
class Opening:
    """Everything that the commitment binds; secret until the seal is opened.

    Attributes
    ----------
    salt : str
        64 hexadecimal digits.
    unit : "record" or "group"
    source : "os" or "seed"
        Where the coins came from: the operating system's generator, or a seed that makes them no secret.
    pairs : tuple of (side, side)
        Keyed ids of the records of either side, in the committed order of pairs.
    coins : str
        One "0" or "1" a pair: the side that is trained on.
    alpha : float in (0, 1) or None
        Largest chance of convicting an innocent model, fixed before training. None, as the hash of the key, in seals
        of schema 1.
    key_hash : str or None
        SHA-256 of the key of the ids, 64 hexadecimal digits.
    """

    salt: str
    unit: Unit
    source: Source
    pairs: tuple[tuple[Side, Side], ...]
    coins: str
    alpha: float | None = None
    key_hash: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `commitment` is their hash."""
        first = self.alpha is None
        return {"kind": KIND, "schema": OLDEST if first else SCHEMA, "salt": self.salt, "unit": self.unit,
                "source": self.source, "pairs": [[list(side) for side in pair] for pair in self.pairs],
                "coins": self.coins, **({} if first else {"alpha": self.alpha, "key_hash": self.key_hash})}

    def commitment(self) -> str:
        """64 hexadecimal digits."""
        return hashlib.sha256(canonical(self.to_json())).hexdigest()

    def members(self) -> tuple[list[Side], list[Side]]:
        """The sides that are trained on and those that are not, in the order of pairs."""
        sides = [(pair[int(coin)], pair[1 - int(coin)]) for pair, coin in zip(self.pairs, self.coins, strict=True)]
        return [trained for trained, _ in sides], [left for _, left in sides]

    @classmethod
    def from_json(cls, given: Any, where: str) -> Opening:
        """Read back what `to_json` wrote; InputError, beginning with `where`, for anything that is no opening."""
        if not isinstance(given, Mapping) or given.get("kind") != KIND or given.get("schema") not in (OLDEST, SCHEMA):
            raise InputError(f"{where} holds no opened seal of schema {OLDEST} or {SCHEMA}; expected what discreet "
                             f"seal wrote")
        later = set() if given["schema"] == OLDEST else {"alpha", "key_hash"}
        if set(given) != {"kind", "schema", "salt", "unit", "source", "pairs", "coins"} | later:
            raise InputError(f"{where}: the opened seal has keys that discreet seal does not write; expected it whole")
        salt, unit, source, coins = (given[key] for key in ("salt", "unit", "source", "coins"))
        if not isinstance(salt, str) or not HEX64.fullmatch(salt):
            raise InputError(f"{where}: 'salt' is not 64 hexadecimal digits; expected it unaltered")
        if unit not in ("record", "group") or source not in ("os", "seed"):
            raise InputError(f"{where}: 'unit' or 'source' is not one that is known; expected them unaltered")
        pairs = _pairs(given["pairs"], where)
        if not isinstance(coins, str) or not re.fullmatch("[01]+", coins) or len(coins) != len(pairs):
            raise InputError(f"{where}: 'coins' is not one 0 or 1 for each of {len(pairs)} pairs; expected it whole")
        return cls(salt, unit, source, pairs, coins, *(_later(given, where) if later else ()))


def _later(given: Mapping[str, Any], where: str) -> tuple[float, str]:
    """What schema 2 has besides."""
    alpha, key_hash = given["alpha"], given["key_hash"]
    if not isinstance(alpha, float) or not 0.0 < alpha < 1.0:
        raise InputError(f"{where}: 'alpha' is not a number between 0 and 1; expected it unaltered")
    if not isinstance(key_hash, str) or not HEX64.fullmatch(key_hash):
        raise InputError(f"{where}: 'key_hash' is not 64 hexadecimal digits; expected it unaltered")
    return alpha, key_hash


def hash_of_key(key: bytes) -> str:
    """`Opening.key_hash` of a key."""
    return hashlib.sha256(key).hexdigest()


def _pairs(given: Any, where: str) -> tuple[tuple[Side, Side], ...]:
    if not isinstance(given, list) or not given or not all(_is_pair(pair) for pair in given):
        raise InputError(f"{where}: 'pairs' is not a list of pairs of keyed ids; expected it unaltered")
    seen: set[str] = set()
    for number, pair in enumerate(given, start=1):
        for keyed in (k for side in pair for k in side):
            if keyed in seen:
                raise InputError(f"{where}: a record of pair {number} stands in another pair or on both sides; "
                                 f"expected every record on one side of one pair")
            seen.add(keyed)
    return tuple((tuple(one), tuple(other)) for one, other in given)


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(
        isinstance(side, list) and side and all(isinstance(k, str) and HEX64.fullmatch(k) for k in side)
        for side in pair)
