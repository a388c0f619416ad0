"""The learned reader: a small transformer that finds what a text says of whom.

For each class of attribute it marks spans, says whose each is (a third person, the speaker, a public person, a group,
nobody) and which spans speak of one person; for the whole text it gives the probability that somebody has one, two,
three, four attributes that identify, and of classes that can be inferred though no words state them. It runs with
onnxruntime and tokenizers alone, a text at a time on one thread, so the same text gives the same bits in any company.
Made by `make reader`; `docs/reader.md` is its model card.
"""

from __future__ import annotations

import hashlib
import json
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
from discreet.core.records import Subject

FOLDER = Path(__file__).parent / "data" / "reader"
MODEL, TOKENIZER, CARD = "reader.onnx", "tokenizer.json", "reader.json"
Floats = NDArray[np.float32]
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
class Reading:
    """What the reader sees in a text.

    `counts` (3, 4) are log-odds that some person of each of `TOLD` has at least one, two, three, four attributes of the
    identifying classes; `inferred` probabilities by class; `vector` the mean of the token vectors, of norm 1.
    """

    spans: tuple[Span, ...]
    counts: Floats = field(repr=False)
    inferred: Mapping[str, float]
    vector: Floats = field(repr=False)


class Reader:
    """The network of a folder with `reader.onnx`, `tokenizer.json` and `reader.json`; `read` is a pure function.

    Raises DetectorError where a file is missing, was changed, or cannot be run: an answer is then `failed`, not safe.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        try:
            card = json.loads((folder / CARD).read_text(encoding="utf-8"))
            found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (MODEL, TOKENIZER)}
            if card["sha256"] != {CARD: seal(card), **found}:
                raise ValueError("changed")
            self._tokenizer = import_module("tokenizers").Tokenizer.from_file(str(folder / TOKENIZER))
            ort: Any = import_module("onnxruntime")
            options = ort.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.enable_mem_pattern = False
            options.log_severity_level = 3
            self._session = ort.InferenceSession(str(folder / MODEL), options, providers=["CPUExecutionProvider"])
            self.classes: tuple[str, ...] = tuple(card["classes"])
            self._kinds: tuple[Subject, ...] = tuple(card["kinds"])
            self._inferred: tuple[str, ...] = tuple(card["inferred"])
            self._cut = np.array([card["thresholds"][c] for c in self.classes], np.float32)
            self._gate, self._shift = (np.array(card["persons"][k], np.float32) for k in ("gate", "shift"))
            self._scale, self._bias = card["persons"]["same"]
            self._window, self._overlap = int(card["window"]), int(card["overlap"])
            if not (np.isfinite(self._cut).all() and 0 <= self._overlap < self._window - 2):
                raise ValueError("thresholds or windows")
        except Exception as error:
            raise DetectorError("the reader's weights", type(error).__name__) from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text.
        self.card = card

    def read(self, text: str) -> Reading:
        """What a text says of whom; offsets are those of `text`. An empty text has no spans and zero counts.

        Raises DetectorError where the network gives what is no number: comparisons with it would find nothing.
        """
        encoded = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"), add_special_tokens=True)
        ids, at = encoded.ids, np.array(encoded.offsets, np.int64).reshape(-1, 2)
        out = self._run(ids)
        if len(ids) <= 2:
            return Reading((), np.full((len(TOLD), 4), -20, np.float32), {}, np.zeros_like(out["vector"]))
        spans = self._spans(text, at[1:-1], out)
        inferred = dict(zip(self._inferred, _sigmoid(out["inferred"]).tolist(), strict=True))
        return Reading(tuple(spans), out["counts"], inferred, out["vector"])

    def _run(self, ids: Sequence[int]) -> dict[str, Floats]:
        """The network over windows of a text. A token is taken from the window in which it stands nearest the middle;
        the text as a whole has the highest counts of any window."""
        first, *body, last = ids
        room = self._window - 2
        starts = [0]
        while starts[-1] + room < len(body):
            starts.append(min(starts[-1] + room - self._overlap, len(body) - room))
        runs = []
        for start in starts:
            piece = np.array([[first, *body[start : start + room], last]], np.int64)
            runs.append(dict(zip(_OUTPUTS, self._session.run(list(_OUTPUTS), {"ids": piece}), strict=True)))
            if not all(np.isfinite(values).all() for values in runs[-1].values()):
                raise DetectorError("the reader", "an output that is no number")
        seams = [0, *((b + a + room) // 2 for a, b in pairwise(starts)), len(body)]
        out = {name: np.concatenate([run[name][0, 1 + lo - start : 1 + hi - start] for run, start, lo, hi
                                     in zip(runs, starts, seams, seams[1:], strict=False)])
               for name in ("inside", "begins", "whose", "person")}
        out["counts"] = np.max([run["counts"][0] for run in runs], axis=0)
        out["inferred"] = np.max([run["inferred"][0] for run in runs], axis=0)
        mean = np.sum(np.stack([run["vector"][0] for run in runs]), axis=0, dtype=np.float32)
        out["vector"] = np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)
        return out

    def _spans(self, text: str, at: NDArray[np.int64], out: Mapping[str, Floats]) -> list[Span]:
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
        found.sort()
        persons = self._persons(found, out)
        return [Span(self.classes[c], int(at[i, 0]), int(at[j - 1, 1]), subject, person, float(inside[i:j, c].mean()))
                for (i, j, c), (subject, person) in zip(found, persons, strict=True)]

    def _persons(self, found: Sequence[tuple[int, int, int]], out: Mapping[str, Floats]) -> list[tuple[Subject, str]]:
        """Whose each span is: it joins the person whose spans it is most like on average, or opens another one."""
        held: list[tuple[Subject, Floats, int]] = []  # of each person: subject, sum and number of their spans' vectors
        persons: list[tuple[Subject, str]] = []
        for i, j, c in found:
            whose = out["whose"][i:j, c].mean(0)
            subject = self._kinds[int(whose.argmax())]
            if subject not in ("third", "public"):
                persons.append((subject, subject))
                continue
            vector = out["person"][i:j].mean(0) * self._gate[c] + self._shift[c]
            # Log-odds that two spans speak of one person are linear in either, so their mean over a person's spans is
            # that of the spans' mean.
            odds = [float(total @ vector) / n * self._scale + self._bias for _, total, n in held]
            k = int(np.argmax(odds)) if odds and max(odds) > 0 else len(held)
            if k == len(held):
                held.append((subject, np.zeros_like(vector), 0))
            subject, total, n = held[k]
            held[k] = (subject, total + vector, n + 1)
            persons.append((subject, f"r{k + 1}"))
        return persons


_BEGINS = 1.0
"""Log-odds above which a token begins a span of its own within another of its class."""
_OUTPUTS = ("inside", "begins", "whose", "person", "counts", "inferred", "vector")


def seal(card: Mapping[str, Any]) -> str:
    """SHA-256 of what a card says but for its hashes, among which it stands as that of the card itself."""
    said = {key: value for key, value in card.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


@cache
def packaged() -> Reader:
    """The reader that ships with discreet, loaded on first use. Raises DetectorError."""
    return Reader()


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), np.float32)
