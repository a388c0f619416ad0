from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest

from discreet.guard.evidence_guard import EvidenceGuard
from discreet.guard.policy import Policy
from discreet.records import DOMAINS, Answer, Verdict

Judge = Callable[..., Verdict]


@cache
def guard_of(domain: str, audience: str | None = None, point: str | None = None) -> EvidenceGuard:
    return EvidenceGuard(Policy.builtin(domain, audience), point=point)


@pytest.fixture(scope="session")
def guards() -> Mapping[str, EvidenceGuard]:
    """The guard of every domain with its built-in policy."""
    return {domain: guard_of(domain) for domain in DOMAINS}


@pytest.fixture(scope="session")
def judge() -> Judge:
    """`judge(text, domain="medical", question=None, audience=None, point=None)`."""

    def verdict(
        text: str,
        domain: str = "medical",
        question: str | None = None,
        audience: str | None = None,
        point: str | None = None,
    ) -> Verdict:
        return guard_of(domain, audience, point).check(Answer("1", text, question))

    return verdict
