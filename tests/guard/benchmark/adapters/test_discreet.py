from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.guard.benchmark.made import made
from tests.guard.conftest import fitted_folder  # noqa: F401

from discreet import Guard
from discreet.core.errors import UsageError
from discreet.guard.benchmark import judge, open_guard
from discreet.guard.benchmark.adapters.discreet import DiscreetGuard
from discreet.guard.score import probability

WELDER = "The patient is a 52-year-old welder from Tulsa with two daughters."


def test_direct_identifiers_are_told_apart() -> None:
    guard = open_guard("discreet:medical")
    context = guard.predict(WELDER, None)
    number = guard.predict("Her number is 202-555-0143.", None)
    both = guard.predict(f"{WELDER} Her SSN is 219-09-1234.", None)
    assert [(p.action, p.direct) for p in (context, number, both)] == [("flag", False), ("safe", True), ("flag", True)]
    assert context.score == Guard("medical").check(WELDER).score


def test_spans_have_classes_persons_and_subjects() -> None:
    spans = open_guard("discreet:medical").predict(f"{WELDER} Adults over 65 rest. Call 202-555-0143.", None).spans
    found = {(s.kind, s.subject) for s in spans or ()}
    assert {("age", "third"), ("place", "third"), ("contact", None)} <= found
    assert len({s.person for s in spans or () if s.subject == "third"}) == 1
    assert all(s.person is None for s in spans or () if s.subject not in ("third", "speaker"))
    assert "person" not in {s.kind for s in spans or ()}


def test_the_domain_and_the_point_are_those_of_the_passage_or_the_option() -> None:
    flagged = {one.passage.id for one in judge(open_guard("discreet"), made()) if one.flagged}
    assert {"m01", "l01", "f01"} <= flagged
    with pytest.raises(UsageError, match="name no domain"):
        open_guard("discreet").predict(WELDER, None)
    strict = Guard("medical", point="strict")
    assert open_guard("discreet:medical", "strict").threshold == probability(strict.evidence_tau)


def test_what_was_allowed_before_is_no_direct_flag(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ndomain: medical\nallow_direct: [phone]\naudience: public\n"
                      "audiences: {public: {subjects: [third, speaker], cluster: 2}}\n")
    from discreet import Policy

    found = DiscreetGuard(Guard(Policy.load(policy))).predict("Her number is 202-555-0143.", None)
    assert (found.action, found.direct) == ("safe", False)


def test_a_fitted_guard_judges_as_it_does_without_layer_1(fitted_folder: Path, tmp_path: Path) -> None:  # noqa: F811
    shutil.copytree(fitted_folder, tmp_path / "guards" / "medical")
    alone, by_domain = open_guard(str(fitted_folder)), open_guard(str(tmp_path / "guards"))
    guard = Guard.load(fitted_folder)
    for passage in made():
        if passage.domain == "medical":
            found, said = alone.predict(passage.text, None), guard.check(passage.text)
            assert by_domain.predict(passage.text, "medical") == found
            assert (found.action, found.score) == (said.action, said.score) or said.layer == "direct"
