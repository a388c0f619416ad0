"""Steps that worker processes can import, and a tree's bytes to compare."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HERE = str(Path(__file__).parent)


@pytest.fixture(scope="session")
def steps() -> Any:
    if HERE not in sys.path:
        sys.path.append(HERE)
    return import_module("engine_steps")


@pytest.fixture(scope="session")
def tree() -> Callable[[Path], dict[str, bytes]]:
    def read(folder: Path) -> dict[str, bytes]:
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    return read
