# mypy: implicit-reexport
"""Modules that the commands use, imported when one is first used; see `discreet.cli.library`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    pass

__getattr__ = lazily(__name__, __file__)
