"""The defence frontier: what an interface gives away and what hiding it costs."""

from __future__ import annotations

from discreet.audit.defences.figures import Figure, Frontier, Point, Spread
from discreet.audit.defences.frontier import frontier

__all__ = ["Figure", "Frontier", "Point", "Spread", "frontier"]
