"""Captions of decided cases."""

from __future__ import annotations

import pytest

from discreet.guard.text.cases import cases, named_by_caption
from discreet.guard.text.doc import Doc


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
