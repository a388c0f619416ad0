from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("medical", "A 40-year-old Hispanic woman presented with jaundice.", "third", "Hispanic"),
    ("medical", "The patient is of Ashkenazi Jewish descent.", "third", "Jewish"),
    ("medical", "She is a Jehovah's Witness and refuses blood.", "third", "Jehovah's Witness"),
    ("medical", "He is Nigerian and came here in 2010.", "third", "Nigerian"),
    ("medical", "The African American man had a keloid.", "third", "African American"),
    ("medical", "This Chinese immigrant speaks no English.", "third", "Chinese"),
    ("medical", "I'm Muslim and fast in Ramadan.", "speaker", "Muslim"),
    ("medical", "Her native language is Tagalog.", "third", "Tagalog"),
    ("finance", "The client is a Canadian citizen with a US account.", "third", "Canadian"),
    ("finance", "I am Indian and hold an account in Delhi.", "speaker", "Indian"),
    ("finance", "The borrower, a Somali refugee, has no credit history.", "third", "Somali"),
    ("finance", "She is a devout Catholic and tithes ten percent.", "third", "Catholic"),
    ("law", "The petitioner is a Mexican national.", "third", "Mexican"),
    ("law", "My husband is Iranian and overstayed his visa.", "third", "Iranian"),
    ("law", "The plaintiff, a Black woman, was passed over.", "third", "Black"),
    ("law", "I am a Native American and live on the reservation.", "speaker", "Native American"),
    ("law", "My Spanish-speaking client did not understand the form.", "third", "Spanish"),
    (
        "law",
        "In Korematsu v. United States, 323 U.S. 214 (1944), the Court affirmed the conviction of the petitioner, a "
        "Japanese American.",
        "public",
        "Japanese",
    ),
]
NOT_SAID = [
    ("medical", "Japanese encephalitis is spread by mosquitoes."),
    ("medical", "A Mediterranean diet lowers the risk."),
    ("medical", "Asian patients may need a lower dose."),
    ("medical", "German measles is another name for rubella."),
    ("medical", "The patient likes Thai food."),
    ("medical", "Hispanic women have a higher rate of gestational diabetes."),
    ("medical", "The patient's white cell count was high."),
    ("finance", "Swiss francs rose against the dollar."),
    ("finance", "The client invests in Chinese stocks."),
    ("finance", "Indian residents must report foreign assets."),
    ("law", "American courts follow precedent."),
    ("law", "Under French law the heir cannot be disinherited."),
    ("law", "A Canadian citizen can apply for a TN visa."),
    ("law", "English is the language of the contract."),
]


@pytest.mark.parametrize(("domain", "text", "subject", "cue"), SAID)
def test_ethnicity_of_one_person(
    assert_said: Callable[..., None], domain: str, text: str, subject: str, cue: str
) -> None:
    assert_said("ethnicity", domain, text, subject, cue)


@pytest.mark.parametrize(("domain", "text"), NOT_SAID)
def test_ethnicity_of_nobody(assert_not_said: Callable[..., None], domain: str, text: str) -> None:
    assert_not_said("ethnicity", domain, text)


def test_case_does_not_make_another_value(read: Callable[..., Any]) -> None:
    assert {a.value for a in read("He is Nigerian.", kind="ethnicity")} == {
        a.value for a in read("This nigerian man was seen.", kind="ethnicity")
    }
