"""Which scores a seal was opened with: the first opening gives the coins away, and every further one is another chance.

The record is a file in the folder of the seal. Whoever holds the coins can delete it; it keeps honest people honest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from discreet.audit.sealed.commit import HEX64, canonical
from discreet.audit.sealed.reveal import Revealed, read_object
from discreet.core.errors import InputError
from discreet.core.files import dump_json, write_atomic

KIND = "discreet.openings"
SCHEMA = 1
FILE = "opened.json"
SHOWN = ("when", "scores", "log10_e_value")
"""What a certificate says of the other openings."""


def hash_of_scores(names: Sequence[str], values: Mapping[str, Sequence[float]]) -> str:
    """SHA-256 of scores under keyed ids: 64 hexadecimal digits, the same whatever file they came in."""
    return hashlib.sha256(canonical({"names": list(names), "values": {k: list(v) for k, v in values.items()}})
                          ).hexdigest()


def read_openings(folder: Path, commitment: str) -> list[dict[str, Any]]:
    """The openings that `record_opening` wrote, oldest first; none where there is no file.

    InputError for a file that is none, or is of another seal.
    """
    path = folder / FILE
    if not path.exists():
        return []
    value = read_object(path, "the record of openings that discreet unseal keeps")
    given = value.get("openings")
    if value.get("kind") != KIND or value.get("schema") != SCHEMA or value.get("commitment") != commitment \
            or not isinstance(given, list) or not are_openings(given):
        raise InputError(f"{path} is no record of the openings of this seal; expected it as discreet unseal left it")
    return given


def others_than(openings: Sequence[Mapping[str, Any]], revealed: Revealed) -> list[dict[str, Any]]:
    """What a certificate says of the openings with other scores than these."""
    mine = hash_of_scores(revealed.names, revealed.scores)
    return [{name: one[name] for name in SHOWN} for one in openings if one["scores"] != mine]


def record_opening(folder: Path, openings: Sequence[Mapping[str, Any]], certificate: Mapping[str, Any]) -> None:
    """Add what `certificate` says to the record in `folder`, once for each file of scores; whole or not at all."""
    if any(one["scores"] == certificate["scores_hash"] for one in openings):
        return
    new = {"when": certificate["made"], "scores": certificate["scores_hash"],
           **{name: certificate[name] for name in ("log10_e_value", "e_value", "rejected", "alpha")}}
    record = {"kind": KIND, "schema": SCHEMA, "commitment": certificate["commitment"], "openings": [*openings, new]}
    write_atomic(folder / FILE, dump_json(record, indent=1) + "\n")


def are_openings(given: Any) -> bool:
    """Whether this is a list of openings with different scores, each with what `SHOWN` says."""
    if not isinstance(given, list) or not all(isinstance(one, Mapping) and _is_opening(one) for one in given):
        return False
    return len({one["scores"] for one in given}) == len(given)


def _is_opening(one: Mapping[str, Any]) -> bool:
    when, scores, value = (one.get(name) for name in SHOWN)
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 and isfinite(value)
    return isinstance(when, str) and isinstance(scores, str) and bool(HEX64.fullmatch(scores)) and number
