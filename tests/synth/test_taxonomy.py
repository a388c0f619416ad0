from __future__ import annotations

import pytest

from discreet.core.errors import UsageError
from discreet.core.records import DOMAINS
from discreet.synth.taxonomy import EVIDENCE_KIND, SHARED, SPECIFIC, classes, is_cluster
from discreet.text.evidence.mentions import classes_of


@pytest.mark.parametrize("domain", DOMAINS)
def test_eight_classes_a_domain_five_of_them_shared(domain: str) -> None:
    found = classes(domain)
    assert len(found) == len(set(found)) == 8
    assert found[:5] == SHARED
    assert found[5:] == SPECIFIC[domain]


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_class_is_one_that_the_evidence_knows(domain: str) -> None:
    kinds = [EVIDENCE_KIND[qi] for qi in classes(domain)]
    assert len(set(kinds)) == 8
    assert set(kinds) <= set(classes_of(domain))


def test_unknown_domain() -> None:
    with pytest.raises(UsageError, match="medical, finance, law"):
        classes("retail")


@pytest.mark.parametrize(("qi", "identifying", "paper"), [
    (("AGE", "LOCATION"), True, True),
    (("AGE", "CONDITION"), False, True),
    (("CONDITION", "TREATMENT", "VISIT_PATTERN"), False, True),
    (("AGE",), False, False),
    ((), False, False),
])
def test_what_makes_a_cluster(qi: tuple[str, ...], identifying: bool, paper: bool) -> None:
    assert is_cluster(qi) is identifying
    assert is_cluster(qi, "paper") is paper
