"""The learned reader's vector of a text, the mean of its token vectors: no second pass where it has read the text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.guard.density.encoders.evidence import Detected
from discreet.guard.text.reader import MODEL, packaged
from discreet.guard.text.render import render
from discreet.inputs.encode.base import WholeText, encoders, open_encoder, saving


@encoders.register("reader")
class ReaderEncoder(WholeText):
    """Texts to the vectors of the packaged reader, of norm 1; the zero vector where a text has no token.

    It reads a text of any length whole, in windows of its own. Raises DetectorError where the reader's files are
    missing or changed.
    """

    kind = "reader"

    def __init__(self) -> None:
        self._weights: str = packaged().card["sha256"][MODEL]
        self.name = f"reader-{self._weights[:12]}"
        self.dim = packaged().read("").vector.size

    def read(self, text: str) -> Detected:
        """A reading that holds the vector alone."""
        return Detected((), vector=packaged().read(render(text).text).vector)

    def rows(self, readings: Sequence[Detected]) -> NDArray[np.float32]:
        """The (n, dim) array of what was read. Raises UsageError for a reading without a vector."""
        vectors = [reading.vector for reading in readings]
        if any(vector is None for vector in vectors):
            raise UsageError("the encoder 'reader' was given a reading without the learned reader's vector; expected "
                             "one of the guard, or of its own read()")
        return np.array(vectors, dtype=np.float32).reshape(-1, self.dim)

    def save(self, folder: Path) -> None:
        """Write `encoder.json` with the hash of the weights, which ship with discreet."""
        with saving(folder, self, {"weights": self._weights}):
            pass

    @classmethod
    def load(cls, folder: Path) -> ReaderEncoder:
        """Read back what `save` wrote. Raises InputError, also where this discreet ships other weights."""
        config = open_encoder(folder, cls.kind).fact("config", dict)
        encoder = cls()
        if config.get("weights") != encoder._weights:
            raise InputError(f"{folder} was made with other weights of the reader than this discreet ships: fit the "
                             "guard again")
        return encoder
