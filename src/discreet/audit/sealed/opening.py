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
from pathlib import Path
from typing import Any, Literal, NoReturn

from discreet.core.errors import InputError
from discreet.core.files import why

KIND = "discreet.seal"
SCHEMA = 2
FIRST_KEYS = {"kind", "schema", "salt", "unit", "source", "pairs", "coins"}
KEYS = {1: FIRST_KEYS, SCHEMA: FIRST_KEYS | {"alpha", "key_hash"}}
"""What an opening of each schema holds."""
HEX64 = re.compile("[0-9a-f]{64}")

Side = tuple[str, ...]
Unit = Literal["record", "group"]
Source = Literal["os", "seed"]


def canonical(value: Any) -> bytes:
    """The one byte string of a JSON value: sorted keys, no spaces, ASCII, shortest floats. ValueError for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def hash_of(value: Any) -> str:
    """SHA-256 of the canonical bytes of a JSON value, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


def is_hash(value: Any) -> bool:
    """Whether this is 64 hexadecimal digits."""
    return isinstance(value, str) and HEX64.fullmatch(value) is not None


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
        Largest chance of a false finding, fixed before training. None, as the hash of the key, in seals of schema 1.
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
        return {"kind": KIND, "schema": 1 if first else SCHEMA, "salt": self.salt, "unit": self.unit,
                "source": self.source, "pairs": [[list(side) for side in pair] for pair in self.pairs],
                "coins": self.coins, **({} if first else {"alpha": self.alpha, "key_hash": self.key_hash})}

    def commitment(self) -> str:
        """64 hexadecimal digits."""
        return hash_of(self.to_json())

    def members(self) -> tuple[list[Side], list[Side]]:
        """The sides that are trained on and those that are not, in the order of pairs."""
        sides = [(pair[int(coin)], pair[1 - int(coin)]) for pair, coin in zip(self.pairs, self.coins, strict=True)]
        return [trained for trained, _ in sides], [left for _, left in sides]

    @classmethod
    def from_json(cls, given: Any, where: str) -> Opening:
        """Read back what `to_json` wrote; InputError, beginning with `where`, for anything that is no opening."""
        schema = given.get("schema") if isinstance(given, Mapping) and given.get("kind") == KIND else None
        if schema not in (1, SCHEMA):
            raise InputError(f"{where} holds no opened seal of schema 1 or {SCHEMA}; expected what discreet seal wrote")
        if set(given) != KEYS[schema]:
            raise InputError(f"{where}: the opened seal has keys that discreet seal does not write; expected it whole")
        coins, alpha, pairs = given["coins"], given.get("alpha"), _pairs(given["pairs"], where)
        sound = {
            "salt": is_hash(given["salt"]), "unit": given["unit"] in ("record", "group"),
            "source": given["source"] in ("os", "seed"),
            "coins": isinstance(coins, str) and re.fullmatch("[01]+", coins) and len(coins) == len(pairs),
            "alpha": schema == 1 or (isinstance(alpha, float) and 0.0 < alpha < 1.0),
            "key_hash": schema == 1 or is_hash(given["key_hash"])}
        for name, fine in sound.items():
            if not fine:
                raise InputError(f"{where}: {name!r} is not what discreet seal writes; expected it unaltered")
        return cls(given["salt"], given["unit"], given["source"], pairs, coins, alpha, given.get("key_hash"))


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
        isinstance(side, list) and side and all(map(is_hash, side)) for side in pair)


def read_object(path: Path, expected: str) -> dict[str, Any]:
    """The JSON object in a file, with or without a byte order mark; InputError in one line where there is none."""
    def no_constant(name: str) -> NoReturn:
        raise ValueError(name)

    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=no_constant)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; expected {expected}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}; expected {expected}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON; expected {expected}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} holds no JSON object; expected {expected}")
    return value
