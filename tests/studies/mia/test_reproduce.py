"""Items by name, in one order, and their record."""

from __future__ import annotations

import pytest

from discreet.core.errors import UsageError
from discreet.studies.mia.items import ITEMS
from discreet.studies.mia.reproduce import EXTRA, ORDER, known_items, reproduce
from discreet.studies.mia.worlds import Study


def test_items_are_asked_for_by_number_and_name() -> None:
    assert known_items([7, 1], [4], ["8.2", "users"]) == ["table 1", "table 7", "figure 4", "section 8.2", "users"]
    assert known_items([], [], []) == list(ORDER)
    assert set(ORDER) == {*ITEMS, *EXTRA}


@pytest.mark.parametrize(("asked", "said"), [(([3], [], []), "table 3"), (([], [1], []), "figure 1"),
                                        (([], [], ["9"]), "section 9")])
def test_what_is_not_there_is_refused(asked: tuple[list[int], list[int], list[str]], said: str) -> None:
    with pytest.raises(UsageError, match=f"there is no {said}; expected table 1, .*, section size, "):
        known_items(*asked)


def test_the_record_has_a_title_and_rows_for_each_item(tiny: Study) -> None:
    found = reproduce(tiny.setting, tiny, ["table 2", "table 10", "users"], engine="inline", quiet=True)
    assert list(found["items"]) == ["table 2", "table 10", "users"]
    assert all(item["title"] and item["rows"] for item in found["items"].values())
    assert {row["selection"] for row in found["items"]["table 10"]["rows"]} == {"boundary"}
    users = [row for row in found["items"]["users"]["rows"] if row["unit"] == "user"]
    assert len(users) == 1
    assert users[0]["placebo"]["value"] is not None
