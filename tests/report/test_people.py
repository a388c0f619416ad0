"""The line from one person to a country."""

from __future__ import annotations

import re

from discreet.core.records import People
from discreet.report.people import WIDTH, scale


def drawn(low: float, middle: float | None, high: float) -> str:
    bar = (low, high)
    return scale(People(middle, bar, bar, (), (), (), (), False, "s", "y", None if middle else "nobody").to_json())


def test_a_factor_of_ten_is_as_long_everywhere() -> None:
    def bar(svg: str) -> tuple[float, float]:
        x, width = re.findall(r'class="wide" x="([\d.]+)" y="5" width="([\d.]+)"', svg)[0]
        return float(x), float(width)

    few, many = bar(drawn(1, 3, 10)), bar(drawn(1e5, 3e5, 1e6))
    assert few[0] == 0
    assert abs(few[1] - many[1]) < 0.2
    assert bar(drawn(1e8, 2e8, 1e12)) == (bar(drawn(1e8, 2e8, 3e8))[0], bar(drawn(1e8, 2e8, 3e8))[1])
    assert sum(bar(drawn(0, 1, 3e8))) == WIDTH


def test_an_interval_of_no_width_is_seen_and_no_count_is_no_picture() -> None:
    assert 'width="1.0"' in drawn(7, 7, 7)
    assert drawn(0, None, 9) == ""
