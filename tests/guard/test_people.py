"""`Verdict.people`, and what `fewer_than` makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.guard.population.standin import StandIn

from discreet import Guard, Policy
from discreet.core.errors import InputError, PolicyError
from discreet.core.records import People, rounded

TEACHER = "The patient is a 52-year-old lawyer from Omaha."
"""All of it is counted: 1e8 × .01 × .01 × .002 = 20 people, 4 to 100 in 95 of 100."""
AGE = "The patient is 52 years old."


def guard(fewer_than: int | None, size: float = 1e8, domain: str = "medical", **more: Any) -> Guard:
    made = Guard(replace(Policy.of(domain), fewer_than=fewer_than), **more)
    return made.counting(StandIn(size))  # type: ignore[arg-type]


def test_a_guard_that_is_not_asked_counts_nobody() -> None:
    assert Guard("medical").check(TEACHER).people is None


def test_people_are_said_beside_a_verdict_that_they_do_not_change() -> None:
    verdict = guard(None).check(TEACHER)
    people = verdict.people
    assert people is not None
    assert people.sentence() == "about 20 people fit (4 to 100)"
    assert people.sentence(where=True) == "about 20 people in Omaha fit (4 to 100)"
    assert (people.used, people.upper_bound) == (("age", "occupation", "place"), False)
    plain = Guard("medical").check(TEACHER)
    assert (verdict.action, verdict.reason) == (plain.action, plain.reason)
    assert "Omaha" not in json.dumps(verdict.to_json()) + repr(verdict)


@pytest.mark.parametrize(("fewer_than", "size", "action"), [
    (51, 1e3, "flag"), (50, 1e3, "safe"), (2, 1e3, "safe"), (50, 1e12, "safe")])
def test_fewer_than_flags_by_the_upper_end_of_the_interval(fewer_than: int, size: float, action: str) -> None:
    verdict = guard(fewer_than, size).check(AGE)
    assert verdict.action == action, verdict.reason
    assert (verdict.layer == "contextual") == (action == "flag")
    assert verdict.cause is not None
    assert verdict.cause.cause == ("few_people" if action == "flag" else "none")
    assert verdict.reason.startswith("fewer than 51: about 10 people fit (2 to 50)") == (action == "flag")


@pytest.mark.parametrize("text", [TEACHER, f"{TEACHER} He has two children."])
def test_many_people_clear_no_cluster(text: str) -> None:
    verdict = guard(2, 1e12).check(text)
    assert (verdict.action, verdict.reason) == ("flag", Guard("medical").check(text).reason)
    assert verdict.people is not None
    assert verdict.people.upper_bound == ("children" in text)


def test_one_attribute_is_held_only_where_it_is_known_to_be_rare() -> None:
    assert guard(100).check(AGE).action == "safe"
    assert guard(100, 1000).check(AGE).action == "flag"


def test_direct_identifiers_still_flag() -> None:
    verdict = guard(4, 1e12).check(f"{TEACHER} Call him at 402-555-0134.")
    assert (verdict.action, verdict.layer) == ("flag", "direct")


def test_nobody_is_counted_of_whom_the_policy_counts_nothing() -> None:
    verdict = Guard(replace(Policy.of("medical", "treating"), fewer_than=100)).check(TEACHER)
    assert (verdict.action, verdict.people) == ("safe", None)


def test_a_population_that_cannot_be_asked_lets_nothing_pass() -> None:
    class Broken(StandIn):
        def count(self, cluster: Any) -> Any:
            raise ValueError("52-year-old lawyer")

    verdict = Guard(replace(Policy.of("medical"), fewer_than=4)).counting(Broken()).check(TEACHER)  # type: ignore[arg-type]
    assert verdict.action == "failed"
    assert "lawyer" not in verdict.reason


def test_the_policy_says_it(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    body = {"version": 1, "domain": "medical", "audiences": {"all": {"subjects": ["third"], "fewer_than": 100}}}
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    policy = Policy.load(path)
    assert policy.fewer_than == 100
    assert Policy.restore(policy.settings(), policy.domain) == policy
    assert replace(policy, fewer_than=None).label() != policy.label()
    for wrong in (1, "many", True, 2.5):
        body["audiences"]["all"]["fewer_than"] = wrong  # type: ignore[index]
        path.write_text(yaml.safe_dump(body), encoding="utf-8")
        with pytest.raises(PolicyError, match="fewer_than must be a number of people, at least 2"):
            Policy.load(path)


@pytest.mark.parametrize(("number", "said"), [
    (0.2, "hardly anybody fits (0 to 1)"), (1.2, "about 1 person fits (0 to 6)"),
    (1234.0, "about 1,200 people fit (250 to 6,200)")])
def test_the_sentence(number: float, said: str) -> None:
    one = People(number, (number / 2, number * 2), (number / 5, number * 5), (), (), (), (), False, "made", "1994")
    assert one.sentence() == said
    assert one.to_json()["sentence"] == said
    assert rounded(0) == 0
    with pytest.raises(ValueError, match="finite"):
        replace(one, estimate=float("nan"))


def test_a_file_that_is_no_population_is_said_before_anything_is_judged(tmp_path: Path) -> None:
    (tmp_path / "p.npz").write_bytes(b"people")
    for file in (tmp_path / "p.npz", str(tmp_path / "none.npz")):
        with pytest.raises(InputError, match="population fit"):
            Guard("medical").counting(file)
