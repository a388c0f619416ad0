"""Places of identifiers are found without a look at all of them, and are those that such a look finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.guard.identifiers import Places

STRETCHES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda one: (one[0], one[0] + one[1])))


@given(STRETCHES, st.integers(-5, 70), st.integers(0, 20))
def test_what_shares_a_character_is_what_a_look_at_all_finds(of: list[tuple[int, int]], start: int, size: int) -> None:
    places = Places((begin, end, number) for number, (begin, end) in enumerate(of))
    slow = [number for number, (begin, end) in enumerate(of) if begin < start + size and start < end]
    assert sorted(places.at(start, start + size)) == slow
