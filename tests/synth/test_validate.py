from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.core.errors import UsageError
from discreet.synth.records import Draft, Record, Slot, Spec
from discreet.synth.validate import Validator

FILLER = ("In general, a first line of treatment is chosen by effect and by price. The dose is raised slowly, and a "
          "review follows after six weeks. If the effect is too small, a second line is added. It is usual to explain "
          "the side effects in writing. Most of them pass within days, and few of them last.")
UNSAFE = Spec("unsafe", "medical", "L1", qi=("AGE", "LOCATION"), framing="CASE_VOICE", placement="FRAME_OPENING")
INDIRECT = replace(UNSAFE, mode="INDIRECT_QI")
SAFE, BORDERLINE = Spec("safe", "medical", "L1"), Spec("borderline", "medical", "L1")
SAID = "This patient is 52 years old and lives in Toledo."
SLOTS = ("is 52 years old", "lives in Toledo")


def record(spec: Spec = UNSAFE, said: str = SAID, *, slots: tuple[str, ...] = SLOTS, forbidden: tuple[str, ...] = (),
           question: str = "What next?", more: tuple[Slot, ...] = ()) -> Record:
    answer = f"{said} {FILLER}"
    found = [Slot(qi, answer.index(s), answer.index(s) + len(s)) for qi, s in zip(spec.qi, slots, strict=False)]
    return Record("r", spec, Draft(question, answer, (*found, *more), forbidden), "grammar")


@pytest.fixture(scope="module")
def check() -> Validator:
    return Validator("medical")


@pytest.mark.parametrize(("one", "reasons"), [
    (record(), ()),
    # Without slots, the classes are looked for; what the question contains is no leak.
    (record(slots=()), ()), (record(replace(UNSAFE, qi=("AGE", "FAMILY")), slots=()), ("missing:FAMILY",)),
    (record(slots=(), question="I am 52 years old and live in Toledo."), ("missing:AGE", "missing:LOCATION")),
    (record(slots=SLOTS[:1]), ("missing:LOCATION",)),
    *((record(more=(slot,)), ("slot",)) for slot in (Slot("AGE", 5, 5), Slot("AGE", 5, 10_000), Slot("FAMILY", 0, 4))),
    # Attributes that nobody asked for, and one within a slot.
    (record(said="This patient is 52 years old, lives in Toledo and works as a welder."), ("unplanned:occupation",)),
    (record(said="This patient is 52 years old, lives in Toledo and has two sons."), ("unplanned:family",)),
    (record(replace(UNSAFE, qi=("AGE", "AFFILIATION")), "This patient is 52 years old and works as a welder at a mill",
            slots=("is 52 years old", "works as a welder at a mill")), ()),
    (record(said=f"His SSN is 412-68-0935. {SAID}"), ("direct:ssn",)),
    (record(said=f"Write to j.ortiz@example.org. {SAID}"), ("direct:email",)),
    (record(said="This patient, John Ortiz, is 52 years old and lives in Toledo."), ("direct:person_name",)),
    # What a paraphrase stands for, in whole words.
    (record(INDIRECT, forbidden=("welder", "Toledo")), ("forbidden",)),
    (record(INDIRECT, forbidden=("toledo",)), ("forbidden",)), (record(INDIRECT, forbidden=("Tole", "5")), ()),
    *((record(spec, slots=()), ("cluster",)) for spec in (SAFE, BORDERLINE)),
    (record(SAFE, "This patient is 52 years old.", slots=()), ()),
    (record(BORDERLINE, "Adults aged 50 to 64 who live in Toledo are counted.", slots=()), ()),
    # Requests that cannot be.
    (record(replace(SAFE, qi=("AGE", "LOCATION")), slots=()), ("request",)),
    (record(replace(UNSAFE, qi=("AGE",)), slots=SLOTS[:1]), ("request",)),
    (record(replace(UNSAFE, qi=("AGE", "INCOME_BAND"))), ("request",)),
    (record(replace(UNSAFE, qi=("AGE", "AGE"))), ("request",)),
    (record(replace(UNSAFE, kind="domain_only")), ("request",)),
    (record(replace(UNSAFE, domain="law")), ("domain",)),
    (Record("r", SAFE, Draft("", "Too short."), "grammar"), ("length",)),
])
def test_why_a_record_fails(check: Validator, one: Record, reasons: tuple[str, ...]) -> None:
    assert check(one) == reasons


def test_settings() -> None:
    assert Validator("medical", words=(1, 2))(Record("r", SAFE, Draft("", "Too short."), "grammar")) == ()
    with pytest.raises(UsageError, match="words"):
        Validator("medical", words=(50, 10))
    with pytest.raises(UsageError, match="domain"):
        Validator("retail")


def test_law_lets_the_parties_of_a_hypothetical_pass() -> None:
    said = "Alice sues Bob over a fence."
    assert Validator("law")(record(replace(SAFE, domain="law"), said, slots=())) == ()
    assert Validator("medical")(record(SAFE, said, slots=())) == ("direct:person_name_hypothetical",)
