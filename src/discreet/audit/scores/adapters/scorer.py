"""What every kind of model promises, and texts through it: scored once each, kept, and turned into logits.

Scores that were made before let a run that was stopped go on where it was. A folder of the cache belongs to one
fingerprint: weights, tokeniser, settings. What changes any of them has another folder, so an old score cannot be read
for a new model. A file holds a chunk of scores under keyed hashes of their texts, never a text.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args

import numpy as np

from discreet.audit.scores.signals import CLIP, ROUNDING, off_one
from discreet.audit.train.transformer.reading import NONE, prompt_of
from discreet.core.errors import InputError, UsageError
from discreet.core.files import KeyedHash, progress, why, write_atomic
from discreet.core.types import FloatArray, IntArray
from discreet.inputs.python_object import Kind

Dtype = Literal["float32", "bfloat16"]
Classes = tuple[str, ...]

DTYPES: tuple[Dtype, ...] = get_args(Dtype)
GENERIC = re.compile(r"label_\d+")
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
SHOWN = 8
CHUNK_BATCHES, PROBES = 16, 16
KEY, SUFFIX = "key", ".npz"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is read.

    Attributes
    ----------
    batch : int >= 1
        Texts that are scored together; scores do not depend on it beyond rounding.
    device : str or None
        Of torch, such as "cpu" or "cuda:1"; None takes a GPU where there is one.
    max_tokens : int or None
        Longer texts keep their head and tail; None is what the model allows.
    dtype : "float32" or "bfloat16"
        Of a transformer's weights and activations.
    chat, prompt : bool, str
        Each text becomes a user's turn in the tokeniser's chat template, behind the prompt (`prompt_of`) as the
        system's turn; without `chat` prompt and an empty line come before it. "auto" reads as the recipe `transformer`
        does: where the tokeniser has a chat template, in that and behind the safety prompt.
    """

    batch: int = 16
    device: str | None = None
    max_tokens: int | None = None
    dtype: Dtype = "float32"
    chat: bool = False
    prompt: str = NONE.name

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise UsageError(f"batch is {self.batch}: expected a whole number of at least 1")
        if self.max_tokens is not None and self.max_tokens < 2:
            raise UsageError(f"max tokens is {self.max_tokens}: expected at least 2, a head and a tail")
        if self.dtype not in DTYPES:
            raise UsageError(f"dtype is {self.dtype!r}: expected one of {', '.join(DTYPES)}")
        prompt_of(self.prompt, chat=self.chat)


class Scorer(Protocol):
    """A classifier of texts; `kind` and `classes` are known after the first call of `outputs`."""

    @property
    def name(self) -> str:
        """For messages: never with credentials or text in it."""

    @property
    def kind(self) -> Kind:
        """What `outputs` returns; "either" where only the numbers can tell."""

    @property
    def classes(self) -> Classes | None:
        """Names of the K columns where the model has them."""

    def fingerprint(self, probes: Sequence[str]) -> str:
        """Hexadecimal digits that differ for models that score differently.

        `probes` are some of the texts about to be scored: a model whose weights cannot be read is known by what it
        says of them.
        """

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        """(n, K) scores of n >= 1 texts as the model gives them; (n,) log-odds of class 1 of two."""

    def facts(self, texts: Sequence[str]) -> Mapping[str, str]:
        """What a report says of the model besides its name, over all `texts` that it scored."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Scores of n texts: (n, K) logits, whether they were given as probabilities, and by which model."""

    logits: FloatArray
    given_as: Literal["logit", "prob"]
    fingerprint: str


def score_texts(scorer: Scorer, texts: Sequence[str], *, batch: int = 16, cache: Path | None = None,
                quiet: bool = True, label: str = "scores") -> Run:
    """Score each distinct text once.

    Texts go through the model in the order of a hash of theirs: were members scored first and non-members after
    them, whatever drifts in a service or depends on batch mates would tell the two apart. With `cache` each chunk is
    kept as soon as it is scored; a later run scores only what is missing. Raises InputError for scores that are
    neither logits nor probabilities.
    """
    order = sorted(set(texts), key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    fingerprint = scorer.fingerprint(order[:PROBES])
    kept = None if cache is None else ScoreCache(cache, fingerprint)
    step = CHUNK_BATCHES * batch
    chunks = [order[start : start + step] for start in range(0, len(order), step)]
    parts = [_chunk(scorer, chunk, kept) for chunk in progress(chunks, len(chunks), quiet=quiet, label=label)]
    if len({part.shape[1:] for part in parts}) > 1:
        raise InputError(f"{scorer.name}: the number of classes is not the same for all texts; expected one model")
    logits, given_as = as_logits(np.concatenate(parts), scorer.kind, scorer.name)
    row = {text: place for place, text in enumerate(order)}
    return Run(logits[[row[text] for text in texts]], given_as, fingerprint)


def _chunk(scorer: Scorer, texts: list[str], kept: ScoreCache | None) -> FloatArray:
    known = {} if kept is None else {text: row for text in texts if (row := kept.get(text)) is not None}
    missing = [text for text in texts if text not in known]
    if missing:
        fresh = np.asarray(scorer.outputs(missing), dtype=np.float64)
        if kept is not None and np.isfinite(fresh).all():
            kept.put(missing, fresh)
        known.update(zip(missing, fresh, strict=True))
    if len({row.shape for row in known.values()}) > 1:
        raise InputError(f"{scorer.name}: the number of classes is not that of scores kept before; empty the cache")
    return np.stack([known[text] for text in texts])


class ScoreCache:
    """The scores of one model in `folder`.

    The key of the hashes is that of the deployment where DISCREET_HASH_KEY is set; else it is drawn once and lies
    beside the scores, readable for their owner alone. Raises UsageError for a folder that cannot be written,
    InputError for a key that is none.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder / fingerprint[:32]
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._keyed = KeyedHash.kept_in(folder / KEY)
        except OSError as error:
            raise UsageError(f"cannot keep scores in {folder}: {why(error)}; name a folder that can be written"
                             ) from None
        self._rows: dict[str, FloatArray] = {}
        for file in sorted(self._folder.glob(f"*{SUFFIX}")):
            # A file that is not whole says nothing: its texts are scored again.
            with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile), \
                    np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as held:
                digests, outputs = held["digests"], held["outputs"]
                if digests.ndim == 2 and len(digests) == len(outputs) and outputs.dtype == np.float64:
                    self._rows |= {row.tobytes().hex(): scores for row, scores in zip(digests, outputs, strict=True)}

    def get(self, text: str) -> FloatArray | None:
        """The scores of one text, None where there are none."""
        return self._rows.get(self._keyed.of(text))

    def put(self, texts: Sequence[str], outputs: FloatArray) -> None:
        """Keep the rows of `outputs`, one a text, as one file: whole or not at all."""
        names = [self._keyed.of(text) for text in texts]
        held = io.BytesIO()
        digests = np.frombuffer(bytes.fromhex("".join(names)), dtype=np.uint8).reshape(len(names), -1)
        np.savez(held, digests=digests, outputs=outputs)
        chunk = hashlib.sha256("".join(names).encode()).hexdigest()[:32]
        write_atomic(self._folder / f"{chunk}{SUFFIX}", held.getvalue())
        self._rows.update(zip(names, outputs, strict=True))


def as_logits(outputs: FloatArray, kind: Kind, name: str) -> tuple[FloatArray, Literal["logit", "prob"]]:
    """(n, K) logits of what a model returned for n texts, and whether they were given as probabilities.

    (n,) or (n, 1) logits are the log-odds of class 1 of two; of the kind "either" they are its probabilities, as the
    boosters of LightGBM and XGBoost return them, if they are not all 0 or 1, as predictions are. Probabilities become
    their logs, clipped to [1e-7, 1 - 1e-7] as those of a table. Outputs (n, K) of the kind "either" are probabilities
    where all rows are. Raises InputError, beginning with `name`, for numbers that are neither.
    """
    if not np.isfinite(outputs).all():
        bad = int((~np.isfinite(outputs)).reshape(len(outputs), -1).any(axis=1).sum())
        raise InputError(f"{name}: the scores of {bad:,} of {len(outputs):,} inputs are NaN or infinite; expected "
                         f"finite logits or probabilities")
    flat = outputs.reshape(len(outputs)) if outputs.size == len(outputs) else None
    if flat is not None and kind == "logit":
        return np.stack([np.zeros_like(flat), flat], axis=1), "logit"
    if flat is not None and kind == "either" and ((flat >= 0) & (flat <= 1)).all() and ((flat > 0) & (flat < 1)).any():
        outputs = np.stack([1 - flat, flat], axis=1)
    if outputs.ndim != 2 or outputs.shape[1] < 2:
        raise InputError(f"{name}: the scores of {len(outputs):,} inputs have the shape {outputs.shape}; expected "
                         f"({len(outputs)}, K), a column for each of two or more classes, or probabilities of "
                         f"class 1 of two")
    within = (outputs >= -ROUNDING) & (outputs <= 1 + ROUNDING)
    whole = within.all(axis=1) & (np.abs(outputs.sum(axis=1) - 1) <= off_one(outputs.shape[1]) + ROUNDING)
    if kind == "prob" or (kind == "either" and within.all()):
        if not whole.all():
            raise InputError(f"{name}: the scores of {int((~whole).sum()):,} of {len(outputs):,} texts are no "
                             f"probabilities, from 0 to 1 and with the sum 1; expected those, or logits")
        return np.log(np.clip(outputs, CLIP, 1 - CLIP)), "prob"
    return outputs, "logit"


def columns_like(classes: Classes | None, target: Classes | None, name: str, n_classes: int, expected: int
                 ) -> IntArray:
    """(K,) places of the target's classes among the columns of another model.

    By name where both have names of their own, else by place. Raises InputError where the two do not have the same
    classes: a reference that calls class 0 what the target calls class 1 would turn every ratio around.
    """
    if n_classes != expected:
        raise InputError(f"{name}: it has {n_classes} classes where the target has {expected}; expected a model of the "
                         f"same classes")
    if classes is None or target is None or _generic(classes) or _generic(target):
        return np.arange(expected)
    place = {one.casefold(): column for column, one in enumerate(classes)}
    wanted = [one.casefold() for one in target]
    if set(place) != set(wanted) or len(place) < expected:
        raise InputError(f"{name}: its classes are {_shown(classes)}, the target's {_shown(target)}; expected the same "
                         f"names, in any order")
    return np.array([place[one] for one in wanted], dtype=np.int64)


def class_codes(labels: Sequence[str], classes: Classes | None, n_classes: int, source: str, remedy: str = ""
                ) -> IntArray:
    """(n,) columns of the classes that a file names: all by the model's names (in any case), else all by number.

    Raises InputError, beginning with `source`, where neither fits all labels; `remedy` says how to name the classes of
    a model that does not. A label is never quoted.
    """
    names = {} if classes is None else {one.casefold(): place for place, one in enumerate(classes)}
    # A CSV file of a column that once had a null in pandas says 1.0 for 1.
    plain = {label: label.removesuffix(".0") for label in set(labels)}
    by_name = {label: names.get(label.casefold(), names.get(text.casefold(), -1)) for label, text in plain.items()}
    by_number = {label: int(text) if NUMBER.fullmatch(text) and int(text) < n_classes else -1
                 for label, text in plain.items()}
    ways = [by_name, by_number] if len(names) == n_classes else [by_number]
    codes = min((np.array([way[label] for label in labels], dtype=np.int64) for way in ways),
                key=lambda found: int((found < 0).sum()))
    if (codes < 0).any():
        named = (f", or one of {_shown(classes)}" if classes is not None and not _generic(classes) else
                 f", the place of its output: the model does not name its classes{remedy}")
        kinds = {NUMBER.fullmatch(text) is None for text in plain.values()}
        named += "; some labels are words and some are numbers: write them all in one way" if len(kinds) > 1 else ""
        raise InputError(f"{source}: 'label' is outside the classes of the model for {int((codes < 0).sum()):,} of "
                         f"{len(labels):,} records; expected a whole number from 0 to {n_classes - 1}{named}")
    return codes


def named_classes(classes: Classes | None, n_classes: int) -> Classes | None:
    """The names of the classes as a table has them: K different ones that are no mere numbers, else None."""
    if classes is None or len(set(classes)) != n_classes or len(classes) != n_classes or _generic(classes):
        return None
    return classes


def _generic(classes: Classes) -> bool:
    return all(GENERIC.fullmatch(one.casefold()) or one == str(place) for place, one in enumerate(classes))


def _shown(classes: Classes) -> str:
    return ", ".join(one[:40] for one in classes[:SHOWN]) + (", …" if len(classes) > SHOWN else "")
