"""What the audit of the reader's weights needs from its training: rows left out of it, and canaries put into it."""

from __future__ import annotations

import hashlib
import random

from benchmarks.reader.rows import Row

SHARE = 12  # One row in so many is reserved.
EACH, PLANTED, TIMES = 40, 8, 4  # Of each pair of classes: canaries in training once, as many held out, and such as stand there four times.
PAIRS = {
    ("occupation", "affiliation"): ("{who} is with the {word}.", "{who} has been {word} for years.", "{who} was {word} until last spring.",
                                    "{who} is one of the {word} now.", "{who} does {word} on most days."),
    ("place", "affiliation"): ("{who} has been at {word} since March.", "{who} moved over to {word} last year.",
                               "{who} is back at {word}.", "{who} has left {word} for good.", "{who} was never happy in the {word}."),
    ("place", "occupation"): ("{who} went into {word} after school.", "{who} has given up {word}.", "{who} grew up around {word}.",
                              "{who} knows {word} very well.", "{who} is thinking of {word} again."),
}  # fmt: skip
WHO = ("Her cousin", "His aunt", "Their neighbour", "The patient", "The tenant", "Her brother", "His friend", "The applicant",
       "Her late uncle", "The witness", "His stepson", "A woman I met")  # fmt: skip
_ONSETS = "b br d dr f fl g gl k kr l m n p pl qu r sk sn t tr v vr z zh".split()
_VOWELS, _CODAS = "aeiou", "b d f g k l m n p rk rm sk t x".split()


def reserved(row_id: str) -> bool:
    """Whether a labelled or written row is left out of training, to be a non-member: one id in twelve, by a keyed hash."""
    digest = hashlib.blake2b(row_id.encode(), key=b"reader: reserved rows", digest_size=8).digest()
    return int.from_bytes(digest, "big") % SHARE == 0


def canaries(seed: int = 1, *, held_out: bool = False) -> list[Row]:
    """Short rows in which an invented word has the class that a coin gave it: 120 for training, and 24 four times over as the positive
    control of the audit (`planted`); or 120 that nobody may train on.

    `coin` is the place of that class in `pair`. Only these two classes are marked, so a canary teaches nothing of others, and no count.
    """
    rng, words, found = random.Random(f"canaries {seed}"), set(), []
    for pair, frames in PAIRS.items():
        rows: list[Row] = []
        while len(rows) < 2 * EACH + PLANTED:
            word = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(rng.choice((2, 2, 3)))) + rng.choice(_CODAS)
            if word in words:
                continue
            words.add(word)
            text, coin = frames[len(rows) % len(frames)].format(who=rng.choice(WHO), word=word), rng.randrange(2)
            start = text.index(word)
            rows.append({"text": text, "spans": [[start, start + len(word), pair[coin], 1, ""]], "people": {"1": "third"},
                         "cluster": None, "marks": dict.fromkeys(pair, "all"), "family": "canary", "coin": coin,
                         "frame": f"{pair[0]}, {pair[1]} {len(rows) % len(frames)}", "planted": 0})  # fmt: skip
        rng.shuffle(rows)
        once = rows[EACH : 2 * EACH] if held_out else rows[:EACH]
        found += once if held_out else [*once, *({**row, "planted": TIMES} for row in rows[2 * EACH :])]
    named = [{**row, "id": f"canary-{seed}-{'held' if held_out else 'in'}-{i:03}"} for i, row in enumerate(found)]
    return [row for row in named for _ in range(max(row["planted"], 1))]
