"""What an encoder is, how it is saved, and the door for plug-ins.

An encoder is one file in `encoders/`: a class with the members of `Encoder` and a classmethod `load(folder)`, under
`@encoders.register("kind")`. What its `__init__` takes are the options that `--encoders kind:option=value` may give;
a parameter `domain` gets the domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.core.folders import Manifest, atomic_folder, read_manifest, write_manifest
from discreet.core.registry import Registry

MANIFEST, FORM, VERSION = "encoder.json", "discreet-encoder", 1


class Encoder(Protocol):
    """Turns texts into vectors; a row depends on its own text only, bit for bit, whatever the batch or the order."""

    @property
    def kind(self) -> str:
        """Its name in the registry."""

    @property
    def name(self) -> str:
        """What people call it, e.g. "all-MiniLM-L6-v2"."""

    @property
    def dim(self) -> int:
        """Columns of `encode`."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """An (n, dim) array, finite. A text that does not fit is read in pieces, never cut short."""

    def chunks(self, text: str) -> list[str]:
        """Overlapping pieces that fit the encoder; `[text]` where it fits."""

    def save(self, folder: Path) -> None:
        """Write everything that `load` needs, whole or not at all."""

    @classmethod
    def load(cls, folder: Path) -> Encoder:
        """Read back what `save` wrote. Raises InputError."""


@runtime_checkable
class WholeText(Protocol):
    """An encoder whose row is about the whole text, never about one piece."""

    def read(self, text: str) -> Any:
        """What the detectors see in a text."""

    def rows(self, readings: Sequence[Any]) -> NDArray[np.float32]:
        """An (n, dim) array from what the detectors saw."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """An (n, dim) array."""
        refuse_one_string(texts)
        return self.rows([self.read(text) for text in texts])

    def chunks(self, text: str) -> list[str]:
        """The text itself: a cluster that is spread over it must be seen whole."""
        return [text]


def refuse_one_string(texts: Sequence[str]) -> None:
    """UsageError where a string was given for a list of texts: each of its letters would be one."""
    if isinstance(texts, str):
        raise UsageError("expected a list of texts, got one string")


encoders: Registry[type[Encoder]] = Registry("encoders", builtin="discreet.inputs.encode.encoders", classes=True)
"""Kind to class."""


def load_encoder(folder: Path) -> Encoder:
    """The encoder that was saved in a folder.

    Raises InputError where the folder holds none, or one that is truncated, changed, of another version, or of an
    unknown kind.
    """
    kind = read_manifest(folder, MANIFEST, FORM, VERSION).fact("kind", str)
    if kind not in list(encoders):
        raise InputError(f"{folder} holds an encoder of kind {kind!r}; installed are {', '.join(encoders)}: install "
                         "its plug-in")
    return encoders[kind].load(folder)


def open_encoder(folder: Path, kind: str) -> Manifest:
    """The manifest of an encoder of `kind`, all its files verified. Raises InputError."""
    manifest = read_manifest(folder, MANIFEST, FORM, VERSION)
    found = manifest.fact("kind", str)
    if found != kind:
        raise InputError(f"{folder} holds an encoder of kind {found!r}; expected {kind!r}")
    manifest.fact("config", dict)
    return manifest.verify()


@contextmanager
def saving(folder: Path, encoder: Encoder, config: Mapping[str, Any]) -> Iterator[Path]:
    """Save an encoder atomically: the block writes its files into the folder that is yielded.

    `config` is what `load` needs besides the files, as it is when the block ends: plain values, never a path of this
    machine.
    """
    with atomic_folder(folder, MANIFEST) as part:
        yield part
        facts = {"kind": encoder.kind, "name": encoder.name, "dim": encoder.dim, "config": dict(config)}
        write_manifest(part, MANIFEST, FORM, VERSION, facts)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Vectors along the last axis scaled to norm 1; a zero vector stays zero."""
    norms = np.sqrt((rows * rows).sum(axis=-1, keepdims=True))
    return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)
