"""Where attributes stand, and which of two readers' attributes are about the same words."""

from __future__ import annotations

import base64

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.text.attributes import Attribute, attributes_of, overlapping
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import Seen, Span

Place = tuple[int, int]
places = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), max_size=12)


@given(places, places)
def test_attributes_overlap_where_they_share_a_character(one: list[Place], other: list[Place]) -> None:
    a, b = ([Attribute("age", "", "third", "p1", s, s + n, "") for s, n in said] for said in (one, other))
    assert overlapping(a, b) == [[i for i, y in enumerate(b) if set(range(x.start, x.end)) & set(range(y.start, y.end))]
                                 for x in a]


def test_what_a_coded_run_says_is_compared_where_it_stands_in_the_run() -> None:
    """In the original all of it stands at the one place of the run."""
    said = "Ann Reed is a nurse from Omaha. The defendant, a baker, agreed to pay."
    run = base64.b64encode(said.encode()).decode()
    doc = Doc.of(run)
    assert doc.text == said
    spots = [(said.index(word), said.index(word) + len(word)) for word in ("nurse", "Omaha", "baker")]
    kinds, persons = ("occupation", "place", "occupation"), ("r1", "r1", "r2")
    spans = [Span(kind, *spot, "third", person, 0.9)
             for kind, spot, person in zip(kinds, spots, persons, strict=True)]
    read = attributes_of(_reading(spans), doc)
    assert {(a.start, a.end) for a in read} == {(0, len(run))}
    assert [a.place for a in read] == spots
    assert overlapping(read, read) == [[0], [1], [2]]


def test_of_a_person_with_many_values_further_ones_are_not_compared() -> None:
    words = [f"town{chr(97 + k // 26)}{chr(97 + k % 26)}" for k in range(200)]
    text = " ".join(words)
    spans = [Span("place", text.index(w), text.index(w) + len(w), "third", "r1", 0.9) for w in words]
    read = attributes_of(_reading(spans), Doc.of(text))
    assert len({a.value for a in read}) == 200


def _reading(spans: list[Span]) -> Seen:
    return Seen(tuple(spans), np.zeros((3, 4), np.float32), {}, {}, np.zeros(1, np.float32))
