"""The commitment, SHA-256 over salt, keyed ids, coins and α, and the files of a seal that open it.

*Hiding*: the salt has 256 random bits and stays in `coins.json`, so the published hash tells nothing of the coins,
however few they are. *Binding*: another opening of the same hash would be a collision of SHA-256. Ids are HMAC-SHA256
under a key that is never published (ids may be guessable), so a certificate names no record to who lacks the key.
The commitment holds SHA-256 of that key, which has 256 random bits: a key that was altered is told from other scores.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from discreet.core.errors import InputError
from discreet.core.files import KeyedHash, dump_json, why, write_atomic

KIND = "discreet.seal"
SCHEMA = 2
KEYS = {"kind", "schema", "salt", "unit", "source", "pairs", "coins", "alpha", "key_hash"}
HEX64 = re.compile("[0-9a-f]{64}")
COINS_KIND, COMMITMENT_KIND, OPENINGS_KIND = "discreet.coins", "discreet.commitment", "discreet.openings"
OPENINGS_FILE = "opened.json"
SHOWN = ("when", "scores", "log10_e_value")
"""What a certificate says of the other openings."""

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
    salt, key_hash : str
        64 hexadecimal digits: random ones, and SHA-256 of the key of the ids.
    source : "os" or "seed"
        Where the coins came from: the operating system's generator, or a seed that makes them no secret.
    pairs : tuple of (side, side)
        Keyed ids of the records of either side, in the committed order of pairs.
    coins : str
        One "0" or "1" a pair: the side that is trained on.
    alpha : float in (0, 1)
        Largest chance of a false finding, fixed before training.
    """

    salt: str
    unit: Unit
    source: Source
    pairs: tuple[tuple[Side, Side], ...]
    coins: str
    alpha: float
    key_hash: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `commitment` is their hash."""
        return {"kind": KIND, "schema": SCHEMA, "salt": self.salt, "unit": self.unit, "source": self.source,
                "pairs": [[list(side) for side in pair] for pair in self.pairs], "coins": self.coins,
                "alpha": self.alpha, "key_hash": self.key_hash}

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
        if not isinstance(given, Mapping) or (given.get("kind"), given.get("schema")) != (KIND, SCHEMA):
            raise InputError(f"{where} holds no opened seal of schema {SCHEMA}; expected what discreet seal wrote")
        if set(given) != KEYS:
            raise InputError(f"{where}: the opened seal has keys that discreet seal does not write; expected it whole")
        coins, alpha, pairs = given["coins"], given["alpha"], _pairs(given["pairs"], where)
        sound = {
            "salt": is_hash(given["salt"]), "unit": given["unit"] in ("record", "group"),
            "source": given["source"] in ("os", "seed"),
            "coins": isinstance(coins, str) and re.fullmatch("[01]+", coins) and len(coins) == len(pairs),
            "alpha": isinstance(alpha, float) and 0.0 < alpha < 1.0, "key_hash": is_hash(given["key_hash"])}
        for name, fine in sound.items():
            if not fine:
                raise InputError(f"{where}: {name!r} is not what discreet seal writes; expected it unaltered")
        return cls(given["salt"], given["unit"], given["source"], pairs, coins, alpha, given["key_hash"])


def _pairs(given: Any, where: str) -> tuple[tuple[Side, Side], ...]:
    if not isinstance(given, list) or not given or not all(
            isinstance(pair, list) and len(pair) == 2 and all(
                isinstance(side, list) and side and all(map(is_hash, side)) for side in pair) for pair in given):
        raise InputError(f"{where}: 'pairs' is not a list of pairs of keyed ids; expected it unaltered")
    seen: set[str] = set()
    for number, pair in enumerate(given, start=1):
        for keyed in (k for side in pair for k in side):
            if keyed in seen:
                raise InputError(f"{where}: a record of pair {number} stands in another pair or on both sides; "
                                 f"expected every record on one side of one pair")
            seen.add(keyed)
    return tuple((tuple(one), tuple(other)) for one, other in given)


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

    InputError where a file is missing, is not what it should be, or was altered: it says which, where that can be told.
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
    if opening.key_hash != hashlib.sha256(bytes.fromhex(key)).hexdigest():
        raise InputError(f"{path}: 'key' is not the key of the commitment, so no id can be told; it was altered after "
                         f"the seal: expected it as discreet seal wrote it")
    if alpha != opening.alpha:
        raise InputError(f"{folder / 'commitment.json'}: 'alpha' is not the {opening.alpha:g} that was committed to; "
                         f"it was altered after the seal: expected it as discreet seal wrote it")
    return opening, KeyedHash(bytes.fromhex(key), scope="seal")


def read_openings(folder: Path, commitment: str) -> list[dict[str, Any]]:
    """The openings that `record_opening` wrote, oldest first; none where there is no file.

    The first opening gives the coins away, and every further one is another chance. Whoever holds the coins can delete
    this record; it keeps honest people honest. InputError for a file that is none, or is of another seal.
    """
    path = folder / OPENINGS_FILE
    if not path.exists():
        return []
    value = read_object(path, "the record of openings that discreet unseal keeps")
    head = {"kind": OPENINGS_KIND, "schema": 1, "commitment": commitment}
    if any(value.get(name) != one for name, one in head.items()) or not are_openings(value.get("openings")):
        raise InputError(f"{path} is no record of the openings of this seal; expected it as discreet unseal left it")
    return list(value["openings"])


def record_opening(folder: Path, openings: Sequence[Mapping[str, Any]], certificate: Mapping[str, Any]) -> None:
    """Add what `certificate` says to the record in `folder`, once for each file of scores; whole or not at all."""
    if any(one["scores"] == certificate["scores_hash"] for one in openings):
        return
    new = {"when": certificate["made"], "scores": certificate["scores_hash"],
           **{name: certificate[name] for name in ("log10_e_value", "e_value", "rejected", "alpha")}}
    record = {"kind": OPENINGS_KIND, "schema": 1, "commitment": certificate["commitment"],
              "openings": [*openings, new]}
    write_atomic(folder / OPENINGS_FILE, dump_json(record, indent=1) + "\n")


def are_openings(given: Any) -> bool:
    """Whether this is a list of openings with different scores, each with what `SHOWN` says."""
    def is_one(given: Any) -> bool:
        when, scores, value = map(given.get, SHOWN) if isinstance(given, Mapping) else (None, None, None)
        return isinstance(when, str) and is_hash(scores) and not isinstance(value, bool) and (
            isinstance(value, int | float) and abs(value) < 1e9)

    return isinstance(given, list) and all(map(is_one, given)) and len({one["scores"] for one in given}) == len(given)
