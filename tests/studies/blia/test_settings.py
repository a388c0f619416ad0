"""Scales: what they name is there, fits together, and can be narrowed."""

from __future__ import annotations

from math import inf

import pytest

from discreet.core.errors import UsageError
from discreet.studies import setting_of
from discreet.studies.blia.corpora import CORPORA
from discreet.studies.blia.settings import HALVED, SETTINGS
from discreet.studies.blia.tables import paper_values
from discreet.train import recipe_of


@pytest.mark.parametrize("scale", SETTINGS)
def test_recipes_and_corpora_are_there(scale: str) -> None:
    setting = SETTINGS[scale]
    for name, work in [*setting.corpora.items(), (setting.prevalence, setting.prevalent)]:
        assert name in CORPORA
        assert recipe_of(work.recipe).to_json()["name"] == work.recipe["name"]
        assert work.epsilons[0] == inf
        assert work.canaries >= 50
        if work.rows is not None:
            assert work.heldout + work.placebos + work.canaries + 3 * work.planted_each < work.rows
        paper = paper_values(CORPORA[name].benchmark, inf)
        assert paper is not None
        assert work.recipe.get("until_accuracy") in (None, paper["train_accuracy"])


def test_census_is_whole() -> None:
    """26,048 rows trained on, 520 canaries, seven ε and five seeds, of 32,561 rows in the train file."""
    work = SETTINGS["small"].corpora["census"]
    assert 32561 - work.heldout - work.placebos == 26048
    assert (work.rows, work.canaries, len(work.seeds)) == (None, 520, 5)
    assert work.epsilons == (inf, 4.0, 2.0, 1.0, 0.8, 0.5, 0.3)
    assert work.mechanisms == ("rr", HALVED, "alibi", "rr_with_prior")


def test_canaries_of_all_seeds_are_five_hundred_at_least() -> None:
    for scale in ("small", "paper"):
        for work in SETTINGS[scale].corpora.values():
            assert work.canaries * len(work.seeds) >= 500


def test_a_setting_is_narrowed() -> None:
    small = SETTINGS["small"]
    narrowed = small.only(["imdb"], [0.5], [7])
    assert list(narrowed.corpora) == ["imdb"]
    assert (narrowed.corpora["imdb"].epsilons, narrowed.corpora["imdb"].seeds) == ((inf, 0.5), (7,))
    assert narrowed.prevalent.seeds == (7,)
    assert small.only() == small


def test_a_scale_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no scale 'huge'; expected one of smoke, small, paper"):
        setting_of(SETTINGS, "huge")
