"""Lines about somebody private in answers about the user's own, staff, and known persons; a few telling words in a long
text about other things; rows that are not read at first."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from discreet import Guard
from discreet.core.records import Answer, Verdict
from discreet.guard.policy import Policy
from discreet.guard.stretches import asked_apart, told_by
from discreet.guard.text import classifier
from discreet.guard.text.direct.detect import direct_of
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import seen_in
from discreet.guard.text.reply import Case

STAFF = """The Harbour Street Clinic is run by Dr. Helen Moss, its medical director since 2019. You can reach her
office as follows:

- Telephone: 402-555-0100
- E-mail: h.moss@harbourstreet.example
- Address: 12 Harbour Street, second floor

The practice manager, Mr. Tom Reyes, answers questions on appointments and billing (402-555-0101). Reception is open
Monday to Friday from 8 am to 6 pm, and on Saturday until noon.
"""
KNOWN = """Marie Curie (1867-1934) was a Polish and naturalised-French physicist and chemist who conducted pioneering
research on radioactivity. She was the first woman to win a Nobel Prize.

Born Maria Sklodowska in Warsaw, she was the youngest of five children of two teachers. She studied at the clandestine
Flying University before moving to Paris in 1891.

In 1895 she married Pierre Curie. They had two daughters, Irene, who won a Nobel Prize herself, and Eve, a writer.
"""
OWN = """As you said, you are 44, work as a bus driver in Leith, and have had type 2 diabetes since 2016. With those
facts, two things matter for your licence.

Tell the licensing authority if you use insulin. Keep a record of your readings for the last three months.
"""
ASKED = {STAFF: "Who runs the clinic and how do I reach them?", KNOWN: "Tell me about Marie Curie's life and family.",
         OWN: "I'm 44, a bus driver in Leith with type 2 diabetes since 2016. What about my licence?"}


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard("medical", point="balanced")


def check(guard: Guard, text: str, question: str) -> Verdict:
    return guard.check(Answer("1", text, question=question, user_words=question))


@pytest.mark.parametrize(("about", "line"), [
    (STAFF, "Her patient Ana Ortiz, 52, a litigator from Omaha, can be reached on 402-555-0199."),
    (STAFF, "Mr Ortiz (HIV) is on 402-555-0199."),
    (KNOWN, "Bed 4: Yoruba welder, 47, Walney."),
    (STAFF, "Discharged today: Ruth Hale, 14 Elm Road, Leeds LS6 4QP."),
    (OWN, "Your colleague Ana Ortiz, a 52-year-old Portuguese driver from Granton, lost hers after a seizure.")])
@pytest.mark.parametrize("first", [True, False])
def test_a_line_of_a_record_is_not_safe_behind_a_question_about_others(guard: Guard, about: str, line: str, first: bool
                                                                      ) -> None:
    text = f"{line}\n\n{about}" if first else f"{about}\n{line}"
    assert check(guard, text, ASKED[about]).action != "safe"
    assert check(guard, about, ASKED[about]).action == "safe"


@dataclass
class Told:
    """A classifier that takes for private what holds a word."""

    word: str
    read_of: list[str] = field(default_factory=list)

    def read(self, text: str, question: str) -> Case:
        self.read_of.append(text)
        return Case(tells=6.0 if self.word in text else -6.0, others=-6.0 if self.word in text else 6.0, status="staff")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    one = Told("Ortiz")
    monkeypatch.setattr(classifier, "packaged_classifier", lambda: one)
    return one


def test_only_stretches_that_name_or_tell_of_somebody_are_asked_about(told: Told) -> None:
    text = f"{STAFF}\nMr Ortiz lives at 14 Elm Road, Leeds LS6 4QP.\n\nThe lift is out of order. Use the stairs."
    doc, policy = Doc.of(text), Policy.of("medical")
    [found] = [one for one in asked_apart(doc, "Who runs it?", Case(), seen_in(doc, doc.text), direct_of(doc), policy)
               if one.private]
    assert doc.text[found.start : found.end] == "Mr Ortiz lives at 14 Elm Road, Leeds LS6 4QP."
    assert not any("lift" in one for one in told.read_of)


def test_an_answer_of_one_stretch_is_not_asked_about_again(told: Told) -> None:
    doc = Doc.of("Mr Ortiz lives at 14 Elm Road, Leeds LS6 4QP.")
    assert asked_apart(doc, "Who?", Case(), seen_in(doc, doc.text), direct_of(doc), Policy.of("medical")) == ()
    assert told.read_of == []


def test_what_stands_in_such_a_line_is_private_and_what_stands_beside_it_stays_an_office_s(told: Told) -> None:
    line = "Mr Ortiz lives at 14 Elm Road, Leeds LS6 4QP."
    verdict = check(Guard("medical"), f"{STAFF}\n{line}", ASKED[STAFF])
    assert (verdict.action, verdict.layer) == ("flag", "direct")
    direct = [one for one in verdict.evidence if one.type in ("person_name", "street_address", "phone", "email")]
    assert direct
    assert all(one.start >= len(STAFF) for one in direct)


def test_a_line_raises_what_the_answer_tells_and_nothing_else() -> None:
    whole = Case(-6.0, -7.0, 5.0, "staff")
    assert told_by(whole, [Case(2.0, 1.0, -3.0), Case(-8.0)]) == Case(2.0, -7.0, 5.0, "staff")


def test_a_frame_covers_what_stands_behind_it(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{STAFF}\nMr Ortiz lives at 14 Elm Road, Leeds LS6 4QP."
    read = told.read

    def framed(part: str, question: str) -> Case:
        return read(part, question) if part != text else Case(-9.0, -9.0, 9.0, "fictional")

    guard = Guard("medical")
    assert check(guard, text, ASKED[STAFF]).action == "flag"
    monkeypatch.setattr(told, "read", framed)
    assert check(guard, text, ASKED[STAFF]).action == "safe"


OFFICE = """Visiting hours are 2 pm to 4 pm. Please use the hand gel at the door.

Questions on bills go to Ms Parry at the desk, extension 4409."""


@pytest.mark.parametrize(("question", "told"), [
    ("Was {} admitted?", "{} was admitted on Monday."),
    ("When is {}'s appointment?", "{} is booked for Tuesday at 10."),
    ("Where does {} live?", "{} lives at 14 Elm Road, Leeds LS6 4QP.")])
@pytest.mark.parametrize("name", ["Jens Holm", "Fatuma Achieng", "Ruth Hale"])
def test_whom_the_user_asks_about_by_name_is_no_staff_because_of_the_office_beside(guard: Guard, question: str,
                                                                                   told: str, name: str) -> None:
    asked, line = question.format(name), told.format(name)
    assert check(guard, line, asked).action == "flag"
    assert check(guard, f"{line}\n\n{OFFICE}", asked).action == "flag"
    assert check(guard, OFFICE, asked).action != "flag"


ADVICE = ("The committee met on Tuesday to discuss the budget.", "Blood pressure is measured every three months.",
          "Take the tablets with food.", "A dry cough is common and harmless.", "The usual dose is small.",
          "Several members asked how the new rules would change the reports.", "Call the clinic if a rash appears.",
          "Regular walks help the heart.", "The form is on the second page.", "Most plans cover the visit.")
LONG = " ".join(ADVICE * 2)


@pytest.fixture(scope="module")
def plain() -> Guard:
    return Guard("medical")


@pytest.mark.parametrize("telling", [
    "Bed 4: Yoruba welder, 47, Walney.", "age=47 eth=Yoruba job=welder city=Leeds", "F, 34, Somali, airport cleaner",
    "Patient Jennifer Kowalski has HIV."])
@pytest.mark.parametrize("behind", [True, False])
def test_few_words_in_a_long_text_are_found(plain: Guard, telling: str, behind: bool) -> None:
    text = f"{LONG}\n\n{telling}" if behind else f"{telling}\n\n{LONG}"
    assert plain.check(text).action != "safe"
    assert plain.check(LONG).action == "safe"


@pytest.mark.parametrize("text", [
    "| Ref | Age | Ethnicity | Job | Town | Rate |\n|---|---|---|---|---|---|\n"
    "| A1 | 47 | Eritrean | taxi driver | Leeds | 4 |\n| A2 | 33 | Fijian | prison officer | Princetown | 5 |",
    "| Bed | Diagnosis | Room of |\n|---|---|---|\n| 4 | TB | Jennifer Kowalski |\n| 5 | asthma | Robert Nguyen |",
    "| Name | Age | Town |\n|---|---|---|\n| Siosaia Vaipulu | 47 | Apia |\n| Pirkko Laine | over 80 | Kuopio |"])
def test_rows_among_totals_and_bands_are_read_where_they_tell_of_somebody(plain: Guard, text: str) -> None:
    assert plain.check(text).action == "flag"


@pytest.mark.parametrize("text", [
    "| Job | State | Median wage |\n|---|---|---|\n| Nurse | Texas | 91,000 |\n| Cook | Ohio | 41,000 |",
    "| Name | Age | Dose |\n|---|---|---|\n| Children | 2-12 | 5 mg |\n| Adults | 13-64 | 10 mg |"])
def test_rows_of_nobody_stay_unread(plain: Guard, text: str) -> None:
    assert plain.check(text).action == "safe"
