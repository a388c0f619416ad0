from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.guard.domains import builtin_domains, load_domain
from discreet.guard.text.resources import given_names
from discreet.synth.records import FRAMINGS, REGISTERS, SHARED, SUBTYPES, Spec, read_data
from discreet.synth.writer import (
    IMPLICIT,
    POOLS,
    PROFILES,
    Line,
    Profile,
    Writer,
    compiled,
    domain_texts,
    line,
    profile,
    sentence_case,
    with_article,
)


def writer(seed: int = 0, **axes: str) -> Writer:
    return Writer(Spec("unsafe", "law", "L1", **axes), load_domain("law"), np.random.default_rng(seed))  # type: ignore[arg-type]


@pytest.mark.parametrize(("phrase", "expected"), [
    ("welder", "a welder"), ("electrician", "an electrician"), ("85-year-old", "an 85-year-old"),
    ("18-year-old", "an 18-year-old"), ("58-year-old", "a 58-year-old"), ("8-year-old", "an 8-year-old"),
    ("\ue000optician\ue100", "an \ue000optician\ue100"), ("eighty-one-year-old", "an eighty-one-year-old"),
])
def test_articles(phrase: str, expected: str) -> None:
    assert with_article(phrase) == expected


def test_capitals_where_sentences_lines_and_quotations_begin() -> None:
    assert sentence_case("a test. it is fine; it is. \"yes.\" and so on? no.\n- an item\nlast: word") == (
        "A test. It is fine; it is. \"Yes.\" And so on? No.\n- An item\nLast: word")
    assert sentence_case("\ue000works\ue100 here") == "\ue000Works\ue100 here"


def test_nothing_is_repeated_before_all_was_had_nor_twice_in_a_row() -> None:
    w = writer()
    items = list("abc")
    for _ in range(50):
        first = [w.fresh("x", items) for _ in range(3)]
        assert len(set(first)) >= 2
    drawn = [w.fresh("y", items) for _ in range(200)]
    assert all(a != b for a, b in pairwise(drawn))


def test_what_fills_a_slot() -> None:
    w, implicit = writer(), writer(framing="IMPLICIT_CASE")
    assert w.fill(line("{Topic}"))[0].isupper()
    assert re.fullmatch("a(?: [^aeio]|n [aeio]).*", w.fill(line("{a meeting}")))
    # An implicit case is never called by the noun of the profession, and a long noun takes no possessive.
    assert {implicit.fill(line("{case}")) for _ in range(50)} == set(IMPLICIT)
    assert "the party in this matter" in {w.fill(line("{case}")) for _ in range(100)}
    assert not any(" in " in w.fill(line("{cases}")) or " in " in w.fill(line("{holder}")) for _ in range(100))
    with pytest.raises(KeyError):
        w.fill(line("{nothing}"))


def test_lines_of_a_story_keep_their_order() -> None:
    w = writer(3)
    order = [one.texts[0] for one in w.profile.pools["course"]]
    for _ in range(20):
        told = w.in_order("course", 3)
        places = [next(i for i, head in enumerate(order) if head and t.startswith(head)) for t in told
                  if any(head and t.startswith(head) for head in order)]
        assert places == sorted(places)


TRAINING = ("L1", "L2", "L3")
FILLED_LATER = {"np", "vp", "vps"}


def all_lines(one: Profile) -> list[Line]:
    return [line for lines in one.pools.values() for line in lines]


def source(line: Line) -> str:
    return line.texts[0] + "".join(f"{{{s}}}{t}" for s, t in zip(line.slots, line.texts[1:], strict=True))


def test_names_and_choices() -> None:
    assert [source(line) for line in compiled("<A|B> {case} <c|d>")] == [
        "A {case} c", "A {case} d", "B {case} c", "B {case} d"]
    with pytest.raises(UsageError, match="L1, L2"):
        profile("L99")


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("domain", builtin_domains())
def test_every_line_can_be_filled_and_leaves_no_slot(name: str, domain: str) -> None:
    writer = Writer(Spec("borderline", domain, name), load_domain(domain), np.random.default_rng(0))
    for template in all_lines(profile(name)) * 5:
        text = writer.fill(template, **dict.fromkeys(FILLED_LATER, "stands here"))
        assert not re.search(r"[{}<>]|\ba [aeio]", text)
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


@pytest.mark.parametrize("name", PROFILES)
def test_no_given_name_stands_in_a_lexicon(name: str) -> None:
    lexicon = profile(name).lexicon
    given = {n for n, flag in given_names().items() if flag == "-"}
    # Known towns and firms may be somebody's name too ("Savannah", "Lincoln"); made-up ones may not.
    pools = ("jobs", "family") if name in TRAINING or name == "L5" else ("jobs", "family", "towns", "orgs")
    words = {w for pool in pools for entry in lexicon[pool] for text in entry.values()
             for w in re.findall(r"[A-Z][a-z]+", text)}
    assert not {w for w in words if w.lower() in given}


@pytest.mark.parametrize("domain", builtin_domains())
def test_topics_and_values_of_a_domain(domain: str) -> None:
    data = domain_texts(load_domain(domain))
    assert tuple(data["qi"]) == load_domain(domain).own_labels
    assert len(data["topics"]) >= 14
    for topic in data["topics"]:
        assert min(len(topic[key]) for key in ("measures", "checks", "risks")) >= 3
        assert len(topic["facts"]) >= 4
        assert not any(fact.endswith(".") for fact in topic["facts"])
    for values in data["qi"].values():
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
    law = tmp_path / "law"
    load_domain("law").save(law)
    path = law / "templates.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"templates.yaml: .*{said}"):
        domain_texts(load_domain(law))
    path.unlink()
    with pytest.raises(InputError, match=r"has no templates\.yaml"):
        domain_texts(load_domain(law))
