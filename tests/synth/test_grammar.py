from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from discreet.core.unicode import prepare
from discreet.domains import builtin_domains, load_domain
from discreet.synth.grammar import Grammar
from discreet.synth.profiles import PROFILES
from discreet.synth.records import (
    FRAMINGS,
    MODES,
    PLACEMENTS,
    REGISTERS,
    SUBTYPES,
    Draft,
    Kind,
    Record,
    Spec,
    generators,
)
from discreet.synth.shards import RETRIES
from discreet.synth.validate import Validator
from discreet.text.direct.detect import find_direct

GRAMMAR = generators["grammar"]
VALIDATORS = {domain: Validator(domain) for domain in builtin_domains()}


def good(spec: Spec, seed: int) -> Draft:
    """A draft that passes within the retry budget of its mode."""
    reasons: list[object] = []
    for attempt in range(RETRIES[spec.mode]):
        draft = GRAMMAR.generate(spec, load_domain(spec.domain), np.random.default_rng((seed, attempt)))
        why = VALIDATORS[spec.domain](Record("", spec, draft, "grammar"))
        if not why:
            return draft
        reasons.append(why)
    raise AssertionError(f"{spec} cannot be written: {reasons}")


def classes_for(domain: str, seed: int, k: int) -> tuple[str, ...]:
    rng = np.random.default_rng(seed)
    labels = list(load_domain(domain).labels)
    chosen = {labels[int(i)] for i in rng.permutation(8)[:k]}
    return tuple(c for c in labels if c in chosen)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("domain", builtin_domains())
def test_every_profile_writes_every_subtype_and_register(profile: str, domain: str) -> None:
    for i, subtype in enumerate(SUBTYPES):
        for framing in (FRAMINGS[i], None):
            spec = Spec("borderline", domain, profile, framing=framing, subtype=subtype, opening=i)
            assert good(spec, i).slots == ()
    for i, register in enumerate(REGISTERS):
        assert good(Spec("safe", domain, profile, register=register), i).slots == ()


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("domain", builtin_domains())
def test_every_profile_writes_every_mode_framing_and_placement(profile: str, domain: str) -> None:
    for i, mode in enumerate(MODES):
        spec = Spec("unsafe", domain, profile, mode, classes_for(domain, i, 2 + i % 3), FRAMINGS[i], PLACEMENTS[i])
        draft = good(spec, i)
        assert {s.qi for s in draft.slots} == set(spec.qi)
        assert all(draft.answer[s.start:s.end].strip() for s in draft.slots)
        assert bool(draft.forbidden) == (mode == "INDIRECT_QI")
    only = Spec("domain_only", domain, profile, "NONE", load_domain(domain).own_labels, FRAMINGS[5], PLACEMENTS[0])
    assert {s.qi for s in good(only, 9).slots} == set(load_domain(domain).own_labels)


@pytest.mark.parametrize("domain", builtin_domains())
def test_no_direct_identifier_in_any_draft(domain: str) -> None:
    """Without the validator: the grammar itself writes none, or hardly ever something that looks like one."""
    hits = 0
    kinds: tuple[Kind, ...] = ("safe", "borderline", "unsafe")
    for i, (profile, kind) in enumerate(product(PROFILES, kinds * 6)):
        qi = classes_for(domain, i, 2 + i % 3) if kind == "unsafe" else ()
        spec = Spec(kind, domain, profile, "NONE", qi, FRAMINGS[i % 6], PLACEMENTS[i % 4], REGISTERS[i % 3],
                    SUBTYPES[i % 5])
        draft = GRAMMAR.generate(spec, load_domain(domain), np.random.default_rng(i))
        hits += bool(find_direct(prepare(draft.answer)))
    assert hits <= 1


@pytest.mark.parametrize("profile", PROFILES)
def test_where_the_cluster_stands(profile: str) -> None:
    for seed in range(12):
        places: dict[str, list[float]] = {}
        for placement in PLACEMENTS:
            spec = Spec("unsafe", "law", profile, "NONE", ("AGE", "LOCATION", "MATTER_TYPE"), "CASE_VOICE", placement)
            draft = GRAMMAR.generate(spec, load_domain(spec.domain), np.random.default_rng(seed))
            places[placement] = [s.start / len(draft.answer) for s in draft.slots]
        assert max(places["FRAME_OPENING"]) < 0.6
        assert min(places["FRAME_CLOSING"]) > 0.35
        assert max(places["MID_ANSWER"]) - min(places["MID_ANSWER"]) < 0.45
        assert max(places["DISTRIBUTED"]) - min(places["DISTRIBUTED"]) > 0.2


def test_the_leak_is_a_small_part_of_a_normal_answer() -> None:
    shares = []
    for seed in range(200):
        spec = Spec("unsafe", "medical", PROFILES[seed % 7], "NONE", classes_for("medical", seed, 3), "CASE_VOICE",
                    PLACEMENTS[seed % 4])
        draft = GRAMMAR.generate(spec, load_domain(spec.domain), np.random.default_rng(seed))
        assert 60 <= len(draft.answer.split()) <= 185
        shares.append(sum(s.end - s.start for s in draft.slots) / len(draft.answer))
    assert np.mean(shares) < 0.2


def test_unsafe_and_borderline_are_of_one_length() -> None:
    words: dict[str, list[int]] = {"unsafe": [], "borderline": []}
    for seed in range(300):
        profile = PROFILES[seed % 7]
        specs = (Spec("unsafe", "finance", profile, "NONE", classes_for("finance", seed, 3), FRAMINGS[seed % 6],
                      PLACEMENTS[seed % 4]),
                 Spec("borderline", "finance", profile, framing=FRAMINGS[seed % 6], subtype=SUBTYPES[seed % 5]))
        for spec in specs:
            draft = GRAMMAR.generate(spec, load_domain(spec.domain), np.random.default_rng(seed))
            words[spec.kind].append(len(draft.answer.split()))
    assert abs(np.mean(words["unsafe"]) - np.mean(words["borderline"])) < 8


def test_questions_give_nothing_away() -> None:
    for seed in range(100):
        spec = Spec("unsafe", "law", PROFILES[seed % 7], "NONE", ("AGE", "FAMILY"), FRAMINGS[seed % 6], PLACEMENTS[0])
        draft = GRAMMAR.generate(spec, load_domain(spec.domain), np.random.default_rng(seed))
        assert not any(draft.answer[s.start:s.end] in draft.question for s in draft.slots)
        assert 3 <= len(draft.question.split()) <= 30


SPEC = Spec("unsafe", "medical", "L2", qi=("AGE", "LOCATION"), framing="REFERRAL", placement="MID_ANSWER")


def test_the_grammar_is_registered() -> None:
    grammar = generators["grammar"]
    assert grammar.profiles == PROFILES
    assert re.fullmatch(r"[0-9a-f]{16}", grammar.version)
    assert grammar.version == Grammar().version


def test_the_same_seed_gives_the_same_draft_and_another_another() -> None:
    one, two, three = (generators["grammar"].generate(SPEC, load_domain("medical"), np.random.default_rng(seed))
                       for seed in (5, 5, 6))
    assert one == two != three
