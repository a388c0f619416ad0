"""The one place where scipy is asked for: the ROC core, the bootstrap and the AUC intervals run without it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from discreet.core.errors import MissingExtraError


def scipy_module(name: str, purpose: str) -> Any:
    """`scipy.<name>`, or MissingExtraError saying that `purpose` needs the extra `audit`."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise MissingExtraError(purpose, "audit", "scipy") from None
