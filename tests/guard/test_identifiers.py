"""Places of identifiers are found without a look at all of them, and are those that such a look finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Guard
from discreet.core.records import Answer, Subject
from discreet.guard.identifiers import Places, Status
from discreet.guard.text.direct.detect import DirectSpan
from discreet.guard.text.doc import Doc
from discreet.guard.text.reader import Seen
from discreet.guard.text.render import render
from discreet.guard.text.reply import Case

STRETCHES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda one: (one[0], one[0] + one[1])))


@given(STRETCHES, st.integers(-5, 70), st.integers(0, 20))
def test_what_shares_a_character_is_what_a_look_at_all_finds(of: list[tuple[int, int]], start: int, size: int) -> None:
    places = Places((begin, end, number) for number, (begin, end) in enumerate(of))
    slow = [number for number, (begin, end) in enumerate(of) if begin < start + size and start < end]
    assert sorted(places.at(start, start + size)) == slow


@pytest.mark.parametrize(("text", "action"), [
    ("Jennifer Kowalski\nWelder\n412 Maple Ave, Dayton OH 45402\n(937) 555-0146", "flag"),
    ("Visit Robert Nguyen, plumber, at home: 88 Birch Ln, Toledo, OH 43604", "flag"),
    ("Dr. Ann Lee practises at Lakeside Family Clinic, 412 Maple Ave, Dayton OH 45402.", "safe"),
    ("The notary Ann Lee has her office at 14 Rue de Rivoli, Paris.", "safe")])
def test_the_address_of_a_trade_is_a_home_where_no_firm_is_named(text: str, action: str) -> None:
    assert Guard("medical").check(text).action == action


@pytest.mark.parametrize(("name", "action"), [("John Dorsey", "flag"), ("Jane Doe", "safe"), ("JOHN DOE", "safe"),
                                              ("J. D.", "safe")])
def test_who_stands_for_anybody_is_nobody(name: str, action: str) -> None:
    assert Guard("medical").check(f"The patient {name} was seen on Monday.").action == action


@pytest.mark.parametrize("text", [
    "John Smith's knee replacement surgery is on 24 February at nine. Emily Davis's consultation is on 23 February.",
    "Nora Whitfield's knee replacement surgery is on 24 February at nine."])
def test_a_common_name_of_whom_nothing_public_is_told_is_private(text: str) -> None:
    assert Guard("medical").check(text).action == "flag"


@pytest.mark.parametrize(("others", "status", "spared"), [
    (1.9, "fictional", ""), (2.1, "fictional", "n"), (9.0, "fictional", "n"), (5.9, "staff", ""), (6.1, "staff", "n"),
    (7.1, "staff", "nm"), (7.1, "public", "nm"), (9.0, None, "n")])
def test_what_is_said_of_others_by_how_sure_question_and_answer_are(others: float, status: Subject | None,
                                                                     spared: str) -> None:
    text = "Ann Lee, ann.lee@mail.org"
    seen = Seen((), np.zeros((3, 4), np.float32), {}, {}, np.zeros(1, np.float32), Case(tells=0.0), asked=True,
                together=Case(others=others, status=status))
    of = Status(seen, Doc(render(text)), ())
    found = {"n": of.of(DirectSpan("person_name", 0, 7)), "m": of.of(DirectSpan("email", 9, 25))}
    assert {mark for mark, subject in found.items() if subject == "nobody"} == set(spared)
    private = Status(seen, Doc(render(text)), {"r1"})
    assert private.of(DirectSpan("person_name", 0, 7)) == "third"


@pytest.mark.parametrize(("text", "action"), [
    ("Hi, I'm Ava, your virtual assistant at Northside Clinic. How can I help you today?", "safe"),
    ("Hello! I’m Sophie, the clinic's chatbot.\n\nSophie can help with bills.", "safe"),
    ("You are talking to Nova, the AI helper of Lakeside Legal.", "safe"),
    ("I'm Ava, your virtual assistant for Ruth Hale, who has HIV.", "flag"),
    ("I'm Ava, your virtual assistant. Ruth Hale, 52, a nurse from Omaha, was admitted.", "flag"),
    ("I am Ruth Hale, a 52-year-old personal assistant from Omaha.", "flag"),
    ("My name is Ruth and I am a virtual assistant with two sons in Omaha. I am 52.", "flag")])
def test_what_a_program_says_that_it_is_called_names_nobody(text: str, action: str) -> None:
    assert Guard("medical", point="balanced").check(text).action == action


@pytest.mark.parametrize(("text", "action"), [
    ("Hello John, thanks for your message.", "safe"), ("Hi Ruth! Your appointment is on Monday.", "safe"),
    ("Dear Ana Ortiz,\n\nyour test was positive.", "flag"), ("Dear Mrs Ortiz,\n\nthank you for your letter.", "flag"),
    ("Hi Ruth, Ruth Hale was admitted.", "flag"), ("Sure, Ruth was admitted on Monday.", "flag"),
    ("Hi Ruth, as a 52-year-old nurse from Omaha with two sons you qualify.", "flag")])
def test_a_given_name_that_greets_the_reader_is_nobody_elses(text: str, action: str) -> None:
    assert Guard("medical", point="balanced").check(text).action == action


@pytest.mark.parametrize(("text", "action"), [
    ("The server is at 192.168.1.100; ping 10.0.0.5 first.", "safe"), ("His laptop is at 81.2.69.142.", "flag"),
    ("Ruth Hale's workstation is 10.2.3.4.", "flag")])
def test_addresses_within_a_network_are_nobodys_where_nobody_is_told_of(text: str, action: str) -> None:
    assert Guard("medical").check(text).action == action


@pytest.mark.parametrize(("text", "action"), [
    ("Our clinic is at 12 High Street, Leeds LS1 4AB. Parking is behind the building.", "safe"),
    ("Visit us at 200 Main St, Omaha, NE 68102.", "safe"), ("Poison line: 0344 892 0111.", "safe"),
    ("Her home is next to our office: 12 High Street, Leeds LS1 4AB.", "flag"),
    ("Ruth Hale lives at 12 High Street, Leeds LS1 4AB.", "flag")])
def test_words_right_before_an_address_say_that_it_is_an_offices(text: str, action: str) -> None:
    assert Guard("medical", point="balanced").check(text).action == action


@pytest.mark.parametrize(("question", "text", "action"), [
    ("Who can help me with my bill?", "Hi, this is Sophie from the billing team. I can help with that.", "safe"),
    ("Who do I ask for?", "Just ask for Maria at the front desk, she'll show you to room 4.", "safe"),
    (None, "Ruth Hale from our office has HIV.", "flag"),
    ("Who was admitted?", "Ruth Hale from the billing team.", "flag"),
    ("Who tested positive?", "Ruth, from our support team.", "flag"),
    ("Is Ruth Hale pregnant?", "Ruth Hale from our office is on leave until June.", "flag"),
    ("Is Maria Lopez a patient here?", "Ask for Maria at the front desk.", "flag")])
def test_a_name_of_a_team_is_of_staff_where_nothing_private_is_told(question: str | None, text: str,
                                                                    action: str) -> None:
    assert Guard("medical", point="balanced").check(Answer("1", text, user_words=question)).action == action


@pytest.mark.parametrize(("text", "action"), [
    ("Only Kwame.", "flag"), ("Only Mehmet.", "flag"), ("Only the bakery.", "safe"), ("Only Thursday.", "safe")])
def test_a_given_name_need_be_seen_less_surely(text: str, action: str) -> None:
    said = Answer("1", text, user_words="Which of the applicants defaulted?")
    assert Guard("medical", point="balanced").check(said).action == action
