from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("medical", "The patient lives in Omaha.", "third", "Omaha"),
    ("medical", "A 52-year-old woman from Tulsa presented with fever.", "third", "Tulsa"),
    ("medical", "He was born in Nigeria and moved to Leeds as a child.", "third", "Nigeria"),
    ("medical", "He was born in Nigeria and moved to Leeds as a child.", "third", "Leeds"),
    ("medical", "I live in rural Montana, far from a clinic.", "speaker", "Montana"),
    ("medical", "She grew up in Glasgow.", "third", "Glasgow"),
    ("medical", "I'm in Toronto and my doctor is on leave.", "speaker", "Toronto"),
    ("medical", "She works in a small mining town.", "third", "mining town"),
    ("medical", "We moved here from Lagos for my residency.", "speaker", "Lagos"),
    ("medical", "The client, a native of Lisbon, has lupus.", "third", "Lisbon"),
    ("medical", "As a mom of twins in Denver, I get no sleep.", "speaker", "Denver"),
    ("medical", "She drives a school bus in Fargo.", "third", "Fargo"),
    ("medical", "Originally from Peru, she came for a check-up.", "third", "Peru"),
    ("finance", "The client bought a house in Duluth last year.", "third", "Duluth"),
    ("finance", "My client resides in Boise, Idaho.", "third", "Boise"),
    ("finance", "I moved to Texas in March and have two jobs.", "speaker", "Texas"),
    ("finance", "The Phoenix-based contractor owes $12,000.", "third", "Phoenix"),
    ("law", "I rent an apartment in Cleveland.", "speaker", "Cleveland"),
    ("law", "The plaintiff, a resident of Fresno, was bitten by a dog.", "third", "Fresno"),
    ("law", "The petitioner emigrated from Guatemala in 2015.", "third", "Guatemala"),
    ("law", "We are tenants in Springfield, IL.", "speaker", "Springfield"),
    ("law", "I've lived in Georgia for two years.", "speaker", "Georgia"),
    (
        "law",
        "In Gideon v. Wainwright, 372 U.S. 335 (1963), the Court reversed the conviction of the petitioner, a "
        "man from Florida.",
        "public",
        "Florida",
    ),
]
NOT_SAID = [
    ("medical", "The study was carried out at a hospital in Boston."),
    ("medical", "Lyme disease is named after a town in Connecticut."),
    ("medical", "Malaria is common in Nigeria."),
    ("medical", "The University of Michigan published the trial."),
    ("medical", "Travellers from Brazil should be vaccinated."),
    ("medical", "Turkey and rice are easy to digest."),
    ("medical", "Norfolk Island pine can cause a rash."),
    ("law", "California law limits the deposit to one month's rent."),
    ("law", "The Supreme Court of Ohio affirmed."),
    ("law", "If you live in Florida, the court will send a notice."),
    ("law", "A corporation formed in Delaware must pay the franchise tax."),
    ("law", "The district court in Denver granted the motion."),
    ("finance", "Texas has no state income tax."),
    ("finance", "People who live in New Jersey pay a higher property tax."),
    ("finance", "The fund trades on the New York Stock Exchange."),
    ("finance", "The bank is based in Zurich."),
]


@pytest.mark.parametrize(("domain", "text", "subject", "cue"), SAID)
def test_places_of_one_person(assert_said: Callable[..., None], domain: str, text: str, subject: str, cue: str) -> None:
    assert_said("place", domain, text, subject, cue)


@pytest.mark.parametrize(("domain", "text"), NOT_SAID)
def test_places_of_nobody(assert_not_said: Callable[..., None], domain: str, text: str) -> None:
    assert_not_said("place", domain, text)


@pytest.mark.parametrize("place", ["Omaha", "Omaha, Nebraska", "Omaha, NE"])
def test_one_place_has_one_value(read: Callable[..., Any], place: str) -> None:
    assert {a.value for a in read(f"The patient lives in {place}.", kind="place")} == {"Omaha|Nebraska|US"}


def test_the_region_decides_between_towns_of_one_name(read: Callable[..., Any]) -> None:
    [one] = read("The patient lives in Springfield, Illinois.", kind="place")
    [two] = read("The patient lives in Springfield, Massachusetts.", kind="place")
    assert one.value != two.value


def test_the_region_is_no_second_place(read: Callable[..., Any]) -> None:
    text = "The patient lives in Boise, Idaho."
    [found] = read(text, kind="place")
    assert text[found.start : found.end] == "Boise, Idaho"
