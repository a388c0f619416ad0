from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

from discreet.core.records import Answer, Verdict
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.guard.domains import builtin_domains
from discreet.guard.fit import fit_guard
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.inputs.encode.encoders.hashed import HashedEncoder

Judge = Callable[..., Verdict]


@cache
def guard_of(domain: str, audience: str | None = None, point: str | None = None) -> Guard:
    return Guard(Policy.of(domain, audience), point=point)


@pytest.fixture(scope="session")
def guards() -> Mapping[str, Guard]:
    """The guard of every domain with its built-in policy."""
    return {domain: guard_of(domain) for domain in builtin_domains()}


@pytest.fixture(scope="session")
def judge() -> Judge:
    """`judge(text, domain="medical", question=None, audience=None, point=None)`."""

    def verdict(text: str, domain: str = "medical", question: str | None = None, audience: str | None = None,
                point: str | None = None) -> Verdict:
        return guard_of(domain, audience, point).check(Answer("1", text, question))

    return verdict


@pytest.fixture(scope="session")
def fitted_folder(side_files: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small medical guard as a folder, with every discriminator and the point "costs"."""
    from discreet.guard.density.points import Costs

    folder = tmp_path_factory.mktemp("fitted") / "guard"
    fit_guard("medical", side_files["safe"], side_files["unsafe"], side_files["borderline"], out=folder,
              encoders=[HashedEncoder(256), EvidenceEncoder("medical")], costs=Costs(10, 1),
              gate="fitted", discriminator="evidence+logistic")
    return folder


@pytest.fixture(scope="session")
def fitted_guard(fitted_folder: Path) -> Guard:
    """The same, loaded."""
    return Guard.load(fitted_folder)
