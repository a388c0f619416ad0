"""Items by name, in one order, and what two calls leave together."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from discreet.audit.experiments.labels import NONE, Arm
from discreet.audit.train import recipe_of
from discreet.core.errors import UsageError
from discreet_papers.blia.corpora import CORPORA
from discreet_papers.blia.reproduction import (
    ORDER,
    PREVALENCE,
    SETTINGS,
    Study,
    conditions,
    experiments_of,
    is_analogue,
    merged,
    prevalences,
    reproduce,
)
from discreet_papers.blia.tables import HALVED, TABLES, paper_values
from discreet_papers.shared import chosen_items, setting_of


def test_items_are_asked_for_by_number_and_name() -> None:
    assert chosen_items(ORDER, [5, 2], [2], ["utility"]) == ["table 2", "table 5", "figure 2", "section utility"]
    assert chosen_items(ORDER, [], [], []) == list(ORDER)
    assert set(ORDER) == {*TABLES, PREVALENCE}
    for *asked, said in (([9], [], [], "table 9"), ([], [1], [], "figure 1"), ([], [], ["8"], "section 8")):
        with pytest.raises(UsageError, match=f"there is no {said}; expected table 2, "):
            chosen_items(ORDER, *asked)
    with pytest.raises(UsageError, match="there is no scale 'huge'; expected one of smoke, small, paper"):
        setting_of(SETTINGS, "huge")


def test_the_record_has_a_title_and_rows_for_each_item(tiny: Study) -> None:
    found = reproduce(tiny, ["table 3", "table 4", PREVALENCE], engine="inline", quiet=True)["items"]
    assert {name: len(item["rows"]) for name, item in found.items()} == {"table 3": 0, "table 4": 3, PREVALENCE: 2}
    assert all(item["title"] for item in found.values())
    assert found["table 4"]["rows"][0]["strongest"] is not None


def test_no_analogue_is_the_papers_data_as_whole_as_the_paper_has_them_alone() -> None:
    census = {"corpus": "census", "n_trained": 26_048}
    assert not is_analogue("paper", {"table 4": {"title": "t", "rows": [census, {"corpus": "census"}]}})
    for row in ({"corpus": "cifar10_b"}, {"corpus": "code"}, {"corpus": "imdb", "n_trained": 22_500},
                {"corpus": "census", "n_trained": 10_000}):
        assert is_analogue("paper", {"figure 2": {"title": "t", "rows": [census, row]}})
    assert is_analogue("small", {"table 4": {"title": "t", "rows": [census]}})
    assert is_analogue("paper", {"table 4": {"title": "t", "rows": []}})


def item(*rows: tuple[str, int]) -> dict[str, Any]:
    return {"title": "t", "rows": [{"corpus": corpus, "of": number} for corpus, number in rows]}


def test_later_rows_of_a_corpus_replace_earlier_ones() -> None:
    found = merged({"figure 2": item(("imdb", 1), ("code", 1)), "table 8": item(("code", 1))},
                   {"figure 2": item(("imdb", 2), ("census", 2)), "table 2": item(("census", 2))})
    assert list(found) == ["table 2", "table 8", "figure 2"]
    assert [(row["corpus"], row["of"]) for row in found["figure 2"]["rows"]] == [("census", 2), ("imdb", 2),
                                                                             ("code", 1)]
    assert found["table 8"]["rows"][0]["of"] == 1


INLINE = {"engine": "inline", "quiet": True}


def test_an_experiment_for_each_seed_with_all_arms(tiny: Study) -> None:
    work = tiny.setting.corpora["made_up"]
    experiments = experiments_of("made_up", work, tiny)
    assert [experiment.seed for experiment in experiments] == [1, 2]
    assert experiments[0].arms == (NONE, Arm("rr", 1.0), Arm(HALVED, 1.0))
    assert experiments[0].broken
    # References at an ε are those of plain randomised response.
    more = experiments_of("made_up", replace(work, references_at=(inf, 1.0)), tiny)
    assert [one[0].references_at for one in (experiments, more)] == [(NONE,), (NONE, Arm("rr", 1.0))]


def test_conditions_are_pooled_over_seeds_and_made_once(tiny: Study) -> None:
    found = conditions(["made_up"], tiny, **INLINE)["made_up"]
    assert [(one["corpus"], one["mechanism"], one["epsilon"]) for one in found] == [
        ("made_up", "none", "inf"), ("made_up", "rr", 1.0), ("made_up", HALVED, 1.0)]
    assert [one["epochs"] for one in found] == [[3, 3]] * 3
    assert [one["seeds"] for one in found] == [["1", "2"]] * 3
    assert {(one["n_canaries"], one["n_controls"], one["n_heldout"], one["n_trained"]) for one in found} == {
        (120, 120, 60, 280)}
    log = (tiny.out / "store" / "log.jsonl")
    begun = log.read_text(encoding="utf-8").count('"begin"')
    assert conditions(["made_up"], tiny, **INLINE)["made_up"] == found
    assert log.read_text(encoding="utf-8").count('"begin"') == begun
    assert [(one["prevalence"], one["epsilon"], one["n_canaries"]) for one in prevalences(tiny, **INLINE)] == [
        (0.2, "inf", 60), (0.5, "inf", 60)]


@pytest.mark.parametrize("scale", SETTINGS)
def test_recipes_and_corpora_are_there(scale: str) -> None:
    setting = SETTINGS[scale]
    for name, work in [*setting.corpora.items(), (setting.prevalence, setting.prevalent)]:
        assert name in CORPORA
        assert recipe_of(work.recipe).to_json()["name"] == work.recipe["name"]
        assert work.epsilons[0] == inf
        assert work.canaries >= 50
        if work.rows is not None:
            assert work.heldout + work.controls + work.canaries + 3 * work.planted_each < work.rows
        paper = paper_values(CORPORA[name].benchmark, inf)
        assert paper is not None
        assert work.recipe.get("until_accuracy") in (None, paper["train_accuracy"])


def test_census_is_whole() -> None:
    """26,048 rows trained on, 520 canaries, seven ε and five seeds, of 32,561 rows in the train file."""
    work = SETTINGS["small"].corpora["census"]
    assert 32561 - work.heldout - work.controls == 26048
    assert (work.rows, work.canaries, len(work.seeds)) == (None, 520, 5)
    assert work.epsilons == (inf, 4.0, 2.0, 1.0, 0.8, 0.5, 0.3)
    assert work.mechanisms == ("rr", HALVED, "alibi", "rr_with_prior")


def test_a_setting_is_narrowed() -> None:
    small = SETTINGS["small"]
    narrowed = small.only(["imdb"], [0.5], [7])
    assert list(narrowed.corpora) == ["imdb"]
    assert (narrowed.corpora["imdb"].epsilons, narrowed.corpora["imdb"].seeds) == ((inf, 0.5), (7,))
    assert narrowed.prevalent.seeds == (7,)
    assert small.only() == small
