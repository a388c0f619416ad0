"""Made-up labelled texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.experiments.membership.made_up import write_rows


@pytest.fixture(scope="session")
def written() -> Callable[..., Path]:
    """A file of n made-up rows; see `write_rows`."""
    return write_rows
