"""Heavy libraries in tests: imported without what they print, or a skip that says which one is missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings, which are errors in tests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def need(name: str) -> Any:
    """A heavy package, or a skip that says which one is missing."""
    try:
        with quiet():
            return import_module(name)
    except ImportError:
        pytest.skip(f"needs {name} (extra fit)")
