from __future__ import annotations

import pytest
from discreet.guard.text.evidence import constructions as cons
from discreet.guard.text.evidence.mentions import Context

from discreet.guard.text.doc import Doc


def context_of(text: str) -> Context:
    return Context(Doc.of(text), "medical")


@pytest.mark.parametrize(("text", "verb", "said"), [
    ("She works there.", "works", True), ("The patient has long worked there.", "worked", True),
    ("My brother, who works there, came.", "works", True), ("She wakes early and works there.", "works", True),
    ("The patient in bed four works there.", "works", True), ("She used to work there.", "work", True),
    ("Works there.", "works", True), ("Work there.", "work", False), ("The drug works there.", "works", False),
    ("The patient takes a drug that works there.", "works", False), ("She hopes to work there.", "work", False),
    ("She never worked there.", "worked", False), ("She may work there.", "work", False),
    ("If she works there, call.", "works", False), ("Patients who live there work there.", "live", False),
    ("The study of her, based there, ended.", "based", False),
])
def test_the_subject_of_a_verb_is_a_particular_person(text: str, verb: str, said: bool) -> None:
    context = context_of(text)
    assert cons.is_said_of_person(context, context.doc.lowers.index(verb)) is said


@pytest.mark.parametrize(("text", "joins", "name"), [
    ("the Order of the Crooked Oak since", cons.BODY_JOINS, "order of the crooked oak"),
    ("Newcastle upon Tyne and Leeds", cons.PLACE_JOINS, "newcastle upon tyne"),
    ("St. Brendan's in", cons.BODY_JOINS, "st . brendan 's"), ("April of", cons.PLACE_JOINS, ""),
    ("lower case", cons.PLACE_JOINS, ""),
])
def test_a_name_runs_over_its_small_words(text: str, joins: frozenset[str], name: str) -> None:
    context = context_of(text)
    found = cons.name_after(context, 0, joins)
    assert (context.doc.words(*found) if found else "") == name


@pytest.mark.parametrize(("text", "body"), [
    ("Fennimore College", True), ("University of Quoyburray", True), ("Hollis & Fenn", True), ("College", False),
    ("Upper Slaughter", False),
])
def test_a_body_is_known_by_its_words(text: str, body: bool) -> None:
    doc = Doc.of(text)
    assert cons.is_body(doc, 0, len(doc.tokens)) is body


@pytest.mark.parametrize(("text", "noun", "owned"), [
    ("Her job here", "job", True), ("Occupation: baker", "occupation", True),
    ("Occupation matters", "occupation", False), ("Your job here", "job", False), ("The job here", "job", False),
])
def test_a_post_has_an_owner_or_a_label(text: str, noun: str, owned: bool) -> None:
    context = context_of(text)
    assert cons.has_owner(context, context.doc.lowers.index(noun)) is owned
