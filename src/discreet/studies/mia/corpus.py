"""A corpus of the study: where its rows come from, and its file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from discreet.core.errors import UsageError
from discreet.core.files import write_atomic
from discreet.data.texts import LabelledText

SAFE, UNSAFE = "safe", "unsafe"
BUNDLED = (2, 3)
"""Conversations in a bundle: support conversations are long, and few."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One data set as the study uses it.

    Attributes
    ----------
    structure : str
        "single-turn", "multi-turn", "multi-conversation" or "pooled"; "depression" for the use case of paper §8.1.
    make : callable
        From the folder of public data and a Generator to rows with two labels, "safe" and "unsafe" (the positive
        class), by users where they are known.
    stands_for : str
        The paper's data set that it is an analogue of.
    prompt : str
        "safety" or "depression" (paper, appendices F and N.2). Chat models alone are asked by a prompt: what is on disk
        is read by encoders, which have none.
    on_disk : bool
        Whether it is read from that folder.
    """

    name: str
    structure: str
    make: Callable[[Path, Generator], list[LabelledText]]
    stands_for: str
    prompt: str = "safety"
    on_disk: bool = True


def write_corpus(corpus: Corpus, folder: Path, seed: int, to: Path) -> Path:
    """The corpus as JSON Lines under `to`, made anew only where it is not there; it holds the texts of the data.

    Raises InputError where `folder` lacks the data set, UsageError where the file there was made from another folder.
    """
    path, source = to / f"{corpus.name}-{seed}.jsonl", to / f"{corpus.name}-{seed}.source"
    whence = str(folder.resolve())
    if path.exists():
        if source.exists() and source.read_text(encoding="utf-8") != whence:
            raise UsageError(f"{path} was made from {source.read_text(encoding='utf-8')}, not from {folder}; name "
                             "another --out, or the folder of before")
        return path
    rows = _grouped(corpus.make(folder, np.random.default_rng((seed, *corpus.name.encode()))))
    to.mkdir(parents=True, exist_ok=True)
    if corpus.on_disk:
        write_atomic(source, whence)
    write_atomic(path, "".join(json.dumps(_row(row), ensure_ascii=False) + "\n" for row in rows))
    return path


def _grouped(rows: list[LabelledText]) -> list[LabelledText]:
    """Without groups where every group is one row, as made-up users' are: they say nothing. Where others say something,
    a row without a group is one of its own."""
    groups = [row.group for row in rows if row.group is not None]
    if len(set(groups)) == len(groups):
        return [replace(row, group=None) for row in rows]
    return [row if row.group is not None else replace(row, group=f"alone/{row.id}") for row in rows]


def _row(row: LabelledText) -> dict[str, object]:
    said: dict[str, object] = {"id": row.id, "text": row.text, "label": row.label}
    further = {"group": row.group, "structure": row.structure, "category": sorted(row.categories) or None}
    return said | {name: value for name, value in further.items() if value is not None}


def sample(rows: Sequence[LabelledText], n: int, rng: Generator) -> list[LabelledText]:
    """`n` of the rows at random, all where there are fewer, in their order."""
    chosen = np.sort(rng.permutation(len(rows))[:n])
    return [rows[place] for place in chosen]


def balanced(rows: Sequence[LabelledText], each: int, rng: Generator) -> list[LabelledText]:
    """`each` of the safe rows at random, then of the unsafe ones."""
    sides = [sample([row for row in rows if row.label == label], each, rng) for label in (SAFE, UNSAFE)]
    return [row for side in sides for row in side]
