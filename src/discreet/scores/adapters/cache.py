"""Scores that were made before, so that a run that was stopped goes on where it was.

A folder of the cache belongs to one fingerprint: weights, tokeniser, settings. What changes any of them has another
folder, so an old score cannot be read for a new model. A file holds a chunk of scores under keyed hashes of their
texts, never a text.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash, why, write_atomic
from discreet.core.types import FloatArray

KEY = "key"
SUFFIX = ".npz"


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
            self._rows.update(_read(file))

    def __len__(self) -> int:
        return len(self._rows)

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


def _read(file: Path) -> dict[str, FloatArray]:
    """The rows of one chunk; nothing of a file that is not whole, which is then scored again."""
    try:
        with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as held:
            digests: NDArray[np.uint8] = held["digests"]
            outputs: FloatArray = held["outputs"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {}
    if digests.ndim != 2 or len(digests) != len(outputs) or outputs.dtype != np.float64:
        return {}
    return {row.tobytes().hex(): scores for row, scores in zip(digests, outputs, strict=True)}
