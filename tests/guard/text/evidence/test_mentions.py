from __future__ import annotations

import pytest
from discreet.guard.text.evidence.mentions import IDENTIFYING, Attribute, Context, Mention, classes_of, taggers
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import UsageError
from discreet.core.records import Evidence
from discreet.guard.domains import ALWAYS, SHARED, builtin_domains, load_domain
from discreet.guard.text.doc import Doc


@pytest.mark.parametrize("domain", builtin_domains())
def test_a_domain_has_eight_classes_and_three_extra_ones(domain: str) -> None:
    classes = classes_of(domain)
    assert len(set(classes)) == len(classes) == 11
    assert {*SHARED, *ALWAYS, *load_domain(domain).own} == set(classes)


def test_built_in_domains_share_no_class_of_their_own() -> None:
    listed = [kind for name in builtin_domains() for kind in load_domain(name).own]
    assert len(set(listed)) == len(listed) == 9


def test_six_classes_identify() -> None:
    assert set(IDENTIFYING) == {"age", "ethnicity", "place", "occupation", "family", "affiliation"}


def test_an_unknown_domain() -> None:
    with pytest.raises(UsageError, match="unknown domain 'tax': expected one of finance, law, medical"):
        classes_of("tax")


@pytest.mark.parametrize("domain", builtin_domains())
def test_every_class_has_a_tagger(domain: str) -> None:
    found = {kind for _, t in taggers.items() if t.domains is None or domain in t.domains for kind in t.kinds}
    assert set(classes_of(domain)) == {*found, *load_domain(domain).own}


@given(st.text() | st.text("aİẞIﬁ🙂Σς ", max_size=20))
def test_the_lower_text_keeps_its_length(text: str) -> None:
    context = Context(Doc.of(text), "medical")
    assert len(context.lower) == len(context.text)
    if len(context.text.lower()) == len(context.text):
        assert context.lower == context.text.lower()


@pytest.mark.parametrize(("text", "personal"), [
    ("I moved because my landlord left.", True), ("I think that the drug helps.", False), ("She moved.", False),
    ("", False),
])
def test_a_personal_text_speaks_of_its_writer_more_than_once(text: str, personal: bool) -> None:
    assert Context(Doc.of(text), "law").is_personal is personal


def test_a_mention_of_tokens() -> None:
    context = Context(Doc.of("She lives in New York."), "medical")
    mention = context.mention("place", "x", 3, 5, "because", weak=True)
    assert context.text[mention.start : mention.end] == "New York"
    assert (mention.kind, mention.why, mention.weak, mention.who) == ("place", "because", True, None)


words = st.sampled_from("my sister the patient a nurse she who 's works as if you your Mrs. Ortiz men , . her".split())


@given(st.lists(words, max_size=40).map(" ".join), st.integers(0, 45))
def test_referents_by_where_they_begin_and_end(text: str, token: int) -> None:
    context = Context(Doc.of(text), "medical")
    assert context.referent_ending(token) == next((r for r in context.referents if r.last == token), None)
    assert context.referent_from(token) == next((r for r in context.referents if r.first >= token), None)


def test_what_leaves_the_process() -> None:
    attribute = Attribute("age", "ZQXVALUE", "third", "ZQXPERSON", 3, 5, "a rule")
    assert attribute.evidence() == Evidence("age", "third", 3, 5)
    assert "ZQX" not in repr(attribute) + repr(Mention("age", "ZQXVALUE", 3, 5, "a rule"))
