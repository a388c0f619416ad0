from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("law", "The client is a 52-year-old litigator from Omaha.", "third", "litigator"),
    ("law", "My brother was hired as a bank teller in 2019.", "third", "bank teller"),
    ("law", "The plaintiff worked as a roofer for nine years.", "third", "roofer"),
    ("law", "The petitioner, a former police officer, was injured.", "third", "police officer"),
    ("law", "This is my third decade on the bench.", "speaker", "on the bench"),
    ("law", "Two years ago I was a paralegal.", "speaker", "paralegal"),
    (
        "law",
        "In Pickering v. Board of Education, 391 U.S. 563 (1968), the Court held that the petitioner, a teacher, "
        "could not be dismissed.",
        "public",
        "teacher",
    ),
    ("medical", "The patient works as a school librarian.", "third", "librarian"),
    ("medical", "She is a retired teacher.", "third", "teacher"),
    ("medical", "A 44-year-old welder came with a cough.", "third", "welder"),
    ("medical", "The patient is a carpenter by trade.", "third", "carpenter"),
    ("medical", "I'm a nurse and work nights on the ward.", "speaker", "nurse"),
    ("medical", "I teach third grade and lose my voice every winter.", "speaker", "teach third grade"),
    ("medical", "My husband is a firefighter and coughs at night.", "third", "firefighter"),
    ("medical", "It was hard since we moved here for my residency.", "speaker", "residency"),
    ("medical", "She is the only female plumber in the village.", "third", "plumber"),
    ("medical", "She drives a school bus.", "third", "school bus"),
    ("medical", "She is a college student.", "third", "college student"),
    ("finance", "Our client, a dentist, sold her practice in May.", "third", "dentist"),
    ("finance", "The borrower is a man who drives a truck.", "third", "truck"),
    ("finance", "I'm a freelance photographer with irregular income.", "speaker", "photographer"),
    ("finance", "She owns a bakery and rents the space.", "third", "bakery"),
    ("finance", "I am self-employed and file quarterly.", "speaker", "self-employed"),
    ("finance", "He served in the Navy for six years.", "third", "Navy"),
]
NOT_SAID = [
    ("medical", "Ask your pharmacist before you take ibuprofen."),
    ("medical", "The surgeon closed the wound with sutures."),
    ("medical", "Nurses who work at night have more sleep problems."),
    ("medical", "The doctor may order a blood test."),
    ("medical", "Writer's cramp is a form of dystonia."),
    ("medical", "The patient was referred to a cardiologist."),
    ("law", "The judge denied the motion."),
    ("law", "You should talk to a lawyer before you sign."),
    ("law", "Any teacher who suspects abuse must report it."),
    ("law", "If a police officer stops you, stay calm."),
    ("law", "An attorney must keep a client's secrets."),
    ("finance", "An accountant can tell you which form to use."),
    ("finance", "A financial planner charges a flat fee."),
    ("finance", "Farmers can average their income over three years."),
    ("finance", "Interest rates are the main driver of prices."),
]


@pytest.mark.parametrize(("domain", "text", "subject", "cue"), SAID)
def test_occupations_of_one_person(
    assert_said: Callable[..., None], domain: str, text: str, subject: str, cue: str
) -> None:
    assert_said("occupation", domain, text, subject, cue)


@pytest.mark.parametrize(("domain", "text"), NOT_SAID)
def test_occupations_of_nobody(assert_not_said: Callable[..., None], domain: str, text: str) -> None:
    assert_not_said("occupation", domain, text)


@pytest.mark.parametrize("job", ["litigator", "lawyer", "attorney", "trial lawyer"])
def test_one_occupation_has_one_value(read: Callable[..., Any], job: str) -> None:
    assert {a.value for a in read(f"The client is a {job}.", "law", kind="occupation")} == {"lawyer"}


def test_two_occupations_have_two_values(read: Callable[..., Any]) -> None:
    found = read("She works as a welder and is a part-time teacher.", kind="occupation")
    assert len({a.value for a in found}) == 2
