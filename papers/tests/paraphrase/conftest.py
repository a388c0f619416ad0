"""A few labelled texts in a file, one of them a conversation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROWS = [
    {"id": "a", "text": "How can I bake bread if I don't have an oven?", "label": "safe", "structure": "single-turn"},
    {"id": "b", "text": "Ann Smith keeps 12 rivers in a drawer because she likes them.", "label": "unsafe"},
    {"id": "c", "turns": [{"role": "user", "text": "I'm sad."}, {"role": "assistant", "text": "Why is that?"}],
     "label": 1},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path
