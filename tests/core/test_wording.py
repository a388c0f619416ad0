from __future__ import annotations

import pytest

from discreet.core.wording import counted


@pytest.mark.parametrize(("n", "words", "said"), [
    (0, ("row",), "0 rows"), (1, ("row",), "1 row"), (2, ("row",), "2 rows"), (1204, ("row",), "1,204 rows"),
    (1, ("person", "people"), "1 person"), (3, ("person", "people"), "3 people"),
])
def test_one_is_singular_and_all_else_plural(n: int, words: tuple[str, ...], said: str) -> None:
    assert counted(n, *words) == said
