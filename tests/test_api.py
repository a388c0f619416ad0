"""The public API: what `import discreet` offers."""

from __future__ import annotations

import inspect

import pytest

import discreet

NAMES = ["Answer", "AuditCallback", "DualDensity", "Estimate", "Evidence", "Guard", "LabelAudit", "MembershipAudit",
         "Policy", "Verdict", "audit_labels", "audit_membership", "audit_model", "fit_guard", "load_scores", "seal",
         "stress_test", "unseal"]


def test_the_list() -> None:
    assert discreet.__all__ == NAMES == sorted(NAMES)
    assert set(dir(discreet)) == {*NAMES, "__version__"}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_documented(name: str) -> None:
    found = getattr(discreet, name)
    assert found.__name__ == name
    assert len(inspect.getdoc(found) or "") > 40


def test_another_name_is_not() -> None:
    with pytest.raises(AttributeError, match="'discreet' has no attribute 'EvidenceGuard'"):
        discreet.EvidenceGuard  # noqa: B018
