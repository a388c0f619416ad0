"""The corpora of the study: made up (smoke), and public data in a folder, each with two classes and in a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import yaml
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.inputs.arrays import ALONE, channels_first, read_arrays
from discreet.inputs.rows import iter_rows
from discreet_papers.shared import need_files, write_once

ENDINGS: Mapping[str, str] = {"table": "csv", "array": "npz", "text": "jsonl"}


class Rows(NamedTuple):
    """N rows: texts, an array (N, …), or columns by name; labels in {0, 1}; and what each row is called."""

    inputs: Sequence[str] | NDArray[Any] | Mapping[str, Sequence[str]]
    labels: IntArray
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Corpus:
    """One data set as the study uses it; see `corpora.yaml`."""

    name: str
    kind: Literal["table", "array", "text"]
    benchmark: str
    stands_for: str
    folder: str | None = None
    files: tuple[str, ...] = ()
    positive: tuple[str | int, ...] = ()
    columns: tuple[str, ...] = ()
    whole: bool = False

    def read(self, data: Path, rng: Generator) -> Rows:
        """All rows. InputError where the folder of public data lacks a file."""
        if self.folder is None:
            return _made_up(rng) if self.kind == "table" else _made_up_texts(rng)
        there = data / self.folder
        need_files(there, self.files)
        if self.kind == "array":
            # Two files are images and their labels, one holds both in parts.
            if len(self.files) == 2:
                pixels, labels = (read_arrays(there / file)[ALONE] for file in self.files)
            else:
                found = read_arrays(there / self.files[0])
                pixels, labels = (np.concatenate([found[f"{name}_train"], found[f"{name}_test"]]) for name in "xy")
            return Rows(channels_first(pixels), np.isin(labels.reshape(-1), self.positive).astype(np.int64),
                        list(map(str, range(len(pixels)))))
        names = (*self.columns, "id", "label")
        rows = [row for file in self.files for _, row in iter_rows(there / file, names, names)]
        columns = {name: [str(row[name]) for row in rows] for name in self.columns}
        return Rows(columns if self.kind == "table" else columns["text"],
                    np.array([int(row["label"] in self.positive) for row in rows]), [str(row["id"]) for row in rows])


def _corpus(name: str, given: Mapping[str, Any]) -> Corpus:
    fixed: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return Corpus(name, **fixed)


READ = yaml.safe_load(Path(__file__).with_name("corpora.yaml").read_text("utf-8"))
CORPORA: Mapping[str, Corpus] = {name: _corpus(name, given) for name, given in READ.items()}


def write_corpus(corpus: Corpus, folder: Path, to: Path, *, rows: int | None = None,
                 prevalence: float | None = None, halved: bool = False) -> Path:
    """The corpus as a file under `to`, made anew only where it is not there; it holds the rows of the data.

    `rows` of them at random (None: all), the share `prevalence` in (0, 1) of class 1 (None: as they come); where
    `halved`, images have half the rows and columns, each pixel the mean of four.

    Raises InputError where `folder` lacks the data set or it has too few rows, UsageError where the file there was made
    from another folder.
    """
    size = "all" if rows is None else str(rows)
    share = "" if prevalence is None else f"-{100 * prevalence:g}"
    path = to / f"{corpus.name}-{size}{share}{'-halved' if halved else ''}.{ENDINGS[corpus.kind]}"

    def make() -> str | bytes:
        # The same rows whatever the prevalence asked for: each share draws from one order.
        rng = np.random.default_rng((0, *corpus.name.encode()))
        made = corpus.read(folder, rng)
        return file_of(made, sampled(made.labels, rows, prevalence, rng, corpus.name), halved=halved)

    return write_once(path, folder, make, on_disk=corpus.folder is not None)


def sampled(labels: IntArray, rows: int | None, prevalence: float | None, rng: Generator, name: str) -> IntArray:
    """Row numbers, rising: `rows` of them, `prevalence` of class 1. InputError where there are too few."""
    order = rng.permutation(labels.size)
    wanted = labels.size if rows is None else rows
    parts = [(order, wanted)]
    if prevalence is not None:
        ones = round(prevalence * wanted)
        parts = [(order[labels[order] == 1], ones), (order[labels[order] == 0], wanted - ones)]
    for part, number in parts:
        if part.size < number:
            of = "" if prevalence is None else f" with a share of {prevalence:g} of class 1"
            raise InputError(f"{name}: {wanted:,} rows{of} are asked for and there are {part.size:,} where "
                             f"{number:,} are needed; expected a larger data set")
    return np.sort(np.concatenate([part[:number] for part, number in parts]))


def file_of(rows: Rows, chosen: IntArray, *, halved: bool = False) -> str | bytes:
    """The content of a file of the chosen rows: an .npz of an array, CSV of columns, JSON Lines of texts."""
    inputs, labels, ids = rows
    if isinstance(inputs, np.ndarray):
        packed, pixels = io.BytesIO(), inputs[chosen]
        np.savez_compressed(packed, inputs=smaller(pixels) if halved else pixels, labels=labels[chosen])
        return packed.getvalue()
    written = io.StringIO()
    if isinstance(inputs, Mapping):
        table = csv.writer(written, lineterminator="\n")
        table.writerow(["id", *inputs, "label"])
        table.writerows([ids[at], *(column[at] for column in inputs.values()), labels[at]] for at in chosen)
    else:
        written.writelines(json.dumps({"id": ids[at], "text": inputs[at], "label": int(labels[at])},
                                      ensure_ascii=False) + "\n" for at in chosen.tolist())
    return written.getvalue()


def smaller(pixels: NDArray[Any]) -> NDArray[Any]:
    """Images (n, C, H, W) of an even number of rows and columns as (n, C, H / 2, W / 2), means of four, same type."""
    n, channels, height, width = pixels.shape
    means = pixels.reshape(n, channels, height // 2, 2, width // 2, 2).mean((3, 5))
    found: NDArray[Any] = means.round().astype(pixels.dtype)
    return found


def _made_up(rng: Generator) -> Rows:
    """Points of a plane among other columns: for trying the commands, for no finding."""
    points = rng.normal(size=(1_200, 6))
    labels = (points[:, 0] + 0.4 * rng.normal(size=len(points)) > 0.0).astype(np.int64)
    columns = {f"x{number}": [f"{value:.4f}" for value in points[:, number]] for number in range(points.shape[1])}
    return Rows(columns, labels, [f"m{number}" for number in range(len(points))])


def _made_up_texts(rng: Generator) -> Rows:
    """Sentences from two word lists: for trying the commands, for no finding."""
    words = ("dull slow weak flat grey late lost".split(), "warm kind deft wise vivid brisk clear".split())
    labels = rng.integers(0, 2, 600)
    texts = [f"{' '.join(rng.choice(words[label], 3))} play number {rng.integers(10**4)}" for label in labels]
    return Rows(texts, labels, [f"t{number}" for number in range(labels.size)])
