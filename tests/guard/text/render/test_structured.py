from __future__ import annotations

import json

import pytest

from discreet.guard.text.render import render


def squeezed(text: str) -> str:
    return " / ".join(line.strip() for line in render(text).text.splitlines() if line.strip(" \x1e"))


@pytest.mark.parametrize(("text", "expected"), [
    ('{"age": 52, "maritalStatus": "married", "x": null, "ok": true}',
    "Age: 52. / Marital status: married. / X: none. / Ok: yes."),
    ("{'age': 52, 'city': 'Omaha'}", "Age: 52. / City: Omaha."),
    ('{"age": 52, "city": "Omaha', 'Age: 52. / City: "Omaha'),
    ('{"pt": {"age": 52}, "drugs": ["a b", "c"]}', "Pt: / Age: 52. / Drugs: a b, c."),
    ('["She is 52 years old.", "He is a tall welder"]', "She is 52 years old. / He is a tall welder"),
    (json.dumps({"answer": "The patient is a tall litigator\nfrom Omaha. \"Yes\"."}),
     'Answer: / The patient is a tall litigator / from Omaha. "Yes".'),
    ('so {"a_b": "\\u0041\\ud83d\\ude00 c"} there', "so / A b: A c. / there"),
    ("[1, 2] and {x} and [a] and {}", "[1, 2] and {x} and [a] and {}"),
])
def test_what_is_shown(text: str, expected: str) -> None:
    assert squeezed(text) == expected


@pytest.mark.parametrize(("text", "records"), [
    ('[{"age": 52}, {"age": 60}]', 2), ('{"age": 52}\n{"age": 60}', 2),
    ('{"a": {"age": 52}, "b": {"city": "Omaha"}}', 1)])
def test_objects_of_a_list_are_records_of_their_own(text: str, records: int) -> None:
    assert sum(bool(part.strip()) for part in render(text).text.split("\x1e")) == records
