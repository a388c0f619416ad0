"""Rows as a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """The rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
