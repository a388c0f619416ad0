"""How a number is written: one form for pages, the terminal, Markdown tables and the sentences of a verdict.

Shares and AUCs are written without the zero before the point (".882"), an interval stands in brackets behind its
estimate (".882 [.848, .911]"), and what could not be computed is never written as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from discreet.core.records import Estimate

UNRESOLVED = "unresolved"
NOTHING = "–"
"""Stands in a cell that does not apply."""


def number(value: float | None, digits: int = 3, *, sign: bool = False, missing: str = UNRESOLVED) -> str:
    """".882"; "−.025"; with `sign` "+.025", and ".000" never has a minus."""
    if value is None:
        return missing
    said = f"{abs(value):.{digits}f}"
    said = said[1:] if said.startswith("0.") else said
    negative = value < 0 and said.strip(".0") != ""
    return ("−" if negative else "+" if sign else "") + said


def percent(value: float | None, digits: int = 1, *, missing: str = UNRESOLVED) -> str:
    """"61.2%" for a share of .612."""
    return missing if value is None else f"{100 * value:.{digits}f}%"


def interval(estimate: Estimate | Mapping[str, Any] | None, digits: int = 3, *, sign: bool = False,
             show: Callable[[float], str] | None = None, missing: str = UNRESOLVED) -> str:
    """".882 [.848, .911]", or the value alone where there is no interval.

    Parameters
    ----------
    estimate : Estimate, the mapping of its `to_json`, or None
    show : callable or None
        How each of the three numbers is written; `number` with `digits` and `sign` if None.
    missing : str
        What is written where there is no value.
    """
    if isinstance(estimate, Estimate):
        estimate = estimate.to_json()
    if estimate is None or estimate["value"] is None:
        return missing
    shown = show or (lambda value: number(value, digits, sign=sign))
    if estimate["low"] is None or estimate["high"] is None:
        return shown(estimate["value"])
    return f"{shown(estimate['value'])} [{shown(estimate['low'])}, {shown(estimate['high'])}]"


def share(estimate: Estimate | Mapping[str, Any] | None, digits: int = 1, *, missing: str = UNRESOLVED) -> str:
    """"61.2% [56.3%, 66.0%]"."""
    return interval(estimate, show=lambda value: percent(value, digits), missing=missing)


def share_of(estimate: Estimate | Mapping[str, Any]) -> str:
    """"61.2% [56.3%, 66.0%] of 400"; what was counted goes after it."""
    n = estimate.n if isinstance(estimate, Estimate) else estimate["n"]
    return share(estimate) + ("" if n is None else f" of {n:,}")


def given(value: float) -> str:
    """A number as a user gave it: ".55", "2"."""
    said = f"{value:g}"
    return said[1:] if said.startswith("0.") else said


def p_value(p: float | None, *, missing: str = NOTHING) -> str:
    """".034"; "< .001"."""
    return missing if p is None else "< .001" if p < 0.001 else number(p)


def epsilon(value: float | str | None, *, missing: str = NOTHING) -> str:
    """A privacy parameter as it was given: "2", "0.25", "∞" for infinity or "inf"."""
    return missing if value is None else "∞" if value in ("inf", inf) else f"{float(value):g}"


def bound(estimate: Estimate | Mapping[str, Any] | None, *, missing: str = NOTHING) -> str:
    """"2.16": a lower bound on ε."""
    value = estimate.value if isinstance(estimate, Estimate) else None if estimate is None else estimate["value"]
    return missing if value is None else f"{value:.2f}"


def counted(n: int, one: str, several: str | None = None) -> str:
    """"1 row", "1,204 rows"; `several` where it is not `one` with an s."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def times(n: int) -> str:
    """"once", "4 times"."""
    return "once" if n == 1 else f"{n:,} times"


def listed(names: Sequence[Any]) -> str:
    """"a, b and c"."""
    *others, last = map(str, names)
    return f"{', '.join(others)} and {last}" if others else last
