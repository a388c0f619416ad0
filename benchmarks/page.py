"""Measured tables in the pages of docs/results, and what they were measured on, without a name of the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.files import write_atomic

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version(),
            "numpy": np.__version__, "load_average": round(os.getloadavg()[0], 2)}


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]


def replace_between(page: str, begin: str, end: str, text: str) -> None:
    """Put `text` between two marks of a page of docs/results; the words around them are not measured."""
    before, _, rest = (RESULTS / page).read_text(encoding="utf-8").partition(begin)
    write_atomic(RESULTS / page, f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}")
