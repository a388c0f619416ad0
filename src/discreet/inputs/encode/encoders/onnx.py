"""A transformer in ONNX: onnxruntime and tokenizers, nothing else.

Texts are run one by one, without padding, each on one thread, so a row cannot depend on batch mates or on order.
Where several texts are given, several are run at a time; that changes nothing in any of them. Rows to fit on, and only
those, may come from a GPU in batches (`encode_to_fit`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.core.onnx import Device, cores, open_session
from discreet.inputs.encode.base import encoders, open_encoder, refuse_one_string, saving, unit
from discreet.inputs.encode.chunk import chunks

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
OVERLAP = 48
"""Tokens that neighbouring pieces share, at most: an attribute with the person that it is about."""

BATCH, COMPARED, APART = 32, 16, 1e-4
"""Of rows made on a GPU: windows at a time; how many rows are compared with the CPU's, and by how much an entry of a
vector of norm 1 may differ."""
POOLINGS = ("mean", "cls", "last")

Run = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""(n, tokens) token ids and mask to the (n, tokens, dim) last hidden state."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a model is read: the `pooling` of `pool`, the tokens that it takes at once, special ones included, and
    whether text is lower-cased before the tokeniser.
    """

    pooling: str
    max_tokens: int
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.pooling not in POOLINGS:
            raise UsageError(f"unknown pooling {self.pooling!r}: expected one of {', '.join(POOLINGS)}")
        if self.max_tokens < 8:
            raise UsageError(f"a transformer that reads {self.max_tokens} tokens at once: expected at least 8")


@encoders.register("onnx")
class OnnxEncoder:
    """Texts to L2-normalised vectors; made by `load` or by `discreet.inputs.encode.export`.

    A text beyond `max_tokens` is read in overlapping pieces; its row is their mean by tokens, scaled to norm 1. `run`
    is the model, `tokenizer` one of tokenizers without truncation and padding; `save` copies both from `folder`.
    `workers` are texts that `encode` runs at a time; `facts`, where the model came from, are kept in `encoder.json`.
    """

    kind = "onnx"

    def __init__(self, folder: Path, name: str, dim: int, reader: Reader, run: Run, tokenizer: Any,
                 workers: int = 1, facts: Mapping[str, Any] | None = None) -> None:
        self.name, self.dim, self.reader, self.workers = name, dim, reader, max(1, workers)
        self.facts = dict(facts or {})
        self._folder, self._run, self._tokenizer = folder, run, tokenizer
        self._room = reader.max_tokens - len(tokenizer.encode("").ids)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """An (n, dim) array. A text without a token gets the zero vector."""
        refuse_one_string(texts)
        workers = min(self.workers, len(texts))
        with ThreadPoolExecutor(max(1, workers)) as threads:
            rows = list((threads.map if workers > 1 else map)(self._row, texts))
        return np.array(rows, dtype=np.float32).reshape(-1, self.dim)

    def encode_to_fit(self, texts: Sequence[str], device: Device) -> NDArray[np.float32]:
        """An (n, dim) array for fitting, on a GPU in padded batches of like length; on the CPU it is `encode`.

        On a GPU a row may differ with its batch mates, by rounding: some rows are compared with those of `encode`.
        Raises InputError where they differ by more than `APART`, UsageError where there is no such device.
        """
        if device == "cpu":
            return self.encode(texts)
        rows = self._batched(texts, session(self._folder / MODEL, device))
        some = sorted({int(at) for at in np.linspace(0, len(texts) - 1, COMPARED)}) if texts else []
        apart = max((float(np.abs(rows[at] - self._row(texts[at])).max()) for at in some), default=0.0)
        if not apart <= APART:
            raise InputError(f"{self.name} on {device} differs from the CPU by {apart:.1e} in an entry of a vector of "
                             f"norm 1; expected at most {APART:.0e}: use --device cpu")
        return rows

    def _batched(self, texts: Sequence[str], run: Run) -> NDArray[np.float32]:
        """Rows from batches of `BATCH` windows, the longest first, padded on the right."""
        windows = [(at, ids) for at, text in enumerate(texts) for ids in self._windows(text) if ids]
        windows.sort(key=lambda one: -len(one[1]))
        sums = np.zeros((len(texts), self.dim))
        for start in range(0, len(windows), BATCH):
            part = windows[start: start + BATCH]
            tokens = np.zeros((len(part), len(part[0][1])), dtype=np.int64)
            mask = np.zeros_like(tokens)
            for row, (_, ids) in enumerate(part):
                tokens[row, : len(ids)], mask[row, : len(ids)] = ids, 1
            pooled = pool(run(tokens, mask), mask, self.reader.pooling)
            for (at, ids), vector in zip(part, pooled, strict=True):
                sums[at] += len(ids) * vector.astype(np.float64)
        return unit(sums)

    def chunks(self, text: str) -> list[str]:
        """Overlapping pieces of at most `max_tokens` tokens; `[text]` where it fits."""
        return chunks(text, lambda part: self._tokenizer.encode(self._given(part), add_special_tokens=False).offsets,
                      self._room, min(OVERLAP, self._room // 4))

    def _row(self, text: str) -> NDArray[np.float32]:
        windows, rows = self._windows(text), []
        for ids in windows:
            tokens = np.array([ids], dtype=np.int64)
            mask = np.ones_like(tokens)
            rows.append(pool(self._run(tokens, mask), mask, self.reader.pooling)[0] if ids
                        else np.zeros(self.dim, dtype=np.float32))
        if len(rows) == 1:
            return rows[0]
        weights = np.array([[len(ids)] for ids in windows], dtype=np.float64)
        return unit((weights * np.array(rows)).sum(axis=0) / weights.sum())

    def _windows(self, text: str) -> list[list[int]]:
        """Token ids of the pieces. A part of a word that had to be cut may have more tokens alone than in the whole;
        such a piece is cut by tokens.
        """
        ids, size = self._ids(text), self.reader.max_tokens
        if len(ids) <= size:
            return [ids]
        pieces = [self._ids(piece) for piece in self.chunks(text)]
        return [ids[at : at + size] for ids in pieces for at in range(0, len(ids), size)]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(self._given(text)).ids
        return ids

    def _given(self, text: str) -> str:
        """What the tokeniser gets: of the same length as `text`, and without lone surrogates, which it refuses."""
        if self.reader.lowercase:
            low = text.lower()
            text = low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        return text.encode("utf-8", "replace").decode("utf-8")

    def save(self, folder: Path) -> None:
        """Copy model and tokeniser, and write `encoder.json`. Raises InputError where they are no longer there."""
        original = open_encoder(self._folder, self.kind)
        with saving(folder, self, {**asdict(self.reader), **self.facts}) as part:
            for name in original.files:
                shutil.copyfile(self._folder / name, part / name)

    @classmethod
    def load(cls, folder: Path, *, workers: int | None = None) -> OnnxEncoder:
        """Read back what `save` wrote.

        `workers` texts, by default as many as there are cores, are run at a time, which changes no vector. Raises
        InputError where the folder is truncated, changed, of another version, or holds what onnxruntime cannot run.
        """
        manifest = open_encoder(folder, cls.kind)
        config = manifest.facts["config"]
        for name in (MODEL, TOKENIZER):
            if name not in manifest.files:
                raise InputError(f"{folder}: the manifest lists no {name}: save it again")
        try:
            reader = Reader(config["pooling"], config["max_tokens"], bool(config.get("lowercase", False)))
        except (KeyError, TypeError, UsageError):
            raise InputError(f"{folder}: the manifest must give a known pooling and max_tokens: save it again"
                             ) from None
        facts = {k: v for k, v in config.items() if k not in asdict(reader)}
        run, tokenizer = session(folder / MODEL), read_tokenizer(folder / TOKENIZER)
        return cls(folder, manifest.fact("name", str), manifest.fact("dim", int), reader, run, tokenizer,
                   cores() if workers is None else workers, facts)


def pool(hidden: NDArray[np.float32], mask: NDArray[Any], how: str) -> NDArray[np.float32]:
    """One vector a text (n, dim), of norm 1, from the last hidden state (n, tokens, dim).

    `mask` (n, tokens) is 1 for tokens of the text, special ones included, of which there is at least one, and 0 for
    padding, on either side. `how` is "mean" (over the text's tokens), "cls" (its first token) or "last".
    """
    rows = np.arange(len(hidden))
    if how == "mean":
        weights = mask.astype(np.float64)
        pooled = np.einsum("ntd,nt->nd", hidden.astype(np.float64), weights) / weights.sum(axis=1, keepdims=True)
    elif how == "cls":
        pooled = hidden[rows, mask.argmax(axis=1)].astype(np.float64)
    else:
        pooled = hidden[rows, mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)].astype(np.float64)
    return unit(pooled)


def session(path: Path, device: Device = "cpu") -> Run:
    """The model in a file, ready to run. InputError where onnxruntime cannot read it; UsageError without the device."""
    try:
        found = open_session(path, device)
    except (ImportError, UsageError):
        raise
    except Exception as error:
        raise InputError(f"{path}: onnxruntime {version('onnxruntime')} cannot run it ({type(error).__name__}): "
                         "export it again, or install a newer onnxruntime") from None

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        hidden: NDArray[np.float32] = found.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return hidden

    return run


def read_tokenizer(path: Path) -> Any:
    """The `tokenizers.Tokenizer` in a file, without truncation and padding. Raises InputError."""
    try:
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(path))
    except Exception:
        raise InputError(f"{path} is no tokenizer.json that the installed tokenizers can read: export it again"
                         ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer

