"""Scales: what they name is there, and no scale trains a reference on the corpus that it attacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.studies.mia.corpora import CORPORA
from discreet.studies.mia.settings import SETTINGS, recipe_for
from discreet.train import recipe_of


@pytest.mark.parametrize("scale", list(SETTINGS))
def test_everything_named_is_there(scale: str) -> None:
    setting = SETTINGS[scale]
    used = {*setting.corpora.values(), *setting.further, setting.mismatched}
    assert used <= set(CORPORA)
    assert set(setting.sizes) <= set(CORPORA)
    models = {*setting.sweep, *setting.broad, *setting.depressed, *setting.upsampled}
    assert models <= set(setting.models)
    assert setting.mismatched
    assert setting.mismatched != setting.corpora["single-turn"]
    for name, corpus in setting.corpora.items():
        assert name == "users" or CORPORA[corpus].structure == name or corpus == "made_up"


def test_the_paper_scale_is_the_papers() -> None:
    setting = SETTINGS["paper"]
    assert len(setting.broad) == 4
    assert setting.draws == 50
    assert setting.sigmas[0] == 0.0
    assert [one.split("-")[-2] for one in setting.upsampled] == ["1B", "3B"] == [
        one.split("-")[-2] for one in setting.depressed]
    recipe = recipe_for(setting, "Llama-3.2-1B-IT", "lora r=16", "hub_multi_turn", "safety")
    assert isinstance(recipe, dict)
    assert (recipe["rank"], recipe["max_tokens"]) == (16, 8192)
    assert "prompt" not in recipe
    other = recipe_for(setting, "Llama-3.2-1B-IT", "full", "hub_depression", "depression")
    assert isinstance(other, dict)
    assert (other["prompt"], other["max_tokens"]) == ("depression", 512)


def test_recipes_of_the_scales_that_run_here_are_recipes() -> None:
    for scale in ("smoke", "small"):
        setting = SETTINGS[scale]
        for model, regimes in setting.models.items():
            for regime in regimes:
                assert recipe_of(recipe_for(setting, model, regime, "depression", "depression")).to_json()


def test_only_some_corpora_keep_what_the_reference_is_trained_on() -> None:
    setting = SETTINGS["small"].only(["beavertails", "davidson"])
    assert (setting.corpora, setting.further) == ({"single-turn": "beavertails"}, ("davidson",))
    assert setting.mismatched == "diasafety"


def test_a_number_type_is_the_transformers_alone() -> None:
    setting = replace(SETTINGS["small"], dtype="bfloat16")
    recipe = recipe_for(setting, "MiniLM", "full", "davidson", "safety")
    assert recipe_of(recipe).to_json()["dtype"] == "bfloat16"
    smoke = replace(SETTINGS["smoke"], dtype="bfloat16")
    assert recipe_for(smoke, "TF-IDF, linear", "full", "made_up", "safety") == "tfidf-linear"
