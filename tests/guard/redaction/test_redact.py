from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import Answer, Guard, Policy
from discreet.core.errors import DetectorError, PolicyError, UsageError
from discreet.guard import reading as reading_module
from discreet.guard.reading import read_answer
from discreet.guard.redaction.changes import applied
from discreet.guard.redaction.marks import further_of, marks_of
from discreet.guard.redaction.pieces import Pieces
from discreet.guard.redaction.redact import Redaction, stricter
from discreet.guard.redaction.wording import wider
from discreet.guard.text.reader import Span

CLUSTER = "The patient is a 52-year-old litigator from Omaha with two children."
ADVICE = ("Take the tablets with food.", "The usual dose is 5 mg a day.", "Call the clinic if a rash appears.",
          "Blood pressure is measured every three months.", "A dry cough is common and harmless.")


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard("medical")


def sound(original: str, found: Redaction) -> str:
    """The text that goes out, with everything that holds of each one."""
    assert found.text is not None
    assert found.after is not None
    assert found.after.verdict.action == "safe"
    assert applied(original, found.changes) == found.text
    assert all(0 <= one.start <= one.end <= len(original) for one in found.changes)
    assert all(a.end <= b.start for a, b in pairwise(found.changes))
    return found.text


def test_a_sentence_that_tells_is_left_out_and_others_stay(guard: Guard) -> None:
    text = f"{ADVICE[1]} {CLUSTER} {ADVICE[0]}"
    assert sound(text, guard.redact(text)) == f"{ADVICE[1]} {ADVICE[0]}"


def test_a_safe_answer_stays(guard: Guard) -> None:
    found = guard.redact(ADVICE[0])
    assert (found.text, found.outcome, found.changes, found.after) == (ADVICE[0], "unchanged", (), None)


def test_marks_are_stable(guard: Guard) -> None:
    text = ("Mrs Ortiz asked for a refill. The pharmacy will call Ana Ortiz at 402-555-0182. If 402-555-0182 is busy, "
            "write to ana.ortiz@example.com. Luis Ortega can collect it.")
    assert sound(text, guard.redact(text)).startswith(
        "[name 1] asked for a refill. The pharmacy will call [name 1] at [phone 1]. If [phone 1] is busy, write to "
        "[email 1].")


@pytest.mark.parametrize(("text", "marks"), [
    ("Mrs Ortiz called. Ana Ortiz's file is here. Ortiz agreed.", "1 1 1"),
    ("Ana Ortiz and Luis Ortiz called.", "1 2"),
    ("[name 4] called Ana Ortiz.", "5"), ("Ana Ortiz came with Ana-Maria Rowe. ANA ORTIZ fasts. ", "1 2 1"),
    ("Ask Mr. and Mrs. Ortiz. Ortiz pays.", "1 1"),
    ("Ana Ortiz called. Ask the Ortizes. The Ortiz home.", "1 1 1"),
    ("The Ortizes called. Ana Ortiz called. Ask the Ortizes.", "1 1 1"),
])
def test_names(guard: Guard, text: str, marks: str) -> None:
    judgement, reading = guard.judged(Answer("a", text), None)
    assert reading is not None
    found = marks_of(text, [*judgement.findings, *further_of(reading, judgement.findings, guard.policy)])
    assert " ".join(re.findall(r"\d", "".join(edit.new for edit, _ in found))) == marks


@pytest.mark.parametrize(("said", "marked"), [
    ("hospital no. H308 5516", "H308 5516"), ("IP 20881/7", "IP 20881/7"), ("member 40-77129", "40-77129"),
    ("- **40402**: flag only", "40402"), ("order #77120", "#77120"), ("complaint HK-7/2291", "HK-7/2291"),
    ("138/88", None), ("2024-11-29", None), ("2019/20", None), ("03/11/1989", None), ("EUR 56000", None),
    ("HK$20000", None), ("£ 20000", None), ("18204 records", None), ("12 CFR 1026.35", None), ("12,345", None),
    ("S-208", "S-208"), ("case 5518", "5518"), ("**Case 2019/07.**", "2019/07"), ("`get_case(4471)`", "4471"),
    ("Regulation (EU) 2016/679", None), ("Public Law 104-191", None), ("§ 11101", None), ("Section 17200.", None),
    ("Form I-130", None), ("forms N-400 and I-485", None), ("the form is I-765", None), ("ISBN 9780131103627", None),
    ("U-500 and vitamin B-12", None), ("K-12 schools", None), ("an SF-36 score", None), ("20000 IU", None),
    ("vitamin D 20000 IU", None),
    ("form 20881", "20881"), ("section chief, ref 40402", "40402"), ("I-765", "I-765"),
    ("COVID-19", None), ("F/52", None), ("page 5518", None), ("12:30:44", None), ("99999%", None)])
def test_what_is_written_like_the_number_of_a_record(guard: Guard, said: str, marked: str | None) -> None:
    judgement, reading = guard.judged(Answer("a", f"The nurse wrote down {said}"), None)
    assert reading is not None
    found = further_of(reading, [one for one in judgement.findings if one.layer != "direct"], guard.policy)
    assert [reading.answer.answer[one.start : one.end] for one in found] == ([] if marked is None else [marked])


def test_redaction_marks_more_than_what_flags(guard: Guard) -> None:
    text = "Patient Ana Ortiz, born 4 May 1971, ref. 55-20933, has gout. Leah has it too. Take the tablets with food."
    found = sound(text, guard.redact(text))
    assert found == ("Patient [name 1], born [date of birth 1], ref. [number 1], has gout. [name 2] has it too. "
                     "Take the tablets with food.")


@pytest.mark.parametrize(("text", "marked"), [
    ("| Pilar | Monday |", ["Pilar"]), ("**09:00 — Pilar.**", ["Pilar"]), ("- Pilar O.: late", ["Pilar O."]),
    ("| Dev Ramnarine | x |", ["Dev Ramnarine"]), ("| Mon pm | Colm T. |", ["Colm T."]), ("## Vitamin C", []),
    ("Three decisions against T. Achterberg:", ["T. Achterberg"]), ("E. coli grew", []),
    ("the Lund matter", ["Lund"]), ("*Estate of Quispe*", ["Quispe"]), ("the Omaha file, a Family trust", []),
    ("| Rose | red |", []), ("## Hope", []), ("| Aspirin Protect | 5 |", []), ("**Grace Period:** two weeks", []),
    ("Pilar of the Cathedral", []), ("| Weekday | hours |", []), ("Call the Ortizes.", ["Ortizes"]),
    ("The Naidoos' house", ["Naidoos"]), ("in the Falklands", []), ("the Alps, the Rules", []),
    ("the Abbess", [])])
def test_given_names_that_stand_alone(guard: Guard, text: str, marked: list[str]) -> None:
    reading = read_answer(Answer("a", text), guard.policy)
    found = further_of(replace(reading, seen=replace(reading.seen, spans=())), [], guard.policy)
    assert [text[one.start : one.end] for one in found] == marked


@pytest.mark.parametrize(("text", "read", "marked"), [
    ("He was seen by Dr. Chen.", ". Chen.", ["Chen"]), ("Mrs K. is 88.", "K.", ["K."]),
    ("Take metformin.", "metformin", []),
    ("Smith v. Jones [2019] EWHC 12 held it.", "Smith", []),
    ("Ortiz v. Acme is our matter.", "Ortiz", ["Ortiz"])])
def test_a_name_of_the_reader_is_marked_without_the_points_beside_it_and_none_of_a_decided_case(
        guard: Guard, text: str, read: str, marked: list[str]) -> None:
    reading = read_answer(Answer("a", text), guard.policy)
    span = Span("name", text.index(read), text.index(read) + len(read), "third", "r1", 0.9)
    found = further_of(replace(reading, seen=replace(reading.seen, spans=(span,))), [], guard.policy)
    assert [text[one.start : one.end] for one in found] == marked


@pytest.mark.parametrize(("kind", "text", "said", "wanted"), [
    ("age", "A 52-year-old engineer came in.", "52-year-old", "An engineer in their fifties came in."),
    ("age", "She is 67 years old and walks.", "67 years old", "She is in their sixties and walks."),
    ("age", "The patient is 52.", "52", "The patient is in their fifties."),
    ("age", "[name 1] is 52.", "52", "[name 1] is in their fifties."),
    ("age", "An 81-year-old patient came.", "81-year-old", "A patient in their eighties came."),
    ("place", "She came from Omaha, NE last year.", "Omaha", "She came from Nebraska last year."),
    ("place", "She came from Omaha, Nebraska.", "Omaha", "She came from Nebraska."),
    ("place", "He lives near Omaha.", "Omaha", "He lives near a town."),
    ("affiliation", "He works at Stryker.", "Stryker", "He works at a company."),
    ("family", "She lives with her two daughters.", "two daughters", "She lives with relatives."),
    ("family", "His brother drove him.", "brother", "A relative drove him."),
    ("occupation", "He works as a litigator.", "litigator", "He works as a legal professional."),
])
def test_wider_words(kind: str, text: str, said: str, wanted: str) -> None:
    at = text.index(said)
    edits = wider(kind, text, at, at + len(said))
    assert edits is not None
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    assert text == wanted


@pytest.mark.parametrize(("kind", "text", "said"), [
    ("age", "He was 12 when it began.", "12"), ("age", "A 4-year-old patient came.", "4-year-old"),
    ("place", "The Omaha office called.", "Omaha"), ("place", "He lives in Qzvillage.", "Qzvillage"),
    ("family", "She is married.", "married"), ("affiliation", "Stryker called.", "Stryker"),
    ("occupation", "He is a quonsetteer.", "quonsetteer"), ("ethnicity", "He is Finnish.", "Finnish"),
    ("age", "She is **52** and walks.", "**52**"), ("age", "Her HbA1c is 71.", "71"),
    ("age", "The pulse was 71.", "71"),
])
def test_where_no_rule_is_sure(kind: str, text: str, said: str) -> None:
    assert wider(kind, text, text.index(said), text.index(said) + len(said)) is None


def test_lists_and_tables_keep_their_shape(guard: Guard) -> None:
    bullet = "- She is a 52-year-old litigator from Omaha with two children.\n"
    text = (f"# Plan\n\n- {ADVICE[0]}\n{bullet}- {ADVICE[1]}\n\n"
            "| Drug | Dose |\n|---|---|\n| metformin | 5 mg |\n")
    assert sound(text, guard.redact(text)) == text.replace(bullet, "")


def test_html_loses_sentences_and_the_elements_that_are_left_empty(guard: Guard) -> None:
    told, html = f"<p>{ADVICE[0]} {CLUSTER} {ADVICE[1]}</p>", "<h2>Plan</h2><ul class='a'><li>{}</li>{}</ul><p>{}</p>"
    for text, wanted in (
            (told, f"<p>{ADVICE[0]} {ADVICE[1]}</p>"),
            (html.format(ADVICE[0], f"<li><b>{CLUSTER}</b></li>", ADVICE[1]), html.format(ADVICE[0], "", ADVICE[1])),
            (f"<ul>\n<li>{ADVICE[0]}</li>\n<li>{CLUSTER}</li>\n</ul>", f"<ul>\n<li>{ADVICE[0]}</li>\n</ul>"),
            ("<table><tr><th>Who</th></tr><tr><td>52, litigator</td><td>Omaha</td></tr><tr><td>Rooms</td></tr></table>",
             "<table><tr><th>Who</th></tr><tr><td>Rooms</td></tr></table>")):
        assert sound(text, guard.redact(text)) == wanted


@pytest.mark.parametrize("text", [
    f"<div>{CLUSTER}<p>{ADVICE[0]}</p></div>", f"<p title='Ana'>{ADVICE[0]}</p><p>{CLUSTER}</p>", f"<p>{CLUSTER}</p>",
    f"<p>{ADVICE[0]}<p>{CLUSTER}</p>", f"<pre>{CLUSTER}</pre><p>{ADVICE[0]}</p>"])
def test_html_with_words_beside_its_elements_stays_or_goes_whole(guard: Guard, text: str) -> None:
    assert guard.redact(text).outcome == "not_enough"


def test_general_sentences_stay_whatever_the_answer_around_them_makes_of_them(guard: Guard) -> None:
    general = "In Nebraska the test is free."
    text = f"The patient is a 52-year-old litigator from Omaha. {general} Her daughter is 27."
    assert "Nebraska" in [text[one.start : one.end] for one in guard.judge(text).findings if one.counts]
    assert general in sound(text, guard.redact(text))
    for told in ("From Omaha.", "Home is Omaha.", "Turned 52 in March.", "Litigator, two children."):
        text = f"{CLUSTER} {told} {ADVICE[0]}"
        assert sound(text, guard.redact(text)) == ADVICE[0]


def test_pieces() -> None:
    text = ("Intro here. See (e.g. this. And that) now.\n\n1. One. Two.\n2. Smt. Rao came.\n\n| A | B |\n|---|---|\n"
            "| c | d |\n\n```\nx. y\n\nz\n```\n{\"a\": 1,\n\"b\": 2}\n")
    pieces = Pieces.of(text)
    said = [text[one.start : one.end].strip() for one in pieces.pieces]
    assert said[:6] == ["Intro here.", "See (e.g. this. And that) now.", "One.", "Two.", "Smt. Rao came.", "| A | B |"]
    assert [pieces.is_prose(i) for i in range(len(said))] == [True] * (len(said) - 2) + [False] * 2
    left = "".join(text[a:b] for (_, a), (b, _) in pairwise([(0, 0), *pieces.cuts(text, {2, 3, 7}), (len(text), 0)]))
    assert left == ("Intro here. See (e.g. this. And that) now.\n\n2. Smt. Rao came.\n\n```\nx. y\n\nz\n```\n"
                    "{\"a\": 1,\n\"b\": 2}\n")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*"|-#>*`\"(){}[]<.:\n\t ", "**", "| a | b |\n|---|---|\n", "```\n", "1. ", "Smt. ",
                                 "<p>", "</p>", "<ul>",
                                 "A b.", "\\\\begin{x}", "İ", "\ud800", "\r\n"]), max_size=25).map("".join),
       st.sets(st.integers(0, 20)))
def test_pieces_of_anything(text: str, dropped: set[int]) -> None:
    """Pieces are in order and apart, and so are the cuts, which hold every piece that goes."""
    pieces = Pieces.of(text)
    assert all(a.end <= b.start for a, b in pairwise(pieces.pieces))
    gone = dropped & set(range(len(pieces.pieces)))
    cuts = pieces.cuts(text, gone)
    assert all(a[1] < b[0] for a, b in pairwise(cuts))
    for i in gone:
        said = text[pieces.pieces[i].start : pieces.pieces[i].end].strip()
        start = text.index(said, pieces.pieces[i].start) if said else 0
        assert not said or any(a <= start and start + len(said) <= b for a, b in cuts)


@pytest.mark.parametrize(("text", "outcome"), [
    (CLUSTER, "not_enough"),
    ("Die Patientin ist eine Anwältin aus Omaha, und sie wohnt dort mit ihren zwei Kindern.", "not_judged"),
    ("", "not_judged"),
    ('{"age": "52", "occupation": "litigator", "residence": "Omaha"}', "not_enough"),
    (" ".join(f"{one} {CLUSTER}" for one in ADVICE * 7), "too_long"),
])
def test_what_is_withheld(guard: Guard, text: str, outcome: str) -> None:
    found = guard.redact(text)
    assert (found.text, found.outcome, found.changes) == (None, outcome, ())


def test_quotes_and_probes_are_withheld(guard: Guard) -> None:
    note = "The boiler in the east wing was drained, flushed and refilled with softened water on 14 March."
    strict = Guard(replace(guard.policy, quotes=replace(guard.policy.quotes, action="flag")))
    answer = Answer("1", f"As the log says: {note} {CLUSTER}", sources=(note,))
    assert strict.redact(answer).outcome == "quote"
    assert sound(answer.answer, guard.redact(answer)) == f"As the log says: {note}"
    asked = "Does the 52-year-old litigator from Omaha with two children take metformin?"
    assert guard.redact("Yes, she takes metformin.", asked).outcome == "probe"


def test_a_broken_detector_withholds(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise DetectorError("the test", "a fault")

    monkeypatch.setattr(reading_module, "guess_language", broken)
    assert guard.redact(CLUSTER).outcome == "not_judged"


def test_thresholds_are_stricter() -> None:
    for point in ("conservative", "balanced", "strict"):
        guard = Guard("medical", point=point)
        other = stricter(guard)
        assert other.evidence_tau < guard.evidence_tau
        assert other.unsure_above(other.point) < guard.unsure_above(guard.point)


def test_few_people_are_withheld_or_left_out(guard: Guard) -> None:
    """What is left of a person must fit as many people as the policy asks for."""
    policy = replace(Policy.of("medical", "clinician"), fewer_than=10**9)
    text = f"{ADVICE[0]} The patient is 52 years old. {CLUSTER}"
    assert sound(text, Guard(policy).redact(text)) == ADVICE[0]


def test_the_policy_says_what_is_done() -> None:
    assert Policy.of("medical").on_flag == "withhold"
    assert rules_of("redact").on_flag == "redact"
    with pytest.raises(PolicyError, match="on_flag must be withhold or redact, got 'mask'"):
        rules_of("mask")
    with pytest.raises(UsageError):
        Guard("medical").redact(7)  # type: ignore[arg-type]


def rules_of(on_flag: str) -> Policy:
    from discreet.guard.policy import _parsed

    data = {"version": 1, "domain": "medical", "on_flag": on_flag, "audiences": {"all": {"subjects": ["third"]}}}
    return _parsed(data, "here", None, None)


FACTS = {"age": "52-year-old", "place": "Omaha", "occupation": "litigator", "name": "Ana Ortiz",
         "phone": "402-555-0182"}
TELLING = ("The patient is a 52-year-old litigator.", "Ana Ortiz is a litigator from Omaha.",
           "Ana Ortiz, a 52-year-old woman, can be called at 402-555-0182.", "She works as a litigator in Omaha.",
           "The patient lives in Omaha with her two daughters.", "Please call Ana Ortiz at 402-555-0182.")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([*TELLING, *ADVICE]), min_size=1, max_size=6), st.sampled_from([" ", "\n\n", "\n- "]))
def test_whatever_goes_out(guard: Guard, sentences: list[str], between: str) -> None:
    """No direct identifier, less than two attributes of the person, other sentences as they were; the same each time,
    and once is enough."""
    text = between.join(["Here is the plan.", *sentences])
    found = guard.redact(text)
    assert (found.text, found.changes) == ((again := guard.redact(text)).text, again.changes)
    assert not any(word in repr(found) for word in FACTS.values())
    if found.outcome != "redacted":
        assert found.text in (None, text)
        return
    out = sound(text, found)
    assert FACTS["phone"] not in out
    assert "Ortiz" not in out
    assert sum(FACTS[kind] in out for kind in ("age", "place", "occupation")) < 2
    assert all(out.count(one) == text.count(one) for one in ADVICE)
    assert not any(word in change.replacement for change in found.changes for word in FACTS.values())
    assert guard.redact(out).outcome == "unchanged"
