from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from discreet.core.errors import DiscreetError, PolicyError, UsageError
from discreet.guard.domains import IDENTIFYING, builtin_domains, load_domain
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy, QuoteRule, rule_of
from discreet.guard.text.direct.detect import recogniser, recognisers

GOOD: dict[str, Any] = {"version": 3, "domain": "medical", "audience": "all",
                        "audiences": {"all": {"subjects": ["third"], "cluster": 2},
                                      "few": {"subjects": [], "cluster": 4}}}


def load(tmp_path: Path, text: str, audience: str | None = None) -> Policy:
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    return Policy.load(tmp_path / "p.yaml", audience)


def changed(**keys: Any) -> str:
    return yaml.safe_dump({k: v for k, v in {**GOOD, **keys}.items() if v is not None})


@pytest.mark.parametrize(("domain", "point"), [
    ("medical", "conservative"), ("law", "conservative"), ("finance", "balanced")])
def test_the_policy_of_a_domain(tmp_path: Path, domain: str, point: str) -> None:
    """It protects third persons and speakers, and somebody may read the record that they opened."""
    policy = Policy.of(domain)
    assert (policy.domain.name, policy.audience, policy.rule, policy.cluster) == (domain, "public", "identifying", 2)
    assert (set(policy.subjects), policy.languages, policy.point) == ({"third", "speaker"}, ("en",), point)
    assert ("person_name_hypothetical" in policy.allow_direct) == (domain == "law")
    text = files("discreet.guard.domains").joinpath(domain, "policy.yaml").read_text(encoding="utf-8")
    policies = [Policy.of(domain, name) for name in yaml.safe_load(text)["audiences"]]
    assert len(policies) >= 3
    assert [p for p in policies if not p.subjects]
    assert [p for p in policies if p.cluster > 2]
    assert load(tmp_path, text) == policy
    assert policy.counted == IDENTIFYING
    paper = replace(policy, rule="paper").counted
    assert (len(set(paper)), "ethnicity" in paper) == (8, False)
    assert set(policy.domain.own) < set(paper)


def test_a_policy_may_name_the_classes_that_count(tmp_path: Path) -> None:
    policy = load(tmp_path, changed(domain="medical", counts=["age", "condition"]))
    assert policy.counted == ("age", "condition")
    verdict = Guard(policy).check("The patient is a 52-year-old litigator from Omaha with two children.")
    assert {e.type for e in verdict.evidence} == {"age"}
    assert load(tmp_path, changed(counts="paper")).rule == "paper"


def test_the_hash_covers_the_files_of_a_domain_of_ones_own(tmp_path: Path) -> None:
    load_domain("law").save(tmp_path / "law")
    mine, builtin = Policy.of(tmp_path / "law"), Policy.of("law")
    assert Policy.load(tmp_path / "law" / "policy.yaml") == mine
    assert mine.settings() == builtin.settings()
    assert mine.label() != builtin.label()
    label = mine.label()
    with (tmp_path / "law" / "terms.tsv").open("a", encoding="utf-8") as handle:
        handle.write("writ of mandamus\tmatter\n")
    assert Policy.of(tmp_path / "law").label() != label


def test_a_label_names_the_policy_and_changes_with_it() -> None:
    policy = Policy.of("medical")
    assert policy.label().startswith("medical/public@1#")
    others = [replace(policy, cluster=3), replace(policy, rule="paper"), replace(policy, subjects=("third",)),
              replace(policy, point="strict"), replace(policy, languages=("en", "es")), replace(policy, version=2),
              replace(policy, allow_direct=("url",)), Policy.of("medical", "clinician"), Policy.of("law")]
    labels = [p.label() for p in [policy, *others]]
    assert len(set(labels)) == len(labels)
    assert policy.label() == Policy.of("medical").label()


def test_a_label_names_recognisers_that_are_not_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Policy.of("medical").label()
    monkeypatch.setattr(recognisers, "_items", dict(recognisers.items()))
    for name in ("ticket", "badge"):
        recognisers.register(name)(recogniser(name)(lambda facts: ()))
    assert Policy.of("medical").label() == before.replace("#", "+badge+ticket#")


def test_a_function_is_no_recogniser() -> None:
    with pytest.raises(UsageError, match=r"'badge' is a function without types, priority, find: .* put @recogniser"):
        recognisers.register("badge")(lambda facts: ())


@pytest.mark.parametrize(("domain", "audience", "said"), [
    ("tax", None, f"unknown domain 'tax': expected one of {', '.join(builtin_domains())}"),
    ("../law", None, "unknown domain"),
    ("medical", "nobody", "no audience 'nobody'; expected one of public, clinician, treating"),
])
def test_an_unknown_built_in(domain: str, audience: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Policy.of(domain, audience)


def test_a_file(tmp_path: Path) -> None:
    policy = load(tmp_path, changed(counts="paper", point="strict", languages=["en"], allow_direct=["email"]))
    assert policy == Policy(load_domain("medical"), "all", 3, ("third",), 2, "paper", "strict", ("en",), ("email",))


def test_the_audience(tmp_path: Path) -> None:
    assert load(tmp_path, changed(), "few").cluster == 4
    assert load(tmp_path, changed(audience="few")).audience == "few"
    assert load(tmp_path, changed(audience=None)).audience == "all"
    with pytest.raises(UsageError, match="no audience 'many'; expected one of all, few"):
        load(tmp_path, changed(), "many")


MISTAKES = [
    ("[1, 2]", "expected a mapping"), ("", "expected a mapping"), ("a: [", "line 1"), ("a: 1\nb: [\n", "not YAML"),
    ("\tversion: 1", "not YAML"), (changed(colour="red"), "unknown key 'colour'; expected some of"),
    (changed(audiences=None, audience_s={}), "unknown key 'audience_s'; did you mean 'audiences'?"),
    (changed(audiences={"all": {"subject": ["third"]}}), "'all': unknown key 'subject'; did you mean 'subjects'?"),
    (changed(version=None), "version"),
    (changed(version="one"), "version"), (changed(version=True), "version"), (changed(domain=None), "domain"),
    (changed(domain="tax"), "unknown domain 'tax'"), (changed(rule="paper"), "unknown key 'rule'"),
    (changed(counts="strict"), "counts is 'strict'; expected the classes that count towards a cluster: identifying, p"),
    (changed(counts=["age", "shoe"]), "counts is ['age', 'shoe']; expected"), (changed(counts=[]), "counts is []"),
    (changed(point="loud"), "point must be one of"),
    (changed(quotes={"action": "loud"}), "quotes: action must be one of off, evidence, abstain, flag, got 'loud'"),
    (changed(quotes={"words": 3}), "whole number of at least 6"),
    (changed(quotes=["flag"]), "quotes must be a mapping"),
    (changed(quotes={"common": "x"}), "common must be a list"), (changed(quotes={"length": 9}), "unknown key 'length'"),
    (changed(languages="en"), "languages must be a list"),
    (changed(allow_direct="email"), "allow_direct must be a list"),
    (changed(allow_direct=["shoe_size"]), "'shoe_size'"), (changed(audiences=None), "audiences"),
    (changed(audiences={}), "audiences"), (changed(audiences=["all"]), "audiences"),
    (changed(audiences={"all": "x"}), "audience 'all'"),
    (changed(audiences={"all": {"subjects": ["third"], "limit": 3}}), "audience 'all'"),
    (changed(audiences={"all": {"subjects": ["everybody"]}}), "subjects must be a list of"),
    # Subjects that are left out would switch the guard off by a slip of the pen.
    (changed(audiences={"all": {"cluster": 2}}), "subjects must be a list of"),
    ("version: !!python/object/apply:os.getcwd []\n", "not YAML"),
    (changed(audiences={"all": {"subjects": "third"}}), "subjects must be a list"),
    (changed(audiences={"all": {"subjects": ["third"], "cluster": 0}}), "cluster"),
    (changed(audiences={"all": {"subjects": ["third"], "cluster": 1.5}}), "cluster"),
    (changed(audiences={"all": {"subjects": ["third"], "cluster": True}}), "cluster"),
    (changed(audiences={"all": {"subjects": [["third"]], "cluster": 2}}), "subjects must be a list"),
    (changed(languages=[["en"]]), "languages"),
    (changed(languages=["en", "de"]), "languages must be [en]: the guard reads English only"),
    (changed(allow_direct=[["email"]]), "allow_direct"), (changed(counts=["paper"]), "counts is"),
    (changed(point={"a": 1}), "point"), (changed(domain=["law"]), "domain"), (changed(audience=["all"]), "audience"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_mistakes_are_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DiscreetError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert said in message
    assert "p.yaml" in message
    assert "\n" not in message


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "p.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PolicyError, match=r"p\.yaml"):
        Policy.load(path)
    with pytest.raises(PolicyError, match="expected a UTF-8 YAML file"):
        Policy.load(tmp_path)


def test_the_rule_for_quotes() -> None:
    assert rule_of({}) == QuoteRule() == QuoteRule("evidence", 12, ())
    assert rule_of({"action": False}).action == "off"
    assert rule_of({"action": "flag", "words": 20, "common": ["a b"]}) == QuoteRule("flag", 20, ("a b",))
