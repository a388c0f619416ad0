from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.core.errors import UsageError
from discreet.synth.records import Draft, Record, Slot, Spec
from discreet.synth.seeds import SeedPassage
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
           question: str = "What next?", more: tuple[Slot, ...] = (), generator: str = "grammar") -> Record:
    answer = f"{said} {FILLER}"
    found = [Slot(qi, answer.index(s), answer.index(s) + len(s)) for qi, s in zip(spec.qi, slots, strict=False)]
    return Record("r", spec, Draft(question, answer, (*found, *more), forbidden), generator)


@pytest.fixture(scope="module")
def check() -> Validator:
    return Validator("medical")


@pytest.mark.parametrize(("one", "reasons"), [
    (record(), ()),
    # Of what a model wrote the classes are looked for; what the question contains is no leak.
    (record(slots=(), generator="m"), ()),
    (record(replace(UNSAFE, qi=("AGE", "FAMILY")), slots=(), generator="m"), ("missing:FAMILY",)),
    (record(replace(UNSAFE, qi=("AGE", "FAMILY")), slots=()), ()),
    (record(slots=(), question="My patient is 52 years old and lives in Toledo.", generator="m"),
     ("missing:AGE",)),
    (record(slots=SLOTS[:1]), ("missing:LOCATION",)),
    *((record(more=(slot,)), ("slot",)) for slot in (Slot("AGE", 5, 5), Slot("AGE", 5, 10_000), Slot("FAMILY", 0, 4))),
    # Attributes that nobody asked for.
    (record(said="This patient is 52 years old, lives in Toledo and works as a welder.", slots=(), generator="m"),
     ("unplanned:occupation",)),
    (record(said="This patient is 52 years old, lives in Toledo and has two sons.", slots=(), generator="m"),
     ("unplanned:family",)),
    (record(replace(UNSAFE, qi=("AGE", "AFFILIATION")), "This patient is 52 years old and works as a welder at a mill",
            slots=("is 52 years old", "works as a welder at a mill")), ()),
    (record(said=f"His SSN is 412-68-0935. {SAID}"), ("direct:ssn",)),
    (record(said=f"Write to j.ortiz@example.org. {SAID}"), ("direct:email",)),
    (record(said="This patient, John Ortiz, is 52 years old and lives in Toledo."), ("direct:person_name",)),
    # What a paraphrase stands for, in whole words.
    (record(INDIRECT, forbidden=("welder", "Toledo")), ("forbidden",)),
    (record(INDIRECT, forbidden=("toledo",)), ("forbidden",)), (record(INDIRECT, forbidden=("Tole", "5")), ()),
    *((record(spec, slots=(), generator="m"), ("cluster",)) for spec in (SAFE, BORDERLINE)),
    (record(SAFE, "This patient is 52 years old.", slots=(), generator="m"), ()),
    (record(BORDERLINE, "Adults aged 50 to 64 who live in Toledo are counted.", slots=(), generator="m"), ()),
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


GENERAL = f"{FILLER} The rest is well known, and it is not repeated here."
DISTRIBUTED = f"The patient is 52 years old. {GENERAL} The patient works as a welder."


def written(spec: Spec, answer: str, **draft: object) -> Record:
    return Record("r", spec, Draft("What next?", answer, **draft), "some-model")  # type: ignore[arg-type]


def test_what_a_model_wrote_is_read() -> None:
    check = Validator("medical")
    wanted = replace(UNSAFE, qi=("AGE", "OCCUPATION"))
    assert check(written(wanted, DISTRIBUTED)) == ()
    assert check(written(replace(wanted, qi=("AGE", "LOCATION")), DISTRIBUTED)) == ("missing:LOCATION",)
    # Both are told, but not of one person.
    apart = "His neighbour is a welder. The neighbour asked about it too."
    assert check(written(wanted, f"The patient is 52 years old. {GENERAL} {apart}")) == ("unbound",)
    for other in ("The brother of the patient, who waits outside, is", "The patient in the next room is"):
        assert check(written(wanted, f"{GENERAL} The patient is 52 years old. {other} a welder.")) == ("unbound",)
    assert check(written(replace(UNSAFE, qi=("AGE", "CONDITION")), DISTRIBUTED.replace(
        "52 years old", "52 years old and has asthma"))) == ("unplanned:occupation",)
    assert check(written(SAFE, DISTRIBUTED)) == ("cluster",)
    assert check(written(SAFE, GENERAL)) == ()


def test_paraphrases_of_domain_facts_are_taken_on_trust() -> None:
    said = f"The patient is 52 years old and counts each slice of bread before eating it. {GENERAL}"
    spec = replace(UNSAFE, qi=("AGE", "CONDITION"))
    check = Validator("medical")
    assert check(written(spec, said)) == ("missing:CONDITION",)
    assert check(written(replace(spec, mode="INDIRECT_QI"), said)) == ()
    assert check(written(replace(spec, mode="INDIRECT_QI"), said, forbidden=("years old",))) == ("forbidden",)


def test_marks_of_text_that_is_no_answer() -> None:
    check, seed = Validator("medical"), SeedPassage("s", "c", None, None, f"It is said: {FILLER[40:180]}")
    good = written(BORDERLINE, GENERAL)
    assert check(good) == ()
    assert check(good, seed) == ("echo",)
    assert check(replace(good, spec=replace(BORDERLINE, subtype="PUBLIC_GUIDELINE_QUOTES")), seed) == ()
    for said, reason in ((f"Here is the rewritten answer: {GENERAL}", "task"), (f"{GENERAL} Write to [City].",
                         "placeholder"), (GENERAL.rstrip("."), "truncated"), (" ".join(["Der Arzt sagt, dass die Dosis "
                         "nicht zu hoch sein darf und dass sie mit der Zeit erhöht wird."] * 4), "language")):
        assert check(written(BORDERLINE, said)) == (reason,)


@pytest.mark.parametrize(("said", "reasons"), [
    ("The court in Brown v. Board of Education held so.", ()),
    ("A recent widow, Jane, asked.", ("direct:person_name",)),
    ("He was born on 03/12/1961.", ("direct:date_of_birth",)), ("It is No. 3:19-cv-01234.", ("direct:docket",)),
])
def test_appendix_a(said: str, reasons: tuple[str, ...]) -> None:
    assert Validator("law")(written(replace(BORDERLINE, domain="law"), f"{said} {GENERAL}")) == reasons
