"""Known names are found by their words, in any case and spelling, and parts of them only beside the whole; captions of
decided cases."""

from __future__ import annotations

import pytest

from discreet.guard.text.doc import Doc
from discreet.guard.text.known_names import cases, is_known, known_in, named_by_caption, words_of
from discreet.guard.text.resources import given_names, rows, words


@pytest.mark.parametrize(("name", "text", "known"), [
    ("Marie Curie", "", True), ("MARIE CURIE'S", "", True), ("Frederic Chopin", "", True), ("Ruth Hale", "", False),
    ("J.R.R. Tolkien", "", True), ("Shakespeare", "", True), ("", "", False), ("-", "", False), ("Curie", "", False),
    ("Curie", "Pierre Curie and Marie Curie", True), ("Mrs Curie", "of Marie Curie", True),
    ("Mr Shakespeare", "", False), ("Mr Shakespeare", "William Shakespeare", True), ("Marie", "Marie Kowalska", False),
    ("Walt", "the history of Walt Disney", True), ("Walt Hale", "the history of Walt Disney", False)])
def test_a_name_is_known_by_itself_or_beside_the_whole(name: str, text: str, known: bool) -> None:
    assert is_known(name, [Doc.of(text)]) is known


def test_known_names_of_a_text_are_all_runs_of_words_that_are_listed() -> None:
    found = known_in(Doc.of("Was Nelson Mandela older than Martin Luther King? Ask Ann Lee."))
    assert {("nelson", "mandela"), ("martin", "luther", "king")} <= found
    assert not any("lee" in name for name in found)


def test_the_list_holds_no_name_twice_and_no_single_word_that_many_are_called() -> None:
    names = [words_of(name) for [name] in rows("known_names", 1)]
    assert len(set(names)) == len(names) > 7000
    assert not [name for name in names if len(name) == 1 and (
        name[0] in given_names() or name[0] in words("names")["surnames"])]
    assert max(map(len, names)) <= 6


@pytest.mark.parametrize(("text", "number"), [
    ("In Gideon v. Wainwright, 372 U.S. 335, the Court held so.", 2), ("Smith v. Jones settled last week.", 0),
    ("In Smith v. Jones the court held that notice is due.", 1), ("See 347 U.S. 483.", 0), ("", 0)])
def test_what_the_text_treats_as_decided(text: str, number: int) -> None:
    assert len(cases(Doc.of(text))) == number


@pytest.mark.parametrize(("text", "name", "public"), [
    ("In Gideon v. Wainwright, 372 U.S. 335, Gideon had no lawyer.", "Gideon had", True),
    ("In Gideon v. Wainwright, 372 U.S. 335, Mr Tobin had no lawyer.", "Tobin", False),
    ("Gideon v. Wainwright was cited; our client Gideon Ames is not he. 372 U.S. 335.", "Gideon Ames", False),
    ("Gideon v. Wainwright was settled.", "Gideon", False)])
def test_a_name_of_a_reported_caption(text: str, name: str, public: bool) -> None:
    doc = Doc.of(text)
    start = doc.text.index(name)
    assert named_by_caption(doc, start, start + len("Gideon")) is public
