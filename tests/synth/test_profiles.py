from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.domains import builtin_domains, load_domain
from discreet.synth.profiles import POOLS, PROFILES, Line, Profile, compiled, domain_texts, profile, read_data
from discreet.synth.records import FRAMINGS, REGISTERS, SHARED, SUBTYPES, Spec
from discreet.synth.writer import Writer
from discreet.text.doc import Doc
from discreet.text.evidence import lexicon as gazetteers
from discreet.text.evidence.lexicon import matcher, singular

HELD_OUT = ("L4", "L6", "L7")
TRAINING = ("L1", "L2", "L3")
FILLED_LATER = {"np", "vp", "vps"}


def all_lines(one: Profile) -> list[Line]:
    return [line for lines in one.pools.values() for line in lines]


def source(line: Line) -> str:
    return line.texts[0] + "".join(f"{{{s}}}{t}" for s, t in zip(line.slots, line.texts[1:], strict=True))


def found(table: str, words: str) -> list[tuple[int, int, str]]:
    lowers = Doc.of(words).lowers
    return matcher(table).find(lowers) + matcher(table).find(tuple(map(singular, lowers)))


def test_choices_multiply() -> None:
    assert [source(line) for line in compiled("<A|B> {case} <c|d>")] == [
        "A {case} c", "A {case} d", "B {case} c", "B {case} d"]


def test_unknown_profile() -> None:
    with pytest.raises(UsageError, match="L1, L2"):
        profile("L99")


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("domain", builtin_domains())
def test_every_line_can_be_filled_and_leaves_no_slot(name: str, domain: str) -> None:
    writer = Writer(Spec("borderline", domain, name), load_domain(domain), np.random.default_rng(0))
    for line in all_lines(profile(name)):
        text = writer.fill(line, **dict.fromkeys(FILLED_LATER, "stands here"))
        assert not re.search(r"[{}<>]", text)
        assert "  " not in text


@pytest.mark.parametrize("name", PROFILES)
def test_pools_are_large_enough_to_vary(name: str) -> None:
    one = profile(name)
    for pool in ("content", "voice", "cohort"):
        assert len(one.pools[pool]) >= 6
    levels = {"openings": FRAMINGS, "subtypes": SUBTYPES, "registers": REGISTERS,
              "styles": ("bulletin", "chat", "list"), "questions": ("case", "general")}
    assert set(one.pools) == {*POOLS, *(f"{section}/{level}" for section, of in levels.items() for level in of)}
    assert all(len(one.pools[f"subtypes/{subtype}"]) == 5 for subtype in SUBTYPES)
    assert all(len(lines) >= 3 for pool, lines in one.pools.items() if pool.startswith(("openings/", "registers/")))
    assert set(one.forms) == set(SHARED)


@pytest.mark.parametrize(("one", "two"), list(combinations(PROFILES, 2)))
def test_no_two_profiles_share_a_line_of_any_length_a_place_or_an_employer(one: str, two: str) -> None:
    lines = [{source(line).lower() for line in all_lines(profile(name)) if len(source(line).split()) > 3}
             for name in (one, two)]
    assert not lines[0] & lines[1]
    for pool, key in (("towns", "name"), ("orgs", "name"), ("jobs", "job")):
        assert not {e[key] for e in profile(one).lexicon[pool]} & {e[key] for e in profile(two).lexicon[pool]}


@pytest.mark.parametrize("name", HELD_OUT)
def test_held_out_lexicons_are_not_in_the_gazetteers(name: str) -> None:
    lexicon = profile(name).lexicon
    for entry in lexicon["jobs"]:
        assert not found("occupations", f"{entry['job']} and {entry['jobs']}"), entry
    for entry in lexicon["towns"]:
        assert not found("places", entry["name"]), entry
        assert gazetteers.canonical_place(entry["name"]) is None
    for entry in lexicon["family"]:
        assert not found("family_terms", f"{entry['post']} and {entry['vp']}"), entry
    for kin in lexicon["kin"]:
        assert not found("family_terms", kin), kin


@pytest.mark.parametrize("name", TRAINING)
def test_training_lexicons_are_in_the_gazetteers(name: str) -> None:
    lexicon = profile(name).lexicon
    assert all(found("occupations", entry["job"]) for entry in lexicon["jobs"])
    assert all(found("places", entry["name"]) for entry in lexicon["towns"])
    assert all(found("family_terms", f"{entry['post']} and {entry['vp']}") for entry in lexicon["family"])


@pytest.mark.parametrize("name", PROFILES)
def test_no_given_name_stands_in_a_lexicon(name: str) -> None:
    lexicon = profile(name).lexicon
    given = {n for n, flag in gazetteers.given_names().items() if flag == "-"}
    # Known towns and firms may be somebody's name too ("Savannah", "Lincoln"); made-up ones may not.
    pools = ("jobs", "family") if name in TRAINING or name == "L5" else ("jobs", "family", "towns", "orgs")
    words = {w for pool in pools for entry in lexicon[pool] for text in entry.values()
             for w in re.findall(r"[A-Z][a-z]+", text)}
    assert not {w for w in words if w.lower() in given}


@pytest.mark.parametrize("domain", builtin_domains())
def test_topics_and_values_of_a_domain(domain: str) -> None:
    data = domain_texts(load_domain(domain))
    assert tuple(data.qi) == load_domain(domain).own_labels
    assert len(data.topics) >= 14
    for topic in data.topics:
        assert min(len(topic[key]) for key in ("measures", "checks", "risks")) >= 3
        assert len(topic["facts"]) >= 4
        assert not any(fact.endswith(".") for fact in topic["facts"])
    for values in data.qi.values():
        assert len(values) >= 8
        for value in values:
            assert set(value) == {"post", "vp", "indirect", "lit"}
            # The paraphrase must not hold the word that it stands for.
            assert value["lit"].lower() not in value["indirect"].lower()
            assert value["lit"].lower() in f"{value['post']} {value['vp']}".lower()


@pytest.mark.parametrize("name", PROFILES)
def test_paraphrases_do_not_hold_the_plain_word(name: str) -> None:
    lexicon = profile(name).lexicon
    for pool, keys in (("jobs", ("job", "jobs")), ("towns", ("name",)), ("orgs", ("name",)), ("family", ("lit",))):
        for entry in lexicon[pool]:
            assert not any(entry[key].lower() in entry["x"].lower() for key in keys), entry


def test_borderline_openings_speak_of_the_case_and_of_nothing_that_tells_whose() -> None:
    said = read_data("borderline")
    assert tuple(said) == SUBTYPES
    for one in said.values():
        assert len(set(one["openings"])) == 5
        for opening in one["openings"]:
            slots = set(re.findall(r"\{(\w+)\}", opening))
            assert {"case"} <= slots <= {"case", "file", "topic"}
            assert not re.search(r"\d|\bhe\b|\bshe\b", opening)


@pytest.mark.parametrize(("old", "new", "said"), [
    ("  worry:", "  worries:", "worry is missing"), ("bodies: [", "bodies: []\nothers: [", "bodies is missing"),
    ("  PROCEDURAL_ROLE:", "  ROLE:", "PROCEDURAL_ROLE is missing"), ("lit:", "plain:", "lacks a wording"),
    ("    checks:", "    tests:", "checks is missing"), ("topics:", "subjects:", "topics is missing"),
])
def test_templates_that_lack_something(tmp_path: Path, old: str, new: str, said: str) -> None:
    load_domain("law").save(tmp_path)
    path = tmp_path / "templates.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"templates.yaml: .*{said}"):
        domain_texts(load_domain(tmp_path))
    path.unlink()
    with pytest.raises(InputError, match=r"has no templates\.yaml"):
        domain_texts(load_domain(tmp_path))
