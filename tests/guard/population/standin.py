"""A population of a hundred million whose columns are independent, so that every count can be told by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.guard.population.count import Count
from discreet.guard.population.population import Gain

SHARES = {"age": 0.01, "sex": 0.5, "occupation": 0.01, "marital_status": 0.1, "race": 0.1, "place": 0.002}


class StandIn:
    """Counts by the product of `SHARES`, with intervals of a factor of 2 and of 5."""

    source, year = "made people", "1994"

    def __init__(self, size: float = 1e8, shares: Mapping[str, float] = SHARES) -> None:
        self.size, self.shares = size, shares

    def count(self, cluster: Mapping[str, Any]) -> Count:
        used = tuple(column for column in cluster if column in self.shares)
        dropped = tuple(column for column in cluster if column not in self.shares)
        n = self.size
        for column in used:
            n *= self.shares[column]
        return Count(estimate=n if used else None, interval80=(n / 2, n * 2), interval95=(n / 5, n * 5), used=used,
                     dropped=dropped, unknown=(), source=self.source, year=self.year, upper_bound=bool(dropped),
                     place_independent="place" in used)

    def narrowing(self, cluster: Mapping[str, Any]) -> dict[str, float]:
        return {column: 1 / self.shares[column] for column in cluster if column in self.shares}

    def generalise(self, cluster: Mapping[str, Any]) -> tuple[Gain, ...]:
        now = self.count(cluster).estimate
        return (Gain("age", "50 to 59", 10 * (now or 0), 10.0),) if "age" in cluster else ()
