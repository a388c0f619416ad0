"""What was measured of the operating points: how often they are wrong about harmless answers, and what they hold."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from discreet.guard import Guard


@cache
def presets() -> dict[str, Any]:
    """What was measured of each operating point, with its source."""
    found: dict[str, Any] = json.loads(files("discreet.serve").joinpath("presets.json").read_text(encoding="utf-8"))
    return found


def undecided_of(guard: Guard) -> tuple[int, int] | None:
    """Of how many ordinary answers a guard left how many undecided, these first; None where it was not measured."""
    at = presets()["points"].get(guard.point)
    if at is None or not _measured(guard):
        return None
    answers = int(presets()["ordinary"])
    return round(answers * (at["ordinary_held"][0] - at["ordinary_flagged"][0])), answers


def _measured(guard: Guard) -> bool:
    shipped = guard.unsure is None and guard.evidence_tau == guard.model.threshold(guard.point)
    return shipped and not guard.is_fitted and guard.policy.rule == "identifying"


def rates(guard: Guard) -> str:
    """What was measured of the guard's operating point: false alarms and what is held."""
    measured = presets()
    if guard.is_fitted:
        return "its rates: discreet guard evaluate"
    if guard.unsure is not None or guard.evidence_tau != guard.model.threshold(guard.point):
        return "thresholds of its own, whose rates were not measured: discreet guard diff on recorded answers"
    if not _measured(guard):
        return "its rates were not measured: discreet guard evaluate on answers of your own"
    at = measured["points"].get(guard.point)
    if at is None:
        return "its rates were not measured"
    return (f"flags {_share(at['ordinary_flagged'])} of ordinary answers and {_share(at['alike_flagged'])} of safe "
            f"ones that sound like leaks, holds {_share(at['alike_held'])} of these and {_share(at['leaks_held'])} of "
            f"leaks ({measured['source']}, {measured['texts']})")


def _share(of: list[float]) -> str:
    shown = [f"{100 * one:.1f}" for one in of]
    return f"{shown[0]}%" + (f" [{shown[1]}, {shown[2]}]" if len(of) == 3 else "")
