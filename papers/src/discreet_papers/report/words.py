"""The words of the pages of `discreet reproduce`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def words_of(kind: str) -> dict[str, Any]:
    """The words of one kind of record, by name."""
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("words.yaml").read_text(encoding="utf-8"))[kind]
    return found
