from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.records import Subject
from discreet.core.unicode import prepare
from discreet.guard.domains import IDENTIFYING
from discreet.guard.text.attributes import KINDS, WEAK, Attribute, attributes_of, facts_words, merged
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


def ruled(kind: str, start: int, end: int, person: str = "p1", subject: Subject = "third") -> Attribute:
    return Attribute(kind, "v", subject, person, start, end, "a rule")


def read(start: int, end: int, person: str = "r1", subject: Subject = "third", kind: str = "age") -> Attribute:
    return Attribute(kind, "v", subject, person, start, end, "read", False, 0.9)


def test_rules_add_only_what_the_reader_does_not_decide() -> None:
    rules = [ruled("age", 0, 2), ruled("place", 3, 5), ruled("condition", 6, 9), ruled("person", 0, 1)]
    both = merged([read(0, 2)], rules)
    assert [(a.kind, a.person, a.why) for a in both] == [
        ("person", "r1", "a rule"), ("age", "r1", "read"), ("condition", "r1", "a rule")]
    assert merged([], [ruled("age", 0, 2)]) == ()
    assert merged([], []) == ()


def test_a_person_of_the_rules_is_the_one_with_most_in_common() -> None:
    mine = [read(0, 5), read(10, 15), read(20, 25, "r2", "public", "place")]
    rules = [ruled("age", 0, 5), ruled("age", 12, 13), ruled("place", 22, 30), ruled("condition", 40, 45)]
    [*_, condition] = merged(mine, rules)
    assert (condition.person, condition.subject) == ("r1", "third")
    [*_, condition] = merged(mine, rules[2:])
    assert (condition.person, condition.subject) == ("r2", "public")


def test_whom_nobody_shares_anything_with() -> None:
    """The reader's only third person; with two of them nobody, under a key that the reader does not use."""
    alone = merged([read(0, 2), read(8, 9, "speaker", "speaker")], [ruled("condition", 3, 5)])
    assert [a.person for a in alone] == ["r1", "r1", "speaker"]
    two = merged([read(0, 2), read(8, 9, "r2")], [ruled("condition", 3, 5)])
    assert [a.person for a in two] == ["r1", "p1", "r2"]


@pytest.mark.parametrize("subject", ["speaker", "asker", "cohort", "nobody"])
def test_who_is_no_third_person_stays_who_they_are(subject: Subject) -> None:
    rules = [ruled("condition", 2, 9, subject, subject), ruled("age", 0, 5, subject, subject)]
    [_, condition] = merged([read(0, 5)], rules)
    assert (condition.person, condition.subject) == (subject, subject)


FORM = ("asker", "cohort", "public")


@pytest.mark.parametrize("subject", FORM)
def test_form_decides_whose_an_attribute_is(subject: Subject) -> None:
    """Who is to the rules the asker, a group or public, is no third person and no speaker; the count knows of it."""
    for mine in (read(0, 5), read(0, 5, "speaker", "speaker")):
        [age] = merged([mine], [ruled("age", 4, 9, subject, subject)])
        assert (age.subject, age.person, age.overruled, age.start, age.end) == (subject, subject, True, 0, 5)
        for other in (ruled("age", 5, 9, subject, subject), ruled("place", 0, 5, subject, subject), ruled("age", 0, 5)):
            assert merged([mine], [other]) == (mine,)
    group = read(0, 5, "cohort", "cohort")
    assert merged([group], [ruled("age", 0, 5, "addressee", "asker")]) == (group,)


def whose(mine: list[Attribute], *rules: Attribute) -> list[tuple[str, str]]:
    return [(a.person, a.subject) for a in merged(mine, rules) if a.kind in KINDS]


def test_all_that_is_read_of_a_person_goes_with_what_the_rules_settle() -> None:
    """Their other attributes too, of any class and place; nobody else's."""
    mine = [read(0, 5), read(10, 15, kind="place"), read(20, 25, "r2"), read(30, 35)]
    group = replace(ruled("age", 3, 9, "cohort", "cohort"), why="a group")
    both = merged(mine, [group])
    assert [(a.person, a.subject) for a in both] == [("cohort", "cohort")] * 2 + [("r2", "third"), ("cohort", "cohort")]
    assert [a.overruled for a in both] == [True, True, False, True]
    assert [a.why for a in both] == ["read; a group", "read; a group", "read", "read; a group"]
    assert [(a.kind, a.start, a.end, a.value) for a in both] == [(b.kind, b.start, b.end, b.value) for b in mine]
    assert whose(mine, group, ruled("condition", 10, 15), ruled("place", 30, 35))[1] == ("cohort", "cohort")
    assert whose(mine, group, ruled("place", 10, 15, "nobody", "nobody"))[1] == ("cohort", "cohort")


@pytest.mark.parametrize("subject", ["third", "speaker"])
def test_unless_rules_bind_some_of_it_to_an_individual(subject: Subject) -> None:
    """Then only what they settle goes."""
    mine = [read(0, 5), read(10, 15, kind="place"), read(30, 35)]
    group, one = ruled("age", 3, 9, "cohort", "cohort"), ruled("place", 12, 20, "p1", subject)
    assert whose(mine, group, one) == whose(mine, one, group) == [("cohort", "cohort"), ("r1", "third"),
                                                                 ("r1", "third")]


def test_whom_rules_settle_twice() -> None:
    """Each attribute goes with the rule at its own place, what has none with no echo; the first rule at a place
    decides, be it of an individual."""
    mine = [read(0, 5), read(10, 15), read(20, 25)]
    group, user = ruled("age", 0, 2, "cohort", "cohort"), ruled("age", 10, 12, "addressee", "asker")
    assert whose(mine, group, user) == [("cohort", "cohort"), ("addressee", "asker"), ("r1", "third")]
    assert whose(mine, user, group) == [("cohort", "cohort"), ("addressee", "asker"), ("r1", "third")]
    assert whose(mine[1:], user) == [("addressee", "asker"), ("r1", "third")]
    single, nobody = ruled("age", 3, 4), ruled("age", 3, 4, "nobody", "nobody")
    assert whose(mine[:1], single, group) == [("r1", "third")]
    assert whose(mine[:1], group, single) == whose(mine[:1], nobody, group) == [("cohort", "cohort")]


def test_speakers_and_public_persons_do_not_go_as_a_whole() -> None:
    group = ruled("age", 0, 5, "cohort", "cohort")
    assert whose([read(0, 5, "speaker", "speaker"), read(10, 15, "speaker", "speaker")], group) == [
        ("cohort", "cohort"), ("speaker", "speaker")]
    assert whose([read(0, 5, "r1", "public"), read(10, 15, "r1", "public")], group) == [("r1", "public")] * 2


def slowly(mine: list[Attribute], rules: list[Attribute]) -> list[tuple[str, int, int, str, Subject]]:
    """Pair by pair."""
    told = ("third", "public")
    third = {(b.person, b.subject) for b in mine if b.subject in told}
    out = []

    def at(b: Attribute) -> list[Attribute]:
        return [a for a in rules if a.kind == b.kind and a.start < b.end and b.start < a.end
                and a.subject != "nobody"][:1]

    for b in mine:
        form = at(b)
        if not form and b.person != "speaker":
            form = sorted((a for c in mine if c.person == b.person for a in at(c)), key=rules.index)
        here = FORM if at(b) else ("cohort", "public")
        goes = form and b.subject in ("third", "speaker") and all(a.subject in here for a in form)
        whose = form[0] if goes else b
        out.append((b.kind, b.start, b.end, whose.person, whose.subject))
    for a in rules:
        if a.kind in KINDS:
            continue
        who = (a.person, a.subject)
        if a.subject in told:
            votes: dict[tuple[str, Subject], int] = {}
            for o in rules:
                for b in mine:
                    shared = o.start < b.end and b.start < o.end
                    if shared and o.person == a.person and o.subject in told and b.subject in told:
                        votes[b.person, b.subject] = votes.get((b.person, b.subject), 0) + 1
            if votes:
                who = max(votes, key=lambda w: votes[w])
            elif len(third) == 1:
                who = next(iter(third))
        out.append((a.kind, a.start, a.end, *who))
    return sorted(out)


places = st.tuples(st.integers(0, 12), st.integers(1, 5)).map(lambda p: (p[0], p[0] + p[1]))
readers = st.lists(st.builds(lambda at, who, kind: read(at[0], at[1], who[0], who[1], kind), places, st.sampled_from(
    [("r1", "third"), ("r2", "public"), ("r3", "third"), ("speaker", "speaker")]), st.sampled_from(["age", "place"])),
    max_size=5)
rulers = st.lists(st.builds(lambda kind, at, who: ruled(kind, *at, *who),
                            st.sampled_from(["age", "place", "condition"]), places, st.sampled_from([
                                ("p1", "third"), ("p2", "third"), ("speaker", "speaker"), ("cohort", "cohort"),
                                ("p3", "public"), ("addressee", "asker"), ("nobody", "nobody")])), max_size=5)


@given(readers, rulers)
def test_merging_pair_by_pair(mine: list[Attribute], rules: list[Attribute]) -> None:
    both = merged(mine, rules)
    assert sorted((a.kind, a.start, a.end, a.person, a.subject) for a in both) == slowly(mine, rules)
    assert [a.start for a in both] == sorted(a.start for a in both)


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
