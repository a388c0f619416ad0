"""Items by name, in one order, and what two calls leave together."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from discreet.core.errors import UsageError
from discreet.experiments.labels import NONE, Arm
from discreet.studies import chosen_items
from discreet.studies.blia.reproduction import ORDER, PREVALENCE, conditions, merged, prevalences, reproduce
from discreet.studies.blia.settings import HALVED, Study, experiments_of
from discreet.studies.blia.tables import TABLES


def test_items_are_asked_for_by_number_and_name() -> None:
    assert chosen_items(ORDER, [5, 2], [2], ["utility"]) == ["table 2", "table 5", "figure 2", "section utility"]
    assert chosen_items(ORDER, [], [], []) == list(ORDER)
    assert set(ORDER) == {*TABLES, PREVALENCE}


@pytest.mark.parametrize(("asked", "said"), [(([9], [], []), "table 9"), (([], [1], []), "figure 1"),
                                        (([], [], ["8"]), "section 8")])
def test_what_is_not_there_is_refused(asked: tuple[list[int], list[int], list[str]], said: str) -> None:
    with pytest.raises(UsageError, match=f"there is no {said}; expected table 2, "):
        chosen_items(ORDER, *asked)


def test_the_record_has_a_title_and_rows_for_each_item(tiny: Study) -> None:
    found = reproduce(tiny, ["table 3", "table 4", PREVALENCE], engine="inline", quiet=True)["items"]
    assert {name: len(item["rows"]) for name, item in found.items()} == {"table 3": 0, "table 4": 3, PREVALENCE: 2}
    assert all(item["title"] for item in found.values())
    assert found["table 4"]["rows"][0]["strongest"] is not None


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
