"""The corpora of the study: made up (smoke), public data in a folder (small), the paper's own from a hub (paper)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.random import Generator

from discreet.core.errors import InputError
from discreet.inputs.bundles import Source, bundle, pool
from discreet.inputs.rows import iter_rows
from discreet.inputs.texts import MULTI_TURN, SINGLE_TURN, LabelledText, read_texts
from discreet_papers.mia import hf_datasets as hf
from discreet_papers.mia.hf_datasets import BUNDLED, SAFE, UNSAFE, balanced, sample
from discreet_papers.shared import ROOM, write_once

SUPPORT = ("anxiety", "depression", "sadness", "anger", "fear", "disgust", "shame", "nervousness", "guilt", "jealousy",
           "pain")


@dataclass(frozen=True, slots=True)
class Corpus:
    """One data set as the study uses it; see `corpora.yaml`.

    `make` goes from the folder of public data and a Generator to rows labelled "safe" or "unsafe" (the positive class),
    by users where they are known. The structure "depression" is the use case of paper §8.1.
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
    def make() -> str:
        rows = corpus.make(folder, np.random.default_rng((seed, *corpus.name.encode())))
        groups = [row.group for row in rows if row.group is not None]
        # Where every group is one row, as made-up users' are, groups say nothing; else a row without one is alone.
        alone = len(set(groups)) == len(groups)
        return "".join(json.dumps({key: value for key, value in (
            ("id", row.id), ("text", row.text), ("label", row.label),
            ("group", None if alone else row.group or f"alone/{row.id}"), ("structure", row.structure),
            ("category", sorted(row.categories) or None)) if value is not None}, ensure_ascii=False) + "\n"
            for row in rows)

    return write_once(to / f"{corpus.name}-{seed}.jsonl", folder, make, on_disk=corpus.on_disk)


def read_set(folder: Path, name: str, *, safe: Collection[str] = (), unsafe: Collection[str] = (),
             group: str | None = None, structure: str | None = SINGLE_TURN, turns: bool = False
             ) -> list[LabelledText]:
    """Rows of `folder`/`name` with a label of one of both classes, by the field `group`."""
    files = sorted((folder / name).glob("*.jsonl.gz"))
    if not files:
        raise InputError(f"{folder / name} holds no *.jsonl.gz; expected the folder of public data with the data set "
                         f"{name} in it")
    found: list[LabelledText] = []
    for number, path in enumerate(files):
        users = {str(row["id"]): f"{name}/{row[group]}" for _, row in iter_rows(path, ("id", group), ("id", group))
                 } if group else {}
        found += [replace(row, id=f"{number}:{row.id}", label=SAFE if row.label in safe else UNSAFE, split=None,
                          structure=structure or row.structure, group=users.get(row.id))
                  for row in read_texts(path, prefer="turns" if turns else "text") if row.label in (*safe, *unsafe)]
    return found


def multi_turn(folder: Path, rng: Generator) -> list[LabelledText]:
    """Multi-turn jailbreaks against task dialogues and chit-chat: the classes differ in source, as the paper's do."""
    unsafe = read_set(folder, "multiturn_jailbreaks", unsafe=("harmful", "jailbroken", "not_jailbroken"),
                      structure=MULTI_TURN, turns=True)
    return [*unsafe, *sample(_benign(folder), len(unsafe), rng)]


def multi_conversation(folder: Path, rng: Generator) -> list[LabelledText]:
    """Bundles of emotional support conversations against bundles of chit-chat; all users are synthetic."""
    unsafe = _support(folder)
    return [row for rows in (unsafe, sample(_benign(folder), len(unsafe), rng))
            for row in bundle(rows, rng, sizes=BUNDLED)]


def pooled(folder: Path, rng: Generator) -> list[LabelledText]:
    """All three structures; no conversation stands in two of them."""
    single = balanced(CORPORA["beavertails"].make(folder, rng), 500, rng)
    unsafe = [row for row in multi_turn(folder, rng) if row.label == UNSAFE]
    support, benign = _support(folder), _benign(folder)
    sources = (Source("single", single), Source("jailbreaks", sample(unsafe, 500, rng)),
               Source("support", support, bundled=1.0, sizes=BUNDLED),
               Source("benign", sample(benign, 500 + len(support), rng), bundled=len(support) / (500 + len(support)),
                      sizes=BUNDLED))
    return pool(sources, rng)


def made_up(folder: Path, rng: Generator) -> list[LabelledText]:
    """Sentences from two word lists with a tenth of the labels swapped: for trying the commands, for no finding."""
    words = {SAFE: "bake bread water plants paint fences fix bikes sort books walk dogs call friends".split(),
             UNSAFE: "break locks copy keys follow strangers hide proof open safes trick guards".split()}
    rows = []
    for number in range(1_400):
        label, other = (SAFE, UNSAFE)[::-1 if number % 2 else 1]
        said = rng.choice(words[other if rng.random() < 0.1 else label], 5)
        rows.append(LabelledText(f"m{number}", f"how to {' '.join(said)} at {rng.integers(10**5)}", label,
                                 categories=frozenset({f"kind {number % 3}"}), structure=SINGLE_TURN))
    return rows


def made_up_users(folder: Path, rng: Generator) -> list[LabelledText]:
    """Sentences of made-up users, three of each, from words that `made_up` has not."""
    words = {SAFE: "sing dance juggle knit cook rest read plan draw hike".split(),
             UNSAFE: "stalk forge spy cheat lie bribe rob dodge smash fake".split()}
    rows = []
    for number in range(1_500):
        label = (SAFE, UNSAFE)[number // 3 % 2]
        said = " ".join(rng.choice(words[label if rng.random() < 0.85 else SAFE], 4))
        rows.append(LabelledText(f"u{number}", f"tonight we {said} until {rng.integers(10**5)}", label,
                                 group=f"user {number // 3}", structure=SINGLE_TURN))
    return rows


def _benign(folder: Path) -> list[LabelledText]:
    found = read_set(folder, "topical_chat", safe=("benign",), structure=MULTI_TURN, turns=True)
    return [replace(row, id=f"topical/{row.id}") for row in found]


def _support(folder: Path) -> list[LabelledText]:
    return read_set(folder, "esconv", unsafe=SUPPORT, structure=None, turns=True)


def _corpus(name: str, facts: dict[str, Any]) -> Corpus:
    of = facts.pop("set", None)
    room: Any = vars(hf) if name.startswith("hub_") else globals()
    return Corpus(name, make=(lambda folder, rng: read_set(folder, **of)) if of else room[name.removeprefix("hub_")],
                  **facts)


CORPORA: Mapping[str, Corpus] = {name: _corpus(name, facts) for name, facts in yaml.safe_load(
    (ROOM / "mia" / "corpora.yaml").read_text(encoding="utf-8")).items()}
