"""Models by their name on the Hugging Face hub, where there may be no network.

The hub's clients repeat a request that fails for half a minute and more, for each file. One request settles it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from discreet.core.errors import InputError, MissingExtraError

TIMEOUT = 5.0
"""Seconds to wait for the hub."""
CONFIGS = ("config.json", "adapter_config.json")


def local_only(source: str) -> bool:
    """Whether a model must be read from this machine: what the argument `local_files_only` of the clients is to be.

    True for a folder, and for a name that was fetched before where the hub cannot be reached; False where it can be.

    Raises
    ------
    InputError
        Where the hub cannot be reached, or HF_HUB_OFFLINE forbids it, and the model is not on this machine.
    MissingExtraError
        Without huggingface_hub.
    """
    if Path(source).exists():
        return True
    try:
        hub, constants = import_module("huggingface_hub"), import_module("huggingface_hub.constants")
    except ImportError:
        raise MissingExtraError("fetching a model", "fit", "huggingface_hub") from None
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
