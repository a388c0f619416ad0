"""A file of paraphrases beside what says how they were made."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, dump_json, progress, why, write_atomic
from discreet.data.answers import clean
from discreet.data.texts import LabelledText, read_texts
from discreet.experiments.membership.experiment import MOST_COPIES
from discreet.studies.paraphrase.base import Paraphraser, change

FORM = "discreet-paraphrases"
VERSION = 1
TOGETHER = 64


def write_paraphrases(data: Path, n: int, to: Path, paraphraser: Paraphraser, seed: int, *, quiet: bool = False
                      ) -> Path:
    """`n` (1 to 63) paraphrases of every labelled text, as JSON Lines in the folder `to`; the file's path.

    A row has `id` (`<id>#<k>`, k from 1), `text`, `label` and, where the text has one, `structure`. The file is named
    by the data, n, the paraphraser and the seed. Beside it lies a manifest of the same name, `.json`: facts of the
    paraphraser, hashes under a key of its own of data and paraphrases, and `Change`, without any text. Where it says
    that the file is of this data, these facts and this seed, nothing is made anew; else both are.

    Raises UsageError for n, a seed or a folder that cannot be, InputError as `read_texts` and the paraphraser.
    """
    if not 1 <= n < MOST_COPIES:
        raise UsageError(f"{n} paraphrases of each text were asked for; expected 1 to {MOST_COPIES - 1}")
    if seed < 0:
        raise UsageError(f"the seed of the paraphrases is {seed}; expected a whole number from 0")
    rows = read_texts(data)
    path = Path(to) / f"{_stem(Path(data))}.x{n}.{paraphraser.label}.s{seed}.jsonl"
    asked = {"form": FORM, "version": VERSION, "n": n, "seed": seed, "texts": len(rows),
             "paraphraser": json.loads(dump_json(dict(paraphraser.facts)))}
    if _is_made(path, Path(data), asked):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {to}: {why(error)}; name another") from None
    said = _said(rows, n, paraphraser, seed, quiet)
    key = secrets.token_bytes(32)
    hashes = KeyedHash(key)
    write_atomic(path, "".join(_lines(rows, said)))
    texts = [row.text for row in rows]
    write_atomic(_manifest(path), dump_json({
        **asked, "key": key.hex(), "data": hashes.of_file(Path(data)), "paraphrases": hashes.of_file(path),
        "unchanged": sum(one == text for text, ours in zip(texts, said, strict=True) for one in ours),
        **change(texts, said).to_json()}, indent=1) + "\n")
    return path


def _said(rows: Sequence[LabelledText], n: int, paraphraser: Paraphraser, seed: int, quiet: bool) -> list[list[str]]:
    rng = np.random.default_rng((seed, *FORM.encode()))
    texts = iter([row.text for row in rows])
    # In portions: progress is shown, and a paraphraser that asks a service has a bounded number of texts at hand.
    portions: Iterator[list[str]] = iter(lambda: list(islice(texts, TOGETHER)), [])
    found: list[list[str]] = []
    for portion in progress(portions, -(-len(rows) // TOGETHER), quiet=quiet, label="paraphrases"):
        said = [[clean(one) for one in ours] for ours in paraphraser.paraphrase(portion, n, rng)]
        if len(said) != len(portion) or any(len(ours) != n or not all(map(str.strip, ours)) for ours in said):
            raise ValueError(f"the paraphraser {paraphraser.label!r} gave other than {n} texts for each of "
                             f"{len(portion)}, or empty ones")
        found += said
    return found


def _lines(rows: Sequence[LabelledText], said: Sequence[Sequence[str]]) -> Iterator[str]:
    for row, ours in zip(rows, said, strict=True):
        further = {"structure": row.structure} if row.structure else {}
        for k, text in enumerate(ours, start=1):
            yield json.dumps({"id": f"{row.id}#{k}", "text": text, "label": row.label, **further},
                             ensure_ascii=False) + "\n"


def _is_made(path: Path, data: Path, asked: dict[str, Any]) -> bool:
    """Whether path and manifest are of this data and these facts, and as they were written."""
    try:
        there = json.loads(_manifest(path).read_text(encoding="utf-8"))
        hashes = KeyedHash(bytes.fromhex(there["key"]))
        return all(there[name] == value for name, value in asked.items()) and (
            there["data"], there["paraphrases"]) == (hashes.of_file(data), hashes.of_file(path))
    except (OSError, ValueError, KeyError, TypeError, UsageError, RecursionError):
        return False


def _manifest(path: Path) -> Path:
    return path.with_suffix(".json")


def _stem(data: Path) -> str:
    name = data.name.removesuffix(".gz")
    return name.removesuffix(Path(name).suffix)
