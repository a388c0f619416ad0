"""The corpora of the study: made up (smoke), and public data in a folder, each with two classes and in a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.types import IntArray
from discreet.data.arrays import read_images
from discreet.data.rows import iter_rows
from discreet.studies import need_files, write_once

Kind = Literal["table", "array", "text"]
ENDINGS: Mapping[Kind, str] = {"table": "csv", "array": "npz", "text": "jsonl"}

UPPER_BODY = (0, 2, 3, 4, 6)
"""T-shirt, pullover, dress, coat and shirt, of FashionMNIST's ten."""
ANIMALS = (2, 3, 4, 5, 6, 7)
FLOATS = (0, 2, 8)
"""Aeroplane, bird and ship."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """N rows: texts, an array (N, …), or columns by name; labels in {0, 1}; and what each row is called."""

    inputs: Sequence[str] | NDArray[Any] | Mapping[str, Sequence[str]]
    labels: IntArray
    ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Corpus:
    """One data set as the study uses it.

    Attributes
    ----------
    make : callable
        From the folder of public data and a Generator to all of its rows.
    benchmark : str
        The paper's benchmark whose table it is for, as in `studies/blia/paper.csv`.
    stands_for : str
        That benchmark in words, with what is not the same.
    positive : str
        What class 1 is.
    on_disk : bool
        Whether it is read from that folder.
    """

    name: str
    kind: Kind
    make: Callable[[Path, Generator], Rows]
    benchmark: str
    stands_for: str
    positive: str
    on_disk: bool = True


def write_corpus(corpus: Corpus, folder: Path, to: Path, *, rows: int | None = None,
                 prevalence: float | None = None, halved: bool = False) -> Path:
    """The corpus as a file under `to`, made anew only where it is not there; it holds the rows of the data.

    Parameters
    ----------
    rows : int, optional
        So many at random; all if not given.
    prevalence : float in (0, 1), optional
        So many of them of class 1; as they come if not given.
    halved : bool
        Images of half the rows and columns, each pixel the mean of four.

    Raises InputError where `folder` lacks the data set or it has too few rows, UsageError where the file there was made
    from another folder.
    """
    size = "all" if rows is None else str(rows)
    share = "" if prevalence is None else f"-{100 * prevalence:g}"
    path = to / f"{corpus.name}-{size}{share}{'-halved' if halved else ''}.{ENDINGS[corpus.kind]}"

    def make() -> str | bytes:
        # The same rows whatever the prevalence asked for: each share draws from one order.
        rng = np.random.default_rng((0, *corpus.name.encode()))
        made = corpus.make(folder, rng)
        return _file(made, sampled(made.labels, rows, prevalence, rng, corpus.name), halved=halved)

    return write_once(path, folder, make, on_disk=corpus.on_disk)


def sampled(labels: IntArray, rows: int | None, prevalence: float | None, rng: Generator, name: str) -> IntArray:
    """Row numbers, rising: `rows` of them, `prevalence` of class 1. InputError where there are too few."""
    order = rng.permutation(labels.size)
    wanted = labels.size if rows is None else rows
    if prevalence is None:
        sides = [(order, wanted)]
    else:
        ones = round(prevalence * wanted)
        sides = [(order[labels[order] == 1], ones), (order[labels[order] == 0], wanted - ones)]
    for side, number in sides:
        if side.size < number:
            of = "" if prevalence is None else f" with a share of {prevalence:g} of class 1"
            raise InputError(f"{name}: {wanted:,} rows{of} are asked for and there are {side.size:,} where "
                             f"{number:,} are needed; expected a larger data set")
    return np.sort(np.concatenate([side[:number] for side, number in sides]))


def _file(rows: Rows, chosen: IntArray, *, halved: bool) -> str | bytes:
    inputs, labels = rows.inputs, rows.labels
    if isinstance(inputs, np.ndarray):
        packed, pixels = io.BytesIO(), inputs[chosen]
        np.savez_compressed(packed, inputs=smaller(pixels) if halved else pixels, labels=labels[chosen])
        return packed.getvalue()
    written = io.StringIO()
    if isinstance(inputs, Mapping):
        table = csv.writer(written, lineterminator="\n")
        table.writerow(["id", *inputs, "label"])
        table.writerows([rows.ids[at], *(column[at] for column in inputs.values()), labels[at]] for at in chosen)
    else:
        written.writelines(json.dumps({"id": rows.ids[at], "text": inputs[at], "label": int(labels[at])},
                                      ensure_ascii=False) + "\n" for at in chosen.tolist())
    return written.getvalue()


def smaller(pixels: NDArray[Any]) -> NDArray[Any]:
    """Images (n, C, H, W) of an even number of rows and columns as (n, C, H / 2, W / 2), means of four, same type."""
    n, channels, height, width = pixels.shape
    means = pixels.reshape(n, channels, height // 2, 2, width // 2, 2).mean((3, 5))
    found: NDArray[Any] = means.round().astype(pixels.dtype)
    return found


FEATURES = ("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
            "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country")


def census(folder: Path, rng: Generator) -> Rows:
    """The train file of Adult; class 1 earns more than 50,000 dollars."""
    found = _read(folder, "adult_census", ["train.parquet"], (*FEATURES, "id", "label"))
    return Rows({name: [str(row[name]) for row in found] for name in FEATURES},
                np.array([int(row["label"] == ">50K") for row in found]), [str(row["id"]) for row in found])


def imdb(folder: Path, rng: Generator) -> Rows:
    """The train file of the reviews; class 1 is a favourable one."""
    return _texts(_read(folder, "imdb", ["train.parquet"], ("id", "text", "label")), "pos")


def code(folder: Path, rng: Generator) -> Rows:
    """C and C++ functions, of CVE fixes and of four projects; class 1 is a vulnerable one."""
    files = ["cve_functions.jsonl.gz", "project_functions.jsonl.gz"]
    return _texts(_read(folder, "code_vulnerability", files, ("id", "text", "label")), "vulnerable")


def fashion_mnist(folder: Path, rng: Generator) -> Rows:
    """The 60,000 train images; class 1 is a garment of the upper body."""
    there = folder / "fashion_mnist"
    need_files(there, ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"))
    images = read_images(there / "train-images-idx3-ubyte.gz", there / "train-labels-idx1-ubyte.gz")
    return _images(images.pixels, images.labels, UPPER_BODY)


def cifar10(folder: Path, rng: Generator) -> Rows:
    """The 10,000 train and 2,000 test images at hand; class 1 is an animal."""
    return _cifar(folder, ANIMALS)


def cifar10_b(folder: Path, rng: Generator) -> Rows:
    """The same images; class 1 flies or floats. CIFAR-100 is not at hand, and the paper does not say how it cut it."""
    return _cifar(folder, FLOATS)


def _cifar(folder: Path, positive: Collection[int]) -> Rows:
    there = folder / "cifar10_subset"
    need_files(there, ("cifar10_12k.npz",))
    parts = [read_images(there / "cifar10_12k.npz", part=part) for part in ("train", "test")]
    labels = [part.labels for part in parts if part.labels is not None]
    return _images(np.concatenate([part.pixels for part in parts]), np.concatenate(labels), positive)


def _images(pixels: NDArray[Any], labels: IntArray | None, positive: Collection[int]) -> Rows:
    assert labels is not None
    return Rows(pixels, np.isin(labels, list(positive)).astype(np.int64), [str(at) for at in range(len(pixels))])


def _texts(found: Sequence[Mapping[str, Any]], positive: str) -> Rows:
    return Rows([str(row["text"]) for row in found], np.array([int(row["label"] == positive) for row in found]),
                [str(row["id"]) for row in found])


def _read(folder: Path, name: str, files: Sequence[str], columns: Sequence[str]) -> list[Mapping[str, Any]]:
    need_files(folder / name, files)
    return [row for file in files for _, row in iter_rows(folder / name / file, columns, columns)]


def made_up(folder: Path, rng: Generator) -> Rows:
    """Points of a plane among other columns: for trying the commands, for no finding."""
    points = rng.normal(size=(1_200, 6))
    labels = (points[:, 0] + 0.4 * rng.normal(size=len(points)) > 0.0).astype(np.int64)
    columns = {f"x{number}": [f"{value:.4f}" for value in points[:, number]] for number in range(points.shape[1])}
    return Rows(columns, labels, [f"m{number}" for number in range(len(points))])


def made_up_texts(folder: Path, rng: Generator) -> Rows:
    """Sentences from two word lists: for trying the commands, for no finding."""
    words = ("dull slow weak flat grey late lost".split(), "warm kind deft wise vivid brisk clear".split())
    labels = rng.integers(0, 2, 600)
    texts = [f"{' '.join(rng.choice(words[label], 3))} play number {rng.integers(10**4)}" for label in labels]
    return Rows(texts, labels, [f"t{number}" for number in range(labels.size)])


CORPORA: Mapping[str, Corpus] = {corpus.name: corpus for corpus in (
    Corpus("made_up", "table", made_up, "census", "none: made up", "right of a line", on_disk=False),
    Corpus("made_up_texts", "text", made_up_texts, "imdb", "none: made up", "of the second word list", on_disk=False),
    Corpus("census", "table", census, "census", "Census, the same data", "over 50,000 dollars"),
    Corpus("imdb", "text", imdb, "imdb", "IMDB, a part of the same data", "favourable"),
    Corpus("fashion_mnist", "array", fashion_mnist, "fashion_mnist", "FashionMNIST, a part of the same data",
           "upper-body garments"),
    Corpus("cifar10", "array", cifar10, "cifar10", "CIFAR-10, a part of the same data", "animals"),
    Corpus("cifar10_b", "array", cifar10_b, "cifar100", "CIFAR-100: CIFAR-10 with its classes parted otherwise",
           "aeroplanes, birds and ships"),
    Corpus("code", "text", code, "big_vul", "Big-Vul: functions from CVE fixes and four projects", "vulnerable"),
)}
