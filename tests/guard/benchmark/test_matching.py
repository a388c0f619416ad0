from __future__ import annotations

from typing import Any

import pytest
from tests.guard.benchmark.made import judged, passage

from discreet.guard.benchmark import matching

TWO = passage(cluster="yes", people={1: "third", 2: "speaker", 3: "public"}, spans=[
    (0, 5, "age", 1), (10, 15, "family", 1), (20, 25, "age", 2), (30, 35, "occupation", 3)])


def spans(*given: tuple[Any, ...]) -> Any:
    return judged(TWO, spans=given).spans


def test_persons_are_assigned_by_spans_of_the_same_class() -> None:
    found = matching.persons(TWO, spans((0, 5, "age", "b"), (10, 12, "family", "b"), (21, 23, "age", "a")))
    assert found == {"b": 1, "a": 2}


def test_one_labelled_person_has_one_partner_and_whom_nothing_overlaps_has_none() -> None:
    found = matching.persons(TWO, spans((0, 5, "age", "a"), (10, 15, "family", "b"), (90, 95, "age", "c"),
                                        (1, 2, "age", "a"), (40, 50, "place", None)))
    assert found == {"a": 1}


def test_an_overlap_of_another_class_decides_where_nothing_else_does() -> None:
    assert matching.persons(TWO, spans((20, 25, "place", "a"))) == {"a": 2}


def test_the_subject_decides_between_two_persons_of_one_span() -> None:
    of = passage(cluster="yes", people={1: "speaker"}, spans=[(0, 7, "family", 1)])
    for order in ("ab", "ba"):
        found = judged(of, spans=[(0, 7, "family", order[0], "third"), (0, 7, "family", order[1], "speaker")]).spans
        assert matching.persons(of, found or ()) == {order[1]: 1}


@pytest.mark.parametrize(("given", "triples"), [
    ([], {("age", True, False): 2, ("family", True, False): 1}),
    ([(0, 5, "age", "a", "third"), (10, 15, "family", "a", "third"), (20, 25, "age", "b", "speaker")],
     {("age", True, True): 2, ("family", True, True): 1}),
    # The right words of the wrong person: one missed, one false.
    ([(0, 5, "age", "a", "third"), (20, 25, "age", "a", "third")], {
        ("age", True, True): 1, ("age", True, False): 1, ("family", True, False): 1}),
    # A public person whom the guard calls a third person.
    ([(30, 35, "occupation", "a", "third")], {
        ("age", True, False): 2, ("family", True, False): 1, ("occupation", False, True): 1}),
    # What the guard calls public counts for nothing.
    ([(30, 35, "occupation", "a", "public")], {("age", True, False): 2, ("family", True, False): 1})])
def test_triples(given: Any, triples: dict[Any, int]) -> None:
    found = [tuple(one) for one in matching.triples(TWO, spans(*given))]
    assert {one: found.count(one) for one in found} == triples


def test_what_is_unsure_or_inferred_is_neither_missed_nor_false() -> None:
    of = passage(cluster="yes", inferred=[("place", 1)], spans=[
        (0, 5, "age", 1), (10, 15, "family", 1, False, False), (20, 25, "occupation", -1, False, False)])
    found = [(0, 5, "age", "a", "third"), (10, 15, "family", "a", "third"), (20, 25, "occupation", "a", "third"),
             (50, 55, "place", "a", "third")]
    assert [tuple(t) for t in matching.triples(of, judged(of, spans=found).spans)] == [("age", True, True)]
    assert [tuple(t) for t in matching.triples(of, [])] == [("age", True, False)]


def test_subjects_are_compared_where_a_span_of_the_class_overlaps() -> None:
    found = matching.subjects(TWO, spans((0, 3, "age", "a", "third"), (20, 25, "age", "a", "third"),
                                         (30, 35, "occupation", "c", "public"), (10, 15, "place", "a", "third")))
    assert sorted(found) == [("age", "speaker", False), ("age", "third", True), ("occupation", "public", True)]
    group = passage(people={1: "group"}, spans=[(0, 5, "age", 1)])
    assert matching.subjects(group, spans((0, 5, "age", None, "cohort"))) == [("age", "group", True)]


@pytest.mark.parametrize(("given", "exact", "counts"), [
    ([], False, (2, 0, 0, 0)), ([(0, 3, "age"), (20, 25, "age")], False, (2, 2, 2, 2)),
    ([(0, 3, "age"), (20, 25, "age")], True, (2, 1, 2, 1)), ([(50, 60, "age")], False, (2, 0, 1, 0)),
    ([(0, 5, "family")], False, (2, 0, 0, 0))])
def test_spans_are_counted_whoever_they_are_of(given: Any, exact: bool, counts: tuple[int, ...]) -> None:
    assert tuple(matching.span_counts(TWO, spans(*given), "age", exact=exact)) == counts


def test_repeats_are_not_missed_and_not_false() -> None:
    of = passage(spans=[(0, 5, "age", 1), (20, 25, "age", 1, True), (40, 45, "age", 1, False, False)])
    found = judged(of, spans=[(20, 25, "age"), (40, 45, "age")]).spans
    assert tuple(matching.span_counts(of, found, "age")) == (1, 0, 1, 1)
    assert tuple(matching.span_counts(of, found, "age", exact=True)) == (1, 0, 1, 1)


def test_classes_are_bound_to_the_partner_alone() -> None:
    found = spans((0, 5, "age", "a", "third"), (10, 15, "family", "a", "third"), (20, 25, "age", "b", "speaker"))
    assert [matching.bound_to(TWO, found, p, ("age", "family")) for p in (1, 2, 3)] == [2, 1, 0]
