"""Transformers in folders and on the Hugging Face hub: where they are, and what their files say about reading them.

The hub's clients repeat a request that fails for half a minute and more, for each file. One request settles it.

Both forms of folders are read: sentence-transformers (`modules.json`, `1_Pooling/config.json`,
`sentence_bert_config.json`, old and new spelling) and plain transformers.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError, need
from discreet.inputs.encode.encoders.onnx import Reader

TIMEOUT = 5.0
"""Seconds to wait for the hub."""
CONFIGS = ("config.json", "adapter_config.json")
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
MOST = 512
SMALL = ("*.json", "*.txt", "*.model")
_KNOWN = ("Transformer", "Pooling", "Normalize")
_POOLINGS = {"cls": "cls", "mean": "mean", "lasttoken": "last", "cls_token": "cls", "mean_tokens": "mean"}
"""As `pooling_mode` says them, and as the keys `pooling_mode_…` do."""
_AFTER_PADDING = frozenset(
    "roberta xlm-roberta xlm-roberta-xl camembert mpnet longformer roberta-prelayernorm data2vec-text esm".split()
)
"""Model types whose positions start after the number of the padding token, so that fewer are left."""


def locate(source: str | Path) -> Path:
    """The folder of a model: itself, or where the hub's client keeps it.

    Raises InputError where there is none, and MissingExtraError where the client is not installed.
    """
    if Path(source).is_dir():
        return Path(source)
    if not isinstance(source, str) or not HUB_NAME.fullmatch(source):
        raise InputError(f"{source} is neither a folder nor the name of a model on the hub (owner/model)")
    hub, local = need("huggingface_hub", "fetching a model", "fit"), local_only(source)
    try:
        for weights in ("*.safetensors", "pytorch_model*.bin"):
            folder = Path(hub.snapshot_download(source, allow_patterns=[*SMALL, weights], local_files_only=local,
                                                ignore_patterns=["onnx/*", "openvino/*"]))
            if list(folder.glob(weights)):
                break
    except Exception as error:
        raise InputError(f"cannot fetch {source!r} from the Hugging Face hub ({type(error).__name__}): "
                         "give a local folder, or fetch it once while online") from None
    return folder


def local_only(source: str) -> bool:
    """Whether a model must be read from this machine: what the argument `local_files_only` of the clients is to be.

    True for a folder, and for a name that was fetched before where the hub cannot be reached; False where it can be.
    Raises InputError where the hub cannot be reached, or HF_HUB_OFFLINE forbids it, and the model is not on this
    machine; MissingExtraError without huggingface_hub.
    """
    if Path(source).exists():
        return True
    hub, constants = (need(name, "fetching a model", "fit") for name in ("huggingface_hub",
                                                                         "huggingface_hub.constants"))
    if reachable(constants.ENDPOINT):
        return False
    try:
        if any(isinstance(hub.try_to_load_from_cache(source, name), str) for name in CONFIGS):
            return True
    except ValueError:
        pass  # The name cannot be one on the hub.
    raise InputError(f"cannot fetch {source!r} from the Hugging Face hub: there is no network ({constants.ENDPOINT} "
                     f"cannot be reached), and no copy of it on this machine; give a local folder, or fetch it once "
                     f"while online")


def reachable(endpoint: str) -> bool:
    """Whether the hub answers at all, by the session of its own client: with its proxies and settings."""
    try:
        import_module("huggingface_hub.utils").get_session().head(endpoint, timeout=TIMEOUT)
    except Exception:  # Of several libraries, by version.
        return False
    return True


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Without the bars and notes of `transformers` (the module) and without warnings; as they were afterwards."""
    log = transformers.utils.logging
    level, bar = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.set_verbosity(level)
        if bar:
            log.enable_progress_bar()


def read_settings(folder: Path, pooling: str | None = None) -> Reader:
    """How the model in a folder is to be read: at most `MOST` tokens at once, whatever the model takes.

    `pooling` ("mean", "cls" or "last") overrules the folder; without it, and where the folder says nothing, "mean".
    Raises InputError where files are missing or unreadable, or ask for what cannot be exported (a pooling of another
    kind, a further layer).
    """
    config = _json(folder / "config.json")
    if config is None:
        raise InputError(f"{folder} holds no config.json; expected the folder of a transformer")
    sentence = _json(folder / "sentence_bert_config.json") or {}
    tokeniser = _json(folder / "tokenizer_config.json") or {}
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _AFTER_PADDING:
        positions -= int(config.get("pad_token_id") or 0) + 1
    lengths = [MOST, sentence.get("max_seq_length"), tokeniser.get("model_max_length"), positions]
    said = _pooling(folder)
    return Reader(pooling or said or "mean", min(int(n) for n in lengths if isinstance(n, int | float) and n > 0),
                  bool(sentence.get("do_lower_case", False)))


def weights_of(folder: Path) -> list[Path]:
    """The files with the weights: safetensors, or where there is none, PyTorch's own. Raises InputError."""
    found = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not found:
        raise InputError(f"{folder} holds no model.safetensors and no pytorch_model.bin: fetch the whole model")
    return found


def _pooling(folder: Path) -> str | None:
    """As the modules of sentence-transformers say it; None without them."""
    said, modules = None, _json(folder / "modules.json", list) or []
    for module in modules:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in _KNOWN:
            raise InputError(f"{folder} has a layer {kind!r}; only {', '.join(_KNOWN)} can be exported")
        if kind == "Pooling":
            path = folder / str(module.get("path", "")) / "config.json"
            config = _json(path)
            if config is None:
                raise InputError(f"{path} is missing: fetch the whole model")
            key = "pooling_mode_"
            modes = [str(config["pooling_mode"])] if config.get("pooling_mode") else [
                name.removeprefix(key) for name, on in config.items() if name.startswith(key) and on]
            if len(modes) != 1 or modes[0] not in _POOLINGS:
                raise InputError(f"{path} asks for pooling {'+'.join(modes) or 'of no kind'}; expected mean, cls or "
                                 "last token")
            said = _POOLINGS[modes[0]]
    return said


def _json(path: Path, kind: type[dict[str, Any]] | type[list[Any]] = dict) -> Any:
    """What a file holds; None where there is none. Raises InputError."""
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, UnicodeDecodeError):
        raise InputError(f"{path} is truncated or no JSON: fetch the whole model again") from None
    if not isinstance(found, kind) or (isinstance(found, list) and not all(isinstance(one, dict) for one in found)):
        raise InputError(f"{path} is no {'list of modules' if kind is list else 'JSON object'}: fetch the whole model "
                         "again")
    return found
