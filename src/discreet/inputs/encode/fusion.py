"""Several encoders as one: blocks side by side, each scaled so that all have the same mean squared norm.

Without the scaling a block counts by its norm, not by what it tells: the kernel of a density sees squared distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.core.folders import atomic_folder, read_manifest, sha256, write_manifest
from discreet.core.onnx import Device
from discreet.inputs.encode.base import MANIFEST, Encoder, WholeText, load_encoder, refuse_one_string
from discreet.inputs.encode.encoders.onnx import OnnxEncoder

FUSION, FORM, VERSION = "fusion.json", "discreet-fusion", 1



class Fusion:
    """The weighted concatenation of encoders, in the order of their blocks.

    Raises UsageError for no encoder, two of one name, or weights that are not positive and finite, one each.
    """

    kind = "fusion"

    def __init__(self, encoders: Sequence[Encoder], weights: Sequence[float]) -> None:
        self.encoders = tuple(encoders)
        self.weights = tuple(float(w) for w in weights)
        names = [e.name for e in self.encoders]
        if not names or len(set(names)) < len(names):
            raise UsageError(f"encoders {', '.join(names) or '(none)'}: expected one or more, each of them once")
        if len(self.weights) != len(names) or not all(0 < w < float("inf") for w in self.weights):
            raise UsageError(f"weights {self.weights}: expected one positive number for each of {', '.join(names)}")
        self.name = "+".join(names)
        self.dim = sum(e.dim for e in self.encoders)

    @classmethod
    def fit_encode(cls, encoders: Sequence[Encoder], texts: Sequence[str], readings: Sequence[Any] | None = None,
                   device: Device = "cpu"
                   ) -> tuple[Fusion, NDArray[np.float32]]:
        """Weights from the rows of `texts`, so that every block gets a mean squared norm of 1, and these (n, dim) rows.

        A block that is zero on all of them keeps the weight 1: it says nothing about its scale.
        Encoders of the whole text take `readings` where the caller has already read the texts. With `device` "cuda"
        transformers run on a GPU here, and nowhere else. Raises UsageError where there is no text, or no such device.
        """
        if not texts:
            raise UsageError("no texts to scale the encoders on: expected those that the density is fitted on")
        blocks = cls(encoders, [1.0] * len(encoders))._blocks(texts, readings, device)
        squared = [float(np.mean(np.sum(b.astype(np.float64) ** 2, axis=1))) for b in blocks]
        fused = cls(encoders, [1 / np.sqrt(s) if s > 0 else 1.0 for s in squared])
        return fused, fused._join(blocks)

    def encode(self, texts: Sequence[str], readings: Sequence[Any] | None = None) -> NDArray[np.float32]:
        """An (n, dim) array, a row a text; `readings` as of `fit_encode`."""
        return self._join(self._blocks(texts, readings))

    def encode_chunks(self, text: str, reading: Any = None) -> NDArray[np.float32]:
        """An (m, dim) array, a row for each of `chunks(text)`.

        Encoders of pieces read their piece. Encoders of the whole text read it once, or take `reading` where the caller
        has already read it, and stand in every row: a cluster that is spread over the pieces is seen in each.
        """
        pieces = self.chunks(text)
        return self._join([
            np.repeat(e.rows([reading if reading is not None else e.read(text)]), len(pieces), axis=0)
            if isinstance(e, WholeText) else e.encode(pieces) for e in self.encoders])

    def chunks(self, text: str) -> list[str]:
        """Overlapping pieces that fit every encoder; `[text]` where it fits."""
        pieces = [text]
        for encoder in self.encoders:
            pieces = [part for piece in pieces for part in encoder.chunks(piece)]
        return pieces

    def _blocks(self, texts: Sequence[str], readings: Sequence[Any] | None = None,
                device: Device = "cpu") -> list[NDArray[np.float32]]:
        refuse_one_string(texts)
        return [e.rows(readings or [e.read(text) for text in texts])
                if isinstance(e, WholeText) else e.encode_to_fit(texts, device) if isinstance(e, OnnxEncoder)
                else e.encode(texts) for e in self.encoders]

    def _join(self, blocks: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        return np.hstack([b * np.float32(w) for b, w in zip(blocks, self.weights, strict=True)])

    def save(self, folder: Path) -> None:
        """Write `fusion.json` and a folder for every encoder, whole or not at all."""
        blocks = []
        with atomic_folder(folder, FUSION) as part:
            for place, (encoder, weight) in enumerate(zip(self.encoders, self.weights, strict=True)):
                home = f"{place}-{encoder.kind}"
                encoder.save(part / home)
                blocks.append({"folder": home, "name": encoder.name, "dim": encoder.dim, "weight": weight,
                               "sha256": sha256(part / home / MANIFEST)})
            write_manifest(part, FUSION, FORM, VERSION, {"blocks": blocks})

    @classmethod
    def load(cls, folder: Path) -> Fusion:
        """Read back what `save` wrote.

        Raises InputError where the folder or one of its encoders is missing, truncated, changed or of another version.
        """
        manifest = read_manifest(folder, FUSION, FORM, VERSION)
        pairs = [_block(folder, block) for block in manifest.fact("blocks", list)]
        try:
            return cls([e for e, _ in pairs], [w for _, w in pairs])
        except UsageError as error:
            raise InputError(f"{folder}: {error}") from None


def _block(folder: Path, block: Any) -> tuple[Encoder, float]:
    try:
        home, weight = folder / Path(block["folder"]).name, float(block["weight"])
        mark, dim = str(block["sha256"]), int(block["dim"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{folder / FUSION} must give folder, dim, weight and sha256 of each encoder: save it again"
                         ) from None
    found = home / MANIFEST
    if found.is_file() and sha256(found) != mark:
        raise InputError(f"{home} holds an encoder of another hash than the one recorded ({mark[:12]}…): "
                         "it was changed or belongs to another folder; copy the whole folder again")
    encoder = load_encoder(home)
    if encoder.dim != dim:
        raise InputError(f"{home} holds an encoder of {encoder.dim} dimensions; expected {dim}: save it again")
    return encoder, weight
