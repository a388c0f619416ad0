"""What of a record is compared, and how two records differ.

`VOLATILE` keys are left out, a key that is null counts as one that is not there, `PROSE` keys count as there or not,
long lists of numbers by their moments, and numbers are the same within `RELATIVE`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected"

RELATIVE = 1e-12
DIGITS = 14
"""Significant digits that are kept: enough for `RELATIVE`."""
TOLERANCES: tuple[tuple[str, float], ...] = ()
"""Paths, as `run:key.key`, with another tolerance than `RELATIVE`, and why."""

VOLATILE = frozenset({
    "discreet", "numpy", "finished", "made", "when", "latency_ms", "data_hash", "hash_key", "digest", "signature",
    "method"})
"""Keys of times, versions, paths and hashes of files or of everything; and `method`, the words beside each figure."""

PROSE = frozenset({"reason", "why", "note", "representation"})
"""Keys of a sentence: whether there is one is compared, not what it says."""

PROSES = frozenset({"reasons", "claims", "notes", "problems"})
"""Keys of several sentences: whether there are any."""

USUAL = {"level": 0.95, "unit": "example"}
"""What most figures have, and is not written for each: another value is."""

CODED = frozenset({"synth_validate"})
"""Runs whose `reasons` are codes."""

POLICY_HASH = re.compile(r"#[0-9a-f]{12}\b")
LONG = 24
"""Lists of so many numbers count by length, sum and first moments: curves and histograms."""
ANY = "…"


def plain(value: Any, run: str = "") -> Any:
    """What is kept of a record: JSON values without volatile keys and prose."""
    if isinstance(value, Mapping):
        return {str(key): _kept(str(key), one, run) for key, one in value.items()
                if key not in VOLATILE and one is not None and USUAL.get(str(key)) != one}
    if isinstance(value, list | tuple):
        if len(value) >= LONG and all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
            return _moments(value)
        return [plain(one, run) for one in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{DIGITS}g}")
    return POLICY_HASH.sub(f"#{ANY}", value) if isinstance(value, str) else value


def _kept(key: str, value: Any, run: str) -> Any:
    if key in PROSES and run not in CODED:
        return bool(value)
    if key in PROSE and isinstance(value, str):
        return ANY
    return plain(value, run)


def _moments(values: Sequence[float]) -> dict[str, Any]:
    return {"length": len(values), "sum": math.fsum(values),
            "first": math.fsum((place + 1) * one for place, one in enumerate(values)),
            "second": math.fsum((place + 1) * one * one for place, one in enumerate(values))}


def differences(expected: Any, got: Any, run: str, path: str = "") -> Iterator[str]:
    """A line for each place where two plain records are not the same: path, expected, got."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key in expected:
            below = f"{path}.{key}" if path else key
            if key in got:
                yield from differences(expected[key], got[key], run, below)
            else:
                yield f"{below}: expected {_short(expected[key])}, got no such key"
        yield from (f"{path}.{key}: expected no such key, got {_short(got[key])}" for key in got
                    if key not in expected)
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            yield f"{path}: expected {len(expected)} of them, got {len(got)}"
        for place, (one, other) in enumerate(zip(expected, got, strict=False)):
            yield from differences(one, other, run, f"{path}[{place}]")
    elif not _same(expected, got, f"{run}:{path}"):
        yield f"{path}: expected {_short(expected)}, got {_short(got)}"


def _same(expected: Any, got: Any, path: str) -> bool:
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in (expected, got)]
    if not all(numbers):
        return type(expected) is type(got) and bool(expected == got)
    within = next((value for pattern, value in TOLERANCES if fnmatchcase(path, pattern)), RELATIVE)
    # A value such as 1e-17 stands for a zero that was reached by other steps.
    return math.isclose(expected, got, rel_tol=within, abs_tol=within)


def _short(value: Any) -> str:
    said = json.dumps(value, ensure_ascii=False)
    return said if len(said) <= 80 else f"{said[:77]}..."


def expected_path(run: str) -> Path:
    """The file of what a run should give."""
    return EXPECTED / f"{run}.json"


def read_expected(run: str) -> Any:
    """What a run should give, as it was written."""
    return json.loads(expected_path(run).read_text(encoding="utf-8"))


def written(value: Any, width: int = 2) -> str:
    """JSON with a line for each row of a table, so that a difference between two versions can be read."""
    return _lines(value, 0, width) + "\n"


def _lines(value: Any, depth: int, width: int) -> str:
    flat = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    simple = isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)
    if simple or (len(flat) <= 1000 and (len(flat) <= 110 or depth > width)):
        return flat
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        inner = [f"{pad}{json.dumps(key, ensure_ascii=False)}: {_lines(one, depth + 1, width)}"
                 for key, one in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{' ' * depth}}}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"{pad}{_lines(one, depth + 1, width)}" for one in value) + f"\n{' ' * depth}]"
    return flat
