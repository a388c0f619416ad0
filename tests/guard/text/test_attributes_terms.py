"""Facts of a domain: which terms a text holds, and of whom they are said."""

from __future__ import annotations

import pytest

from discreet.core.records import Subject
from discreet.guard.domains import load_domain
from discreet.guard.text.attributes import terms_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import Span

MEDICAL = load_domain("medical")


def span(text: str, words: str, person: str = "r1", subject: Subject = "third", kind: str = "age") -> Span:
    start = text.index(words)
    return Span(kind, start, start + len(words), subject, person, 0.9)


def found(text: str, *spans: Span, domain: str = "medical") -> list[tuple[str, str, str]]:
    return [(a.kind, a.person, text[a.start : a.end]) for a in terms_of(Doc.of(text), load_domain(domain), spans)]


@pytest.mark.parametrize(("text", "domain", "expected"), [
    ("Metformin is taken with meals.", "medical", [("treatment", "Metformin")]),
    ("Tendinopathy of the wrist is slow to heal.", "medical", [("condition", "Tendinopathy")]),
    ("Her MS is stable.", "medical", [("condition", "MS")]), ("Ms. Ortiz is well.", "medical", []),
    ("The plaintiff was arrested for DUI.", "law", [("role", "plaintiff")]),
])
def test_listed_terms_endings_and_abbreviations(text: str, domain: str, expected: list[tuple[str, str]]) -> None:
    told = [(kind, words) for kind, _, words in found(text, domain=domain)]
    assert [one for one in told if one in expected] == expected
    assert told or not expected


def test_the_longest_of_one_kind() -> None:
    assert [words for kind, _, words in found("He has type 2 diabetes.") if kind == "condition"] == ["type 2 diabetes"]


def test_a_term_is_said_of_whom_the_sentence_names() -> None:
    text = "At 52 he takes metformin. It is for diabetes. His wife, 47, has asthma. Aspirin is old. And then? Gout."
    spans = [span(text, "52"), span(text, "47", "r2")]
    assert found(text, *spans) == [
        ("treatment", "r1", "metformin"), ("condition", "r1", "diabetes"), ("condition", "r2", "asthma"),
        ("treatment", "r2", "Aspirin"), ("condition", "nobody", "Gout")]
    assert found(text, spans[0])[-1] == ("condition", "r1", "Gout")
    assert found(text) == [(kind, "nobody", words) for kind, _, words in found(text, *spans)]


def test_a_span_over_the_term_decides_and_nobody_s_spans_do_not() -> None:
    text = "She is 52. Her brother has asthma."
    over = span(text, "has asthma", "r2", kind="domain")
    assert found(text, span(text, "52"), span(text, "brother", "r2"), over) == [("condition", "r2", "asthma")]
    assert found(text, span(text, "52"), over) == [("condition", "r1", "asthma")]  # r2 is known by nothing else.
    assert found(text, span(text, "52", "nobody", "nobody")) == [("condition", "nobody", "asthma")]


def test_whose_it_is_goes_with_the_subject_and_places_are_of_the_original_text() -> None:
    text = "Adults of **52** with asthma."
    doc = Doc.of(text)
    start = doc.text.index("52")
    [one] = terms_of(doc, MEDICAL, [Span("age", start, start + 2, "cohort", "cohort", 0.9)])
    assert (one.subject, text[one.start : one.end]) == ("cohort", "asthma")
