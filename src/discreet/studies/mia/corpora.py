"""The corpora of the study: made up (smoke), public data in a folder (small), the paper's own from a hub (paper)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from discreet.core.errors import InputError
from discreet.data.bundles import Source, bundle, pool
from discreet.data.rows import iter_rows
from discreet.data.texts import MULTI_CONVERSATION, MULTI_TURN, SINGLE_TURN, LabelledText, read_texts
from discreet.studies import write_once
from discreet.studies.mia import hf_datasets as hf
from discreet.studies.mia.hf_datasets import BUNDLED, SAFE, UNSAFE, balanced, sample


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
    def make() -> str:
        rows = _grouped(corpus.make(folder, np.random.default_rng((seed, *corpus.name.encode()))))
        return "".join(json.dumps(_row(row), ensure_ascii=False) + "\n" for row in rows)

    return write_once(to / f"{corpus.name}-{seed}.jsonl", folder, make, on_disk=corpus.on_disk)


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


def read_set(folder: Path, name: str, labels: Mapping[str, str], *, group: str | None = None,
             parts: Sequence[str] = (), structure: str | None = SINGLE_TURN, turns: bool = False
             ) -> list[LabelledText]:
    """Rows of `folder`/`name` whose label is in `labels`, renamed; `parts` are the beginnings of file names."""
    files = [path for path in sorted((folder / name).glob("*.jsonl.gz"))
             if not parts or path.name.startswith(tuple(parts))]
    if not files:
        raise InputError(f"{folder / name} holds no *.jsonl.gz; expected the folder of public data with the data set "
                         f"{name} in it")
    found: list[LabelledText] = []
    for number, path in enumerate(files):
        users = {str(row["id"]): str(row[group]) for _, row in iter_rows(path, ("id", group), ("id", group))
                 } if group else {}
        for row in read_texts(path, prefer="turns" if turns else "text"):
            if row.label in labels:
                found.append(replace(row, id=f"{number}:{row.id}", label=labels[row.label], split=None,
                                     structure=structure or row.structure,
                                     group=f"{name}/{users[row.id]}" if group else None))
    return found


def beavertails(folder: Path, rng: Generator) -> list[LabelledText]:
    """Prompts of BeaverTails, by a third party's sample."""
    return read_set(folder, "beavertails_mini", {"safe": SAFE, "unsafe": UNSAFE})


def diasafety(folder: Path, rng: Generator) -> list[LabelledText]:
    """Prompt and response pairs of DiaSafety."""
    return read_set(folder, "diasafety", {"safe": SAFE, "unsafe": UNSAFE})


def davidson(folder: Path, rng: Generator) -> list[LabelledText]:
    """Tweets: offensive or hateful against neither."""
    return read_set(folder, "hate_davidson", {"neither": SAFE, "offensive_language": UNSAFE, "hate_speech": UNSAFE})


def stormfront(folder: Path, rng: Generator) -> list[LabelledText]:
    """Sentences of forum posts, by user."""
    return read_set(folder, "hate_stormfront", {"noHate": SAFE, "hate": UNSAFE}, group="user_id")


def multi_turn(folder: Path, rng: Generator) -> list[LabelledText]:
    """Multi-turn jailbreaks against task dialogues and chit-chat: the classes differ in source, as the paper's do."""
    labels = ("harmful", "jailbroken", "not_jailbroken")
    unsafe = read_set(folder, "multiturn_jailbreaks", dict.fromkeys(labels, UNSAFE), structure=MULTI_TURN, turns=True)
    return [*unsafe, *sample(_benign(folder), len(unsafe), rng)]


def multi_conversation(folder: Path, rng: Generator) -> list[LabelledText]:
    """Bundles of emotional support conversations against bundles of chit-chat; all users are synthetic."""
    unsafe = _support(folder)
    bundles = [bundle(rows, rng, sizes=BUNDLED) for rows in (unsafe, sample(_benign(folder), len(unsafe), rng))]
    return [row for side in bundles for row in side]


def pooled(folder: Path, rng: Generator) -> list[LabelledText]:
    """All three structures; no conversation stands in two of them."""
    single = balanced(beavertails(folder, rng), 500, rng)
    unsafe = [row for row in multi_turn(folder, rng) if row.label == UNSAFE]
    support, benign = _support(folder), _benign(folder)
    sources = (Source("single", single), Source("jailbreaks", sample(unsafe, 500, rng)),
               Source("support", support, bundled=1.0, sizes=BUNDLED),
               Source("benign", sample(benign, 500 + len(support), rng), bundled=len(support) / (500 + len(support)),
                      sizes=BUNDLED))
    return pool(sources, rng)


def depression(folder: Path, rng: Generator) -> list[LabelledText]:
    """Posts, depressive or not (the paper's use case, §8.1)."""
    return read_set(folder, "depression_reddit", {"not_depressive": SAFE, "depressive": UNSAFE})


def dreaddit(folder: Path, rng: Generator) -> list[LabelledText]:
    """Segments of posts, stressed or not, by post."""
    return read_set(folder, "dreaddit", {"no_stress": SAFE, "stress": UNSAFE}, group="post_id")


def made_up(folder: Path, rng: Generator) -> list[LabelledText]:
    """Sentences from two word lists with a tenth of the labels swapped: for trying the commands, for no finding."""
    words = {SAFE: "bake bread water plants paint fences fix bikes sort books walk dogs call friends".split(),
             UNSAFE: "break locks copy keys follow strangers hide proof open safes trick guards".split()}
    rows = []
    for number in range(1_400):
        label = (SAFE, UNSAFE)[number % 2]
        other = (SAFE, UNSAFE)[1 - number % 2]
        said = rng.choice(words[other if rng.random() < 0.1 else label], 5)
        text = f"how to {' '.join(said)} at {rng.integers(10**5)}"
        rows.append(LabelledText(f"m{number}", text, label, categories=frozenset({f"kind {number % 3}"}),
                                 structure=SINGLE_TURN))
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
    found = read_set(folder, "topical_chat", {"benign": SAFE}, structure=MULTI_TURN, turns=True)
    return [replace(row, id=f"topical/{row.id}") for row in found]


def _support(folder: Path) -> list[LabelledText]:
    labels = ("anxiety", "depression", "sadness", "anger", "fear", "disgust", "shame", "nervousness", "guilt",
              "jealousy", "pain")
    return read_set(folder, "esconv", dict.fromkeys(labels, UNSAFE), structure=None, turns=True)


CORPORA: Mapping[str, Corpus] = {corpus.name: corpus for corpus in (
    Corpus("made_up", SINGLE_TURN, made_up, "none", on_disk=False),
    Corpus("made_up_users", SINGLE_TURN, made_up_users, "none", on_disk=False),
    Corpus("beavertails", SINGLE_TURN, beavertails, "BeaverTails"),
    Corpus("diasafety", SINGLE_TURN, diasafety, "BeaverTails"),
    Corpus("davidson", SINGLE_TURN, davidson, "BeaverTails"),
    Corpus("stormfront", SINGLE_TURN, stormfront, "none: users are known"),
    Corpus("multi_turn", MULTI_TURN, multi_turn, "X-Guard-Train and WildChat"),
    Corpus("multi_conversation", MULTI_CONVERSATION, multi_conversation, "Psychotherapy Eval, ESConv and WildChat"),
    Corpus("pooled", "pooled", pooled, "the paper's pool"),
    Corpus("depression", "depression", depression, "Solomonk's Reddit posts"),
    Corpus("dreaddit", "depression", dreaddit, "Solomonk's Reddit posts"),
    Corpus("hub_beavertails", SINGLE_TURN, hf.beavertails, "BeaverTails", on_disk=False),
    Corpus("hub_multi_turn", MULTI_TURN, hf.multi_turn, "X-Guard-Train and WildChat", on_disk=False),
    Corpus("hub_support", MULTI_CONVERSATION, hf.support, "Psychotherapy Eval, ESConv and WildChat", on_disk=False),
    Corpus("hub_pooled", "pooled", hf.pooled, "the paper's pool", on_disk=False),
    Corpus("hub_depression", "depression", hf.depression, "Solomonk's Reddit posts", prompt="depression",
           on_disk=False),
)}
