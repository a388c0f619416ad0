"""A transformer from a folder or the Hugging Face hub to an `OnnxEncoder`, checked against torch.

Exporting needs torch, transformers and onnx (the extra `fit`); what comes out needs none of them. A folder never leads
to a network call; a hub name does, unless HF_HUB_OFFLINE is set.

There is no quantised export: onnxruntime's dynamic quantisation takes one scale from a whole batch, and rounding turns
differences of 1e-7 between processors into steps of 1e-3, where discreet promises 1e-5.
"""

from __future__ import annotations

import hashlib
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, need
from discreet.core.files import dump_json
from discreet.core.folders import sha256
from discreet.inputs.encode.base import saving
from discreet.inputs.encode.encoders.onnx import MODEL, TOKENIZER, OnnxEncoder, read_tokenizer, session
from discreet.inputs.encode.models import SMALL, locate, quiet, read_settings, weights_of

SCHEME = 1
"""Changes when the same model would be exported in another way."""
OPSET = 17
PROTOBUF_LIMIT = 1_900_000_000
"""Bytes of weights beyond which they lie in a file of their own: a protobuf ends at 2 GiB."""
TOLERANCE = 1e-5
"""Largest difference between torch and ONNX in any entry of a vector of norm 1."""
_TEXTS = (
    "Yes.",
    "Adults should have their blood pressure checked at least every two years.",
    "The client, a retired welder with two daughters, asked whether the pension counts as income; it does, and the "
    "form wants the yearly amount before tax. ",
)


def export(source: str | Path, cache: Path, *, name: str | None = None, pooling: str | None = None) -> OnnxEncoder:
    """Export a model, or load what was exported before from the same files in the same way.

    `source` is a local folder (transformers or sentence-transformers), or the name of a model on the hub; in `cache`
    each export lies in a folder called after the hash of what it was made from; `name` is what people call it, by
    default the last part of `source`. `pooling` ("mean", "cls", "last") is by default what a sentence-transformers
    folder says, else "mean". Equal to torch within 1e-5 on texts from one word to as many tokens as it reads at once.

    Raises InputError where the source is no such model, cannot be fetched, or does not come out equal;
    MissingExtraError where it has not been exported before and the extra `fit` is not installed.
    """
    folder = locate(source)
    reader = read_settings(folder, pooling)
    name = name or (Path(source).resolve() if Path(source).is_dir() else Path(source)).name
    small = [path for pattern in (*SMALL, "*/config.json") for path in folder.glob(pattern)]
    parts = {path.relative_to(folder).as_posix(): sha256(path) for path in sorted({*weights_of(folder), *small})}
    made = {"scheme": SCHEME, "opset": OPSET, "name": name, "reader": repr(reader), "parts": parts}
    home = cache / hashlib.sha256(dump_json(made).encode()).hexdigest()[:32]
    if home.exists():
        try:
            return OnnxEncoder.load(home)
        except InputError:
            shutil.rmtree(home)  # damaged, or of an older format: an entry of a cache is made again
    model = TorchModel(folder)
    tokenizer = model.tokenizer()
    config = {**asdict(reader), **model.versions, "opset": OPSET,
              "weights": {path.name: parts[path.name] for path in weights_of(folder)}}
    by_torch = OnnxEncoder(home, name, model.dim, reader, model, tokenizer)
    with saving(home, by_torch, config) as part:
        model.write_graph(part / MODEL)
        tokenizer.save(str(part / TOKENIZER))
        by_onnx = OnnxEncoder(part, name, model.dim, reader, session(part / MODEL), read_tokenizer(part / TOKENIZER))
        config["parity"] = check_parity(by_torch, by_onnx, TOLERANCE)
    return OnnxEncoder.load(home)


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


class TorchModel:
    """A transformer in float32 as a function from token ids and mask to the last hidden state.

    Raises MissingExtraError where torch, transformers or onnx is not installed, InputError where transformers cannot
    load what lies in `folder`.
    """

    def __init__(self, folder: Path) -> None:
        self._torch, self._transformers, self._onnx = (
            need(name, "exporting a transformer", "fit") for name in ("torch", "transformers", "onnx"))
        torch, transformers, self._folder = self._torch, self._transformers, folder
        try:
            with quiet(transformers):
                model = transformers.AutoModel.from_pretrained(
                    str(folder), local_files_only=True, trust_remote_code=False, attn_implementation="eager")
        except Exception as error:
            raise InputError(f"{folder}: transformers {transformers.__version__} cannot load it "
                             f"({type(error).__name__}): expected a complete model whose code is part of transformers"
                             ) from None

        class LastHidden(torch.nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.model = model.float()

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

        self._module = LastHidden().eval()
        self.dim = int(self(np.full((1, 4), 2), np.ones((1, 4), dtype=np.int64)).shape[-1])

    @property
    def versions(self) -> dict[str, str]:
        """Of what makes the graph."""
        return {"torch": str(self._torch.__version__), "transformers": str(self._transformers.__version__)}

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """(n, tokens) ids and mask to (n, tokens, dim)."""
        with self._torch.no_grad(), _one_thread(self._torch):
            hidden: NDArray[np.float32] = self._module(*map(self._torch.from_numpy, (ids, mask))).numpy()
        return hidden

    def tokenizer(self) -> Any:
        """The model's tokeniser as `tokenizers.Tokenizer`, without truncation and padding."""
        if (self._folder / TOKENIZER).is_file():
            return read_tokenizer(self._folder / TOKENIZER)
        with quiet(self._transformers), TemporaryDirectory() as part:
            try:
                slow = self._transformers.AutoTokenizer.from_pretrained(str(self._folder), local_files_only=True)
                slow.backend_tokenizer.save(str(Path(part) / TOKENIZER))
            except Exception as error:
                raise InputError(f"{self._folder} holds no {TOKENIZER}, and transformers cannot make one "
                                 f"({type(error).__name__}): fetch the whole model") from None
            return read_tokenizer(Path(part) / TOKENIZER)

    def write_graph(self, path: Path) -> None:
        """Write the ONNX graph with free batch size and length; inputs `input_ids` and `attention_mask`.

        Uses the exporter that traces, which needs torch and onnx alone. Weights that are too many for one file lie in
        one more. Raises InputError where it cannot.
        """
        torch = self._torch
        ids, mask = torch.full((2, 6), 2), torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
        names = ["input_ids", "attention_mask", "hidden"]
        try:
            with (TemporaryDirectory(dir=path.parent) as part, warnings.catch_warnings(), torch.no_grad(),
                  _one_thread(torch)):
                warnings.simplefilter("ignore")
                traced = Path(part) / path.name
                torch.onnx.export(
                    self._module, (ids, mask), str(traced), dynamo=False, opset_version=OPSET, input_names=names[:2],
                    output_names=names[2:], dynamic_axes={name: {0: "batch", 1: "tokens"} for name in names})
                if sum(p.numel() * p.element_size() for p in self._module.parameters()) < PROTOBUF_LIMIT:
                    traced.rename(path)
                    return
                data = path.with_name(f"{path.name}.data")
                self._onnx.save_model(self._onnx.load(str(traced)), str(path), save_as_external_data=True,
                                      all_tensors_to_one_file=True, location=data.name)
                data.chmod(path.stat().st_mode & 0o777)
        except Exception as error:
            raise InputError(f"{self._folder}: torch {torch.__version__} cannot export it to ONNX "
                             f"({type(error).__name__}): choose another model, or another version of torch") from error


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """The few short runs of an export are slower on several threads, by far where the cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
