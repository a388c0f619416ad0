from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from discreet.guard.text.evidence.bind import find_evidence
from discreet.guard.text.evidence.mentions import classes_of
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import UsageError
from discreet.core.records import SUBJECTS
from discreet.guard.domains import builtin_domains
from discreet.guard.text.doc import Doc

Read = Callable[..., Any]
PIECES = [
    "I am", "She is", "a 52-year-old", "litigator", "from Omaha", "with two children", "The patient", "married", ".",
    "if", "patients", "over 65", "works at Boeing", "my husband", "has asthma", "\n\n", "you", "should", "Nigerian",
    "e\u0301", "ﬁ", "\u200b", "🙂", "\ud800", "'s", "v.", "347 U.S. 483", "the Court held", "$82,000", "divorce",
]
texts = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join)


def test_a_cluster_of_one_person(read: Read) -> None:
    """The example of the brief: age 52, litigator is a lawyer, Omaha lies in Nebraska, two children."""
    text = "The client is a 52-year-old litigator from Omaha with two children."
    found = {
        a.kind: a
        for a in read(text, "law")
        if a.subject == "third" and a.kind in ("age", "occupation", "place", "family")
    }
    assert {kind: a.value for kind, a in found.items()} == {
        "age": "52", "occupation": "lawyer", "place": "Omaha|Nebraska|US", "family": "2 child",
    }
    assert len({a.person for a in found.values()}) == 1
    assert [text[a.start : a.end] for a in sorted(found.values(), key=lambda a: a.start)] == [
        "52-year-old", "litigator", "Omaha", "two children",
    ]


@given(texts, st.sampled_from(builtin_domains()))
@settings(max_examples=150, deadline=None)
def test_any_text(text: str, domain: str) -> None:
    found = find_evidence(Doc.of(text), domain)
    assert found == find_evidence(Doc.of(text), domain)
    assert [a.start for a in found] == sorted(a.start for a in found)
    for a in found:
        assert a.kind in classes_of(domain)
        assert a.subject in SUBJECTS
        assert 0 <= a.start < a.end <= len(text)
        assert a.value
        assert a.person
        assert a.why


@pytest.mark.parametrize("text", ["", "  \n", "🙂", "\ud800"])
def test_nothing(read: Read, text: str) -> None:
    assert read(text) == []


def test_an_unknown_domain() -> None:
    with pytest.raises(UsageError, match="unknown domain"):
        find_evidence(Doc.of("She is 52."), "tax")


def test_a_mention_inside_another_of_its_class_is_one_fact(read: Read) -> None:
    [place] = read("The patient lives in Springfield, Illinois.", kind="place")
    assert place.value.startswith("Springfield|Illinois")


@pytest.mark.parametrize(("text", "kinds"), [
    ("She is the only female welder in Duluth.", {"occupation", "place"}),
    ("I have been on the bench for three decades.", {"occupation"}),
    ("We have lived here since we moved here for my residency.", {"occupation"}),
    ("I am a high-school senior and live with my grandmother.", {"age", "family"}),
    ("My wife teaches at Roosevelt Elementary School.", {"family", "affiliation"}),
])
def test_indirect_forms(read: Read, text: str, kinds: set[str]) -> None:
    assert kinds <= {a.kind for a in read(text) if a.subject in ("third", "speaker")}


def test_normalisation_does_not_change_what_is_found(read: Read) -> None:
    plain = "The client is a 52-year-old litigator from Omaha with two children."
    for hidden in (
        plain.replace("-", "\u2011"), plain.replace(" ", "\u00a0"), plain.replace("Omaha", "Om\u00adaha"),
        plain.replace("52", "５２"), plain.replace("two", "tw\u043e"),
    ):
        assert [(a.kind, a.value, a.subject) for a in read(hidden, "law")] == [
            (a.kind, a.value, a.subject) for a in read(plain, "law")
        ]


@pytest.mark.parametrize("text", ["She lives in Omaha, Nebraska", "She lives in Quoyburray, Texas"])
def test_a_text_may_end_with_a_region(read: Callable[..., Any], text: str) -> None:
    [place] = read(text, kind="place")
    assert place.value.endswith("|US")
    assert text[place.start : place.end] == text.removeprefix("She lives in ")
