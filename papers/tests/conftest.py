"""The fixtures of the product's tests that those of the papers use too."""

from tests.cli.conftest import cli, refused
from tests.conftest import _seeded_globals, side_files, system_coins, torch, transformers

__all__ = ["_seeded_globals", "cli", "refused", "side_files", "system_coins", "torch", "transformers"]
