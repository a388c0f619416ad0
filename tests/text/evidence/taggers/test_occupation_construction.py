from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("She works as a hedgelayer.", "third", "hedgelayer"),
    ("The patient worked for thirty years as a harbour joiner at the old docks.", "third", "harbour joiner"),
    ("He earns his living as a puppeteer.", "third", "puppeteer"),
    ("She makes a modest living mending clocks.", "third", "mending clocks"),
    ("My brother is a knifegrinder by trade.", "third", "knifegrinder"),
    ("By trade he is a bellfounder.", "third", "bellfounder"),
    ("The client is a bellfounder and keeps bees.", "third", "bellfounder"),
    ("The plaintiff, a hedgelayer from the north, fell.", "third", "hedgelayer"),
    ("Profile of this patient: a lamplighter with asthma.", "third", "lamplighter"),
    ("He is a retired bellfounder.", "third", "bellfounder"),
    ("The patient has a cough. Occupation: bellfounder.", "third", "bellfounder"),
    ("The patient mends nets for a living.", "third", "mends nets"),
    ("She was employed as a lock-keeper.", "third", "lock-keeper"),
    ("Her job as a taxidermist exposes her to arsenic.", "third", "taxidermist"),
    ("As a lamplighter, she wears gloves.", "third", "lamplighter"),
    ("The person in question pays the bills as a street juggler.", "third", "juggler"),
    ("The individual's occupation is that of a glassblower.", "third", "glassblower"),
    ("He lives alone and works as a barge hand.", "third", "barge hand"),
    ("I work as a knifegrinder.", "speaker", "knifegrinder"),
    ("The patient works nights at a tannery.", "third", "tannery"),
    ("She runs a smithy with her cousin.", "third", "smithy"),
    ("The patient is tired; shoes horses at a forge.", "third", "forge"),
]
NOT_SAID = [
    "The drug works as an inhibitor of the pump.",
    "The patient takes a drug that works as a blocker.",
    "The team works as a unit and plays as a team.",
    "The patient is a smoker and a carrier of the gene.",
    "He is a survivor. She is a homeowner and a taxpayer. The client is a debtor and a minor.",
    "She is a better listener now, and he is a heavy drinker.",
    "If she works as a hedgelayer, she may claim.",
    "She wants to work as a hedgelayer. She never worked as a lamplighter.",
    "Those who work as hedgelayers are counted.",
    "A person who works as a hedgelayer may deduct tools.",
    "She has an implant, a cardiac defibrillator.",
    "The patient works on a project, in a team, for a while.",
    "Any retired bellfounder may apply.",
    "His former employer and a former co-worker came.",
    "Her work is a matter of pride.",
]


@pytest.mark.parametrize(("text", "subject", "cue"), SAID)
def test_trades_of_one_person(assert_said: Callable[..., None], text: str, subject: str, cue: str) -> None:
    assert_said("occupation", "medical", text, subject, cue)


@pytest.mark.parametrize("text", NOT_SAID)
def test_trades_of_nobody(assert_not_said: Callable[..., None], text: str) -> None:
    assert_not_said("occupation", "medical", text)


@pytest.mark.parametrize(
    "text",
    [
        "She is a retired bellfounder.",
        "He was employed as a bellfounder. He is a bellfounder by trade.",
        "She works as a master bellfounder; she is a bellfounder.",
        "The patient, a welder, works in a big shipyard.",
        "He works as a bellfounder. He works at a foundry.",
    ],
)
def test_one_trade_told_twice_is_one_value(read: Callable[..., Any], text: str) -> None:
    assert len({a.value for a in read(text, kind="occupation")}) == 1


def test_where_a_person_works_is_a_weak_cue(read: Callable[..., Any]) -> None:
    assert [a.weak for a in read("She works nights at a tannery.", kind="occupation")] == [True]
    assert [a.weak for a in read("She works as a hedgelayer.", kind="occupation")] == [False]


def test_a_party_of_a_published_case_stays_public(read: Callable[..., Any]) -> None:
    text = "In Pickering v. Board of Education, 391 U.S. 563 (1968), the Court held for the petitioner, a bellfounder."
    assert {a.subject for a in read(text, domain="law", kind="occupation")} == {"public"}
