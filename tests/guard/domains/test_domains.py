from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from discreet.cli import options
from discreet.core.errors import InputError, UsageError
from discreet.guard.domains import (
    SHARED,
    Domain,
    Term,
    builtin_domains,
    load_domain,
    save_facts,
    saved_domain,
)
from discreet.guard.text.doc import Doc
from discreet.guard.text.record import Read

SMALLEST = {"medical": 2_000, "finance": 250, "law": 350}
"""Terms that a domain has at least: a file that was cut short is noticed."""
Edit = Callable[[str, str, str], Path]


@pytest.fixture
def law(tmp_path: Path) -> Path:
    """A copy of the law domain, as a user would start from it."""
    load_domain("law").save(tmp_path / "law")
    return tmp_path / "law"


@pytest.fixture
def edited(law: Path) -> Edit:
    def change(file: str, old: str, new: str) -> Path:
        path = law / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return law

    return change


def test_the_built_in_ones() -> None:
    assert set(builtin_domains()) >= set(SMALLEST)
    assert all(name in options.DOMAINS for name in builtin_domains())


@pytest.mark.parametrize("name", builtin_domains())
def test_a_built_in_domain(name: str) -> None:
    domain = load_domain(name)
    assert domain is load_domain(name) is load_domain(domain)
    assert (domain.name, domain.builtin) == (name, True)
    assert set(domain.shared) <= set(SHARED)
    assert list(domain.labels.values()) == [*domain.shared, *domain.own]
    assert list(domain.labels)[len(domain.shared) :] == list(domain.own_labels)
    assert {t.flag for t in domain.terms.values()} <= {"-", "w"}
    stated = {t.kind for t in domain.terms.values()}
    assert stated <= {*domain.class_of_kind, *domain.other_terms}
    assert all(one.patterns or stated.intersection(one.terms) for one in domain.classes)
    assert domain.lower_case_terms <= set(domain.terms)
    for term in domain.terms.values():
        target = domain.terms.get(term.canonical)
        assert target is None or target.canonical == term.canonical


@pytest.mark.parametrize("name", builtin_domains())
@pytest.mark.parametrize("table", ["terms.tsv", "suffixes.tsv"])
def test_tables_are_sorted_unique_and_lower_case(name: str, table: str) -> None:
    file = files("discreet.guard.domains").joinpath(name, table)
    if not file.is_file():
        assert table == "suffixes.tsv"
        return
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    keys = [row[0] for row in rows]
    assert keys == sorted(set(keys))
    assert all(key == key.lower() == " ".join(key.split()) for key in keys)
    assert len(keys) >= (SMALLEST.get(name, 1) if table == "terms.tsv" else 100)
    assert {len(row) for row in rows} <= ({2, 3, 4} if table == "terms.tsv" else {2})
    assert all(cell for row in rows for cell in row)


def test_entries() -> None:
    assert load_domain("finance").terms["401k"] == Term("401k", "asset", "401(k)", "-")
    assert load_domain("law").terms["custody filing"].canonical == "custody"
    suffixes, exceptions = load_domain("medical").suffixes
    assert (suffixes["itis"], exceptions["aroma"]) == ("condition", "-")


def test_a_folder_reads_as_the_domain_that_it_was_copied_from(law: Path) -> None:
    mine, theirs = load_domain(str(law)), load_domain("law")
    assert mine == theirs == load_domain(law)
    assert (mine.builtin, mine.hash) == (False, theirs.hash)
    text = "She is a 52-year-old litigator. The plaintiff was arrested for DUI."
    assert Read.of(Doc.of(text), mine).attributes == Read.of(Doc.of(text), theirs).attributes


@pytest.mark.parametrize("file", ["policy.yaml", "classes.yaml", "terms.tsv", "templates.yaml"])
def test_the_hash_covers_every_file(law: Path, file: str) -> None:
    with (law / file).open("a", encoding="utf-8") as handle:
        handle.write("# another line\n")
    assert load_domain(law) != load_domain("law")


def test_short_rows_of_a_table(law: Path) -> None:
    (law / "terms.tsv").write_text("# mine\n\nSmall  Claims\tmatter\ntort claim\tmatter\ttort\n", encoding="utf-8")
    assert dict(load_domain(law).terms) == {"small claims": Term("small claims", "matter", "small claims", "-"),
                                            "tort claim": Term("tort claim", "matter", "tort", "-")}


@pytest.mark.parametrize(("file", "old", "new", "said"), [
    ("policy.yaml", "domain: law", "domain: 7", "policy.yaml: domain is 7"),
    ("policy.yaml", "domain: law", "domian: law", "policy.yaml: unknown key 'domian'; did you mean 'domain'"),
    ("policy.yaml", "allow_direct:", "alow_direct:", "policy.yaml: unknown key 'alow_direct'; did you mean 'allow_"),
    ("policy.yaml", "domain: law", "domain: [", "policy.yaml, line .*not YAML"),
    ("classes.yaml", "people: parties", "folk: parties", "classes.yaml: unknown key 'folk'"),
    ("classes.yaml", "people: parties", "people: 3", "people is 3; expected text"),
    ("classes.yaml", "[age, occupation,", "[age, shoe,", "shared names 'shoe'; expected some of age"),
    ("classes.yaml", "  matter:", "  sex:", "sex: expected a class name"),
    ("classes.yaml", "    label: MATTER_TYPE", "    lable: MATTER", "matter: unknown key 'lable'; did you mean"),
    ("classes.yaml", "    label: MATTER_TYPE", "    label: AGE", "label is 'AGE'; expected capitals"),
    ("classes.yaml", "    label: MATTER_TYPE", "    label: PROCEDURAL_ROLE", "two classes have the label"),
    ("classes.yaml", "    label: MATTER_TYPE", "    terms: [matter, role]", "two classes have the kind 'role'"),
    ("classes.yaml", "    label: MATTER_TYPE", "    phrases: sued", "phrases is 'sued'; expected a list"),
    ("classes.yaml", "    label: MATTER_TYPE", "    phrases: ['(']", "is no regular expression"),
    ("classes.yaml", "    label: MATTER_TYPE", "    patterns: [{regex: x}]", "the keys why and regex"),
    ("classes.yaml", "  disposition:\n    label: CASE_DISPOSITION\n", "", "of the kind 'disposition'; expected one of"),
    ("terms.tsv", "abuse\tmatter\t=\tw", "abuse", "terms.tsv, line 2: 1 columns; expected 2 to 4"),
])
def test_mistakes_are_named_by_file_and_key(edited: Edit, file: str, old: str, new: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_domain(edited(file, old, new))


def test_a_folder_and_its_policy_have_one_name(edited: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = edited("policy.yaml", "domain: law", "domain: mine")
    with pytest.raises(InputError, match=r"domain is .mine. in a folder called .law.; .*: write domain: law, or"):
        load_domain(mine)
    monkeypatch.chdir(mine.rename(mine.with_name("mine")))
    assert load_domain(".").name == "mine"


@pytest.mark.parametrize("name", ["tax", "", "nowhere/at/all"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(UsageError, match=f"domain '{name}': expected one of {', '.join(builtin_domains())}, or"):
        load_domain(name)


def test_what_is_saved_finds_its_domain_again(law: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    assert saved_domain(save_facts(load_domain("law"), saved), saved) is load_domain("law")
    assert list(saved.iterdir()) == []
    facts = save_facts(load_domain(law), saved)
    shutil.rmtree(law)
    found: Domain = saved_domain(facts, saved)
    assert (found.name, found.builtin, found.hash) == ("law", False, facts["domain_hash"])
    (saved / "domain" / "terms.tsv").unlink()
    with pytest.raises(InputError, match="was changed since it was saved"):
        saved_domain(facts, saved)
    shutil.rmtree(saved / "domain")
    with pytest.raises(InputError, match="does not hold its domain 'law'"):
        saved_domain(facts, saved)
    with pytest.raises(InputError, match="does not hold its domain 'tax'"):
        saved_domain({"domain": "tax"}, saved)
