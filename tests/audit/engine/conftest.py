"""Steps that worker processes can import, and a tree's bytes to compare."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from discreet.audit.engine import Store

HERE = str(Path(__file__).parent)


def begun_once(store: Store) -> Counter[str]:
    """How often each key was begun: never once it was published, and published once."""
    begun: Counter[str] = Counter()
    published: set[str] = set()
    for event in store.history():
        if event["event"] in ("begin", "publish"):
            assert event["key"] not in published
            (begun.update if event["event"] == "begin" else published.update)([event["key"]])
    return begun


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
