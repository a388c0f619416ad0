from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.domains import load_domain
from discreet.synth.profiles import line
from discreet.synth.records import Spec
from discreet.synth.writer import IMPLICIT, Writer, sentence_case, with_article


def writer(seed: int = 0, **axes: str) -> Writer:
    return Writer(Spec("unsafe", "law", "L1", **axes), load_domain("law"), np.random.default_rng(seed))  # type: ignore[arg-type]


@pytest.mark.parametrize(("phrase", "expected"), [
    ("welder", "a welder"), ("electrician", "an electrician"), ("85-year-old", "an 85-year-old"),
    ("18-year-old", "an 18-year-old"), ("58-year-old", "a 58-year-old"), ("8-year-old", "an 8-year-old"),
    ("\ue000optician\ue100", "an \ue000optician\ue100"), ("eighty-one-year-old", "an eighty-one-year-old"),
])
def test_articles(phrase: str, expected: str) -> None:
    assert with_article(phrase) == expected


def test_capitals_where_sentences_lines_and_quotations_begin() -> None:
    assert sentence_case("a test. it is fine; it is. \"yes.\" and so on? no.\n- an item\nlast: word") == (
        "A test. It is fine; it is. \"Yes.\" And so on? No.\n- An item\nLast: word")
    assert sentence_case("\ue000works\ue100 here") == "\ue000Works\ue100 here"


def test_nothing_is_repeated_before_all_was_had_nor_twice_in_a_row() -> None:
    w = writer()
    items = list("abc")
    for _ in range(50):
        first = [w.fresh("x", items) for _ in range(3)]
        assert len(set(first)) >= 2
    drawn = [w.fresh("y", items) for _ in range(200)]
    assert all(a != b for a, b in pairwise(drawn))


def test_a_capitalised_slot_gets_a_capital() -> None:
    assert writer().fill(line("{Topic}"))[0].isupper()


def test_an_implicit_case_is_never_called_by_the_noun_of_the_profession() -> None:
    w = writer(framing="IMPLICIT_CASE")
    assert {w.fill(line("{case}")) for _ in range(50)} == set(IMPLICIT)


def test_long_case_nouns_take_no_possessive() -> None:
    w = writer()
    assert "the party in this matter" in {w.fill(line("{case}")) for _ in range(100)}
    assert not any(" in " in w.fill(line("{cases}")) or " in " in w.fill(line("{holder}")) for _ in range(100))


def test_lines_of_a_story_keep_their_order() -> None:
    w = writer(3)
    order = [one.texts[0] for one in w.profile.pools["course"]]
    for _ in range(20):
        told = w.in_order("course", 3)
        places = [next(i for i, head in enumerate(order) if head and t.startswith(head)) for t in told
                  if any(head and t.startswith(head) for head in order)]
        assert places == sorted(places)


def test_unknown_slots_are_mistakes_of_the_grammar() -> None:
    with pytest.raises(KeyError):
        writer().fill(line("{nothing}"))
