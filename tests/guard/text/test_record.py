"""Facts of a description in another text, and what a user alone speaks of."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.domains import load_domain
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import Fact, Read, fact_words, is_alike, shared
from discreet.guard.text.render import render

MEDICAL = load_domain("medical")
COUNTED = (*MEDICAL.shared,)
VALUES = ("47", "ludlow", "beekeeper", "beekeeping", "son", "whitby", "gout")


def test_facts_are_what_a_text_tells_of_anybody() -> None:
    doc = Doc(render("Was the 47-year-old beekeeper from Ludlow treated here?"))
    found = Read.of(doc, MEDICAL).facts(COUNTED)
    assert {("age", ("47",)), ("place", ("ludlow",)), ("occupation", ("beekeeper",))} <= found
    assert not Read.of(doc, MEDICAL).facts(())


def test_an_age_and_a_place_must_stand_there_letter_for_letter() -> None:
    assert shared([("occupation", ("beekeeper",))], "She has kept bees, a beekeeping business.") == 1
    assert shared([("place", ("ludlow",)), ("age", ("47",))], "Ludlowtown, aged 470") == 0
    assert shared([("place", ("ludlow",)), ("age", ("47",))], "forty-seven, Ludlow") == 2
    assert shared([("age", tuple(fact_words("late forties")))], "aged 47") == 1


facts = st.lists(st.tuples(st.sampled_from(["age", "place", "occupation", "family"]),
                           st.lists(st.sampled_from(VALUES), min_size=1, max_size=2).map(tuple)), max_size=5)


@given(facts, st.lists(st.sampled_from(VALUES), max_size=8))
def test_shared_is_the_count_of_the_slow_way(told: list[Fact], words: list[str]) -> None:
    text = " ".join(words)
    slow = sum(any(a == b or (kind not in ("age", "place") and a[:4] == b[:4] and is_alike(a, b))
                   for a in values for b in fact_words(text)) for kind, values in told)
    assert shared(told, text) == slow
