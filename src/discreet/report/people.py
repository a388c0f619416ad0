"""How many people fit, drawn: the two intervals and the estimate on a logarithmic line from one person to a country."""

from __future__ import annotations

from collections.abc import Mapping
from math import log10
from typing import Any

LARGEST = 3e8
MARKS = ((1, "1"), (1e3, "1,000"), (1e6, "1 million"))
WIDTH = 280.0


def scale(people: Mapping[str, Any]) -> str:
    """SVG of `People.to_json()`: numbers alone, so that it needs no escaping; "" where there is no estimate.

    The pale bar is the 95% interval, the dark one that of 80%, the dot the estimate.
    """
    if people["estimate"] is None:
        return ""
    (low95, high95), (low80, high80) = ([_at(end) for end in people[name]] for name in ("interval95", "interval80"))
    marks = "".join(f'<line class="mark" x1="{_at(n):.1f}" x2="{_at(n):.1f}" y1="14" y2="18"/>'
                    f'<text x="{_at(n):.1f}" y="29">{said}</text>' for n, said in MARKS)
    return (f'<svg class="people-scale" viewBox="-4 0 {WIDTH + 8:.0f} 32" aria-hidden="true">'
            f'<line class="axis" x1="0" x2="{WIDTH:.0f}" y1="16" y2="16"/>{marks}'
            f'<rect class="wide" x="{low95:.1f}" y="5" width="{max(high95 - low95, 1):.1f}" height="8"/>'
            f'<rect class="narrow" x="{low80:.1f}" y="5" width="{max(high80 - low80, 1):.1f}" height="8"/>'
            f'<circle cx="{_at(people["estimate"]):.1f}" cy="9" r="3"/></svg>')


def _at(number: float) -> float:
    return WIDTH * log10(min(max(number, 1.0), LARGEST)) / log10(LARGEST)
