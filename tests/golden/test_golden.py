"""Saved inputs still give the figures that they gave: see `runs.py` for what is run, `compare.py` for what is compared.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.golden import compare
from tests.golden.compare import EXPECTED, differences, plain, read_expected
from tests.golden.runs import RUNS

SHOWN = 40
CPU = Path("/proc/cpuinfo")
EIGHT_BITS = CPU.exists() and re.search(r"\bavx(?:512)?_vnni\b", CPU.read_text(encoding="utf-8")) is not None
"""Whether this machine multiplies the guard's 8-bit matrices as the one does where its records were made. Others round
otherwise: log-odds move by up to 1.3, spans by a word, and a span or a verdict among some dozens; so scores and figures
are the same within `ROUNDED`."""
ROUNDED = 0.05
OF_ROUNDING = re.compile(r"\b(?:logit|delta|cause|findings)\b")


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_what_it_gave(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_HASH_KEY", raising=False)
    otherwise = name.startswith("guard_") and not EIGHT_BITS
    monkeypatch.setattr(compare, "TOLERANCES", (*compare.TOLERANCES, *([(f"{name}:*", ROUNDED)] if otherwise else [])))
    found = [one for one in differences(read_expected(name), plain(RUNS[name](tmp_path), name), name)
             if not (otherwise and OF_ROUNDING.search(one.split(":")[0]))]
    more = [f"… and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    assert not found, "\n".join([f"{name}: {len(found)} differences", *found[:SHOWN], *more])


def test_every_expected_file_belongs_to_a_run() -> None:
    assert {path.stem for path in EXPECTED.glob("*.json")} == set(RUNS)


@pytest.mark.parametrize(("got", "said"), [
    ({"rows": [{"auc": 0.5, "kind": "loss"}]}, "rows: expected 2 of them, got 1"),
    ({"rows": [{"auc": 0.5 + 1e-11, "kind": "loss"}, {"auc": None}]}, "rows[0].auc: expected 0.5, got 0.50000000001"),
    ({"rows": [{"auc": 0.5, "kind": "loss"}, {"auc": 0.7}]}, "rows[1].auc: expected no such key, got 0.7"),
    ({"rows": [{"auc": 0.5}, {}]}, 'rows[0].kind: expected "loss", got no such key'),
    ({"rows": [{"auc": True, "kind": "loss"}, {}]}, "rows[0].auc: expected 0.5, got true"),
    ({}, 'rows: expected [{"auc": 0.5, "kind": "loss"}, {}], got no such key'),
])
def test_what_is_lost_or_moved_is_said(got: Any, said: str) -> None:
    expected = plain({"rows": [{"auc": 0.5, "kind": "loss", "method": "words"}, {"auc": None}], "made": "today"})
    assert list(differences(expected, plain(got), "a_run")) == [said]


def test_a_point_of_a_curve_is_noticed() -> None:
    curve = [place / 30 for place in range(30)]
    moved = [*curve[:10], curve[11], curve[10], *curve[12:]]
    assert not list(differences(plain(curve), plain(list(curve)), "a_run"))
    assert list(differences(plain(curve), plain(moved), "a_run"))
