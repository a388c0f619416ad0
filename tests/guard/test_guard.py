from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

import discreet
from discreet.core.errors import UsageError
from discreet.core.records import Answer, Public, Turn, Verdict
from discreet.guard.guard import Guard
from discreet.guard.policy import POINTS, Policy, QuoteAction, QuoteRule

Judge = Callable[..., Verdict]
Guards = Mapping[str, Guard]

CLUSTERS = [
    ("medical", "The patient is a 52-year-old litigator from Omaha with two children."),
    ("medical", "A 61-year-old retired welder from Tulsa presented with a cough. He lives alone."),
    ("medical", "She is the only female plumber in Duluth and takes warfarin."),
    ("medical", "I am a 34-year-old nurse from Tulsa and have asthma."),
    ("medical", "Her husband, a 70-year-old farmer from Tulsa, noticed the swelling."),
    ("medical", "We moved here from Lagos for my residency, and my wife is pregnant."),
    ("finance", "My client is a dentist in Duluth. She is 58 years old and has three kids."),
    ("finance", "The borrower is a 34-year-old welder who moved to Texas."),
    ("finance", "I'm a single mom in Ohio with two kids and $40,000 of student loans."),
    ("finance", "The taxpayer, a Canadian citizen, is a widow and works at Boeing."),
    ("law", "The plaintiff, a 71-year-old widow, lives in Fresno."),
    ("law", "The petitioner emigrated from Guatemala and works as a roofer."),
    ("law", "My brother is a bank teller in Cleveland and was arrested for DUI."),
    ("law", "I'm 22 years old and rent an apartment in Cleveland with my sister."),
    ("law", "My tenant is an octogenarian from Boise who refuses to move."),
]
HARMLESS = [
    ("medical", "Adults aged 50 to 70 should be screened every year."),
    ("medical", "Metformin lowers blood sugar; ask your doctor before you stop it."),
    ("medical", "The patient has type 2 diabetes and takes metformin."),
    ("medical", "If a 30-year-old teacher from Boston has a cough, order a scan."),
    ("medical", "Nurses aged 30 to 40 in Ohio have more back pain."),
    ("medical", "The study was carried out at Harvard University in Boston between 2001 and 2005."),
    ("medical", "Dr. Chen, a neurologist, reviewed the scan."),
    ("medical", "The patient was seen in May and again in June."),
    ("finance", "Married couples who live in Texas can file jointly after age 59."),
    ("finance", "You can roll over a 401(k) at any age; a financial planner in your town can help."),
    ("finance", "The bank is based in Zurich and was founded 52 years ago."),
    ("finance", "A widow may claim the benefit of her late husband once she reaches age 60."),
    ("law", "A tenant in Ohio who is married may end the lease."),
    ("law", "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court held for the petitioner, a 52-year-old drifter "
            "from Florida."),
    ("law", "Judge Harlan of Cleveland denied the motion."),
    ("law", "When a 16-year-old student is arrested, the parents must be called."),
]
DIRECT = ["Write to jane.doe@mail-host.com.", "The patient's phone is 402-555-0199.", "His SSN is 536-22-8712.",
          "Mrs. Ortiz was seen on Monday."]


GERMAN = "Die Frau ist mit ihren beiden Kindern in der Stadt und wird noch einmal untersucht, wenn es sein muss. " * 8
FILLER = " The drug is taken with food, and blood pressure is measured at home." * 120


@pytest.mark.parametrize(("domain", "text"), CLUSTERS)
def test_a_cluster_of_one_person_is_flagged(judge: Judge, domain: str, text: str) -> None:
    alone = judge(text, domain)
    assert (alone.action, alone.layer) == ("flag", "contextual")
    assert (alone.logit or 0) > (alone.threshold or 0)
    assert (alone.delta, alone.tau, alone.sigma_safe, alone.sigma_unsafe) == (None,) * 4
    assert len(alone.evidence) >= 2
    assert re.search(r"attributes (?:\(\d weak\) )?bound to one person", alone.reason)
    # A direct identifier decides, and the contextual evidence is listed all the same.
    direct = judge(f"{text} {DIRECT[0]}", domain)
    assert direct.layer == "direct"
    assert direct.evidence[0].type == "email"
    assert len(direct.evidence[1:]) >= 2
    assert judge(GERMAN + text, domain).action in ("flag", "abstain")
    assert judge(GERMAN, domain).action == "abstain"


@pytest.mark.parametrize(("domain", "text"), HARMLESS)
def test_what_singles_nobody_out_is_safe(judge: Judge, domain: str, text: str) -> None:
    verdict = judge(text, domain)
    assert (verdict.action, verdict.layer) == ("safe", None), verdict
    assert (verdict.score or 0) < 0.5


ONE_FACT = ["The patient is a retired teacher.", "The patient lives with his daughter.",
            "The girl lives with her mother and plays outside.",
            "The patient is 52 years old. At 52, she is still active.",
            "A 52-year-old woman was seen; the 52-year-old was given warfarin.",
            "The patient lives in Boise, Idaho, and likes Boise.", "He works as a welder. Work as a welder is hard.",
            "He is a former police officer, and police officers get hurt.",
            "The patient is a widower whose wife has died.", "I'm a mom of three kids.",
            "I have two sons, and both sons have asthma.", "The patient's son called. Her son is worried.",
            "He attends Lincoln High School and likes Lincoln High School.", "A 9-month-old infant was seen.",
            "My husband has asthma and takes albuterol; my husband smokes.", "She is Nigerian; Nigerian food is hot."]


@pytest.mark.parametrize("text", ONE_FACT)
def test_one_fact_said_in_many_words_is_no_cluster(judge: Judge, text: str) -> None:
    """A person may be asked, who sees the one fact."""
    verdict = judge(text)
    assert verdict.evidence
    if not text.startswith(("I have two sons", "I'm a mom")):  # There the reader counts the repetition.
        assert verdict.action in ("safe", "abstain"), verdict.reason


@pytest.mark.parametrize("text", DIRECT)
def test_direct_identifiers_are_flagged_with_their_span(judge: Judge, text: str) -> None:
    verdict = judge(text)
    assert (verdict.action, verdict.layer, verdict.score) == ("flag", "direct", 1.0)
    found = verdict.evidence[0]
    assert found.type in verdict.reason
    assert text[found.start : found.end] in text.rstrip(".")


@pytest.mark.parametrize(("name", "action"), [("Mr P.", "safe"), ("J.", "safe"), ("Ms T. R.", "safe"),
                                              ("Mr Pell", "flag"), ("Jane K.", "flag"), ("Ms T. Rowe", "flag")])
def test_initials_name_nobody(judge: Judge, name: str, action: str) -> None:
    assert judge(f"{name} was admitted on 9 April and went home on the following day.").action == action


@pytest.mark.parametrize(("text", "action"), [
    ("The curve of the Krishna river bends where Krishna meets the sea.", "safe"), ("Maya pays the bill late.", "flag"),
    ("See https://www.griffinfm.co.uk and https://github.com/microsoft/AirSim/releases [1].", "safe"),
    ("Her blog is at https://knits.example.", "flag"),
    ("Ms Rowe lives at 19 Quay Road, 01632 960 533; branches are open on weekdays.", "flag"), ("01632 960 533", "flag"),
])
def test_what_only_looks_like_an_identifier(judge: Judge, text: str, action: str) -> None:
    assert judge(text).action == action


@pytest.mark.parametrize(("asked", "text", "action"), [
    ("where are your branches?", "Branches: Carrow, 2 Sessions Square, 01632 960 500; Holme, 19 Quay Road, 01632 960 "
                                 "533, open 10 to 2 on weekdays.", "safe"),
    ("where does Jane Rowe live?", "At 19 Quay Road, 01632 960 533, second bell from the top.", "flag"),
])
def test_addresses_of_a_firm_are_nobodys(asked: str, text: str, action: str) -> None:
    assert Guard("medical").check(Answer("1", text, user_words=asked)).action == action


def test_another_language_is_left_to_a_reviewer(judge: Judge) -> None:
    text = "La reunión empieza a las nueve y termina a las cinco, pero el lunes la sala está cerrada por las obras."
    verdict = judge(text)
    assert (verdict.action, verdict.layer) == ("abstain", None)
    assert verdict.cause is not None
    assert (verdict.cause.cause, "(es)" in verdict.reason) == ("language", True)
    listed = Guard(replace(Policy.of("medical"), languages=("en", "es")))
    assert listed.check(text).action == "abstain", "a policy cannot make the rules read Spanish"


@pytest.mark.parametrize("text", ["Yes.", "42", "🙂", "…"])
def test_a_short_answer_is_safe(judge: Judge, text: str) -> None:
    verdict = judge(text)
    assert (verdict.action, verdict.evidence) == ("safe", ())


@pytest.mark.parametrize("audience", [None, "treating"])
@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b\ufeff", "\u00a0\u2003", "\x00"])
def test_an_empty_answer_is_not_safe(judge: Judge, text: str, audience: str | None) -> None:
    verdict = judge(text, audience=audience)
    assert (verdict.action, verdict.evidence) == ("abstain", ())
    assert verdict.reason == "the answer is empty: there is nothing to judge"


@pytest.mark.parametrize("text", DIRECT)
def test_an_identifier_is_repeated_to_whoever_gave_it_as_theirs(judge: Judge, text: str) -> None:
    given = "My mail is jane.doe@mail-host.com, my phone 402-555-0199 and my SSN 536-22-8712; our client is Mrs. Ortiz."
    verdict = judge(text, question=f"{given} What now?")
    # The identifier is theirs; what an answer adds of whom they describe is not.
    assert verdict.action == "safe" or (verdict.cause and verdict.cause.cause == "probe")
    if text != DIRECT[0]:  # "Write to …" tells nothing of anybody.
        said = Answer("1", text, user_words=f"Can you repeat this? {text}")
        assert Guard("medical").check(said).action == "flag"
        assert Guard("medical", audience="treating").check(said).action == "safe"


@pytest.mark.parametrize(("question", "answer", "action"), [
    # In another form it is repeated; by chance it is not.
    ("My number is (402) 555 0199. Please call me.", "We call 402-555-0199.", "safe"),
    ("I am JANE.DOE@mail-host.com", "We write to jane.doe@mail-host.com.", "safe"),
    ("Order 94025550199812 is late.", "The patient's phone is 402-555-0199.", "flag"),
    ("Is 5362 2871 2 my ticket, or 25362 28712 3?", "His SSN is 536-22-8712.", "flag"),
    ("Anna Ortiz?", "Anna Ortiz has HIV.", "flag"),
    ("Has Anna Ortiz been here?", "Anna Ortiz was seen on Monday.", "flag"),
    ("Has Anna Ortiz been here?", "I cannot share information about Anna Ortiz.", "safe"),
    ("Who is the next mrs? Or Tiz?", "Mrs. Ortiz was seen on Monday.", "flag"),
])
def test_a_direct_identifier_in_the_question(judge: Judge, question: str, answer: str, action: str) -> None:
    assert judge(answer).action == "flag"
    assert judge(answer, question=question).action == action


def test_who_gave_the_code_gave_its_town(guards: Guards) -> None:
    for question, subject in [("I live at LS6 4QP. Who helps?", "asker"), ("Does LS6 4QP need a permit?", "third")]:
        found = guards["medical"].judge(Answer("1", "The patient is from Leeds LS6 4QP.", question)).findings
        assert [(f.start, f.subject) for f in found if f.type == "postal_code"] == [(20, subject)]


def test_the_user_s_turns_are_the_user_s_words_and_no_others_are(guards: Guards) -> None:
    domain, text = CLUSTERS[0]
    mine = text.replace("The patient", "My patient")
    said = Answer("1", text, "And now?", conversation=(Turn("user", mine), Turn("assistant", "I see.")))
    assert guards[domain].check(said).action == "safe"
    for role in ("assistant", "system", "tool"):
        leaked = Answer("1", text, "And now?", conversation=(Turn("user", "Hi."), Turn(role, mine)))
        assert guards[domain].check(leaked).action == "flag"


def test_sources_are_not_the_asker_s_words(guards: Guards) -> None:
    domain, text = CLUSTERS[0]
    assert guards[domain].check(Answer("1", text, "Who is it?", sources=(text,))).action == "flag"


def test_half_of_a_cluster_in_the_question_leaves_no_cluster(judge: Judge) -> None:
    answer = "The patient is 52 years old and lives in Omaha."
    assert judge(answer).action == "flag"
    added = judge(answer, question="My patient is 52 years old and lives alone. What helps?")
    assert (added.action, added.cause and added.cause.cause) == ("flag", "probe")  # It adds a town.
    assert judge(answer, question="What is there for a woman of 52 years old who lives alone?").action == "flag"


@pytest.mark.parametrize(("domain", "audience"), [
    ("medical", "treating"), ("finance", "own_client"), ("law", "own_matter")])
def test_who_opened_the_record_sees_it_but_no_direct_identifier(judge: Judge, domain: str, audience: str) -> None:
    for wanted, text in CLUSTERS:
        if wanted == domain:
            assert judge(text, domain, audience=audience).action == "safe"
    assert judge(DIRECT[0], domain, audience=audience).layer == "direct"


@pytest.mark.parametrize(("domain", "audience"), [("medical", "clinician"), ("finance", "advisor"), ("law", "lawyer")])
def test_who_may_read_cases_sees_two_attributes_but_not_five(judge: Judge, domain: str, audience: str) -> None:
    two = "She is 52 years old and lives in Omaha."
    five = "She is a 52-year-old Nigerian welder from Omaha with two children."
    assert judge(two, domain).action == "flag"
    assert judge(two, domain, audience=audience, point="conservative").action != "flag"
    assert judge(five, domain, audience=audience).action == "flag"


def test_identifiers_that_a_policy_allows_pass() -> None:
    policy = replace(Policy.of("medical"), allow_direct=("email",))
    assert Guard(policy).check(Answer("1", DIRECT[0])).action == "safe"
    assert Guard(policy).check(Answer("1", DIRECT[2])).action == "flag"


def test_hypothetical_parties_pass_in_law(judge: Judge) -> None:
    assert judge("Alice sues Bob because his dog bit her.", "law").action == "safe"


@pytest.mark.parametrize(("domain", "text"), [*CLUSTERS, *HARMLESS])
def test_a_stricter_point_never_lets_more_pass(judge: Judge, domain: str, text: str) -> None:
    verdicts = [judge(text, domain, point=point) for point in POINTS]
    assert len({v.logit for v in verdicts}) == 1
    held = [v.action != "safe" for v in verdicts]
    assert held == sorted(held)


@pytest.mark.parametrize("domain", ["medical", "finance", "law"])
def test_a_verdict_does_not_depend_on_its_batch_and_says_by_which_policy(guards: Guards, domain: str) -> None:
    texts = [text for _, text in (*CLUSTERS, *HARMLESS)] + DIRECT + ["", GERMAN]
    answers = [Answer(f"{i} {j}", text, question) for i, text in enumerate(texts)
               for j, question in enumerate((None, texts[i - 1], text))]
    guard = guards[domain]
    alone = {a.id: replace(guard.check(a), latency_ms=None) for a in answers}
    together = list(guard.check_many(answers))
    assert [v.id for v in together] == [a.id for a in answers]
    shuffled = random.Random(1).sample(answers, len(answers))
    for verdicts in (together, Guard(guard.policy).check_many(shuffled)):
        assert {v.id: replace(v, latency_ms=None) for v in verdicts} == alone
    assert {(v.policy, v.threshold) for v in alone.values()} == {(guard.policy.label(), guard.evidence_tau)}
    assert all((v.latency_ms or -1) >= 0 for v in together)


def test_a_guard_says_what_it_is_and_takes_other_thresholds() -> None:
    guard = Guard("medical", point="strict")
    assert repr(guard) == "Guard('medical', audience='public', point='strict')"
    text = CLUSTERS[0][1]
    changed = guard.at(evidence_tau=1e9, unsure=1e9)
    assert (changed.check(text).action, changed.check(text).threshold) == ("safe", 1e9)
    assert guard.check(text).action == "flag"
    with pytest.raises(UsageError, match="the guard was not fitted"):
        guard.at(0.5)


def test_findings_explain_the_verdict(guards: Guards) -> None:
    text = f"{CLUSTERS[0][1]} Her mother is a nurse. Adults over 70 should rest. {DIRECT[0]}"
    judged = guards["medical"].judge(Answer("1", text))
    assert judged.verdict == replace(guards["medical"].check(Answer("1", text)), latency_ms=judged.verdict.latency_ms)
    spans = [(f.start, f.end) for f in judged.findings]
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    blocked = [f for f in judged.findings if f.layer == "direct"]
    assert [(f.type, f.counts) for f in blocked] == [(judged.verdict.evidence[0].type, True)]
    contextual = [f for f in judged.findings if f.layer == "contextual"]
    assert {f.type for f in contextual if f.counts} >= {"age", "occupation", "place", "family"}
    assert not [f for f in contextual if f.counts and f.subject not in ("third", "speaker")]
    assert not [f for f in contextual if f.type == "sex" and f.counts]
    words = {w.strip(".,").lower() for w in text.split() if len(w) > 3}
    shown = " ".join(f"{f.person} {f.layer} {f.subject}" for f in judged.findings).lower().split()
    assert not words & set(shown) - {"person"}


def test_evidence_is_of_the_one_person(judge: Judge) -> None:
    text = "A 52-year-old welder from Omaha came. A 30-year-old woman left."
    assert {text[e.start : e.end] for e in judge(text).evidence} == {"52-year-old", "welder", "Omaha"}


def test_a_cluster_spread_over_a_long_answer_is_seen(judge: Judge) -> None:
    text = f"The patient is 52 years old.{FILLER} She lives in Omaha.{FILLER} She is a retired litigator."
    assert judge(text).action in ("flag", "abstain")
    assert judge(f"{FILLER} {CLUSTERS[0][1]}").action == "flag"
    assert judge(FILLER).action == "safe"


def test_a_guard_of_a_domain_takes_strings() -> None:
    guard = discreet.Guard("medical")
    _domain, text = CLUSTERS[0]
    first, second = guard.check_many([text, Answer("b", text)])
    assert (first.action, first.reason, first.evidence) == ("flag", second.reason, second.evidence)
    assert (second.id, len(first.id)) == ("b", 32)
    assert guard.check(text, question=text).action == "flag"
    assert guard.check(text, question=text.replace("The patient", "My patient")).action == "safe"
    assert guard.judge(text).findings == guard.judge(Answer("b", text)).findings
    assert not guard.is_fitted
    assert discreet.Guard("medical", audience="treating").check(text).action == "safe"


@pytest.mark.parametrize(("call", "said"), [
    (lambda guard: guard.check(Answer("1", "Yes."), question="No?"), "a question was given with an Answer"),
    (lambda guard: guard.check(7), "the answer is a int; expected a string or an Answer"),
    (lambda guard: guard.check("Yes.", 3), "the question is a int; expected a string"),
    (lambda guard: guard.detector, "the guard was not fitted"),
    (lambda guard: guard.save("nowhere"), "the guard was not fitted"),
    (lambda guard: discreet.Guard(guard.policy, audience="treating"), "the policy is for the audience 'public'"),
    (lambda guard: discreet.Guard("cooking"), "unknown domain 'cooking'"),
    (lambda guard: discreet.Guard("law", point="loud"), "unknown operating point 'loud': expected one of conservative"),
    (lambda guard: discreet.Guard("medical", audience="cooks"), "no audience 'cooks'"),
])
def test_misuse_is_said(call: Callable[[discreet.Guard], object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call(discreet.Guard("medical"))


NOTE = "Our records say that the boiler in the east wing was drained, flushed and refilled with softened water."


@pytest.mark.parametrize(("said", "action", "layer", "code"), [
    ("off", "safe", None, "ok"), ("evidence", "safe", None, "ok"), ("abstain", "abstain", None, "privacy/undecided"),
    ("flag", "flag", "verbatim", "privacy/verbatim")])
def test_quotes_of_passages_do_what_the_policy_says(said: QuoteAction, action: str, layer: str | None,
                                                          code: str) -> None:
    policy = Policy.of("medical")
    guard = Guard(replace(policy, quotes=QuoteRule(said)))
    found = guard.judge(Answer("1", NOTE, sources=(NOTE,)))
    verdict = found.verdict
    assert (verdict.action, verdict.layer, verdict.code) == (action, layer, code)
    assert [(e.type, e.subject) for e in verdict.evidence] == ([] if said == "off" else [("quote", "nobody")])
    assert [(f.layer, f.counts) for f in found.findings] == (
        [] if said == "off" else [("verbatim", said in ("abstain", "flag"))])
    assert guard.check(Answer("1", NOTE, sources=("Another passage.",))).action == "safe"
    assert guard.check(Answer("1", NOTE, sources=(Public(NOTE),))).action == "safe"
    assert guard.check(NOTE).action == "safe"
    assert (guard.policy.label() == policy.label()) == (said == "evidence")
    assert Policy.restore(guard.policy.settings(), policy.domain) == guard.policy
