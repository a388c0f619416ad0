"""What every tagger promises, its author's or ours: the registry is walked, so a new one is tested by being there."""

from __future__ import annotations

import pytest
from discreet.guard.text.evidence.mentions import Context, Mention, Tagger, taggers
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.guard.domains import ALWAYS, SHARED, builtin_domains, load_domain
from discreet.guard.text.doc import Doc

NAMES = list(taggers)
OWN = {name: load_domain(name).own for name in builtin_domains()}
RICH = (
    "The client is a 52-year-old Nigerian litigator from Omaha, Nebraska with two children. She works at Boeing and is "
    "married. I am a nurse in Tulsa; my husband has asthma and takes metformin. He earns $82,000 a year, owns a rental "
    "property and sold his house for $410,000. The plaintiff was arrested for DUI and pleaded guilty. She was admitted "
    "in May. She works as a thatcher and shares a cottage with an old flame. Adults aged 50 to 70 who live in Ohio "
    "should consult a teacher. You are 34. Mrs. Ortiz lives alone.\n"
    "Age: 41\nResidence: Fairbanks"
)
HOSTILE = {
    "empty": "", "blank": " \n\t\u00a0 ", "emoji": "🙂👩‍👩‍👧‍👦🏳️‍🌈" * 3,
    "surrogates": "\ud800\udfff a \udc00 52-year-old \ud83d", "nul": "\x00 She is 52 \x00",
    "marks": "e" + "\u0301" * 500, "bidi": "\u202eahamO morf 52\u202c", "one letter": "a", "digits": "1" * 300,
    "quotes": "'" * 200 + "’" * 200, "commas": "Omaha, " * 200, "turkish": "İSTANBUL'da yaşıyor ıI",
    "capitals": RICH.upper(), "lower": RICH.lower(), "one line": RICH, "lines": RICH.replace(" ", "\n"),
    "ligatures": "a ﬁfty-ﬁve-year-old oﬃcer from Oﬄey"}
UNITS = {
    "blank": " ", "letter": "a", "capital": "A ", "digit": "1", "age": "52-year-old ", "hyphens": "- ",
    "newline": "\n", "apostrophe": "'s ", "my": "my ", "comma": ", ", "full stop": ". ", "married": "married and ",
    "place": "Omaha, ", "number": "fifty-two ", "org": "University of ", "is a": "is a ", "her": "her ",
    "with": "with two ", "rich": RICH + " ", "surrogate": "\ud800", "mark": "\u0301", "emoji": "👩‍👩‍👧 ",
    "the": "the ", "money": "$1,000 ", "works": "works at ", "versus": "Smith v. ", "lived": "lives with my ",
    "was": "was hired as a "}
LENGTH = 20_000


def found(name: str, text: str, domain: str) -> list[Mention]:
    tagger: Tagger = taggers[name]
    return list(tagger.find(Context(Doc.of(text), domain)))


def domains(name: str) -> tuple[str, ...]:
    return taggers[name].domains or builtin_domains()


def assert_kept(name: str, text: str, domain: str) -> None:
    """Declared kinds, spans inside the text, whole words, the same twice."""
    tagger = taggers[name]
    context = Context(Doc.of(text), domain)
    mentions = list(tagger.find(context))
    assert mentions == list(tagger.find(context)) == found(name, text, domain)
    for m in mentions:
        assert m.kind in (tagger.kinds or OWN[domain])
        assert 0 <= m.start < m.end <= len(context.text)
        assert context.text[m.start : m.end].strip()
        assert m.value == m.value.strip() != ""
        assert m.why
        assert m.who is None or m.who
        start, end = context.doc.prepared.span(m.start, m.end)
        assert 0 <= start < end <= len(text)


def test_there_are_taggers_for_every_class() -> None:
    assert {kind for name in NAMES for kind in taggers[name].kinds} == {*SHARED, *ALWAYS}
    for domain, own in OWN.items():
        assert {m.kind for m in found("domain_facts", RICH, domain)} == set(own)


@pytest.mark.parametrize("name", NAMES)
def test_what_it_declares(name: str) -> None:
    tagger = taggers[name]
    assert len(set(tagger.kinds)) == len(tagger.kinds)
    assert set(tagger.kinds) <= {*SHARED, *ALWAYS}
    assert tagger.domains is None or (tagger.domains and set(tagger.domains) <= set(OWN))


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_something(name: str) -> None:
    assert any(found(name, RICH, domain) for domain in domains(name))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("name", NAMES)
def test_hostile_texts(name: str, text: str) -> None:
    for domain in domains(name):
        assert_kept(name, text, domain)


@pytest.mark.parametrize("text", ["", " \n\t ", "🙂", "\ud800", "!?", "1234"])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_nothing(name: str, text: str) -> None:
    assert all(found(name, text, domain) == [] for domain in domains(name))


@given(st.text(max_size=80) | st.lists(st.sampled_from(RICH.split()), max_size=20).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_any_text(text: str) -> None:
    for name in NAMES:
        assert_kept(name, text, domains(name)[0])


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_long_texts_end(unit: str) -> None:
    """A pattern that backtracks would need hours for these; `benchmarks/linear.py` has the growth."""
    context = Context(Doc.of((unit * LENGTH)[:LENGTH]), "medical")
    assert len(context.referents) <= LENGTH
    for name in NAMES:
        for m in taggers[name].find(context):
            assert 0 <= m.start < m.end <= len(context.text)


@pytest.mark.parametrize("name", NAMES)
def test_no_words_in_any_repr(name: str) -> None:
    words = {w.strip(".,;$").lower() for w in RICH.split() if len(w.strip(".,;$")) > 3}
    safe = set("person speaker cohort nobody addressee kind value start third weak false none true mention".split())
    for domain in domains(name):
        for m in found(name, RICH, domain):
            who = m.who or ""
            shown = repr(m).replace(repr(m.why), "").replace(repr(m.kind), "").replace(repr(who), "").lower()
            assert not {w for w in words - safe if w in shown}, m.kind
    assert not {w for w in words - safe - {name, *taggers[name].kinds} if w in repr(taggers[name]).lower().split("'")}


@pytest.mark.parametrize("name", NAMES)
def test_why_and_who_hold_no_words_of_the_text(name: str) -> None:
    """`why` leaves the process in explanations, so that it must be the same for all texts of one form."""
    marked = ("She is a 52-year-old {x} from {x} who works at {x} Zqxmarker University, is married to Zqxmarker and "
              "has {x}.")
    for domain in domains(name):
        for m in found(name, marked.format(x="Zqxmarker"), domain):
            assert "zqx" not in f"{m.why} {m.who}".lower()


@pytest.mark.parametrize("name", NAMES)
def test_the_text_before_does_not_move_spans_off_their_words(name: str) -> None:
    for domain in domains(name):
        alone = {(m.kind, m.value, RICH[m.start : m.end]) for m in found(name, RICH, domain)}
        shifted = "The drug helps.\n\n" + RICH
        assert alone == {(m.kind, m.value, shifted[m.start : m.end]) for m in found(name, shifted, domain)}
