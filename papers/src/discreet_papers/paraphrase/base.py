"""What a paraphraser is, how one is named, what counts as another text, and the file of paraphrases of a data set.

A paraphraser is one file: a frozen dataclass whose fields are its options (text, whole numbers, numbers), registered
under its name with `@paraphrasers.register("name")`. It is named by `rules`, `llm:http://host/v1,model=NAME`, and so
on: a name; then, behind a colon, options as `name=value` between commas, where the first may be a value alone.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast, get_type_hints

import numpy as np
from numpy.random import Generator

from discreet.audit.experiments.membership.experiment import MOST_COPIES
from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, clean, dump_json, progress, why, write_atomic
from discreet.core.records import Estimate
from discreet.core.registry import Registry
from discreet.inputs.texts import MARKS, read_texts

FORM = "discreet-paraphrases"
VERSION = 1
TOGETHER = 64
_MARK = re.compile("|".join(map(re.escape, MARKS.values())))
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_NAMED = re.compile(r"\s*\w+\s*=")


class Paraphraser(Protocol):
    """Says texts in other words. A frozen dataclass of options."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """JSON values without secrets that change whenever paraphrases may come out otherwise; `kind` among them."""
        ...

    @property
    def label(self) -> str:
        """A few characters for a file name: letters, digits, dots and hyphens."""
        ...

    def paraphrase(self, texts: Sequence[str], n: int, rng: Generator) -> list[list[str]]:
        """`n` paraphrases of each text, in the order of the texts; each with the marks of `text` in their order.

        No two of them, and none and the text, are the same by `words_of` where that can be had; where it cannot, the
        text stands for the paraphrase that is not there.
        """
        ...


paraphrasers: Registry[type[Any]] = Registry("paraphrasers", builtin="discreet_papers.paraphrase", classes=True)
"""Paraphrasers by name: classes, built with their options."""


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in order, without case, punctuation and marks: equal words are no paraphrase."""
    return tuple(_WORD.findall(_MARK.sub(" ", text).replace("’", "'").casefold()))


def marks_of(text: str) -> list[str]:
    """`<|user|>` and `<|assistant|>`, in order."""
    return _MARK.findall(text)


def overlap(first: str, second: str) -> float | None:
    """Jaccard index of two texts' sets of words, in [0, 1]; None where neither has any."""
    a, b = set(words_of(first)), set(words_of(second))
    return len(a & b) / len(a | b) if a | b else None


def holds(said: str, text: str) -> bool:
    """Whether all words of a text stand in `said` one behind the other: something was put around it, at most."""
    return f" {' '.join(words_of(text))} " in f" {' '.join(words_of(said))} "


def change(texts: Sequence[str], said: Sequence[Sequence[str]]) -> dict[str, Estimate]:
    """How far `said`, one list of paraphrases for each text, is from `texts`.

    Returns `distinct`, the share of texts whose paraphrases all differ, from the text and from each other, by
    `words_of`; `overlap`, the mean over all paraphrases of `overlap` with their text; `wrapped`, the share of
    paraphrases that hold their text as it was, see `holds`. They have no intervals: they describe these texts.
    """
    pairs = [(text, other) for text, ours in zip(texts, said, strict=True) for other in ours]
    found = {"distinct": [float(len({words_of(text), *map(words_of, ours)}) == 1 + len(ours))
                          for text, ours in zip(texts, said, strict=True)],
             "overlap": [one for text, other in pairs if (one := overlap(text, other)) is not None],
             "wrapped": [float(holds(other, text)) for text, other in pairs]}
    units = {"distinct": "text", "overlap": "paraphrase", "wrapped": "paraphrase"}
    return {name: Estimate(sum(values) / len(values), None, None, n=len(values), unit=units[name], method="mean")
            if values else Estimate.unresolved(
                f"there is no {units[name]} that could be compared; at least one is needed", unit=units[name], n=0)
            for name, values in found.items()}


def paraphraser_of(spec: str, seed: int) -> Callable[[Path, int, Path], Path]:
    """From a name with options to a function of data, n and a folder that writes a file (`Study.paraphraser`).

    Raises UsageError for a name or option that is not there, and a value that cannot be.
    """
    return partial(write_paraphrases, paraphraser=made(spec), seed=seed)


def made(spec: str) -> Paraphraser:
    """The paraphraser of a spec. Raises UsageError."""
    name, colon, rest = spec.partition(":")
    maker: Any = paraphrasers[name.strip()]
    options, hints, given = {one.name: one for one in fields(maker)}, get_type_hints(maker), dict[str, Any]()
    for number, part in enumerate(rest.split(",") if colon else []):
        key, _, value = (one.strip() for one in part.partition("="))
        if number == 0 and options and not _NAMED.match(part):
            key, value = next(iter(options)), part.strip()
        if key not in options or key in given:
            raise UsageError(f"the paraphraser {name!r} has no option {key!r}, or was given it twice; expected each "
                             f"of its options once at most: {', '.join(options) or 'none'}")
        if not value:
            raise UsageError(f"the paraphraser {name!r}: {key} is empty; expected a value")
        try:
            given[key] = hints[key](value)
        except ValueError:
            raise UsageError(f"the paraphraser {name!r}: {key} is {value[:40]!r}; expected "
                             f"{'a whole number' if hints[key] is int else 'a number'}") from None
    if lacking := [one.name for one in options.values() if one.name not in given and one.default is MISSING]:
        raise UsageError(f"the paraphraser {name!r} needs {' and '.join(lacking)}; expected "
                         f"{name}:{','.join(f'{one}=…' for one in lacking)}")
    try:
        return cast(Paraphraser, maker(**given))
    except ValueError as error:
        raise UsageError(f"the paraphraser {name!r}: {error}") from None


def write_paraphrases(data: Path, n: int, to: Path, paraphraser: Paraphraser, seed: int, *, quiet: bool = False
                      ) -> Path:
    """`n` (1 to 63) paraphrases of every labelled text, as JSON Lines in the folder `to`; the file's path.

    A row has `id` (`<id>#<k>`, k from 1), `text`, `label` and, where the text has one, `structure`. The file is named
    by the data, n, the paraphraser and the seed. A manifest of the same name, `.json`, holds facts of the paraphraser,
    hashes under a key of its own of data and paraphrases, and `change`, without any text. Where it says that the file
    is of this data, these facts and this seed, nothing is made anew; else both are.

    Raises UsageError for n, a seed or a folder that cannot be, InputError as `read_texts` and the paraphraser.
    """
    if not 1 <= n < MOST_COPIES:
        raise UsageError(f"{n} paraphrases of each text were asked for; expected 1 to {MOST_COPIES - 1}")
    if seed < 0:
        raise UsageError(f"the seed of the paraphrases is {seed}; expected a whole number from 0")
    rows = read_texts(data)
    path = Path(to) / f"{Path(Path(data).name.removesuffix('.gz')).stem}.x{n}.{paraphraser.label}.s{seed}.jsonl"
    asked = {"form": FORM, "version": VERSION, "n": n, "seed": seed, "texts": len(rows),
             "paraphraser": json.loads(dump_json(dict(paraphraser.facts)))}
    if _is_made(path, Path(data), asked):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {to}: {why(error)}; name another") from None
    said = _said([row.text for row in rows], n, paraphraser, seed, quiet)
    hashes = KeyedHash(key := secrets.token_bytes(32))
    write_atomic(path, "".join(json.dumps(
        {"id": f"{row.id}#{k}", "text": text, "label": row.label,
         **({"structure": row.structure} if row.structure else {})}, ensure_ascii=False) + "\n"
        for row, ours in zip(rows, said, strict=True) for k, text in enumerate(ours, start=1)))
    write_atomic(path.with_suffix(".json"), dump_json({
        **asked, "key": key.hex(), "data": hashes.of_file(Path(data)), "paraphrases": hashes.of_file(path),
        "unchanged": sum(one == row.text for row, ours in zip(rows, said, strict=True) for one in ours),
        **change([row.text for row in rows], said)}, indent=1) + "\n")
    return path


def _said(texts: Sequence[str], n: int, paraphraser: Paraphraser, seed: int, quiet: bool) -> list[list[str]]:
    rng, found = np.random.default_rng((seed, *FORM.encode())), list[list[str]]()
    # In portions: progress is shown, and a paraphraser that asks a service has a bounded number of texts at hand.
    starts = range(0, len(texts), TOGETHER)
    for start in progress(starts, len(starts), quiet=quiet, label="paraphrases"):
        portion = texts[start:start + TOGETHER]
        said = [[clean(one) for one in ours] for ours in paraphraser.paraphrase(portion, n, rng)]
        if len(said) != len(portion) or any(len(ours) != n or not all(map(str.strip, ours)) for ours in said):
            raise ValueError(f"the paraphraser {paraphraser.label!r} gave other than {n} texts for each of "
                             f"{len(portion)}, or empty ones")
        found += said
    return found


def _is_made(path: Path, data: Path, asked: dict[str, Any]) -> bool:
    """Whether path and manifest are of this data and these facts, and as they were written."""
    try:
        there = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        hashes = KeyedHash(bytes.fromhex(there["key"]))
        return all(there[name] == value for name, value in asked.items()) and (
            there["data"], there["paraphrases"]) == (hashes.of_file(data), hashes.of_file(path))
    except (OSError, ValueError, KeyError, TypeError, UsageError, RecursionError):
        return False
