"""Errors as users see them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def refused(error: type[Exception], said: str) -> Iterator[None]:
    """`pytest.raises` of a message of one line."""
    with pytest.raises(error, match=said) as caught:
        yield
    assert "\n" not in str(caught.value)
