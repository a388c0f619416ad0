"""The file of paraphrases of a data set, and which paraphraser a word of the command line names."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.experiments.membership.experiment import MOST_COPIES
from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, clean, dump_json, progress, why, write_atomic
from discreet.core.records import Estimate
from discreet.inputs.texts import read_texts
from discreet_papers.paraphrase.llm import Llm
from discreet_papers.paraphrase.rewording import Paraphraser, holds, overlap, words_of
from discreet_papers.paraphrase.rules import Rules

FORM = "discreet-paraphrases"
VERSION = 1
TOGETHER = 64
OPTIONS = ("model", "key", "cache")


def paraphraser_of(spec: str, seed: int, *, quiet: bool = False) -> Callable[[Path, int, Path], Path]:
    """From `rules` or `llm:URL,model=NAME` to a function of data, n and a folder that writes a file.

    Behind the model may stand `key=VARIABLE` and `cache=FOLDER`, see `Llm`. Raises UsageError for anything else.
    """
    return partial(write_paraphrases, paraphraser=named(spec), seed=seed, quiet=quiet)


def named(spec: str) -> Paraphraser:
    """The paraphraser of a spec, see `paraphraser_of`. Raises UsageError."""
    if spec == "rules":
        return Rules()
    kind, _, rest = spec.partition(":")
    url, *parts = rest.split(",")
    options = dict(part.split("=", 1) for part in parts if "=" in part)
    if (kind != "llm" or not url or not options.get("model") or len(options) < len(parts)
            or not set(options) <= set(OPTIONS)):
        raise UsageError(f"there is no paraphraser {spec[:60]!r}; expected rules, or llm:URL,model=NAME with "
                         "key=VARIABLE or cache=FOLDER behind it, where they are wanted")
    return Llm(url, **options)


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
