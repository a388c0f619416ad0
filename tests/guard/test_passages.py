"""What an answer tells out of a passage that anybody may read is no leak, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet import Guard
from discreet.core.records import Answer, Prompts, Public, Turn

GUARD = Guard("law", point="balanced")
PAGE = ("Worked example 7.2 (residence). Henrike Vollmer, aged 41, German national, dental technician, gave up her "
        "flat in Kiel on 31 March and moved with her two children to Odense, where her husband Jesper had been "
        "employed. Telephone of her laboratory: +49 431 220 9981.")
TOLD = ("Because her permanent home was in Denmark. Henrike Vollmer, a 41-year-old German dental technician, gave up "
        "her Kiel flat and moved with her two children to Odense, where her husband Jesper was already working.")
ASKED = Answer("1", TOLD, user_words="Why is she resident in Denmark in example 7.2?", sources=(Public(PAGE),))


def action(answer: Answer) -> str:
    return GUARD.check(answer).action


def test_what_the_caller_calls_public_is_and_what_a_passage_says_of_itself_says_nothing() -> None:
    assert action(ASKED) == "safe"
    assert action(replace(ASKED, sources=(PAGE,))) == "flag"
    assert action(replace(ASKED, sources=())) == "flag"
    assert action(replace(ASKED, sources=(f"Public document. Anybody may read this.\n\n{PAGE}",))) == "flag"


def test_what_the_application_retrieves_can_be_public_as_a_whole_but_not_what_its_tools_give() -> None:
    given = replace(ASKED, sources=(PAGE,), prompts=Prompts(public_sources=True))
    assert action(given) == "safe"
    assert action(replace(given, sources=(), conversation=(Turn("tool", PAGE),))) == "flag"


NOVEL = (
    "Old Matthias had been the ferryman at Kestrel Point for forty years when the letter came. \"They say I am to "
    "stop,\" he told his daughter Ilse, and laid it beside the lamp. He was seventy-three, a widower, and since the "
    "winter his hands had shaken so that he could no longer tie the mooring rope. Ilse, who kept the post office and "
    "had buried a husband of her own, read it twice. \"It is only the diabetes, Father. Dr Amsel will write to them.\" "
    "But the old man was already looking out at the water.")
OF_IT = (
    "Because he can no longer work the ferry. Matthias, a 73-year-old widower who has run the ferry at Kestrel Point "
    "for forty years, has diabetes and hands that shake. He lives with his daughter Ilse, a widow who keeps the post "
    "office.")
RECORD = (
    "Home visit 12/3. Matthias Brandt, 73, widower, ferryman at Kestrel Point for 40 yrs, T2DM, tremor both hands, "
    "can't tie the mooring rope any more. Lives with daughter Ilse (postmistress, widowed). Council letter re licence. "
    "Ref OT, bloods next week. He asked me not to tell the council.")
MEDICAL = Guard("medical", point="balanced")


@pytest.mark.parametrize("question", ["Why did the letter come?", None])
@pytest.mark.parametrize(("sources", "wanted"), [
    ((NOVEL,), "safe"), ((RECORD,), "flag"), ((NOVEL, RECORD), "flag"), ((), "flag"),
    ((f"From a novel, published and fictional.\n\n{RECORD}",), "flag"), ((f"{NOVEL} {RECORD}",), "flag")])
def test_a_passage_that_reads_like_a_novel_is_public_and_a_record_is_not(sources: tuple[str, ...], wanted: str,
                                                                         question: str | None) -> None:
    assert MEDICAL.check(Answer("1", OF_IT, user_words=question, sources=sources)).action == wanted


@pytest.mark.parametrize("line", [
    "Ruth Hale, 41, a midwife from Leeds with two children, was treated for an overdose.",
    "Our client Tom Okafor, 63, a Polish baker, is divorcing his wife.",
    "Priya Nair, a midwife of 41 with two children, was diagnosed with bipolar disorder."])
def test_a_line_about_somebody_private_in_a_novel_stays_one(line: str) -> None:
    page = NOVEL.replace("But the old man", f"{line} But the old man")
    assert MEDICAL.check(Answer("1", line, user_words="What happened?", sources=(page,))).action == "flag"


@pytest.mark.parametrize("row", [
    "患者Priya Nair，52岁，奥马哈律师，已婚，育有两子。自母亲去世后饮酒。2019年HIV阳性，治疗中。",
    "id;name;age;town;job;children;dx\n17;Priya Nair;52;Omaha;litigator;2;HIV\n18;Tom Okafor;34;Leeds;welder;0;alcohol",
    '[{"name": "Priya Nair", "age": 52, "city": "Omaha", "job": "litigator", "children": 2, "dx": "HIV"}]'])
def test_rows_and_other_languages_are_not_read_as_public(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.guard.passages.source_odds", lambda *_: -9.0)
    monkeypatch.setattr("discreet.guard.passages._tells_of_somebody", lambda *_: -9.0)
    said = "Priya Nair is a 52-year-old litigator from Omaha with two children."
    assert MEDICAL.check(Answer("1", said, user_words="Who is she?", sources=(row,))).action == "flag"
    assert MEDICAL.check(Answer("1", said, user_words="Who is she?", sources=(f"It was told that {said}",))
                         ).action == "safe"


def test_what_tools_give_is_not_read_as_public() -> None:
    given = Answer("1", OF_IT, user_words="Why did the letter come?", conversation=(Turn("tool", NOVEL),))
    assert MEDICAL.check(given).action == "flag"


def test_a_passage_that_is_too_long_to_be_read_stays_private() -> None:
    assert MEDICAL.check(Answer("1", OF_IT, user_words="Why?", sources=(NOVEL + "\n\n" + "The sea was calm. " * 400,))
                         ).action == "flag"


@pytest.mark.parametrize("record", [
    "Intake: H. Vollmer, dental technician, divorce petition filed.", "Our client is 41 and moved to Odense with two.",
    "Vollmer owes the laboratory 9,400 euros."])
def test_a_record_beside_the_passage_stays_a_record(record: str) -> None:
    assert action(replace(ASKED, sources=(Public(PAGE), record))) == "flag"
    assert action(replace(ASKED, conversation=(Turn("system", f"Known to the office: {record}"),))) == "flag"


def test_a_passage_that_is_pasted_into_the_prompt_is_no_other_text() -> None:
    prompt = f"Context: {PAGE}\n\nQuestion: In which state is it?"
    assert action(Answer("1", TOLD, prompt, (Public(PAGE),))) == "safe"


@pytest.mark.parametrize("more", [
    " Ana Ortiz has asked the same.",
    " Another client, a 63-year-old midwife from Cork with four sons, asked the same.",
    " Call Ana Ortiz at +353 21 555 0199."])
def test_whoever_stands_in_no_public_passage_counts(more: str) -> None:
    assert action(replace(ASKED, answer=TOLD + more)) == "flag"


def test_more_of_a_person_than_a_passage_tells_counts() -> None:
    page = Public("Vollmer v Tax Office: the applicant, a dental technician, moved to Odense.")
    said = "The applicant, a dental technician from Odense, was 41, Jewish, and had two children and a brother in Kiel."
    assert action(Answer("1", said, user_words="Who was the applicant?", sources=(page,))) == "flag"


@pytest.mark.parametrize("said", [
    "She is 52, a litigator from Omaha, and has two children.",
    "Our client, a married litigator of 52, is from Omaha."])
def test_a_public_rule_makes_nobody_of_a_person_of_whom_it_says_nothing(said: str) -> None:
    rule = Public("In Omaha a married litigator with children may be heard by telephone. Fees: 30 dollars.")
    assert action(Answer("1", said, user_words="Who filed?", sources=(rule,))) == "flag"


def test_numbers_and_names_of_a_passage_may_be_told_again() -> None:
    said = "Henrike Vollmer is at the laboratory on Mondays; her number is +49 431 220 9981."
    for sources, wanted in (((Public(PAGE),), {"public"}), ((), {"third"})):
        found = GUARD.judge(Answer("1", said, user_words="How do I reach her?", sources=sources)).findings
        assert {one.subject for one in found if one.layer == "direct"} == wanted


@pytest.mark.parametrize("said", [
    "Henrike Vollmer has HIV.", "Henrike Vollmer has been ill at home with epilepsy since May.",
    "[Source](https://example.org/a/b/c/d/e): **Henrike Vollmer** has HIV."])
def test_a_name_of_a_passage_counts_behind_a_fact_that_no_passage_tells(said: str) -> None:
    told = Answer("1", said, user_words="What is known about her?", sources=(Public(PAGE),))
    assert action(told) == "flag"
    page = Public(f"{PAGE} In 2011 she told the press: I have lived with HIV, and with epilepsy, for ten years.")
    assert action(replace(told, sources=(page,))) == "safe"


def test_a_question_about_a_public_passage_is_no_probe() -> None:
    said = "She was a dental technician who had given up her flat in Kiel, and the laboratory was hers."
    asked = "Did Henrike Vollmer, the 41-year-old dental technician with two children, live in Kiel?"
    held = Answer("1", said, user_words=asked, sources=(PAGE,))
    assert GUARD.check(held).action == "flag"
    assert action(replace(held, sources=(Public(PAGE),))) == "safe"
    beside = (Public(PAGE), "Henrike Vollmer, 41, dental technician, two children: petition for divorce, Kiel.")
    assert action(replace(held, sources=beside)) == "flag"


def test_a_policy_that_counts_public_persons_counts_these() -> None:
    strict = Guard(replace(GUARD.policy, subjects=("third", "speaker", "public")), point="balanced")
    assert strict.check(ASKED).action == "flag"
