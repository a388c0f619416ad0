"""The few shapes that the figures are drawn from, as text. Colours are classes, so that light and dark both work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high`, evenly or by their logs, to places from `start` to `end`; kept inside."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The place of `value`."""
        inside = min(max(value, self.low), self.high)
        share = (log10(inside / self.low) / log10(self.high / self.low) if self.log
                 else (inside - self.low) / (self.high - self.low))
        return self.start + share * (self.end - self.start)

    def ticks(self, step: float = 0.1) -> list[float]:
        """Powers of ten, or multiples of `step`, inside the scale."""
        if self.log:
            first, last = ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9)
            return [10.0**power for power in range(first, last + 1)]
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [round(place * step, 10) for place in range(first, last + 1)]


def text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    """Words; `anchor` "start", "middle" or "end"."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def path(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{steps}" class="{kind}"/>' if steps else ""


def area(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], kind: str) -> str:
    """What lies between two lines."""
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in [*upper, *reversed(lower)])
    return f'<path d="M{steps}Z" class="{kind}"/>' if steps else ""


def dot(x: float, y: float, kind: str, radius: float = 4.5) -> str:
    """A filled or hollow dot, as its class says."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{max(0.0, height):.1f}" '
            f'class="{kind}"/>')


def key(x: float, y: float, entries: Sequence[tuple[str, str]]) -> str:
    """A legend on one line: pairs of a class and words, dots areas or strokes, as the class says."""
    drawn = []
    for kind, said in entries:
        if "dot" in kind:
            drawn.append(dot(x + 5, y - 4, kind, 4.5))
        elif kind.startswith("area"):
            drawn.append(box(x - 2, y - 9, 16, 10, kind))
        else:
            drawn.append(line(x - 2, y - 4, x + 14, y - 4, kind))
        drawn.append(text(x + 20, y, said, "soft"))
        x += 20 + 6.8 * len(said) + 24
    return "".join(drawn)


def shown_tick(value: float) -> str:
    """".5"."""
    said = f"{value:g}"
    return said[1:] if said.startswith("0.") else said


def percent(value: float) -> str:
    """"0.1%"."""
    return f"{100 * value:g}%"
