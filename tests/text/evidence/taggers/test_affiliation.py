from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("medical", "The patient works at Boeing.", "third", "Boeing"),
    ("medical", "She is a nurse at Mercy Hospital.", "third", "Mercy Hospital"),
    ("medical", "I study at Ohio State University.", "speaker", "Ohio State University"),
    ("medical", "He retired from General Motors last year.", "third", "General Motors"),
    ("medical", "She attends Lincoln High School.", "third", "Lincoln High School"),
    ("medical", "I'm a pastor at Grace Baptist Church.", "speaker", "Grace Baptist Church"),
    ("medical", "My son goes to Jefferson Middle School.", "third", "Jefferson Middle School"),
    ("finance", "My client works for Goldman Sachs.", "third", "Goldman Sachs"),
    ("finance", "I am an engineer at Google and get stock grants.", "speaker", "Google"),
    ("finance", "The borrower is employed by Wells Fargo.", "third", "Wells Fargo"),
    ("finance", "He taught at Stanford University for ten years.", "third", "Stanford University"),
    ("finance", "I left Amazon in June and moved my savings.", "speaker", "Amazon"),
    ("law", "The plaintiff worked at Walmart for six years.", "third", "Walmart"),
    ("law", "My wife is a teacher at Roosevelt Elementary School.", "third", "Roosevelt Elementary School"),
    ("law", "The petitioner is a member of Trinity Lutheran Church.", "third", "Trinity Lutheran Church"),
    ("law", "I was fired from Starbucks after I complained.", "speaker", "Starbucks"),
    ("law", "The applicant is a student at Yale Law School.", "third", "Yale Law School"),
]
NOT_SAID = [
    ("medical", "The trial was run by Pfizer in 2019."),
    ("medical", "Researchers at Harvard University found a link."),
    ("medical", "Ask the staff at Mayo Clinic for a second opinion."),
    ("medical", "Walgreens sells a generic version."),
    ("medical", "She was admitted to the hospital."),
    ("finance", "Apple pays a quarterly dividend."),
    ("finance", "You can open an account at Fidelity or Vanguard."),
    ("finance", "Employees of Tesla may hold restricted shares."),
    ("finance", "The Bank of England raised its rate."),
    ("law", "Walmart was sued for unpaid overtime."),
    ("law", "The Department of Justice issued new guidance."),
    ("law", "The court held in Brown v. Board of Education that schools must integrate."),
    ("law", "If you work for Amazon, you may have signed an arbitration clause."),
]


@pytest.mark.parametrize(("domain", "text", "subject", "cue"), SAID)
def test_affiliations_of_one_person(
    assert_said: Callable[..., None], domain: str, text: str, subject: str, cue: str
) -> None:
    assert_said("affiliation", domain, text, subject, cue)


@pytest.mark.parametrize(("domain", "text"), NOT_SAID)
def test_affiliations_of_nobody(assert_not_said: Callable[..., None], domain: str, text: str) -> None:
    assert_not_said("affiliation", domain, text)


def test_case_does_not_make_another_value(read: Callable[..., Any]) -> None:
    [one] = read("He works at Acme Widget Company.", kind="affiliation")
    [two] = read("He works at ACME Widget Company.", kind="affiliation")
    assert one.value == two.value
