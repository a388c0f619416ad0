from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from discreet.core.errors import UsageError
from discreet.domains import builtin_domains, load_domain
from discreet.synth.drafts import Spec
from discreet.synth.lineage import LINEAGES, POOLS, Line, Lineage, compiled, domain_data, lineage
from discreet.synth.writer import Writer
from discreet.text.doc import Doc
from discreet.text.evidence import gazetteers
from discreet.text.evidence.gazetteers import matcher, with_singulars

HELD_OUT = ("L4", "L6", "L7")
TRAINING = ("L1", "L2", "L3")
FILLED_LATER = {"np", "vp", "vps"}


def all_lines(one: Lineage) -> list[Line]:
    groups = [*one.pools.values(), *one.openings.values(), *one.subtypes.values(), *one.registers.values(),
              *one.styles.values(), *one.questions.values()]
    return [line for group in groups for line in group]


def source(line: Line) -> str:
    return line.texts[0] + "".join(f"{{{s}}}{t}" for s, t in zip(line.slots, line.texts[1:], strict=True))


def found(table: str, words: str) -> list[tuple[int, int, str]]:
    lowers = Doc.of(words).lowers
    return matcher(table).find(lowers) + matcher(table).find(with_singulars(lowers))


def test_choices_multiply() -> None:
    assert [source(line) for line in compiled("<A|B> {case} <c|d>")] == [
        "A {case} c", "A {case} d", "B {case} c", "B {case} d"]


def test_unknown_lineage() -> None:
    with pytest.raises(UsageError, match="L1, L2"):
        lineage("L99")


@pytest.mark.parametrize("name", LINEAGES)
@pytest.mark.parametrize("domain", builtin_domains())
def test_every_line_can_be_filled_and_leaves_no_slot(name: str, domain: str) -> None:
    writer = Writer(Spec("borderline", domain, name), load_domain(domain), np.random.default_rng(0))
    for line in all_lines(lineage(name)):
        text = writer.fill(line, **dict.fromkeys(FILLED_LATER, "stands here"))
        assert not re.search(r"[{}<>]", text)
        assert "  " not in text


@pytest.mark.parametrize("name", LINEAGES)
def test_pools_are_large_enough_to_vary(name: str) -> None:
    one = lineage(name)
    for pool in ("content", "voice", "cohort"):
        assert len(one.pools[pool]) >= 6
    assert set(one.pools) == set(POOLS)
    assert all(len(lines) == 5 for lines in one.subtypes.values())
    assert all(len(lines) >= 3 for lines in (*one.openings.values(), *one.registers.values()))


@pytest.mark.parametrize(("one", "two"), list(combinations(LINEAGES, 2)))
def test_no_two_lineages_share_a_line_of_any_length(one: str, two: str) -> None:
    lines = [{source(line).lower() for line in all_lines(lineage(name)) if len(source(line).split()) > 3}
             for name in (one, two)]
    assert not lines[0] & lines[1]


@pytest.mark.parametrize(("one", "two"), list(combinations(LINEAGES, 2)))
def test_no_two_lineages_share_a_place_or_an_employer(one: str, two: str) -> None:
    for pool, key in (("towns", "name"), ("orgs", "name"), ("jobs", "job")):
        assert not {e[key] for e in lineage(one).lexicon[pool]} & {e[key] for e in lineage(two).lexicon[pool]}


@pytest.mark.parametrize("name", HELD_OUT)
def test_held_out_lexicons_are_not_in_the_gazetteers(name: str) -> None:
    lexicon = lineage(name).lexicon
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
    lexicon = lineage(name).lexicon
    assert all(found("occupations", entry["job"]) for entry in lexicon["jobs"])
    assert all(found("places", entry["name"]) for entry in lexicon["towns"])
    assert all(found("family_terms", f"{entry['post']} and {entry['vp']}") for entry in lexicon["family"])


@pytest.mark.parametrize("name", LINEAGES)
def test_no_given_name_stands_in_a_lexicon(name: str) -> None:
    lexicon = lineage(name).lexicon
    given = {n for n, flag in gazetteers.given_names().items() if flag == "-"}
    # Known towns and firms may be somebody's name too ("Savannah", "Lincoln"); made-up ones may not.
    pools = ("jobs", "family") if name in TRAINING or name == "L5" else ("jobs", "family", "towns", "orgs")
    words = {w for pool in pools for entry in lexicon[pool] for text in entry.values()
             for w in re.findall(r"[A-Z][a-z]+", text)}
    assert not {w for w in words if w.lower() in given}


@pytest.mark.parametrize("domain", builtin_domains())
def test_topics_and_values_of_a_domain(domain: str) -> None:
    data = domain_data(load_domain(domain))
    assert tuple(data.qi) == load_domain(domain).own_labels
    assert len(data.topics) >= 14
    for topic in data.topics:
        assert min(map(len, (topic.measures, topic.checks, topic.risks))) >= 3
        assert len(topic.facts) >= 4
        assert not any(fact.endswith(".") for fact in topic.facts)
    for values in data.qi.values():
        assert len(values) >= 8
        for value in values:
            assert set(value) == {"post", "vp", "indirect", "lit"}
            # The paraphrase must not hold the word that it stands for.
            assert value["lit"].lower() not in value["indirect"].lower()
            assert value["lit"].lower() in f"{value['post']} {value['vp']}".lower()


@pytest.mark.parametrize("name", LINEAGES)
def test_paraphrases_do_not_hold_the_plain_word(name: str) -> None:
    lexicon = lineage(name).lexicon
    for pool, keys in (("jobs", ("job", "jobs")), ("towns", ("name",)), ("orgs", ("name",)), ("family", ("lit",))):
        for entry in lexicon[pool]:
            assert not any(entry[key].lower() in entry["x"].lower() for key in keys), entry
