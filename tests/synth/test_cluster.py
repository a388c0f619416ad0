from __future__ import annotations

import numpy as np
import pytest

from discreet.domains import load_domain
from discreet.synth.cluster import CLOSE, OPEN, Cluster, in_words, ordinal, without_marks
from discreet.synth.records import Slot, Spec
from discreet.synth.writer import Writer
from discreet.text.evidence.taggers.age import value_of


@pytest.mark.parametrize("n", range(17, 90))
def test_numbers_in_words_read_back(n: int) -> None:
    assert value_of(in_words(n)) == n


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
        cluster = Cluster.of(Writer(Spec("unsafe", domain, "L2", qi=qi), load_domain(domain), rng))
        answer, slots = without_marks(getattr(cluster, form)(), qi)
        assert sorted(s.qi for s in slots) == sorted(qi)
        assert all(answer[s.start:s.end].strip() == answer[s.start:s.end] != "" for s in slots)


def test_an_indirect_cluster_holds_none_of_the_plain_words() -> None:
    qi = ("AGE", "OCCUPATION", "LOCATION", "AFFILIATION", "FAMILY")
    for seed in range(60):
        spec = Spec("unsafe", "law", "L1", "INDIRECT_QI", qi)
        cluster = Cluster.of(Writer(spec, load_domain("law"), np.random.default_rng(seed)))
        said = " ".join(cluster.singles())
        assert len(cluster.forbidden) == 6
        # The decade may hold the age's own digit word, but never the number.
        assert not any(f" {word.lower()} " in f" {said.lower()} " for word in cluster.forbidden)


def test_gendered_entries_agree_with_the_pronoun() -> None:
    for seed in range(300):
        w = Writer(Spec("unsafe", "law", "L3", qi=("FAMILY", "AGE")), load_domain("law"), np.random.default_rng(seed))
        said, _ = without_marks(Cluster.of(w).noun_phrase(), w.spec.qi)
        assert w.sex == "f" or "mother of four" not in said
