"""What must hold between an answer and a changed answer, over sentences made from templates."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.records import Answer
from discreet.guard.domains import builtin_domains
from discreet.guard.guard import Guard

Guards = Mapping[str, Guard]

AGES = ["34", "47", "52", "61", "78"]
JOBS = [(f"a {job}", f"{job}s") for job in ("nurse", "welder", "school librarian", "dentist", "truck driver", "teacher",
                                            "carpenter")]
TOWNS = ["Omaha", "Tulsa", "Duluth", "Glasgow", "Lagos", "Boise, Idaho", "rural Montana"]
KIN = ["two children", "a twin sister", "three sons"]
STATEMENTS = {
    "age": ["{s} is {age} years old.", "At present {s} is {age} years old."],
    "occupation": ["{s} works as {job}.", "By trade {s} is {job}."],
    "place": ["{s} lives in {town}.", "{s} grew up in {town}."],
    "family": ["{s} has {kin}.", "{s} is married."],
    "affiliation": ["{s} works at Boeing.", "{s} is a member of Trinity Lutheran Church."],
    "ethnicity": ["{s} is Nigerian.", "{s} is a Canadian citizen."],
    "domain": ["{s} has asthma.", "{s} filed for divorce.", "{s} has a mortgage."],
}
PEOPLE = {"third": ("The patient came on Monday.", "she"), "man": ("The client called.", "he"), "speaker": ("", "I")}


VERBS = {"is": ("am", "are"), "has": ("have", "have"), "works": ("work", "work"), "lives": ("live", "live")}


@st.composite
def statements(draw: st.DrawFn, least: int = 1, kinds: tuple[str, ...] = tuple(STATEMENTS)) -> list[str]:
    """Sentences with a place for the subject, one of each of some classes, in any order."""
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=least, unique=True))
    made = []
    for kind in chosen:
        sentence = draw(st.sampled_from(STATEMENTS[kind]))
        for name, values in (("age", AGES), ("job", [job for job, _ in JOBS]), ("town", TOWNS), ("kin", KIN)):
            sentence = sentence.replace(f"{{{name}}}", draw(st.sampled_from(values)))
        made.append(sentence)
    return made


def written(sentences: list[str], opening: str, subject: str) -> str:
    """The sentences about one subject, with its verb forms."""
    made = [s.replace("{s}", subject) for s in sentences]
    if subject in ("I", "you"):
        for third, forms in VERBS.items():
            made = [s.replace(f"{subject} {third} ", f"{subject} {forms[subject == 'you']} ") for s in made]
    return " ".join([opening, *(m[0].upper() + m[1:] for m in made)]).strip()


people = st.sampled_from(list(PEOPLE.values()))
identifying = tuple(k for k in STATEMENTS if k != "domain")


@given(statements(), people, st.sampled_from(builtin_domains()))
@settings(max_examples=150, deadline=None)
def test_a_further_sentence_about_the_person_never_lowers_the_score(
    guards: Guards, sentences: list[str], person: tuple[str, str], domain: str
) -> None:
    texts = [written(sentences[:n], *person) for n in range(len(sentences) + 1)]
    # A network promises no order of numbers; what is flagged is never safe with more words.
    actions = [guards[domain].check(text).action for text in texts]
    assert "flag" not in actions or "safe" not in actions[actions.index("flag") :]


@given(statements(least=2, kinds=identifying), people, st.sampled_from(builtin_domains()))
@settings(max_examples=120, deadline=None)
def test_two_sentences_about_one_person_are_a_cluster(guards: Guards, sentences: list[str], person: tuple[str, str],
                                                      domain: str) -> None:
    text = written(sentences, *person)
    verdict = guards[domain].check(text)
    assert (verdict.action, verdict.layer) == ("flag", "contextual"), (text, verdict.reason)


@given(statements(least=2, kinds=identifying), st.sampled_from(["my client", "I"]), st.sampled_from(builtin_domains()))
@settings(max_examples=80, deadline=None)
def test_what_the_user_says_of_theirs_is_the_asker_s_and_safe(guards: Guards, sentences: list[str], who: str,
                                                              domain: str) -> None:
    text = written(sentences, "", who)
    judged = guards[domain].judge(Answer("1", text, question=text))
    assert judged.verdict.action == "safe", (text, judged.verdict.reason)
    assert len({f.type for f in judged.findings if f.counts and f.type != "sex"}) < guards[domain].policy.cluster


@given(statements(least=2, kinds=identifying), people, st.sampled_from(builtin_domains()))
@settings(max_examples=80, deadline=None)
def test_a_question_that_is_the_answer_s_text_is_no_consent(guards: Guards, sentences: list[str],
                                                            person: tuple[str, str], domain: str) -> None:
    text = written(sentences, *person)
    if person[1] != "I":
        assert guards[domain].check(Answer("1", text, question=text)).action == "flag"
        assert guards[domain].check(Answer("1", text, user_words=text)).action == "flag"


@given(statements(least=2, kinds=identifying), st.sampled_from(builtin_domains()))
@settings(max_examples=80, deadline=None)
def test_what_a_user_says_may_be_echoed_in_the_second_person(guards: Guards, sentences: list[str], domain: str) -> None:
    question = written(sentences, "", "I")
    answer = written(sentences, "", "you")
    verdict = guards[domain].check(Answer("1", answer, question))
    assert verdict.action == "safe", (question, answer, verdict.reason)


COHORTS = [
    "Among {jobs} aged {age} to 79 from {town}, those with {kin} did best.",
    "Patients from {town} who are over {age} and work as {jobs} should be screened.",
    "Married {jobs} older than {age} who live in {town} may apply.",
    "In {town}, {jobs} under {age} with {kin} pay less.",
    "A {age}-year-old person from {town} with {kin} should ask a clerk.",
    "If a {age}-year-old from {town} works as {job} and has {kin}, the rule applies.",
    "Any person of {age} years who lives in {town} and has {kin} can apply.",
    "Adults aged {age} to 79 who live in {town} and are married were asked.",
    "People in {town} who have {kin} and are older than {age} pay more.",
]


UNSURE = "In Lagos, truck drivers under 78 with a twin sister pay less."


@pytest.mark.parametrize("cohort", COHORTS)
@pytest.mark.parametrize("domain", builtin_domains())
def test_the_same_facts_of_a_group_do_not_count(guards: Guards, cohort: str, domain: str) -> None:
    for i in range(len(JOBS)):
        job, jobs = JOBS[i]
        text = cohort.format(age=AGES[i % len(AGES)], job=job, jobs=jobs, town=TOWNS[i], kin=KIN[i % len(KIN)])
        verdict = guards[domain].check(text)
        # Once in these texts the network is unsure of a group.
        assert verdict.action == "safe" or (verdict.action, text) == ("abstain", UNSURE), (text, verdict.reason)


@given(
    statements(least=2, kinds=identifying), people, st.sampled_from(COHORTS), st.booleans(),
    st.sampled_from(builtin_domains()),
)
@settings(max_examples=80, deadline=None)
def test_a_group_beside_a_person_hides_nobody(guards: Guards, sentences: list[str], person: tuple[str, str],
                                              cohort: str, before: bool, domain: str) -> None:
    group = cohort.format(age="70", job="a baker", jobs="bakers", town="Ohio", kin="two sons")
    text = written(sentences, *person)
    text = f"{group}\n\n{text}" if before else f"{text}\n\n{group}"
    assert guards[domain].check(text).action == "flag", text


@pytest.mark.parametrize(
    "change",
    [
        str.strip, lambda t: f"\n{t}\n", lambda t: t.replace(" ", "\u00a0"), lambda t: t.replace("-", "\u2011"),
        lambda t: f"Thank you.\n\n{t}", lambda t: f"{t}\n\nRest helps.", lambda t: t.replace("Omaha", "O\u00admaha"),
        lambda t: f"> {t}", lambda t: f"**{t}**", lambda t: f"- {t}",
    ],
)
def test_what_a_reader_does_not_see_does_not_matter(guards: Guards, change: object) -> None:
    text = "The patient is a 52-year-old litigator from Omaha with two children."
    changed = Answer("1", change(text))  # type: ignore[operator]
    assert guards["medical"].check(changed).action == "flag"
