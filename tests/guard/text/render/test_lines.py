from __future__ import annotations

import pytest

from discreet.guard.text.render import render


@pytest.mark.parametrize(("text", "expected"), [
    ("# Summary\n> She is\n> 52", "Summary\nShe is\n52"), ("```python\nx\n```", "\nx\n"),
    ("a\n---\nb\n***\nc", "a\n\nb\n\nc"),
    ("✅ one\n- 👩 two\n1️⃣ three", "- one\n- two\n- three"), ("patient_age: 52\nmaritalStatus: \"married\"",
    "Patient age: 52\nMarital status: married"),
    ("note: >\n  fine", "note: \n  fine"), ("See[^a].\n\n[^a]: She is 52.", "See.\n\nShe is 52."),
    (">90% of them\n#1 is", ">90% of them\n#1 is"),
    ("Note: \"yes\" and 'no'", "Note: \"yes\" and 'no'"), ("+----+\n| a |\n+----+\n| b |\n+----+", "a.\nb.\n"),
])
def test_what_is_shown(text: str, expected: str) -> None:
    assert render(text).text == expected
