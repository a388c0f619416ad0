"""Numbers in the sentences of an audit."""

from __future__ import annotations


def counted(n: int, one: str, several: str | None = None) -> str:
    """"1 row", "1,204 rows"; `several` where it is not `one` with an s."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"
