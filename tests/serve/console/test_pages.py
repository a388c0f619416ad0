from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from discreet.serve.console.pages import HUES, Legend, labelled, visible


def finding(kind: str, start: int, end: int, person: str = "person 1", *, counts: bool = True) -> dict[str, Any]:
    return {"type": kind, "subject": "nobody" if person == "nobody" else "third", "person": person, "start": start,
            "end": end, "counts": counts, "text": 0}


spans = st.lists(st.builds(finding, st.sampled_from("abc"), st.integers(-5, 40), st.integers(-5, 40)), max_size=6)


@given(st.text(max_size=30), spans)
def test_the_pieces_put_together_are_the_text_whatever_the_spans_say(text: str, found: list[dict[str, Any]]) -> None:
    pieces = Legend(found).cut(text, found)
    assert "".join(piece for piece, _ in pieces) == text
    place = 0
    for piece, marks in pieces:
        covering = [f["type"] for f in found if f["start"] <= place and place + len(piece) <= f["end"]]
        assert sorted(mark.type for mark in marks) == sorted(covering)
        place += len(piece)


def test_hues_belong_to_classes_that_count_and_lines_to_people() -> None:
    found = [finding("visit", 0, 2, counts=False), finding("age", 3, 5), finding("place", 6, 8, "person 2"),
             finding("drug", 9, 10, "nobody", counts=False), finding("age", 11, 12, "cohort", counts=False)]
    legend = Legend(found)
    assert legend.classes == [("age", 1, 2), ("place", 2, 1), ("visit", 0, 1), ("drug", 0, 1)]
    assert [(one.name, one.mark, one.line) for one in legend.people] == [("person 1", "1", "one"),
                                                                         ("person 2", "2", "two"),
                                                                         ("cohort", "cohort", "three")]
    marks = [marks[0] for _, marks in legend.cut("ab cd ef g h", found) if marks]
    assert [(one.type, one.hue, one.mark, one.line) for one in marks] == [
        ("visit", 0, "1", "one"), ("age", 1, "1", "one"), ("place", 2, "2", "two"), ("drug", 0, "", "nobody"),
        ("age", 1, "cohort", "three")]


def labels(text: str, found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Each piece that is marked: how it looks, and what is written at its end."""
    return [(piece, marks[0].type + ("" if marks[0].counts else " framed"),
             ", ".join(f"{one.type} {one.mark}".strip() for one in labelled(marks)))
            for piece, marks in Legend(found).cut(text, found) if marks]


def test_what_counts_is_never_framed_by_what_does_not() -> None:
    text = "with two children"
    found = [finding("sex", 5, 8, counts=False), finding("family", 5, 17)]
    assert labels(text, found) == [("two", "family", "family 1, sex 1"), (" children", "family", "family 1")]


def test_a_long_finding_is_named_once_at_its_end_and_a_short_one_in_it_is_seen() -> None:
    text = "of 12 Elm Street, Omaha NE."
    found = [finding("address", 3, 26, ""), finding("place", 10, 16), finding("place", 18, 23)]
    assert labels(text, found) == [("12 Elm ", "address", ""), ("Street", "place", "place 1"), (", ", "address", ""),
                                   ("Omaha", "place", "place 1"), (" NE", "address", "address")]
    marks = [marks for _, marks in Legend(found).cut(text, found) if marks]
    assert [(one[0].begins, one[0].ends) for one in marks] == [(True, False), (True, True), (False, False),
                                                               (True, True), (False, True)]


def test_what_is_bound_to_nobody_is_no_person_of_the_legend() -> None:
    legend = Legend([finding("email", 0, 3, ""), finding("age", 4, 6)])
    assert [one.name for one in legend.people] == ["person 1"]
    assert legend.cut("a@b 52", [finding("email", 0, 3, "")])[0][1][0].line == "nobody"


def test_edges_beyond_the_text_are_its_ends() -> None:
    assert labels("abc", [finding("age", -4, 9)]) == [("abc", "age", "age 1")]
    assert labels("a\n<b>", [finding("age", 0, 1), finding("place", 1, 5)]) == [("a", "age", "age 1"),
                                                                               ("\n<b>", "place", "place 1")]


def test_more_classes_than_hues_and_people_than_lines() -> None:
    found = [finding(f"class {n}", n, n + 1, f"person {n}") for n in range(20)]
    legend = Legend(found)
    assert {hue for _, hue, _ in legend.classes} == set(range(1, HUES + 1))
    assert legend.people[-1].line == "more"


def test_what_cannot_be_seen_is_named_and_what_can_is_left_alone() -> None:
    assert visible("a\u202eb") == 'a<span class="control" title="right-to-left override">U+202E</span>b'
    assert visible("Ünï 漢字 👩‍⚕️\n\t<b>") .startswith("Ünï 漢字 👩")
    assert "&lt;b&gt;" in visible("<b>")
    assert "control" not in visible("two\nlines\tand a tab\r\n")
