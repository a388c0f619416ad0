from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discreet.core.unicode import prepare
from discreet.guard.domains import builtin_domains, load_domain
from discreet.guard.text.direct.detect import find_direct
from discreet.guard.text.record import fact_words
from discreet.synth.campaign import RETRIES
from discreet.synth.grammar import CLOSE, OPEN, Cluster, in_words, ordinal, without_marks
from discreet.synth.records import (
    FRAMINGS,
    MODES,
    PLACEMENTS,
    REGISTERS,
    SUBTYPES,
    Draft,
    Kind,
    Record,
    Slot,
    Spec,
    generators,
)
from discreet.synth.validate import Validator
from discreet.synth.writer import PROFILES, Writer

GRAMMAR = generators["grammar"]
VALIDATORS = {domain: Validator(domain) for domain in builtin_domains()}


def draft_of(spec: Spec, *seed: int) -> Draft:
    return GRAMMAR.generate(spec, load_domain(spec.domain), np.random.default_rng(seed if len(seed) > 1 else seed[0]))


def good(spec: Spec, seed: int) -> Draft:
    """A draft that passes within the retry budget of its mode."""
    reasons: list[object] = []
    for attempt in range(RETRIES[spec.mode]):
        draft = draft_of(spec, seed, attempt)
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
        draft = draft_of(spec, i)
        hits += bool(find_direct(prepare(draft.answer)))
    assert hits <= 1


@pytest.mark.parametrize("profile", PROFILES)
def test_where_the_cluster_stands(profile: str) -> None:
    for seed in range(12):
        places: dict[str, list[float]] = {}
        for placement in PLACEMENTS:
            spec = Spec("unsafe", "law", profile, "NONE", ("AGE", "LOCATION", "MATTER_TYPE"), "CASE_VOICE", placement)
            draft = draft_of(spec, seed)
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
        draft = draft_of(spec, seed)
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
            draft = draft_of(spec, seed)
            words[spec.kind].append(len(draft.answer.split()))
    assert abs(np.mean(words["unsafe"]) - np.mean(words["borderline"])) < 8


def test_questions_give_nothing_away() -> None:
    for seed in range(100):
        spec = Spec("unsafe", "law", PROFILES[seed % 7], "NONE", ("AGE", "FAMILY"), FRAMINGS[seed % 6], PLACEMENTS[0])
        draft = draft_of(spec, seed)
        assert not any(draft.answer[s.start:s.end] in draft.question for s in draft.slots)
        assert 3 <= len(draft.question.split()) <= 30


SPEC = Spec("unsafe", "medical", "L2", qi=("AGE", "LOCATION"), framing="REFERRAL", placement="MID_ANSWER")


def test_the_same_seed_gives_the_same_draft_and_another_another() -> None:
    one, two, three = (draft_of(SPEC, seed) for seed in (5, 5, 6))
    assert one == two != three


@pytest.mark.parametrize("n", range(17, 90))
def test_numbers_in_words_read_back(n: int) -> None:
    [number] = fact_words(f"aged {in_words(n)}", ages=True)[:1]
    assert number.split("|")[0] == str(n)


@pytest.mark.parametrize(("n", "said"), [(21, "21st"), (52, "52nd"), (63, "63rd"), (40, "40th"), (111, "111th"),
                                         (12, "12th"), (13, "13th")])
def test_ordinals(n: int, said: str) -> None:
    assert ordinal(n) == said


def test_marks_become_slots() -> None:
    text = f"She {chr(OPEN + 1)}lives in Reno{chr(CLOSE + 1)} and {chr(OPEN)}is 52{chr(CLOSE)}."
    answer, slots = without_marks(text, ("AGE", "LOCATION"))
    assert answer == "She lives in Reno and is 52."
    assert slots == (Slot("LOCATION", 4, 17), Slot("AGE", 22, 27))
    assert without_marks("plain", ()) == ("plain", ())


@pytest.mark.parametrize("domain", ["medical", "finance", "law"])
@pytest.mark.parametrize("form", ["noun_phrase", "verb_phrases"])
def test_a_cluster_states_every_class_once(domain: str, form: str) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        chosen = set(rng.choice(list(load_domain(domain).labels), 4, replace=False))
        qi = tuple(c for c in list(load_domain(domain).labels) if c in chosen)
        cluster = Cluster(Writer(Spec("unsafe", domain, "L2", qi=qi), load_domain(domain), rng))
        answer, slots = without_marks(getattr(cluster, form)(), qi)
        assert sorted(s.qi for s in slots) == sorted(qi)
        assert all(answer[s.start:s.end].strip() == answer[s.start:s.end] != "" for s in slots)


def test_an_indirect_cluster_holds_none_of_the_plain_words() -> None:
    qi = ("AGE", "OCCUPATION", "LOCATION", "AFFILIATION", "FAMILY")
    for seed in range(60):
        spec = Spec("unsafe", "law", "L1", "INDIRECT_QI", qi, placement="DISTRIBUTED")
        cluster = Cluster(Writer(spec, load_domain("law"), np.random.default_rng(seed)))
        said = " ".join(cluster.bound())
        assert len(cluster.forbidden) == 6
        # The decade may hold the age's own digit word, but never the number.
        assert not any(f" {word.lower()} " in f" {said.lower()} " for word in cluster.forbidden)


def test_gendered_entries_agree_with_the_pronoun() -> None:
    for seed in range(300):
        w = Writer(Spec("unsafe", "law", "L3", qi=("FAMILY", "AGE")), load_domain("law"), np.random.default_rng(seed))
        said, _ = without_marks(Cluster(w).noun_phrase(), w.spec.qi)
        assert w.sex == "f" or "mother of four" not in said
