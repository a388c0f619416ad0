"""The learned reader: a small transformer that finds what a text says of whom.

For each class of attribute it marks spans, says whose each is (a private person, the speaker, the one spoken to, staff,
a public, historic, hypothetical or fictional person, a group, nobody) and which spans speak of one person; for the
whole text it gives the probability that somebody has one, two, three, four attributes that identify, and of classes
that can be inferred though no words state them. It runs with onnxruntime and tokenizers alone, a text at a time on one
thread, so the same text gives the same bits in any company.
Made by `make reader`; `docs/reader.md` is its model card.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import DetectorError
from discreet.core.onnx import open_session
from discreet.core.records import PERSONS, Subject
from discreet.guard.text.reply import NEVER, NOTHING, Case, inputs_of

FOLDER = Path(__file__).parent / "data" / "reader"
MODEL, WORDS, CLASSIFIER, SOURCES = "reader.onnx", "words.onnx", "classifier.onnx", "sources.onnx"
"""The network, the vectors of words that it shares with `classifier.py`, and the networks of that."""
TOKENIZER, CARD = "tokenizer.json", "reader.json"
FILES = (MODEL, WORDS, CLASSIFIER, SOURCES, TOKENIZER)
Floats = NDArray[np.float32]
Windows = dict[bytes, dict[str, Floats]]
"""The outputs of the network by the tokens of a window."""
Inputs = Mapping[str, NDArray[np.int64]]
"""Questions as the network takes them."""
TOLD: tuple[Subject, ...] = ("third", "speaker", "public")
"""The subjects of which the passage is counted, in the order of the network's output."""
@dataclass(frozen=True, slots=True)
class Span:
    """Words [start, end) that state an attribute; `person` is "speaker", "r1", "r2", …, or the subject."""

    kind: str
    start: int
    end: int
    subject: Subject
    person: str
    probability: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reader sees in a text.

    `counts` (3, 4) are log-odds that some person of each of `TOLD` has at least one, two, three, four attributes of the
    identifying classes, read from the text as a whole; `held` (4,) the same of each person, read from their spans;
    `inferred` probabilities by class; `vector` the mean of the token vectors, of norm 1; `case` what the text is by
    itself, or (`asked`) to the user's own question, `behind` to each of the questions with which it was read;
    `together` what it is to the user's own question where both were read together (`classifier.py`), None where they
    were not; `apart`: a record was longer than a window, so that no count sees all that is said of one person.
    """

    spans: tuple[Span, ...]
    counts: Floats = field(repr=False)
    held: Mapping[tuple[str, Subject], Floats] = field(repr=False)
    inferred: Mapping[str, float]
    vector: Floats = field(repr=False)
    case: Case = NOTHING
    behind: tuple[Case, ...] = ()
    together: Case | None = None
    asked: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True)
class _Record:
    """Tokens of a record with the outputs of the network, and its spans as first and last token and class."""

    at: NDArray[np.int64] = field(repr=False)
    out: Mapping[str, Floats] = field(repr=False)
    found: Sequence[tuple[int, int, int]] = field(repr=False)
    sure: Floats = field(repr=False)


class Reader:
    """The network of a folder with `FILES` and `reader.json`; `read` is a pure function.

    Raises DetectorError where a file is missing, was changed, or cannot be run: an answer is then `failed`, not safe.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        try:
            card = json.loads((folder / CARD).read_text(encoding="utf-8"))
            found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}
            if card["sha256"] != {CARD: seal(card), **found}:
                raise ValueError("changed")
            self._tokenizer = import_module("tokenizers").Tokenizer.from_file(str(folder / TOKENIZER))
            self._session, self._words = open_session(folder / MODEL), open_session(folder / WORDS)
            self.classes: tuple[str, ...] = tuple(card["classes"])
            self._kinds: tuple[Subject, ...] = tuple(card["kinds"])
            self._inferred: tuple[str, ...] = tuple(card["inferred"])
            self.cases: tuple[str, ...] = tuple(card["cases"])
            self._cut = np.array([card["thresholds"][c] for c in self.classes], np.float32)
            self._gate, self._shift = (np.array(card["persons"][k], np.float32) for k in ("gate", "shift"))
            self._scale, self._bias = card["persons"]["same"]
            self._window = int(card["window"])
            if not (np.isfinite(self._cut).all() and self._window > 2):
                raise ValueError("thresholds or windows")
        except Exception as error:
            raise DetectorError("the reader's weights", type(error).__name__) from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text.
        self.card = card

    def read(self, text: str, questions: Sequence[str] = ()) -> Seen:
        """What a text says of whom; offsets are those of `text`. An empty text has no spans and low counts.

        `questions` are what it may answer, each by itself: they say of whom it may speak (an invented person, the
        staff, somebody described), nothing is found in them, and they change nothing that is found in the text. Of a
        long one the last tokens are read.

        The records of rendered tables and structured output are read one by one: no person goes on into the next. The
        rows of tables that are no list of persons, and sample values in code, are not read.
        Raises DetectorError where the network gives what is no number: comparisons with it would find nothing.
        """
        spans: list[Span] = []
        held: dict[tuple[str, Subject], Floats] = {}
        outs: list[dict[str, Any]] = []
        start, others = 0, 0
        same: Windows = {}
        alike: dict[str, _Record | None] = {}
        asked = inputs_of([self.ids(one) for one in questions])
        said = _OF_NOBODY.sub(lambda m: " " * len(m[0]), text.encode("utf-8", "replace").decode("utf-8"))
        for record in said.split(RECORD):
            if record not in alike:
                alike[record] = self._record(record, same, asked)
            one = alike[record]
            if one is not None:
                others += self._add(spans, held, start, one, others)
                outs.append({name: one.out[name] for name in _OF_TEXT})
            start += len(record) + len(RECORD)
        if not outs:
            empty = self._tokenizer.encode("", add_special_tokens=True).ids
            nothing = np.zeros_like(self._run(empty, {}, inputs_of(()))["vector"])
            none = np.full((len(TOLD), 4), NEVER, np.float32)
            return Seen((), none, {}, {}, nothing, behind=(NOTHING,) * len(questions))
        counts = np.max([out["counts"] for out in outs], axis=0)
        chances = np.max([out["inferred"] for out in outs], axis=0)
        mean = np.sum([out["vector"] for out in outs], axis=0, dtype=np.float32)
        vector = np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)
        inferred = dict(zip(self._inferred, _sigmoid(chances).tolist(), strict=True))
        case, *behind = (Case.whole(parts) for parts in zip(*(out["cases"] for out in outs), strict=True))
        apart = any(out["windows"] > 1 for out in outs)
        return Seen(tuple(spans), counts, held, inferred, vector, case, tuple(behind), apart=apart)

    def ids(self, text: str) -> list[int]:
        """The tokens of a text, from the first one of every text to the last one."""
        clean = text.encode("utf-8", "replace").decode("utf-8")
        return list(self._tokenizer.encode(clean, add_special_tokens=True).ids)

    def vectors(self, ids: NDArray[np.int64]) -> Floats:
        """The vectors (1, t, 384) of tokens (1, t)."""
        found: Floats = self._words.run(None, {"ids": ids})[0]
        return found

    def _run(self, ids: Sequence[int], same: Windows, asked: Inputs) -> dict[str, Any]:
        """The network over windows of a text, of which equal ones (`same`) are read once. A token is taken from the
        window in which it stands nearest the middle; the text as a whole has the highest counts of any window."""
        first, *body, last = ids
        # As few windows as the overlap allows, all of one length: a text that just outgrows one costs two short ones.
        room, kept = self._window - 2, self._window // _SHARED
        number = windows(len(body), room, kept)
        room = -(-(len(body) + (number - 1) * kept) // number)
        starts = [min(k * (room - kept), len(body) - room) for k in range(number)]
        runs = []
        for start in starts:
            piece = np.array([[first, *body[start : start + room], last]], np.int64)
            key = piece.tobytes()
            if key not in same:
                words = self.vectors(np.concatenate([piece, asked["asked"]], 1))
                given = {"ids": piece, "words": words, **asked}
                same[key] = dict(zip(_OUTPUTS, self._session.run(list(_OUTPUTS), given), strict=True))
                if not all(np.isfinite(values).all() for values in same[key].values()):
                    raise DetectorError("the reader", "an output that is no number")
            runs.append(same[key])
        seams = [0, *((b + a + room) // 2 for a, b in pairwise(starts)), len(body)]
        kept_of = [*zip(runs, starts, seams, seams[1:], strict=False)]
        out: dict[str, Any] = {name: np.concatenate([run[name][0, 1 + lo - start : 1 + hi - start]
                                                     for run, start, lo, hi in kept_of])
                               for name in ("inside", "begins", "whose", "person", "held")}
        out["counts"] = np.max([run["counts"][0] for run in runs], axis=0)
        out["inferred"] = np.max([run["inferred"][0] for run in runs], axis=0)
        said = ([Case.of(logits, self.cases) for logits in run["case"][0]] for run in runs)
        out["cases"] = [Case.whole(parts) for parts in zip(*said, strict=True)]
        out["windows"] = number
        out["vector"] = np.stack([run["vector"][0] for run in runs]).sum(0, dtype=np.float32)
        return out

    def _record(self, text: str, same: Windows, asked: Inputs) -> _Record | None:
        """What the network says of a record; None where it has no token."""
        encoded = self._tokenizer.encode(text, add_special_tokens=True)
        if len(encoded.ids) <= 2:
            return None
        out = self._run(encoded.ids, same, asked)
        at = np.array(encoded.offsets, np.int64).reshape(-1, 2)[1:-1]
        return _Record(at, out, *self._found(text, at, out))

    def _add(self, spans: list[Span], held: dict[tuple[str, Subject], Floats], start: int, record: _Record,
             others: int) -> int:
        """The spans of one record, and what each of its persons has; how many persons it adds to the `others`."""
        at, out, found, sure = record.at, record.out, record.found, record.sure
        persons = self._persons(found, out, others)
        said: dict[tuple[str, Subject], list[Floats]] = {}
        for (i, j, c), (subject, person) in zip(found, persons, strict=True):
            said.setdefault((person, subject), []).append(out["held"][i:j].mean(0))
            spans.append(Span(self.classes[c], start + int(at[i, 0]), start + int(at[j - 1, 1]), subject, person,
                              float(sure[i:j, c].mean())))
        for who, odds in said.items():
            mean: Floats = np.mean(odds, axis=0, dtype=np.float32)
            held[who] = np.maximum(held.get(who, mean), mean)
        return sum(person.startswith("r") for person, _ in said)

    def _found(self, text: str, at: NDArray[np.int64], out: Mapping[str, Floats]
               ) -> tuple[list[tuple[int, int, int]], Floats]:
        """Spans as first and last token and class, in order, and the probability of each token and class."""
        # Pieces of one word share their mean, so that no span holds half a word.
        glued = [a[1] == b[0] and text[b[0] - 1 : b[0]].isalnum() and text[b[0] : b[0] + 1].isalnum()
                 for a, b in pairwise(at)]
        first = ~np.array([False, *glued])
        word = np.cumsum(first) - 1
        inside = _sigmoid(out["inside"])
        inside = (np.add.reduceat(inside, np.flatnonzero(first)) / np.bincount(word)[:, None])[word]
        on, begins = inside > self._cut, (out["begins"] > _BEGINS) & first[:, None]
        found: list[tuple[int, int, int]] = []
        for c in np.flatnonzero(on.any(0)):
            # A span goes on while its class does, until a token that begins another one.
            edges = np.flatnonzero(on[:, c] & (begins[:, c] | ~np.r_[False, on[:-1, c]]))
            for k, i in enumerate(edges):
                stop = edges[k + 1] if k + 1 < len(edges) else len(on)
                rest = np.flatnonzero(~on[i:stop, c])
                found.append((int(i), int(i + rest[0]) if len(rest) else int(stop), int(c)))
        return sorted(found), inside

    def _persons(self, found: Sequence[tuple[int, int, int]], out: Mapping[str, Floats], others: int
                 ) -> list[tuple[Subject, str]]:
        """Whose each span is: it joins the person whose spans it is most like on average, or opens another one. The
        status of a person is decided over all of their spans. Persons that are compared are the last `_OPEN`."""
        open_, kinds_of = _OpenPersons(self._gate.shape[1]), list[Floats]()
        joined: list[tuple[Subject, int]] = []
        for i, j, c in found:
            whose = _softmax(out["whose"][i:j, c].mean(0))
            subject = self._kinds[int(whose.argmax())]
            if subject not in PERSONS:
                joined.append((subject, -1))
                continue
            vector = out["person"][i:j].mean(0) * self._gate[c] + self._shift[c]
            k = open_.join(vector, self._scale, self._bias)
            if k == len(kinds_of):
                kinds_of.append(np.zeros_like(whose))
            kinds_of[k] = kinds_of[k] + whose
            joined.append((subject, k))
        known: list[Subject] = [kind for kind in PERSONS if kind in self._kinds]
        at = [self._kinds.index(kind) for kind in known]
        told = [known[int(kinds[at].argmax())] for kinds in kinds_of]  # Of equals the first, the private person.
        return [(subject, subject) if k < 0 else (told[k], f"r{others + k + 1}") for subject, k in joined]


class _OpenPersons:
    """The persons of a record whom a further span may speak of: the `_OPEN` of whom a span was found last."""

    def __init__(self, width: int) -> None:
        self._sums: Floats = np.zeros((_OPEN, width), np.float32)
        self._spans = np.zeros(_OPEN, np.int64)
        self._person = np.zeros(_OPEN, np.int64)
        self._last = np.zeros(_OPEN, np.int64)
        self._persons = self._number = 0

    def join(self, vector: Floats, scale: float, bias: float) -> int:
        """The number of the person of a span with this vector: of the one it is most like, or a new one."""
        # Log-odds that two spans speak of one person are linear in either, so their mean over a person's spans is
        # that of the spans' mean.
        used = min(self._persons, _OPEN)
        odds = (self._sums[:used] @ vector).astype(np.float64) / self._spans[:used] * scale + bias
        k = int(np.argmax(odds)) if used else 0
        if not used or odds[k] <= 0:
            k = used if used < _OPEN else int(np.argmin(self._last))
            self._sums[k], self._spans[k], self._person[k] = 0, 0, self._persons
            self._persons += 1
        self._number += 1
        self._sums[k] += vector
        self._spans[k] += 1
        self._last[k] = self._number
        return int(self._person[k])


RECORD = "\x1e"
"""Stands between the records of rendered tables and structured output."""
_OF_NOBODY = re.compile("[\x1c\x1d][^\n\x1f]*\x1f?")
"""What is not read; see `discreet.guard.text.render.words`."""
_SHARED = 8
"""Neighbouring windows share at least one token in so many."""
_BEGINS = 1.0
"""Log-odds above which a token begins a span of its own within another of its class."""
_OPEN = 256
"""With how many persons of one record a further span is compared."""
_OF_TEXT = ("counts", "inferred", "vector", "cases", "windows")
_OUTPUTS = ("inside", "begins", "whose", "person", "held", "counts", "inferred", "vector", "case")


def windows(length: int, room: int, shared: int) -> int:
    """How few windows of `room` tokens hold a text where neighbours share at least so many."""
    return max(1, -(-(length - shared) // (room - shared)))


def seal(card: Mapping[str, Any]) -> str:
    """SHA-256 of what a card says but for its hashes, among which it stands as that of the card itself."""
    said = {key: value for key, value in card.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@cache
def packaged() -> Reader:
    """The reader that ships with discreet, loaded on first use. Raises DetectorError."""
    return Reader()


def _softmax(logits: Floats) -> Floats:
    shares = np.exp(logits - logits.max())
    return np.asarray(shares / shares.sum(), np.float32)


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), np.float32)
