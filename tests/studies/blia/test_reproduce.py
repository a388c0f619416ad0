"""Items by name, in one order, and what two calls leave together."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.errors import UsageError
from discreet.studies.blia.items import ITEMS
from discreet.studies.blia.reproduce import ORDER, PREVALENCE, known_items, merged, reproduce
from discreet.studies.blia.trials import Study


def test_items_are_asked_for_by_number_and_name() -> None:
    assert known_items([5, 2], [2], ["utility"]) == ["table 2", "table 5", "figure 2", "section utility"]
    assert known_items([], [], []) == list(ORDER)
    assert set(ORDER) == {*ITEMS, PREVALENCE}


@pytest.mark.parametrize(("asked", "said"), [(([9], [], []), "table 9"), (([], [1], []), "figure 1"),
                                        (([], [], ["8"]), "section 8")])
def test_what_is_not_there_is_refused(asked: tuple[list[int], list[int], list[str]], said: str) -> None:
    with pytest.raises(UsageError, match=f"there is no {said}; expected table 2, "):
        known_items(*asked)


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
