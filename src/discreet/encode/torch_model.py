"""The side of the export that needs torch: loading a model, running it, writing its graph. Imported by nobody else."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, MissingExtraError
from discreet.encode.encoders.onnx import TOKENIZER, read_tokenizer
from discreet.encode.quiet import quiet

OPSET = 17
PROTOBUF_LIMIT = 1_900_000_000
"""Bytes of weights beyond which they lie in a file beside the graph: a protobuf ends at 2 GiB."""


class TorchModel:
    """A transformer in float32 as a function from token ids and mask to the last hidden state.

    Raises
    ------
    MissingExtraError
        Where torch, transformers or onnx is not installed.
    InputError
        Where transformers cannot load what lies in `folder`.
    """

    def __init__(self, folder: Path) -> None:
        self._torch, self._transformers = _need("torch"), _need("transformers")
        self._onnx = _need("onnx")
        self._folder = folder
        self._module = self._load()
        self.dim = int(self(np.full((1, 4), 2), np.ones((1, 4), dtype=np.int64)).shape[-1])

    @property
    def versions(self) -> dict[str, str]:
        """Of what makes the graph."""
        return {"torch": str(self._torch.__version__), "transformers": str(self._transformers.__version__)}

    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """(n, tokens) ids and mask to (n, tokens, dim)."""
        with self._torch.no_grad(), _one_thread(self._torch):
            hidden: NDArray[np.float32] = self._module(
                self._torch.from_numpy(ids), self._torch.from_numpy(mask)
            ).numpy()
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

        Uses the exporter that traces, which needs torch and onnx alone. Raises InputError where it cannot.
        """
        torch = self._torch
        ids, mask = torch.full((2, 6), 2), torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
        free = {0: "batch", 1: "tokens"}
        names = ["input_ids", "attention_mask", "hidden"]
        try:
            with (TemporaryDirectory(dir=path.parent) as part, warnings.catch_warnings(), torch.no_grad(),
                  _one_thread(torch)):
                warnings.simplefilter("ignore")
                traced = Path(part) / path.name
                torch.onnx.export(
                    self._module, (ids, mask), str(traced), dynamo=False, opset_version=OPSET,
                    input_names=names[:2], output_names=names[2:], dynamic_axes=dict.fromkeys(names, free),
                )
                self._settle(traced, path)
        except Exception as error:
            raise InputError(f"{self._folder}: torch {torch.__version__} cannot export it to ONNX "
                             f"({type(error).__name__}): choose another model, or another version of torch") from error

    def _settle(self, traced: Path, path: Path) -> None:
        """One file for the graph, and where the weights are too many for it, one beside it."""
        weights = sum(p.numel() * p.element_size() for p in self._module.parameters())
        if weights < PROTOBUF_LIMIT:
            traced.rename(path)
            return
        beside = path.with_name(f"{path.name}.data")
        self._onnx.save_model(self._onnx.load(str(traced)), str(path), save_as_external_data=True,
                              all_tensors_to_one_file=True, location=beside.name)
        beside.chmod(path.stat().st_mode & 0o777)

    def _load(self) -> Any:
        torch, transformers = self._torch, self._transformers
        try:
            with quiet(transformers):
                model = transformers.AutoModel.from_pretrained(
                    str(self._folder), local_files_only=True, trust_remote_code=False, attn_implementation="eager"
                )
        except Exception as error:
            raise InputError(f"{self._folder}: transformers {transformers.__version__} cannot load it "
                             f"({type(error).__name__}): expected a complete model whose code is part of transformers"
                             ) from None

        class LastHidden(torch.nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.model = model.float()

            def forward(self, input_ids: Any, attention_mask: Any) -> Any:
                return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

        return LastHidden().eval()


def _need(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError("exporting a transformer", "fit", module) from None


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """The few short runs of an export are slower on several threads, by far where the cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
