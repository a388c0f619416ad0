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
SAID = "This patient is 52 years old and lives in Toledo."


def record(spec: Spec = UNSAFE, said: str = SAID, *, slots: tuple[str, ...] | None = ("is 52 years old",
           "lives in Toledo"), forbidden: tuple[str, ...] = (), question: str = "What next?") -> Record:
    answer = f"{said} {FILLER}"
    found = tuple(Slot(qi, answer.index(s), answer.index(s) + len(s)) for qi, s in zip(spec.qi, slots or (),
                                                                                      strict=False))
    return Record("r", spec, Draft(question, answer, found, forbidden), "grammar")


@pytest.fixture(scope="module")
def check() -> Validator:
    return Validator("medical")


def test_a_good_record_passes(check: Validator) -> None:
    assert check(record()) == ()


def test_without_slots_the_classes_are_looked_for(check: Validator) -> None:
    assert check(record(slots=None)) == ()
    assert check(record(replace(UNSAFE, qi=("AGE", "FAMILY")), slots=None)) == ("missing:FAMILY",)
    told = record(slots=None, question="I am 52 years old and live in Toledo. What next?")
    assert check(told) == ("missing:AGE", "missing:LOCATION")


def test_a_class_without_its_slot_is_missing(check: Validator) -> None:
    assert check(record(slots=("is 52 years old",))) == ("missing:LOCATION",)


@pytest.mark.parametrize("slot", [Slot("AGE", 5, 5), Slot("AGE", 5, 10_000), Slot("FAMILY", 0, 4)])
def test_slots_that_cannot_be(check: Validator, slot: Slot) -> None:
    good = record()
    bad = replace(good, draft=replace(good.draft, slots=(*good.draft.slots, slot)))
    assert check(bad) == ("slot",)


@pytest.mark.parametrize("said", [
    "This patient is 52 years old, lives in Toledo and works as a welder.",
    "This patient is 52 years old, lives in Toledo and has two sons.",
])
def test_attributes_that_nobody_asked_for(check: Validator, said: str) -> None:
    reasons = check(record(said=said, slots=("is 52 years old", "lives in Toledo")))
    assert [r.split(":")[0] for r in reasons] == ["unplanned"]


def test_an_attribute_within_a_slot_was_asked_for(check: Validator) -> None:
    spec = replace(UNSAFE, qi=("AGE", "AFFILIATION"))
    said = "This patient is 52 years old and works as a welder at the mill."
    assert check(record(spec, said, slots=("is 52 years old", "works as a welder at the mill"))) == ()


@pytest.mark.parametrize(("said", "kind"), [
    ("His SSN is 412-68-0935. This patient is 52 years old and lives in Toledo.", "ssn"),
    ("Write to j.ortiz@example.org. This patient is 52 years old and lives in Toledo.", "email"),
    ("This patient, John Ortiz, is 52 years old and lives in Toledo.", "person_name"),
])
def test_direct_identifiers(check: Validator, said: str, kind: str) -> None:
    assert check(record(said=said)) == (f"direct:{kind}",)


def test_what_a_paraphrase_stands_for_is_forbidden(check: Validator) -> None:
    spec = replace(UNSAFE, mode="INDIRECT_QI")
    assert check(record(spec, forbidden=("welder", "Toledo"))) == ("forbidden",)
    assert check(record(spec, forbidden=("toledo",))) == ("forbidden",)
    assert check(record(spec, forbidden=("Tole", "5"))) == ()


@pytest.mark.parametrize("kind", ["safe", "borderline"])
def test_safe_records_bind_no_cluster(check: Validator, kind: str) -> None:
    spec = Spec(kind, "medical", "L1")  # type: ignore[arg-type]
    assert check(record(spec, slots=None)) == ("cluster",)
    assert check(record(spec, "This patient is 52 years old.", slots=None)) == ()
    assert check(record(spec, "Adults aged 50 to 64 who live in Toledo are counted.", slots=None)) == ()
    assert check(record(replace(spec, qi=("AGE", "LOCATION")), slots=None)) == ("request",)


def test_requests_that_cannot_be(check: Validator) -> None:
    assert check(record(replace(UNSAFE, qi=("AGE",)), slots=("is 52 years old",))) == ("request",)
    assert check(record(replace(UNSAFE, qi=("AGE", "INCOME_BAND")))) == ("request",)
    assert check(record(replace(UNSAFE, qi=("AGE", "AGE")))) == ("request",)
    assert check(record(replace(UNSAFE, kind="domain_only"))) == ("request",)


def test_length_and_domain(check: Validator) -> None:
    short = Record("r", Spec("safe", "medical", "L1"), Draft("", "Too short."), "grammar")
    assert check(short) == ("length",)
    assert Validator("medical", words=(1, 2))(short) == ()
    assert check(record(replace(UNSAFE, domain="law"))) == ("domain",)


def test_impossible_settings() -> None:
    with pytest.raises(UsageError, match="words"):
        Validator("medical", words=(50, 10))
    with pytest.raises(UsageError, match="domain"):
        Validator("retail")


def test_law_lets_the_parties_of_a_hypothetical_pass() -> None:
    spec = Spec("safe", "law", "L1")
    said = "Alice sues Bob over a fence."
    assert Validator("law")(record(spec, said, slots=None)) == ()
    assert Validator("medical")(record(replace(spec, domain="medical"), said, slots=None)) != ()
