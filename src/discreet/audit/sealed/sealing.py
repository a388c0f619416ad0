"""Sealing: data to pairs, coins, a commitment and the four files, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from numbers import Real
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.audit.core.verdict import check_at_least
from discreet.audit.sealed.opening import COINS_KIND, COMMITMENT_KIND, Opening, Unit
from discreet.audit.sealed.scores import ALPHA, Rows, rows_of
from discreet.core.calls import checked_call, path_of
from discreet.core.errors import InputError, UsageError, shown
from discreet.core.files import KeyedHash, clean, dump_json
from discreet.core.folders import atomic_folder
from discreet.inputs.pairs import MOST_RATIO, Units, all_pairs, draw_pairs
from discreet.inputs.rows import Place, json_type, unique
from discreet.inputs.texts import text_key

FILES = ("train.jsonl", "probe.jsonl", "commitment.json", "coins.json")
PRIVATE = ("train.jsonl", "coins.json")
"""Files that give the coins away: mode 0600."""
REQUIRED = ("id", "text", "label")
SECRET_NOTE = "secret until the scores are in: who knows the coins can forge scores"
SEEDED_NOTE = "seeded: not secret; for demonstrations and experiments, proves nothing to others"


@dataclass(frozen=True, slots=True)
class Datum:
    """One record. `label` keeps the type of the file; `group` is None where pairs are made of records."""

    id: str
    text: str = field(repr=False)
    label: str | int
    group: str | None = None

    def to_json(self, group_column: str | None = None) -> dict[str, Any]:
        """The row of `train.jsonl` and `probe.jsonl`."""
        row: dict[str, Any] = {"id": self.id, "text": self.text, "label": self.label}
        return row if group_column is None else {**row, group_column: self.group}


def read_data(source: Rows, group: str | None = None) -> list[Datum]:
    """All records of a JSON Lines, CSV or Parquet file, a data frame, or mappings; further columns are passed over.

    Raises InputError, naming file and line and never the text, for rows without id, text, label or group, for other
    types than strings (and whole numbers, for id, label and group), and for an id used twice.
    """
    if group in REQUIRED:
        raise InputError(f"group is {group!r}, one of {', '.join(REQUIRED)}; expected the column that names the user")
    columns = REQUIRED if group is None else (*REQUIRED, group)

    def named(place: Place, row: Mapping[str, Any], column: str, *, text: bool = False) -> str | int:
        value = row[column]
        if isinstance(value, bool) or not isinstance(value, str if text else str | int):
            place.fail(f"{column!r} is {json_type(value)}; expected a string{'' if text else ' or a whole number'}")
        if isinstance(value, str) and not value.strip():
            place.fail(f"{column!r} is empty; expected a string{'' if text else ' or a whole number'}")
        return clean(value) if isinstance(value, str) else value

    def datum(place: Place, row: Mapping[str, Any]) -> Datum:
        text = str(named(place, row, "text", text=True))
        user = None if group is None else str(named(place, row, group))
        return Datum(str(named(place, row, "id")), text, named(place, row, "label"), user)

    return [record for _, record in unique(rows_of(source, columns, columns), datum, lambda record: record.id)]


@dataclass(frozen=True, slots=True, repr=False)
class Sealed:
    """A seal that is not written yet: the key of the ids in `opening`, what to train on in the order of the data, both
    of every pair in the committed order (`probe`), counts for people, and the column that names the users, if any."""

    opening: Opening
    key: bytes
    train: list[Datum]
    probe: list[Datum]
    facts: dict[str, Any]
    group: str | None = None

    @checked_call
    def save(self, folder: Path | str) -> None:
        """Write `FILES` into a new or empty folder: all four, or none. `PRIVATE` ones have the file mode 0600."""
        opened, commitment = self.opening.to_json(), self.opening.commitment()
        secret_coins = self.opening.source == "os"
        public = {"kind": COMMITMENT_KIND, "schema": 1, "commitment": commitment, "pairs": len(self.opening.pairs),
                  "unit": self.opening.unit, "alpha": self.opening.alpha,
                  "coins": "operating system" if secret_coins else SEEDED_NOTE,
                  "made": datetime.now(UTC).isoformat(timespec="seconds")}
        secret = {"kind": COINS_KIND, "schema": 1, "note": SECRET_NOTE if secret_coins else SEEDED_NOTE,
                  "commitment": commitment, "key": self.key.hex(), "opened": opened}
        rows = {name: (json.dumps(d.to_json(self.group), ensure_ascii=False) + "\n" for d in data)
                for name, data in (("train.jsonl", self.train), ("probe.jsonl", self.probe))}
        contents: dict[str, Iterable[str]] = {
            **rows, "commitment.json": [dump_json(public, indent=2) + "\n"], "coins.json": [dump_json(secret) + "\n"]}
        folder = path_of(folder, "folder")
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; a seal is never written over: name a new folder")
        with atomic_folder(folder, "commitment.json") as part:
            for name, lines in contents.items():
                mode = 0o600 if name in PRIVATE else 0o666
                file = os.open(part / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                with os.fdopen(file, "w", encoding="utf-8", newline="\n") as handle:
                    handle.writelines(lines)


@checked_call
def seal(data: Rows | Sequence[Datum], pairs: int, *, group: str | None = None,
         canaries: Rows | Sequence[Datum] = (), seed: int | None = None, alpha: float = ALPHA) -> Sealed:
    """Before training: pair alike records, let coins decide which of a pair is trained on, and commit to the coins.

    Write it with `Sealed.save`, publish its `commitment.json`, train on `train.jsonl`, score all of `probe.jsonl`, and
    `unseal`.

    Parameters
    ----------
    data : path, data frame, mappings, or sequence of Datum
        With the columns id, text and label. Trained on but for the side of each pair that lost. A record whose text
        occurs again is in no pair: its copy would be trained on whatever the coin says.
    pairs : int
        How many pairs, 1 or more.
    group : str, optional
        The column of users: pairs are made of users, whose records go the same way.
    canaries : as `data`
        If there are any, pairs are made of these only, and `data` is trained on whole.
    seed : int or None
        None for coins of the operating system; a number for a reproducible seal that proves nothing to others.
    alpha : float in (0, 1)
        Largest chance of a false finding; committed to, so that nobody can choose it by the scores.

    UsageError for a number out of range; InputError as `read_data`, and if an id stands in data and canaries, all
    labels are alike, or too few units are alike.
    """
    check_at_least("pairs", pairs, 1)
    if seed is not None:
        check_at_least("seed", seed)
    _check_kinds(alpha, group)
    own, others = _records(data, group), _records(canaries, group)
    everything = [*own, *others]
    if twice := sum(times > 1 for times in Counter(d.id for d in everything).values()):
        raise InputError(f"{twice} ids of the canaries are ids of the data too; expected ids of their own")
    codes: dict[str, int] = {}
    labels = [codes.setdefault(str(d.label), len(codes)) for d in everything]
    if len(codes) < 2:
        raise InputError(f"all {len(everything)} records have the same label; expected the two or more labels of a "
                         f"classifier")
    unit: Unit = "record" if everything[0].group is None else "group"
    rows, units, eligible, copies = _units(everything, labels, len(own) if others else 0)
    # Salt, key and coins are from the operating system's cryptographic generator, whose next bit cannot be told from
    # those before. With a seed all of it is reproducible, and no secret.
    rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    drawn = secrets.token_bytes if seed is None else rng.bytes
    try:
        chosen = draw_pairs(units, pairs, eligible, rng)
    except ValueError:
        possible = len(all_pairs(units, eligible, rng))
        raise InputError(f"{pairs} pairs were asked for and about {possible} alike ones can be made of "
                         f"{int(eligible.sum())} {unit}s (same labels, lengths within {MOST_RATIO:g} times; texts that "
                         f"occur twice are in no pair); bring more data, or ask for fewer") from None
    key = drawn(32)
    keyed = KeyedHash(key)
    sides = tuple((tuple(keyed.of(everything[row].id) for row in rows[a]),
                   tuple(keyed.of(everything[row].id) for row in rows[b])) for a, b in chosen)
    bits = np.unpackbits(np.frombuffer(drawn((pairs + 7) // 8), dtype=np.uint8))[:pairs].tolist()
    opening = Opening(drawn(32).hex(), unit, "os" if seed is None else "seed", sides, "".join(map(str, bits)),
                      float(alpha), hashlib.sha256(key).hexdigest())
    lost = {row for pair, coin in zip(chosen, bits, strict=True) for row in rows[pair[1 - coin]]}
    train = [d for row, d in enumerate(everything) if row not in lost]
    probe = [everything[row] for pair in chosen for index in pair for row in rows[index]]
    ratio = np.exp(np.abs(np.diff(np.log(units.length[chosen]), axis=1))).ravel()
    return Sealed(opening, key, train, probe, {
        "pairs": pairs, "unit": unit, "train": len(train), "probe": len(probe), "copies_kept_out": copies,
        "unpaired": int(eligible.sum()) - 2 * pairs, "length_ratio_median": float(np.median(ratio)),
        "length_ratio_most": float(ratio.max())}, group)


def _check_kinds(alpha: object, group: object) -> None:
    if not isinstance(alpha, Real) or not 0.0 < float(alpha) < 1.0:
        raise UsageError(f"alpha is {shown(alpha)}: expected a number between 0 and 1, such as 0.05")
    if not isinstance(group, str | None):
        raise UsageError(f"group is {shown(group)}: expected the name of the column of users")


def _units(data: Sequence[Datum], labels: Sequence[int], first: int
           ) -> tuple[list[list[int]], Units, NDArray[np.bool_], int]:
    """Rows of each unit, the units, which of them may be paired (from row `first` on), and how many copies may not."""
    names: dict[str, int] = {}
    owner = [names.setdefault(d.id if d.group is None else d.group, len(names)) for d in data]
    rows: list[list[int]] = [[] for _ in names]
    for row, name in enumerate(owner):
        rows[name].append(row)
    eligible, times = np.array([of[0] >= first for of in rows]), Counter(text_key(d.text) for d in data)
    # A copy in another record would be trained on whatever the coin says; users are paired whole.
    copied = np.array([data[of[0]].group is None and times[text_key(data[of[0]].text)] > 1 for of in rows])
    units = Units.of(labels, [len(d.text) for d in data], owner)
    return rows, units, eligible & ~copied, int((eligible & copied).sum())


def _records(source: Rows | Sequence[Datum], group: str | None) -> Sequence[Datum]:
    given = isinstance(source, Sequence) and not isinstance(source, str) and all(isinstance(d, Datum) for d in source)
    return cast("Sequence[Datum]", source) if given else read_data(cast("Rows", source), group)
