"""The fixed words of reports, which are data: see `words.yaml`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def words_of(part: str) -> dict[str, Any]:
    """The words of one part of the reports, by name."""
    found: dict[str, Any] = _read()[part]
    return found


@cache
def _read() -> dict[str, Any]:
    text = files("discreet.report").joinpath("words.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found
