"""What the files of a transformer's folder say about reading it: pooling, length, case, and where the weights are.

Both forms are read: sentence-transformers (`modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`, old
and new spelling) and plain transformers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError
from discreet.encode.encoders.onnx import Reader

_KNOWN = ("Transformer", "Pooling", "Normalize")
_OLD = {
    "pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean", "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max", "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}  # fmt: skip
_NEW = {"cls": "cls", "mean": "mean", "lasttoken": "last"}
_AFTER_PADDING = frozenset(
    "roberta xlm-roberta xlm-roberta-xl camembert mpnet longformer roberta-prelayernorm data2vec-text esm".split()
)
"""Model types whose positions start after the number of the padding token, so that fewer are left."""


def read_settings(folder: Path, pooling: str | None = None, most: int = 512) -> Reader:
    """How the model in a folder is to be read.

    Parameters
    ----------
    folder : Path
        With `config.json`.
    pooling : {"mean", "cls", "last"}, optional
        Overrules the folder. Without it, and where the folder says nothing, "mean".
    most : int
        No more tokens than these, whatever the model takes.

    Raises
    ------
    InputError
        Where files are missing or unreadable, or ask for what cannot be exported (a pooling of another kind, a
        further layer).
    """
    config = _json(folder / "config.json")
    if config is None:
        raise InputError(f"{folder} holds no config.json; expected the folder of a transformer")
    said = _pooling(folder)
    sentence = _json(folder / "sentence_bert_config.json") or {}
    tokeniser = _json(folder / "tokenizer_config.json") or {}
    lengths = [most, sentence.get("max_seq_length"), tokeniser.get("model_max_length"), _positions(config)]
    return Reader(
        pooling or said or "mean",
        min(int(n) for n in lengths if isinstance(n, int | float) and n > 0),
        bool(sentence.get("do_lower_case", False)),
    )


def weights_of(folder: Path) -> list[Path]:
    """The files with the weights: safetensors, or where there is none, PyTorch's own. Raises InputError."""
    found = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not found:
        raise InputError(f"{folder} holds no model.safetensors and no pytorch_model.bin: fetch the whole model")
    return found


def _pooling(folder: Path) -> str | None:
    modules = _json(folder / "modules.json")
    if modules is None:
        return None
    if not isinstance(modules, list) or not all(isinstance(m, dict) for m in modules):
        raise InputError(f"{folder / 'modules.json'} is no list of modules: fetch the whole model again")
    said = None
    for module in modules:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in _KNOWN:
            raise InputError(f"{folder} has a layer {kind!r}; only {', '.join(_KNOWN)} can be exported")
        if kind == "Pooling":
            said = _mode(folder / str(module.get("path", "")) / "config.json")
    return said


def _mode(path: Path) -> str:
    config = _json(path)
    if not isinstance(config, dict):
        raise InputError(f"{path} is missing: fetch the whole model")
    named = config.get("pooling_mode")
    modes = [_NEW.get(str(named), str(named))] if named else [how for key, how in _OLD.items() if config.get(key)]
    if len(modes) != 1 or modes[0] not in _NEW.values():
        raise InputError(f"{path} asks for pooling {'+'.join(modes) or 'of no kind'}; expected mean, cls or last token")
    return modes[0]


def _positions(config: Any) -> int | None:
    """Tokens for which the model has positions."""
    if not isinstance(config, dict) or not isinstance(config.get("max_position_embeddings"), int):
        return None
    taken = int(config.get("pad_token_id") or 0) + 1 if config.get("model_type") in _AFTER_PADDING else 0
    return int(config["max_position_embeddings"]) - taken


def _json(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_bytes())
    except (ValueError, UnicodeDecodeError):
        raise InputError(f"{path} is truncated or no JSON: fetch the whole model again") from None
