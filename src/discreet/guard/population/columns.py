"""The columns of a population: the values that people have in them, and how these are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from discreet.core.errors import InputError

Asked: TypeAlias = Any
"""One value (int or str), a range, a (first, last) pair of whole numbers, both included, or an iterable of these."""
_RANGE = re.compile(r"(\d+) ?[-–] ?(\d+)")


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
    values : tuple of str
        In the order of their codes. Of an ordered column they are whole numbers, the last standing for more as well.
    ordered : bool
        Whether ranges can be asked for, and neighbours resemble each other.
    groups : mapping of str to tuple of str
        Coarser values that generalising would give: the name of a group and its values.
    """

    name: str
    values: tuple[str, ...]
    ordered: bool = False
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) != len(self.values):
            raise InputError(f"column {self.name!r} has no values, or one twice: expected a list of different values")
        if self.ordered and not all(value.isdecimal() for value in self.values):
            raise InputError(f"column {self.name!r} is ordered, but not all of its values are whole numbers")
        object.__setattr__(self, "_codes", {value.casefold(): code for code, value in enumerate(self.values)})

    def codes(self, asked: Any) -> list[int] | None:
        """Codes of the values asked for; none of a value that the column lacks.

        None where nothing is asked, or something that cannot be a value: words of an ordered column. A range may
        reach beyond the values of an ordered column; a number above the last value is the last one.
        """
        several = isinstance(asked, Iterable) and not isinstance(asked, str | range) and not _pair(asked)
        wanted = list(asked) if several else [asked]
        if not wanted or (self.ordered and not all(map(_number, wanted))):
            return None
        return sorted({code for one in wanted for code in self._codes_of(one)})

    def _codes_of(self, one: Any) -> list[int]:
        known: dict[str, int] = self._codes  # type: ignore[attr-defined]
        if self.ordered:
            pair = _RANGE.fullmatch(one.strip()) if isinstance(one, str) else None
            if pair:
                one = (int(pair[1]), int(pair[2]))
            if isinstance(one, range | tuple):
                low, high = (min(one), max(one)) if one else (1, 0)
                top = int(self.values[-1])
                return [code for code, value in enumerate(self.values) if min(low, top) <= int(value) <= high]
            if str(one).isdecimal():
                one = min(int(one), int(self.values[-1]))
        code = known.get(" ".join(str(one).casefold().split()))
        return [] if code is None else [code]

    def to_json(self) -> dict[str, Any]:
        """Plain values, which `Column.of` reads."""
        return {"name": self.name, "values": list(self.values), "ordered": self.ordered,
                "groups": {name: list(values) for name, values in self.groups.items()}}

    @classmethod
    def of(cls, read: Mapping[str, Any]) -> Column:
        """A column from plain values. InputError where they are none."""
        try:
            groups = {str(name): tuple(map(str, values)) for name, values in dict(read.get("groups", {})).items()}
            column = cls(str(read["name"]), tuple(map(str, read["values"])), bool(read.get("ordered", False)), groups)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("a column is described wrongly: expected name, values, and if you like ordered and "
                             "groups") from None
        unknown = {value for values in groups.values() for value in values} - set(column.values)
        if unknown:
            raise InputError(f"groups of column {column.name!r} name {len(unknown)} values that it does not have")
        return column


def _number(asked: Any) -> bool:
    if isinstance(asked, range | tuple):
        return len(asked) > 0
    return str(asked).strip().isdecimal() or bool(_RANGE.fullmatch(str(asked).strip()))


def _pair(asked: Any) -> bool:
    return (isinstance(asked, tuple) and len(asked) == 2
            and all(isinstance(one, int) and not isinstance(one, bool) for one in asked) and asked[0] <= asked[1])
