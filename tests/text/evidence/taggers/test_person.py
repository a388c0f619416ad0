from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

SAID = [
    ("medical", "A 52-year-old man presented with chest pain.", "third", "man", "male"),
    ("medical", "A 52-year-old woman presented with chest pain.", "third", "woman", "female"),
    ("medical", "The patient said that she smokes.", "third", "she", "female"),
    ("medical", "The patient is worried about his heart.", "third", "his", "male"),
    ("medical", "This girl was seen for fever.", "third", "girl", "female"),
    ("medical", "My mother has dementia.", "third", "mother", "female"),
    ("medical", "The boy has epilepsy.", "third", "boy", "male"),
    ("medical", "I am a 30-year-old woman with migraine.", "speaker", "woman", "female"),
    ("finance", "Our client sold her practice.", "third", "her", "female"),
    ("finance", "My husband makes $120,000.", "third", "husband", "male"),
    ("finance", "The borrower is a man who drives a truck.", "third", "man", "male"),
    ("finance", "He withdrew $12,000.", "third", "He", "male"),
    ("law", "The plaintiff, a 71-year-old widow, fell in the store.", "third", "widow", "female"),
    ("law", "The defendant was 17 when he was arrested.", "third", "he was", "male"),
    ("law", "My sister was evicted.", "third", "sister", "female"),
    ("law", "Mrs. Ortiz signed the lease.", "third", "Mrs. Ortiz", "female"),
    (
        "law",
        "In Miller v. Alabama, 567 U.S. 460 (2012), the Court held for the petitioner; his sentence was cruel.",
        "public",
        "his",
        "male",
    ),
]
NOT_SAID = [
    ("medical", "Men over 50 should be screened."),
    ("medical", "Women in their 40s may notice irregular periods."),
    ("medical", "The patient should tell his or her doctor."),
    ("medical", "If a woman is pregnant, she should avoid retinoids."),
    ("medical", "Male pattern baldness is common."),
    ("medical", "Any man who coughs blood should see his doctor."),
    ("finance", "You can name a beneficiary at any time."),
    ("finance", "A widow may claim the benefit."),
    ("finance", "Each taxpayer must keep his or her receipts."),
    ("law", "A tenant may withhold rent if he gives notice."),
    ("law", "The manhole was left open."),
    ("law", "If the buyer defaults, he loses the deposit."),
]


@pytest.mark.parametrize(("domain", "text", "subject", "cue", "value"), SAID)
def test_sex_of_one_person(
    assert_said: Callable[..., None],
    read: Callable[..., Any],
    domain: str,
    text: str,
    subject: str,
    cue: str,
    value: str,
) -> None:
    assert_said("sex", domain, text, subject, cue)
    assert value in {a.value for a in read(text, domain, kind="sex")}


@pytest.mark.parametrize(("domain", "text"), NOT_SAID)
def test_sex_of_nobody(assert_not_said: Callable[..., None], domain: str, text: str) -> None:
    assert_not_said("sex", domain, text)


def test_once_a_person(read: Callable[..., Any]) -> None:
    found = read("The woman said that she had told her sister that she was ill.", kind="sex")
    assert len({a.person for a in found}) == len(found)
