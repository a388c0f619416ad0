from __future__ import annotations

import re

import numpy as np
import pytest

from discreet.core.records import Subject
from discreet.core.unicode import prepare
from discreet.guard.domains import IDENTIFYING, load_domain
from discreet.guard.text.attributes import KINDS, WEAK, Attribute, attributes_of, facts_words, terms_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import Seen, Span


def found(text: str, *said: tuple[str, str] | tuple[str, str, str], probability: float = 0.9) -> tuple[Attribute, ...]:
    """The attributes of spans given as class, words and, if not "r1", person; each stands behind the one before it."""
    spans, at = [], 0
    for kind, words, *who in said:
        at = text.index(words, at)
        person = who[0] if who else "r1"
        subject: Subject = "third" if person.startswith("r") else person  # type: ignore[assignment]
        spans.append(Span(kind, at, at + len(words), subject, person, probability))
        at += 1
    return attributes_of(of(*spans), Doc.of(text))


def of(*spans: Span) -> Seen:
    return Seen(spans, np.zeros((3, 4), np.float32), {}, {}, np.zeros(1, np.float32))


def values(attributes: tuple[Attribute, ...]) -> list[tuple[str, str]]:
    return [(a.kind, a.value) for a in attributes]


@pytest.mark.parametrize("kind", ["domain", "name", "address", "contact", "date", "organisation", "person", *KINDS])
def test_only_the_classes_that_the_reader_decides(kind: str) -> None:
    assert bool(found("a nurse", (kind, "nurse"))) == (kind in KINDS)
    assert set(KINDS) == {*IDENTIFYING, "sex"}


@pytest.mark.parametrize("words", ["-", "...", "_", " "])
def test_a_span_without_words_is_nothing(words: str) -> None:
    assert found(f"one {words} two", ("place", words)) == ()


def test_what_an_attribute_says_of_its_span() -> None:
    text = "Sie ﬁ: a former nurse from Omaha."  # The ligature is one character and becomes two.
    [job] = found(prepare(text).text, ("occupation", "nurse"))
    assert (job.kind, job.value, job.subject, job.person) == ("occupation", "nurse", "third", "r1")
    assert job.probability == 0.9
    assert "probability 0.90" in job.why
    assert "nurse" not in job.why
    doc = Doc.of(text)
    start = doc.text.index("nurse")
    span = Span("occupation", start, start + 5, "third", "r1", 0.9)
    [job] = attributes_of(of(span), doc)
    assert text[job.start : job.end] == "nurse"


@pytest.mark.parametrize(("probability", "weak"), [(0.3, True), (WEAK - 1e-9, True), (WEAK, False), (1.0, False)])
def test_what_is_less_than_likely_is_weak(probability: float, weak: bool) -> None:
    assert [a.weak for a in found("a nurse", ("occupation", "nurse"), probability=probability)] == [weak]


@pytest.mark.parametrize(("text", "parts", "facts"), [
    ("the day ward of St Mary's Hospital, Isle of Wight Trust", ("day ward", "St Mary", "Isle", "Wight Trust"), 1),
    ("a member of Rotary of Ely", ("Rotary", "Ely"), 1),
    ("works for Tesco and sings with Ely Chorale", ("Tesco", "Ely Chorale"), 2),
    ("of Bath College; of Fairfield School", ("Bath College", "Fairfield School"), 2),
])  # fmt: skip
def test_the_parts_of_one_affiliation_are_one_fact(text: str, parts: tuple[str, ...], facts: int) -> None:
    said = found(text, *(("affiliation", part) for part in parts))
    assert len(said) == len(parts)
    assert len(set(values(said))) == facts
    others = found(text, *(("affiliation", part, f"r{k}") for k, part in enumerate(parts)))
    assert len(set(values(others))) == len(parts)


@pytest.mark.parametrize(("kind", "first", "second"), [
    ("age", "52-year-old", "52"),
    ("age", "aged 52 years", "age of 52"),
    ("place", "Omaha", "the city of Omaha"),
    ("place", "Omaha, Nebraska", "Omaha"),
    ("occupation", "a Nurse", "the nurses"),
    ("family", "two sons", "his son"),
    ("family", "her daughter Ann", "daughters"),
])  # fmt: skip
def test_one_fact_said_twice_is_one(kind: str, first: str, second: str) -> None:
    for one, two in ((first, second), (second, first)):
        said = found(f"{one} / {two}", (kind, one), (kind, two))
        assert len(said) == 2
        assert len(set(values(said))) == 1


@pytest.mark.parametrize(("kind", "first", "second"), [
    ("age", "52", "53"), ("place", "Omaha", "Tulsa"), ("occupation", "school nurse", "school bus driver"),
    ("family", "two sons", "her sister"), ("place", "Kansas City", "Iowa City"),
])  # fmt: skip
def test_two_facts_are_two(kind: str, first: str, second: str) -> None:
    assert len(set(values(found(f"{first} / {second}", (kind, first), (kind, second))))) == 2


def test_a_span_does_not_end_in_a_word() -> None:
    [age] = found("a 52-year-old man", ("age", "52-year-"))
    assert (age.start, age.end, age.value) == (2, 13, "52")
    [alone] = found("aged 52- and over", ("age", "52-"))
    assert (alone.start, alone.end) == (5, 8)


def test_facts_are_told_apart_by_person_and_class() -> None:
    said = found("nurse nurse nurse", ("occupation", "nurse"), ("affiliation", "nurse"), ("occupation", "nurse", "r2"))
    assert [(a.kind, a.person) for a in said] == [("occupation", "r1"), ("affiliation", "r1"), ("occupation", "r2")]


@pytest.mark.parametrize("between", ["of", "of three", "of the two", "of her", "of my 3", "OF\nThe"])
@pytest.mark.parametrize("later", ["a mom", "her kids"])
def test_family_words_with_only_of_between_are_one_fact(between: str, later: str) -> None:
    """Also where one of them is said again, before or after."""
    text = f"a mom {between} kids"
    for said in (f"{text}; {later}", f"{later}; {text}"):
        words = re.findall("mom|kids", said)
        attributes = found(said, *(("family", w) for w in words))
        assert len(attributes) == 3
        assert len(set(values(attributes))) == 1
    assert values(found("mom of three kids", ("family", "mom"), ("age", "three"), ("family", "kids"))) == [
        ("family", "kid mom"), ("age", "three"), ("family", "kid mom")]
    chain = found(f"{text} of her sister", *(("family", w) for w in ("mom", "kids", "sister")))
    assert len(set(values(chain))) == 1
    assert len(set(values(found(f"{text}, an uncle", *(("family", w) for w in ("mom", "kids", "uncle")))))) == 2


@pytest.mark.parametrize(("between", "kind", "who"), [
    (", of", "family", "r1"), (". Of the", "family", "r1"), ("of, the", "family", "r1"), ("", "family", "r1"),
    ("and", "family", "r1"), ("three", "family", "r1"), ("the of", "family", "r1"), ("of Omaha and", "family", "r1"),
    ("of three", "family", "r2"), ("of three", "family", "speaker"), ("of three", "occupation", "r1"),
])  # fmt: skip
def test_what_is_further_apart_or_of_somebody_else_is_two_facts(between: str, kind: str, who: str) -> None:
    said = found(f"a mom {between} kids", (kind, "mom"), (kind, "kids", who))
    assert values(said) == [(kind, "mom"), (kind, "kid")]


def test_words_of_a_text_are_those_of_values() -> None:
    assert {"nurse", "52", "daughter"} <= facts_words("Nurses, aged 52-ish; her daughters")
    assert facts_words("") == frozenset()


def test_of_a_person_with_many_values_further_ones_are_not_compared() -> None:
    words = [f"town{chr(97 + k // 26)}{chr(97 + k % 26)}" for k in range(200)]
    assert len({a.value for a in found(" ".join(words), *(("place", word) for word in words))}) == 200


@pytest.mark.parametrize("text", ["- 34-year-old nurse", "-34-year-old nurse", "– 34 year old nurse",
                                  "34‐year‐old nurse", "a 34 - year - old nurse"])
@pytest.mark.parametrize("pieces", [("34", "year", "old"), ("34", "year"), ("34",), ("year", "old")])
def test_an_age_is_one_span_of_all_its_words(text: str, pieces: tuple[str, ...]) -> None:
    plain = Doc.of(text).text
    [age] = found(plain, *(("age", piece) for piece in pieces))
    assert plain[age.start : age.end] == plain[plain.index("34") : plain.index("old") + 3]
    assert age.value == "34"


def test_ages_of_two_places_are_two() -> None:
    said = "a 34-year-old and a 36-year-old"
    assert [said[a.start : a.end] for a in found(said, ("age", "34"), ("age", "old"), ("age", "36"))] == [
        "34-year-old", "36-year-old"]
    assert values(found("fifty-two-year-old, fifty-two", ("age", "fifty-two-year"), ("age", "fifty-two"))) == [
        ("age", "fifty-two")] * 2


@pytest.mark.parametrize(("words", "head"), [
    ("Tulsa stops metformin", "Tulsa"), ("Tulsa stops Metformin", "Tulsa"), ("Rio de Janeiro", "Rio de Janeiro"),
    ("Pine Ridge reservation", "Pine Ridge reservation"), ("the south side", "the south side"), ("omaha", "omaha"),
    ("Omaha and Tulsa", "Omaha and Tulsa"), ("Omaha and then", "Omaha"), ("Omaha, Nebraska", "Omaha, Nebraska"),
    ("IBAN", ""), ("IRA LLC", ""), ("ISTANBUL", "ISTANBUL"), ("metformin", ""), ("Tulsa IRA", "Tulsa IRA")])
def test_a_place_ends_before_a_verb_and_is_no_abbreviation_or_drug(words: str, head: str) -> None:
    assert [words[a.start : a.end] for a in found(words, ("place", words))] == [head] * bool(head)


MEDICAL = load_domain("medical")


def span(text: str, words: str, person: str = "r1", subject: Subject = "third", kind: str = "age") -> Span:
    start = text.index(words)
    return Span(kind, start, start + len(words), subject, person, 0.9)


def terms(text: str, *spans: Span, domain: str = "medical") -> list[tuple[str, str, str]]:
    return [(a.kind, a.person, text[a.start : a.end]) for a in terms_of(Doc.of(text), load_domain(domain), spans)]


@pytest.mark.parametrize(("text", "domain", "expected"), [
    ("Metformin is taken with meals.", "medical", [("treatment", "Metformin")]),
    ("Tendinopathy of the wrist is slow to heal.", "medical", [("condition", "Tendinopathy")]),
    ("Her MS is stable.", "medical", [("condition", "MS")]), ("Ms. Ortiz is well.", "medical", []),
    ("The plaintiff was arrested for DUI.", "law", [("role", "plaintiff")]),
])
def test_listed_terms_endings_and_abbreviations(text: str, domain: str, expected: list[tuple[str, str]]) -> None:
    told = [(kind, words) for kind, _, words in terms(text, domain=domain)]
    assert [one for one in told if one in expected] == expected
    assert told or not expected


def test_the_longest_of_one_kind() -> None:
    assert [words for kind, _, words in terms("He has type 2 diabetes.") if kind == "condition"] == ["type 2 diabetes"]


def test_a_term_is_said_of_whom_the_sentence_names() -> None:
    text = "At 52 he takes metformin. It is for diabetes. His wife, 47, has asthma. Aspirin is old. And then? Gout."
    spans = [span(text, "52"), span(text, "47", "r2")]
    assert terms(text, *spans) == [
        ("treatment", "r1", "metformin"), ("condition", "r1", "diabetes"), ("condition", "r2", "asthma"),
        ("treatment", "r2", "Aspirin"), ("condition", "nobody", "Gout")]
    assert terms(text, spans[0])[-1] == ("condition", "r1", "Gout")
    assert terms(text) == [(kind, "nobody", words) for kind, _, words in terms(text, *spans)]


def test_a_span_over_the_term_decides_and_nobody_s_spans_do_not() -> None:
    text = "She is 52. Her brother has asthma."
    over = span(text, "has asthma", "r2", kind="domain")
    assert terms(text, span(text, "52"), span(text, "brother", "r2"), over) == [("condition", "r2", "asthma")]
    assert terms(text, span(text, "52"), over) == [("condition", "r1", "asthma")]  # r2 is known by nothing else.
    assert terms(text, span(text, "52", "nobody", "nobody")) == [("condition", "nobody", "asthma")]


def test_whose_it_is_goes_with_the_subject_and_places_are_of_the_original_text() -> None:
    text = "Adults of **52** with asthma."
    doc = Doc.of(text)
    start = doc.text.index("52")
    [one] = terms_of(doc, MEDICAL, [Span("age", start, start + 2, "cohort", "cohort", 0.9)])
    assert (one.subject, text[one.start : one.end]) == ("cohort", "asthma")
