"""Opening a seal: the coins as they were committed, joined with the scores by keyed id."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.sealed.commit import HEX64, Opening, hash_of_key
from discreet.audit.sealed.plan import COINS_KIND, COMMITMENT_KIND
from discreet.audit.sealed.scores import Scores
from discreet.core.errors import InputError
from discreet.core.files import KeyedHash, why
from discreet.core.types import FloatArray


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
        trained, left = self.opening.members()
        ahead = [self._mean(one) - self._mean(other) for one, other in zip(trained, left, strict=True)]
        return np.asarray(ahead, dtype=np.float64).T

    def _mean(self, side: Sequence[str]) -> FloatArray:
        return np.asarray(np.mean([self.scores[keyed] for keyed in side], axis=0), dtype=np.float64)


def read_object(path: Path, expected: str) -> dict[str, Any]:
    """The JSON object in a file, with or without a byte order mark; InputError in one line where there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_no_constant)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; expected {expected}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}; expected {expected}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON; expected {expected}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} holds no JSON object; expected {expected}")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


def read_commitment(path: Path) -> str:
    """The published hash of a `commitment.json`, in small letters."""
    return _published(path)[0]


def known_commitment(given: str) -> str:
    """The published hash that is given itself, in letters of either size, or in the `commitment.json` of that name."""
    plain = given.strip().lower()
    return plain if HEX64.fullmatch(plain) else read_commitment(Path(given))


def _published(path: Path) -> tuple[str, Any]:
    """Hash and α of a `commitment.json`; α None where it has none."""
    value = read_object(path, "the commitment.json of a seal")
    given = value.get("commitment")
    if value.get("kind") != COMMITMENT_KIND or not isinstance(given, str) or not HEX64.fullmatch(given.lower()):
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
    if value.get("kind") != COINS_KIND or not isinstance(key, str) or not HEX64.fullmatch(key):
        raise InputError(f"{path} holds no coins; expected the coins.json of a seal, unaltered")
    opening = Opening.from_json(value.get("opened"), str(path))
    published, alpha = _published(folder / "commitment.json")
    found = opening.commitment()
    if found != published:
        raise InputError(f"{path} does not open the commitment: it hashes to {found[:12]}… and {published[:12]}… was "
                         f"committed; the coins or the commitment were altered after the seal")
    if opening.key_hash not in (None, hash_of_key(bytes.fromhex(key))):
        raise InputError(f"{path}: 'key' is not the key of the commitment, so no id can be told; it was altered after "
                         f"the seal: expected it as discreet seal wrote it")
    if opening.alpha is not None and alpha != opening.alpha:
        raise InputError(f"{folder / 'commitment.json'}: 'alpha' is not the {opening.alpha:g} that was committed to; "
                         f"it was altered after the seal: expected it as discreet seal wrote it")
    return opening, KeyedHash(bytes.fromhex(key), scope="seal")


def reveal(opening: Opening, keyed: KeyedHash, scores: Scores, source: Path | str = "scores") -> Revealed:
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
