from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.rounding import rounded_shares


@given(st.lists(st.integers(0, 60), min_size=1, max_size=7), st.lists(st.integers(0, 90), min_size=1, max_size=6),
       st.booleans())
def test_cells_are_next_to_their_shares_and_sums_hold(sizes: list[int], supply: list[int], used_up: bool) -> None:
    rest = sum(supply) - sum(sizes)
    if rest < 0:
        with pytest.raises(ValueError, match="expected no more than"):
            rounded_shares(np.array(sizes), np.array(supply))
        return
    if used_up:
        sizes = [*sizes, rest]
    found = rounded_shares(np.array(sizes), np.array(supply))
    assert found.sum(axis=1).tolist() == sizes
    assert (found.sum(axis=0) <= supply).all()
    if used_up:
        assert found.sum(axis=0).tolist() == supply
    exact = np.outer(sizes, supply) / max(sum(supply), 1)
    assert (np.abs(found - exact) < 1 - 1e-9).all()


def test_whole_shares_stay() -> None:
    assert rounded_shares(np.array([4, 8]), np.array([5, 10, 5])).tolist() == [[1, 2, 1], [2, 4, 2]]
    with pytest.raises(ValueError, match="no number below 0"):
        rounded_shares(np.array([-1]), np.array([2]))
