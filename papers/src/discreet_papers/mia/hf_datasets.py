"""The paper's own data sets, by the library `datasets`; not run here, only tried on small made-up files.

WildChat serves as safe class of two roles. Its users are divided between them by a hash of the user, before anything is
bundled and whatever the order in which it is read, so that no conversation can be in both (membership paper, section
5.1: the authors' code reads it twice from the start, with nothing that would keep the two apart).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from discreet.core.errors import DiscreetError, InputError, need
from discreet.core.records import Turn
from discreet.inputs.bundles import SIZES, Source, bundle, pool
from discreet.inputs.texts import MULTI_TURN, SINGLE_TURN, LabelledText, structure_of, text_of_turns

SAFE, UNSAFE = "safe", "unsafe"
BUNDLED = (2, 3)
"""Conversations in a bundle: support conversations are long, and few."""
BEAVERTAILS, XGUARD, WILDCHAT = "PKU-Alignment/BeaverTails", "marslabucla/XGuard-Train", "allenai/WildChat-1M"
ESCONV, DEPRESSION = "thu-coai/esconv", "solomonk/reddit_mental_health_posts"
PSYCHOTHERAPY = ("https://raw.githubusercontent.com/IanSteenstra/ai-psychotherapy-eval/"
                 "1799961eca32933dcf75a99df875197c15fb7e0c/dataset/conversation_log.csv")
READ = 200_000
"""Conversations of WildChat that are looked at, from the start of the set."""
EACH = 8_000
"""Rows of a class of a source, at most."""
DEPRESSED = 6_400
A_USER = 8
"""Conversations of a user, at most."""
REMOVED = frozenset({"", "[removed]", "[deleted]"})

Role = Literal["multi-turn", "bundles"]


def read(name: str, split: str | None = None, *, columns: Sequence[str], **options: Any) -> Iterator[Mapping[str, Any]]:
    """Rows of a data set as they come.

    Raises MissingExtraError without `datasets`, InputError where the set cannot be had or lacks one of `columns`.
    """
    datasets = need("datasets", "the paper's data", "train")
    # Every retry is a line on stderr otherwise; what came of them is said once, below.
    datasets.logging.set_verbosity_error()
    called = str(options.get("data_files", name))
    try:
        for row in datasets.load_dataset(name, split=split or "train", streaming=True, **options):
            if lacking := [column for column in columns if column not in row]:
                raise InputError(f"the data set {called} has no column {lacking[0]!r}; expected {', '.join(columns)}: "
                                 "its form has changed since this was written")
            yield row
    except DiscreetError:
        raise
    except Exception as error:  # The hub's client raises errors of many libraries.
        raise InputError(f"the data set {called} cannot be had ({type(error).__name__}); --scale paper needs the "
                         "Hugging Face hub and, for gated sets, a token of an account that has accepted their "
                         "terms") from None


def beavertails(folder: Path, rng: Generator) -> list[LabelledText]:
    """Each prompt once, with the label that most of its judged answers have; ties are left out.

    The paper keeps the prompt alone (its Table 3), which stands in the set as often as it was answered, often with both
    labels.
    """
    votes: Counter[str] = Counter()
    categories: dict[str, set[str]] = {}
    for split in ("330k_train", "330k_test"):
        for row in read(BEAVERTAILS, split, columns=("prompt", "is_safe", "category")):
            prompt = " ".join(str(row["prompt"]).split())
            votes[prompt] += 1 if row["is_safe"] else -1
            categories.setdefault(prompt, set()).update(name for name, held in row["category"].items() if held)
    return [LabelledText(f"beavertails/{number}", prompt, SAFE if vote > 0 else UNSAFE, structure=SINGLE_TURN,
                         categories=frozenset(categories[prompt] if vote < 0 else ()))
            for number, (prompt, vote) in enumerate(votes.items()) if vote and prompt]


def multi_turn(folder: Path, rng: Generator) -> list[LabelledText]:
    """X-Guard's conversations against those of WildChat's users of this role, of two turns of the user or more."""
    unsafe = sample(list(_xguard()), EACH, rng)
    return [*unsafe, *sample(list(wildchat("multi-turn")), len(unsafe), rng)]


def support(folder: Path, rng: Generator) -> list[LabelledText]:
    """Bundles of emotional support and of therapy sessions, by patient, against bundles of WildChat's users."""
    unsafe = bundle(list(_in_need()), rng, sizes=BUNDLED)
    safe = bundle(list(wildchat("bundles")), rng, sizes=SIZES)
    return [*unsafe, *sample(safe, len(unsafe), rng)]


def pooled(folder: Path, rng: Generator) -> list[LabelledText]:
    """All of the above in one; no conversation is in two rows, no user of WildChat in two structures."""
    need = list(_in_need())
    single = balanced(beavertails(folder, rng), EACH, rng)
    sources = (Source("single", single), Source("jailbreaks", sample(list(_xguard()), EACH, rng)),
               Source("conversations", sample(list(wildchat("multi-turn")), EACH, rng)),
               Source("support", need, bundled=1.0, sizes=BUNDLED),
               Source("users", _whole_users(wildchat("bundles"), len(need)), bundled=1.0))
    return pool(sources, rng)


def depression(folder: Path, rng: Generator) -> list[LabelledText]:
    """Title and body of posts: r/depression against the four other subreddits (appendix N.1).

    The appendix has 4,000 of each; a neutral reference and a control need half as many again.
    """
    rows = []
    for number, row in enumerate(read(DEPRESSION, columns=("title", "body", "subreddit"))):
        body = str(row["body"] or "").strip()
        if body not in REMOVED:
            text = f"{str(row['title'] or '').strip()}\n{body}".strip()
            label = UNSAFE if str(row["subreddit"]).lower() == "depression" else SAFE
            rows.append(LabelledText(f"reddit/{number}", text, label, structure=SINGLE_TURN))
    return balanced(rows, DEPRESSED, rng)


def wildchat(role: Role) -> Iterator[LabelledText]:
    """Conversations in English that nobody flagged, in order of time as the set has it, of the users of one role."""
    columns = ("conversation_hash", "conversation", "language", "toxic", "hashed_ip")
    counts: Counter[str] = Counter()
    for row in islice(read(WILDCHAT, columns=columns), READ):
        user = str(row["hashed_ip"])
        if row["toxic"] or row["language"] != "English" or role_of_user(user) != role or counts[user] >= A_USER:
            continue
        found = _told(f"wildchat/{row['conversation_hash']}", row["conversation"], ("role", "content"),
                      {"user": "user", "assistant": "assistant"}, SAFE, f"wildchat/{user}")
        if found and (role == "bundles" or found.structure == MULTI_TURN):
            counts[user] += 1
            yield found


def role_of_user(user: str) -> Role:
    """The one role that a user's conversations have."""
    return "multi-turn" if hashlib.sha256(f"role of {user}".encode()).digest()[0] % 2 else "bundles"


def _whole_users(rows: Iterable[LabelledText], conversations: int) -> list[LabelledText]:
    """Users in the order in which they come, until they have that many conversations; those with one are left out."""
    by_user: dict[str | None, list[LabelledText]] = {}
    for row in rows:
        by_user.setdefault(row.group, []).append(row)
    found: list[LabelledText] = []
    for held in by_user.values():
        if len(held) >= SIZES[0] and len(found) < conversations:
            found += held
    return found


def _xguard() -> Iterator[LabelledText]:
    for number, row in enumerate(read(XGUARD, columns=("conversations",))):
        found = _told(f"xguard/{number}", row["conversations"], ("from", "value"),
                      {"human": "user", "gpt": "assistant"})
        if found and found.structure == MULTI_TURN:
            yield found


def _in_need() -> Iterator[LabelledText]:
    """ESConv's conversations, whose users are not named, and the sessions of the simulated patients."""
    said = (json.loads(row["text"])["dialog"] for split in ("train", "validation", "test")
            for row in read(ESCONV, split, columns=("text",)))
    told = (_told("esconv", turns, ("speaker", "text"), {"usr": "user", "sys": "assistant"}) for turns in said)
    yield from (replace(one, id=f"esconv/{number}") for number, one in enumerate(filter(None, told)))
    sessions: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    columns = ("pairing_id", "session_id", "turn", "speaker", "message")
    for row in read("csv", columns=columns, data_files=PSYCHOTHERAPY):
        sessions.setdefault((int(row["pairing_id"]), int(row["session_id"])), []).append(row)
    for (patient, session), held in sorted(sessions.items()):
        turns = sorted(held, key=lambda row: int(row["turn"]))
        if found := _told(f"therapy/{patient}-{session}", turns, ("speaker", "message"),
                          {"Patient": "user", "Therapist": "assistant"}, group=f"therapy/{patient}"):
            yield found


def _told(name: str, given: Iterable[Mapping[str, Any]], fields: tuple[str, str], roles: Mapping[str, str],
          label: str = UNSAFE, group: str | None = None) -> LabelledText | None:
    """A conversation of the turns with text of the roles that are known; None where the user says nothing."""
    who, what = fields
    turns = tuple(Turn(roles[turn[who]], str(turn[what]).strip()) for turn in given
                  if turn[who] in roles and str(turn[what] or "").strip())
    return LabelledText(name, text_of_turns(turns), label, group=group, structure=structure_of(turns)) if any(
        turn.role == "user" for turn in turns) else None


def sample(rows: Sequence[LabelledText], n: int, rng: Generator) -> list[LabelledText]:
    """`n` of the rows at random, all where there are fewer, in their order."""
    chosen = np.sort(rng.permutation(len(rows))[:n])
    return [rows[place] for place in chosen]


def balanced(rows: Sequence[LabelledText], each: int, rng: Generator) -> list[LabelledText]:
    """`each` of the safe rows at random, then of the unsafe ones."""
    sides = [sample([row for row in rows if row.label == label], each, rng) for label in (SAFE, UNSAFE)]
    return [row for side in sides for row in side]
