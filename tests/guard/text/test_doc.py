from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.text.doc import Doc

words = st.lists(
    st.sampled_from([
        "She", "he", "is", "52", "3.5", "Dr.", "Mr.", "v.", "Omaha", ".", "!", "?", "\n", "\n\n", '"', ")", "I",
        "e.g.", "U.S.", "-", "A", "—", "é", "ﬁ", "don't", ",", " ",
    ])
)
texts = st.text() | words.map(" ".join) | words.map("".join)


def sentences(text: str) -> list[str]:
    doc = Doc.of(text)
    return [doc.text[doc.tokens[a].start : doc.tokens[b - 1].end] for a, b in doc.sentences]


@given(texts)
def test_tokens_are_all_that_is_not_blank(text: str) -> None:
    doc = Doc.of(text)
    spelt = "".join(t.text for t in doc.tokens)
    assert spelt == "".join(c for c in doc.text if not c.isspace())
    end = 0
    for token in doc.tokens:
        assert doc.text[token.start : token.end] == token.text
        assert token.lower == token.text.lower()
        assert end <= token.start < token.end
        end = token.end


@given(texts)
def test_sentences_are_a_partition_of_the_tokens(text: str) -> None:
    doc = Doc.of(text)
    covered = [i for first, last in doc.sentences for i in range(first, last)]
    assert covered == list(range(len(doc.tokens)))
    for i, token in enumerate(doc.tokens):
        first, last = doc.sentence_of(i)
        assert first <= i < last
        assert doc.sentences[token.sentence] == (first, last)


@given(texts, st.integers(0, 60))
def test_token_at_is_the_first_that_ends_behind_the_offset(text: str, offset: int) -> None:
    doc = Doc.of(text)
    behind = [i for i, t in enumerate(doc.tokens) if t.end > offset]
    assert doc.token_at(offset) == (behind[0] if behind else max(0, len(doc.tokens) - 1))


@given(texts, st.integers(-5, 30), st.integers(-5, 30))
def test_words_clip_their_bounds(text: str, first: int, last: int) -> None:
    doc = Doc.of(text)
    wanted = [w for i, w in enumerate(doc.lowers) if first <= i < last]
    assert doc.words(first, last) == " ".join(wanted)


def test_what_is_made_of_a_doc_is_made_once() -> None:
    doc, numbers = Doc.of("a b"), count(1)
    assert [doc.once(key, lambda: next(numbers)) for key in ("one", "two", "one")] == [1, 2, 1]


@given(texts)
def test_a_doc_is_a_function_of_its_text(text: str) -> None:
    one, two = Doc.of(text), Doc.of(text)
    assert (one.tokens, one.sentences) == (two.tokens, two.sentences)


@pytest.mark.parametrize(("text", "expected"), [
    ("She is 52.", ["She", "is", "52", "."]), ("don't", ["don't"]), ("She’s here", ["She", "'s", "here"]),
    ("$1,234.50!", ["$", "1,234.50", "!"]), ("52-year-old", ["52", "-", "year", "-", "old"]),
    ("Zoë Müller", ["Zoë", "Müller"]), ("a_b", ["a", "_", "b"]), ("", []), (" \n\t ", []),
])
def test_tokens(text: str, expected: list[str]) -> None:
    assert [t.text for t in Doc.of(text).tokens] == expected


@pytest.mark.parametrize("text", [
    "She is 52. He is 60.", "She is 52! He is 60.", "Is she 52? He is 60.", 'He said "yes." She left.',
    "She lives in Omaha (a town.) She works.", "First line\nSecond line", "one paragraph\n\nanother", "- one\n- two",
    "It was I. He knew.", "She was seen by Mr. Alvarez. He left.", "It cost $3.50. She paid.",
    "J. Smith lives in St. Louis. He is 40.", "The U.S. is large. It is old.", "Roe v. Wade was decided. It held so.",
])
def test_two_sentences(text: str) -> None:
    assert len(sentences(text)) == 2


@pytest.mark.parametrize("text", [
    "She was seen by Dr. Chen and Mrs. Ortiz.", "The drug (e.g. metformin) helps.", "In Roe v. Wade the court ruled.",
    "Acme Inc. has offices.", "She weighs 52.5 kg.", "a line\nthat goes on", "J. K. Smith came.", "No. 5 is there",
    "approx. 5 people live on St. John.",
])
def test_one_sentence(text: str) -> None:
    assert len(sentences(text)) == 1


def test_nothing() -> None:
    doc = Doc.of("")
    assert (doc.tokens, doc.sentences, doc.lowers, doc.token_at(3), doc.words(0, 5)) == ((), (), (), 0, "")


@pytest.mark.parametrize(("word", "capitalised"), [
    ("Omaha", True), ("omaha", False), ("I", False), ("52", False), ("é", False), ("Élan", True), ("USA", True),
])
def test_a_name_may_begin_with_a_capital_of_more_than_one_letter(word: str, capitalised: bool) -> None:
    assert Doc.of(word).tokens[0].is_capitalised is capitalised


def test_reprs_show_no_words() -> None:
    doc = Doc.of("ZQXMARKER lives here")
    assert "zqxmarker" not in (repr(doc) + repr(doc.tokens) + repr(doc.prepared)).lower()
