"""Small panels side by side, each with axes of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.report.figures.svg import Scale, box, line, percent, shown_tick, text

WIDTH = 960.0
RIGHT = 28.0


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel's two scales and the box between them."""

    x: Scale
    y: Scale

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        return self.x(x), self.y(y)

    def frame(self, title: str, *, x_ticks: Sequence[tuple[float, str]], x_title: str, y_title: str = "",
              beside: str = "", y_step: float = 0.1) -> str:
        """Grid, ticks and words, `beside` under the title; ticks of a logarithmic y axis are per cents."""
        left, right, top, bottom = self.x.start, self.x.end, self.y.end, self.y.start
        drawn = [text(left, top - 14 - (17 if beside else 0), title, "strong"), text(left, top - 14, beside, "soft")]
        for tick in self.y.ticks(y_step):
            y = self.y(tick)
            drawn += [line(left, y, right, y, "grid"),
                      text(left - 8, y + 4, percent(tick) if self.y.log else shown_tick(tick), "soft", "end")]
        for place, said in x_ticks:
            x = self.x(place)
            drawn += [line(x, top, x, bottom, "grid"), text(x, bottom + 17, said, "soft", "middle")]
        drawn.append(text(right, bottom + 34, x_title, "soft", "end"))
        if y_title:
            drawn.append(text(left - 8, top - 14, y_title, "soft", "end"))
        return "".join(drawn)

    def band(self, low: float, high: float, kind: str) -> str:
        """A band over the whole width."""
        top, bottom = self.y(high), self.y(low)
        return box(self.x.start, top, self.x.end - self.x.start, bottom - top, kind)

    def across(self, value: float, kind: str) -> str:
        """A line over the whole width."""
        y = self.y(value)
        return line(self.x.start, y, self.x.end, y, kind) if self.y.low <= value <= self.y.high else ""


def places(count: int, *, gap: float = 54.0, left: float = 44.0) -> list[tuple[float, float]]:
    """Left and right of `count` panels of equal width."""
    width = (WIDTH - left - RIGHT - gap * (count - 1)) / count
    return [(left + i * (width + gap), left + i * (width + gap) + width) for i in range(count)]
