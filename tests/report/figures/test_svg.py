from __future__ import annotations

from math import log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.report.figures.svg import Scale, area, key, path, percent, shown_tick, text


@given(st.floats(0.001, 1.0))
def test_a_logarithmic_scale_gives_every_decade_the_same_room(value: float) -> None:
    scale = Scale(0.001, 1.0, 0.0, 300.0, log=True)
    assert scale(value) == pytest.approx(100.0 * (log10(value) + 3.0), abs=1e-6)


def test_values_beyond_the_ends_stay_at_the_ends() -> None:
    scale = Scale(0.4, 0.6, 100.0, 0.0)
    assert [scale(v) for v in (0.0, 0.4, 0.5, 0.6, 1.0)] == pytest.approx([100, 100, 50, 0, 0])
    assert Scale(0.01, 1.0, 0.0, 10.0, log=True)(0.0) == 0.0


def test_ticks_lie_inside() -> None:
    assert Scale(0.0005, 1.0, 0.0, 1.0, log=True).ticks() == pytest.approx([0.001, 0.01, 0.1, 1.0])
    assert Scale(0.38, 0.72, 0.0, 1.0).ticks() == pytest.approx([0.4, 0.5, 0.6, 0.7])


def test_words_are_escaped() -> None:
    assert "<b>" not in text(0, 0, "<b> & co")
    assert "&lt;b&gt; &amp; co" in text(0, 0, "<b> & co")


def test_nothing_is_drawn_of_nothing() -> None:
    assert path([], "line-target") == ""
    assert area([], [], "area-null") == ""


def test_a_legend_draws_what_it_names() -> None:
    drawn = key(0, 0, [("hollow dot-placebo", "a"), ("area-null", "b"), ("line-target", "c")])
    assert drawn.count("<circle") == drawn.count("<rect") == drawn.count("<line") == 1


def test_ticks_in_words() -> None:
    assert (shown_tick(0.5), shown_tick(1.0), percent(0.001)) == (".5", "1", "0.1%")
