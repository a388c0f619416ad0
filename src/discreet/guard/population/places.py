"""Where somebody lives, as a share of the population that is independent of everything else about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Share(NamedTuple):
    """What part of the population lives in the places asked for.

    `value` is None where none is known; `exact` is False where a town is unknown and its state was taken instead.
    """

    value: float | None
    exact: bool


@dataclass(frozen=True)
class Places:
    """Sizes of regions and of the towns in them.

    Attributes
    ----------
    country : tuple of str
        Names of the whole, a share of 1.
    total : int
        People in the whole, in the same count as the regions.
    regions : mapping of str to (int, mapping of str to int)
        By region: its people, and those of its towns.
    source : str
        Where the sizes come from, and of when.
    """

    country: tuple[str, ...]
    total: int
    regions: Mapping[str, tuple[int, Mapping[str, int]]]
    source: str = ""
    _named: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for region, (_, towns) in self.regions.items():
            self._named[_plain(region)] = (region, {_plain(town): town for town in towns})

    def share(self, asked: Any) -> Share:
        """Share of the population in the places `asked` for: one name or several, which are summed.

        A name is "Omaha|Nebraska|US", "Omaha, Nebraska", "Nebraska" or "Omaha"; a town without its region is every town
        of that name. A name of a region is the region and not the town.
        """
        names = [asked] if isinstance(asked, str) else list(asked) if isinstance(asked, Iterable) else [str(asked)]
        found: dict[tuple[str, ...], int] = {}
        exact = True
        for name in names:
            places, sure = self._find(str(name))
            if not places:
                return Share(None, False)
            found |= places
            exact = exact and sure
        kept = {path: people for path, people in found.items() if len(path) < 2 or path[:1] not in found}
        return Share(1.0 if () in kept else min(1.0, sum(kept.values()) / self.total) if kept else None, exact)

    def wider(self, asked: Any) -> str | None:
        """The region of the one town that is asked for; None for anything else."""
        names = [asked] if isinstance(asked, str) else list(asked) if isinstance(asked, Iterable) else []
        if len(names) == 1:
            paths = [path for path in self._find(str(names[0]))[0] if len(path) == 2]
            return paths[0][0] if len(paths) == 1 else None
        return None

    def _find(self, name: str) -> tuple[dict[tuple[str, ...], int], bool]:
        parts = [_plain(part) for part in name.replace("|", ",").split(",") if part.strip()]
        country = {_plain(one) for one in self.country}
        if parts and parts[-1] in country:
            parts = parts[:-1]
            if not parts:
                return {(): self.total}, True
        if not parts or len(parts) > 2:
            return {}, False
        if len(parts) == 2:
            region, towns = self._named.get(parts[1], (None, {}))
            if region is None:
                return {}, False
            people, sizes = self.regions[region]
            town = towns.get(parts[0])
            return ({(region,): people}, False) if town is None else ({(region, town): sizes[town]}, True)
        if parts[0] in self._named:
            region = self._named[parts[0]][0]
            return {(region,): self.regions[region][0]}, True
        return {(region, towns[parts[0]]): self.regions[region][1][towns[parts[0]]]
                for region, towns in self._named.values() if parts[0] in towns}, True

    def to_json(self) -> dict[str, Any]:
        """Plain values, which `Places.of` reads."""
        return {"country": list(self.country), "total": self.total, "source": self.source,
                "regions": {name: [people, dict(towns)] for name, (people, towns) in self.regions.items()}}

    @classmethod
    def of(cls, read: Mapping[str, Any]) -> Places:
        """Places from plain values."""
        return cls(tuple(read["country"]), int(read["total"]),
                   {name: (int(people), towns) for name, (people, towns) in read["regions"].items()},
                   str(read.get("source", "")))


def _plain(name: str) -> str:
    return " ".join(name.casefold().replace(".", "").split())
