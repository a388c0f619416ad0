from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli.reproduce_entry import check_data, corpora_of, seeds_of
from discreet.core.errors import UsageError


def test_seeds_stand_once_in_their_order() -> None:
    assert seeds_of("7, 3,7") == (7, 3)


@pytest.mark.parametrize("given", ["", "1,", "1,x", "-1", "1.5"])
def test_what_are_no_seeds(given: str) -> None:
    with pytest.raises(UsageError, match=r"--seeds is .*; expected whole numbers with commas between them"):
        seeds_of(given)


def test_corpora() -> None:
    assert corpora_of("b, a", ["a", "b", "c"], ["a"], "small") == ["b", "a"]
    with pytest.raises(UsageError, match="--corpora holds 'd'; expected some of a, b, c"):
        corpora_of("a,d", ["a", "b", "c"], ["a"], "small")
    with pytest.raises(UsageError, match=r"--corpora names none of --scale small; expected some of a, b$"):
        corpora_of("c", ["a", "b", "c"], ["a", "b", "a"], "small")


def test_the_folder_of_data(tmp_path: Path) -> None:
    check_data("smoke", None, ("small",))
    check_data("small", tmp_path, ("small",))
    with pytest.raises(UsageError, match="--scale small was given without --data"):
        check_data("small", None, ("small",))
    with pytest.raises(UsageError, match="nowhere is not a folder"):
        check_data("smoke", tmp_path / "nowhere", ("small",))
