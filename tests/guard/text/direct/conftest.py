from __future__ import annotations

from collections.abc import Callable

import pytest

from discreet.core.unicode import prepare
from discreet.guard.text.direct.detect import find_direct

Found = Callable[[str, str], list[str]]


@pytest.fixture
def found() -> Found:
    """`found(text, type)`: what stands in the text at the spans of that type, all recognisers running."""

    def strings(text: str, kind: str) -> list[str]:
        return [text[s.start : s.end] for s in find_direct(prepare(text)) if s.type == kind]

    return strings
