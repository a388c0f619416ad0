"""Two tiny models really trained: conditions in order, epochs, what is broken let in, nothing trained twice."""

from __future__ import annotations

from math import inf

import pytest

from discreet.experiments.labels import NONE, Arm
from discreet.studies.blia.settings import HALVED
from discreet.studies.blia.trials import Study, conditions, experiments_of, prevalences

INLINE = {"engine": "inline", "quiet": True}


def test_a_trial_for_each_seed_with_all_arms(tiny: Study) -> None:
    experiments = experiments_of("made_up", tiny.setting.corpora["made_up"], tiny)
    assert [experiment.seed for experiment in experiments] == [1, 2]
    assert experiments[0].arms == (NONE, Arm("rr", 1.0), Arm(HALVED, 1.0))
    assert experiments[0].references_at == (NONE,)
    assert experiments[0].broken


def test_conditions_are_pooled_over_seeds_and_made_once(tiny: Study) -> None:
    found = conditions(["made_up"], tiny, **INLINE)["made_up"]
    assert [(one["corpus"], one["mechanism"], one["epsilon"]) for one in found] == [
        ("made_up", "none", "inf"), ("made_up", "rr", 1.0), ("made_up", HALVED, 1.0)]
    assert [one["epochs"] for one in found] == [[3, 3]] * 3
    assert [one["seeds"] for one in found] == [["1", "2"]] * 3
    assert {(one["n_canaries"], one["n_placebos"], one["n_heldout"], one["n_trained"]) for one in found} == {
        (120, 120, 60, 280)}
    log = (tiny.out / "store" / "log.jsonl")
    begun = log.read_text(encoding="utf-8").count('"begin"')
    assert conditions(["made_up"], tiny, **INLINE)["made_up"] == found
    assert log.read_text(encoding="utf-8").count('"begin"') == begun


def test_a_condition_for_each_share(tiny: Study) -> None:
    found = prevalences(tiny, **INLINE)
    assert [(one["prevalence"], one["epsilon"], one["n_canaries"]) for one in found] == [(0.2, "inf", 60),
                                                                                        (0.5, "inf", 60)]


def test_epsilon_of_references_is_plain_randomised_response(tiny: Study) -> None:
    from dataclasses import replace

    work = replace(tiny.setting.corpora["made_up"], references_at=(inf, 1.0))
    assert experiments_of("made_up", work, tiny)[0].references_at == (NONE, Arm("rr", 1.0))


def test_a_corpus_that_is_not_of_the_setting_is_a_mistake(tiny: Study) -> None:
    with pytest.raises(KeyError):
        conditions(["imdb"], tiny, **INLINE)
