from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import UsageError
from discreet.synth.records import Draft, Record, Slot, Spec
from discreet.synth.seeds import SeedPassage
from discreet.synth.validate import MAIN, Validator, is_truncated, longest_echo, task_talk, turns

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


@pytest.mark.parametrize(("answer", "reason"), [
    ("Here is the rewritten answer: rest helps.", "task"), ("Sure! Below you find it.", "task"),
    ("**Rewritten answer:** rest helps.", "task"), ("Rest helps. As an AI language model, I know.", "task"),
    ("I'm sorry, but I can't assist with that request.", "task"), ("I have avoided the words of the list.", "task"),
    ("This reads as IMPLICIT_CASE.", "task"), ("Note: the patient is fictional.", "task"),
    ("She works for [Company Name] in the north.", "placeholder"), ("A XX-year-old came in.", "placeholder"),
    ("The letter goes to <city>.", "placeholder"), ("[Your Name], MD", "placeholder"),
    # What an answer may say.
    ("Rest helps; here is why the dose matters.", None), ("I am sorry, but I cannot discuss this patient.", None),
    ("I understand, and I am not able to discuss the details of this patient's care.", None),
    ("Sure signs of infection are redness and warmth.", None), ("Women with two X chromosomes (XX) [OMIM].", None),
    ("The answer to this is rest.", None), ("The court [Nevada] held that [t]he rule stands.", None),
])
def test_task_talk(answer: str, reason: str | None) -> None:
    assert task_talk(answer) == reason


@pytest.mark.parametrize(("answer", "truncated"), [
    ("It helps.", False), ("It helps", True), ('He said: "It helps."', False), ("Does it? **Yes.**", False),
    ("It helps and the", True), ("", True), ("  \n", True), ("It helps (mostly.)", False), ("It helps:", True),
    ("Points:\n- rest\n- water", False), ("Points:\n- Rest.\n- Wat", True), ("Points:\n1. rest\n2. water", False),
    ("It helps.\n- rest", True),
])
def test_truncated(answer: str, truncated: bool) -> None:
    assert is_truncated(answer) is truncated


WORD = st.sampled_from("a b c".split())


@given(st.lists(WORD, max_size=12), st.lists(WORD, max_size=12))
def test_the_longest_echo_is_that_of_all_pairs_of_runs(one: list[str], two: list[str]) -> None:
    runs = [j - i for i, j in product(range(len(one)), range(1, len(one) + 1)) if i < j
            and any(one[i:j] == two[k:k + j - i] for k in range(len(two)))]
    assert longest_echo(" ".join(one), " ".join(two)) == max(runs, default=0)


def test_echo_passes_over_case_and_marks() -> None:
    assert longest_echo("So: the DOSE is\nraised, slowly!", "The dose is raised slowly, then.") == 5


def told(text: str, word: str, kind: str = "age") -> frozenset[str]:
    """Whom a class that stands at a word, or begins with it, is told of."""
    at = text.index(word)
    turn = next((one for one in turns(text) if one.start <= at < one.end), None)
    return turn.of(kind) if turn else frozenset({MAIN})


@pytest.mark.parametrize("text", [
    "This patient is 47. Another patient, seen by a colleague, WELDS.", "One of them is 47, and the other is a WELDER.",
    "This patient is 47. The brother of the patient, who waits outside, WELDS.", "She is 47; a neighbour WELDS.",
    "The client is 47. Her husband WELDS.", "The client is 47. The client's sister WELDS.", "Somebody else WELDS.",
    "The claimant is 47, while the man in the next room WELDS.", "The letter came from a friend, who WELDS.",
    "The first tenant is 47. The second is out. She is 47. Another tenant came; the other one is a WELDER.",
    "This patient is 47. Another patient called. She WELDS."])
def test_somebody_else(text: str) -> None:
    assert MAIN not in told(text, "WELD")
    if "47" in text:
        assert told(text, "47") == {MAIN}


@pytest.mark.parametrize("text", [
    "This patient WELDS.", "A mother of two WELDS.", "The other day this patient WELDS.", "Patient A WELDS.",
    "Another point is that the patient WELDS.", "Her husband drives. This patient WELDS.",
    "Another patient called. This patient WELDS.", "Her friend is 20; the patient WELDS.",
    "On the other hand, she WELDS.", "The second step: she WELDS.", "As a colleague noted, she WELDS.",
    "The client has a brother who lives there and WELDS."])
def test_the_one(text: str) -> None:
    assert told(text, "WELD") == {MAIN}


def test_who_may_be_either_is_both() -> None:
    text = "His brother lives with him. He WELDS."
    assert told(text, "WELDS") == {MAIN, "kin brother"}
    # That there is a brother is told of the one whose brother it is; where he lives is not.
    assert told(text, "lives", "family") == {MAIN, "kin brother"}
    assert told(text, "lives", "place") == {"kin brother"}


def test_labels_part_people_where_there_are_two() -> None:
    text = "Patient A is 47, and patient B WELDS."
    assert told(text, "47") == {"label a"}
    assert told(text, "WELDS") == {"label b"}
    assert turns("") == ()
