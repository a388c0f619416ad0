"""Features of a message and an answer, and the logistic over them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.guard.asked import FEATURES, Records, features, fitted, most
from discreet.guard.policy import Policy
from discreet.guard.probes import cues_of, is_of_another, messages
from discreet.guard.text.consent import Spoken
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import Fact, Read
from discreet.guard.text.render import render

POLICY = Policy.of("medical")
RECORD = "Clinic list. Edith Quillfeather, 47, keeps bees near Ludlow, two sons. Seen 3 March for gout."
RULE = "Patients may have a second opinion. The clinic keeps copies for eight years."
ASKED = "Was the 47-year-old beekeeper from Ludlow treated here?"


def values(message: str, answer: str, *texts: str, facts: tuple[Fact, ...] | None = ()) -> dict[str, float]:
    spoken, records, cues = Spoken(message), Records(texts, POLICY), cues_of(Doc(render(answer)))[0]
    another = is_of_another(spoken)
    found = (most(spoken, cues, records, sure=True, another=another) if facts is None else
             features(spoken, facts, cues, records, sure=True, another=another))
    return dict(zip(FEATURES, found, strict=True))


def told(message: str) -> tuple[Fact, ...]:
    return tuple(Read.of(Spoken(message).doc, POLICY.domain, reader=False).facts(POLICY.counted))


def logit(of: dict[str, float]) -> float:
    return fitted().logit(tuple(of.values()))


def test_a_text_about_nobody_is_no_record() -> None:
    assert set(Records((RECORD, RULE), POLICY).texts) == {RECORD}
    assert not Records((RECORD + " word" * 20_000,), POLICY).texts
    assert values(ASKED, "Yes.", RULE)["record"] == 0


def test_words_of_several_texts_are_no_records_own() -> None:
    alone = values(ASKED, "Seen for gout in March.", RECORD)
    assert alone["new"] == 0.5  # seen, gout, march
    assert values(ASKED, "Seen for gout in March.", RECORD, "Gout is seen in March.")["new"] == 0


def test_a_confirmation_is_more_than_a_refusal_and_advice() -> None:
    facts = told(ASKED)
    tells = logit(values(ASKED, "Yes, she was.", RECORD, facts=facts))
    assert tells > fitted().tau
    for answer in ("I cannot say.", "You should ask the clinic for your letter.", "Nobody here can tell you that."):
        assert logit(values(ASKED, answer, RECORD, facts=facts)) < fitted().tau < tells


pieces = st.lists(st.sampled_from([ASKED, RECORD, RULE, "Yes, she was.", "No.", "I cannot say.", "You may.", "47",
                                   "Ludlow", "My mother is 71.", "", "?", "Only one."]), max_size=4).map(" ".join)


@given(pieces, pieces, st.lists(pieces, max_size=3))
@settings(max_examples=60, deadline=None)
def test_features_are_shares_and_the_most_without_facts(message: str, answer: str, texts: list[str]) -> None:
    upper = values(message, answer, *texts, facts=None)
    facts = told(message)
    real = values(message, answer, *texts, facts=facts)
    assert all(0 <= one <= 1 for of in (upper, real) for one in of.values())
    assert logit(real) <= logit(upper) + 1e-9


@pytest.mark.parametrize(("text", "found"), [
    ("", []), ("Was she treated here?", [("Was she treated here?", True)]),
    ("Suppose a nurse was treated. Was it gout?", []), ("news of the nurse", [("news of the nurse", False)]),
])
def test_messages_are_windows_around_questions(text: str, found: list[tuple[str, bool]]) -> None:
    assert list(messages(text)) == found
