"""A transformer from a folder or the Hugging Face hub to an `OnnxEncoder`, checked against torch.

Exporting needs torch, transformers and onnx (the extra `fit`); what comes out needs none of them. A folder never leads
to a network call; a hub name does, unless HF_HUB_OFFLINE is set.

There is no quantised export: onnxruntime's dynamic quantisation takes one scale from a whole batch, and rounding turns
differences of 1e-7 between processors into steps of 1e-3, where discreet promises 1e-5.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import InputError, MissingExtraError
from discreet.core.files import dump_json
from discreet.core.folders import sha256
from discreet.encode.base import saving
from discreet.encode.encoders.onnx import MODEL, TOKENIZER, OnnxEncoder, Reader, read_tokenizer, session
from discreet.encode.hub import local_only
from discreet.encode.settings import read_settings, weights_of
from discreet.encode.torch_model import OPSET, TorchModel

SCHEME = 1
"""Changes when the same model would be exported in another way."""

TOLERANCE = 1e-5
"""Largest difference between torch and ONNX in any entry of a vector of norm 1."""

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SMALL = ["*.json", "*.txt", "*.model"]
_NOT = ["onnx/*", "openvino/*"]
_TEXTS = (
    "Yes.",
    "Adults should have their blood pressure checked at least every two years.",
    "The client, a retired welder with two daughters, asked whether the pension counts as income; it does, and the "
    "form wants the yearly amount before tax. ",
)


def export(source: str | Path, cache: Path, *, name: str | None = None, pooling: str | None = None,
           max_tokens: int = 512) -> OnnxEncoder:
    """Export a model, or load what was exported before from the same files in the same way.

    Parameters
    ----------
    source : str or Path
        A local folder (transformers or sentence-transformers), or the name of a model on the hub.
    cache : Path
        Folder of exports; each lies in a folder called after the hash of what it was made from.
    name : str, optional
        What people call it; by default the last part of `source`.
    pooling : {"mean", "cls", "last"}, optional
        By default what a sentence-transformers folder says, else "mean".
    max_tokens : int
        Tokens a piece may have at most, special ones included; fewer where the model takes fewer.

    Returns
    -------
    OnnxEncoder
        Equal to torch within 1e-5 on texts from one word to `max_tokens` tokens.

    Raises
    ------
    InputError
        Where the source is no such model, cannot be fetched, or does not come out equal.
    MissingExtraError
        Where it has not been exported before and the extra `fit` is not installed.
    """
    folder = locate(source)
    reader = read_settings(folder, pooling, max_tokens)
    name = name or (Path(source).resolve() if Path(source).is_dir() else Path(source)).name
    home = cache / _key(folder, reader, name)
    if home.exists():
        try:
            return OnnxEncoder.load(home)
        except InputError:
            shutil.rmtree(home)  # damaged, or of an older format: an entry of a cache is made again
    _make(folder, home, reader, name)
    return OnnxEncoder.load(home)


def locate(source: str | Path) -> Path:
    """The folder of a model: itself, or where the hub's client keeps it.

    Raises InputError where there is none, and MissingExtraError where the client is not installed.
    """
    if Path(source).is_dir():
        return Path(source)
    if not isinstance(source, str) or not HUB_NAME.fullmatch(source):
        raise InputError(f"{source} is neither a folder nor the name of a model on the hub (owner/model)")
    try:
        hub: Any = import_module("huggingface_hub")
    except ImportError:
        raise MissingExtraError("fetching a model", "fit", "huggingface_hub") from None
    options = {"ignore_patterns": _NOT, "local_files_only": local_only(source)}
    try:
        folder = Path(hub.snapshot_download(source, allow_patterns=[*_SMALL, "*.safetensors"], **options))
        if not list(folder.glob("*.safetensors")):
            more = [*_SMALL, "pytorch_model*.bin"]
            folder = Path(hub.snapshot_download(source, allow_patterns=more, **options))
    except Exception as error:
        raise InputError(f"cannot fetch {source!r} from the Hugging Face hub ({type(error).__name__}): "
                         "give a local folder, or fetch it once while online") from None
    return folder


def check_parity(one: OnnxEncoder, other: OnnxEncoder, tolerance: float) -> float:
    """The largest difference between two encoders on texts from one word to more than fits at once.

    Raises InputError where it exceeds `tolerance`.
    """
    texts = [*_TEXTS, _TEXTS[-1] * (one.reader.max_tokens // 20)]
    apart = float(np.abs(one.encode(texts).astype(np.float64) - other.encode(texts)).max())
    if not apart <= tolerance:
        raise InputError(f"the ONNX export of {one.name} differs from torch by {apart:.1e}; expected at most "
                         f"{tolerance:.0e}: try another version of torch or onnxruntime")
    return apart


def _key(folder: Path, reader: Reader, name: str) -> str:
    """32 hexadecimal digits over everything that the export is made from."""
    small = [path for pattern in (*_SMALL, "*/config.json") for path in folder.glob(pattern)]
    parts = {path.relative_to(folder).as_posix(): sha256(path) for path in sorted({*weights_of(folder), *small})}
    made = {"scheme": SCHEME, "opset": OPSET, "name": name, "reader": repr(reader), "parts": parts}
    return hashlib.sha256(dump_json(made).encode()).hexdigest()[:32]


def _make(folder: Path, home: Path, reader: Reader, name: str) -> None:
    model = TorchModel(folder)
    tokenizer = model.tokenizer()
    config = {**asdict(reader), **model.versions, "opset": OPSET,
              "weights": {path.name: sha256(path) for path in weights_of(folder)}}
    by_torch = OnnxEncoder(home, name, model.dim, reader, model, tokenizer)
    with saving(home, by_torch, config) as part:
        model.write_graph(part / MODEL)
        tokenizer.save(str(part / TOKENIZER))
        run = session(part / MODEL)
        by_onnx = OnnxEncoder(part, name, model.dim, reader, run, read_tokenizer(part / TOKENIZER))
        config["parity"] = check_parity(by_torch, by_onnx, TOLERANCE)
