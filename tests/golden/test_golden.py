"""Saved inputs still give the figures that they gave: see `runs.py` for what is run, `compare.py` for what is compared.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.compare import EXPECTED, Renamed, differences, plain, read_expected
from tests.golden.runs import RUNS

SHOWN = 40


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_what_it_gave(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_HASH_KEY", raising=False)
    renamed = Renamed.read()
    found = list(differences(renamed.applied(read_expected(name)), plain(RUNS[name](tmp_path), name), name,
                             renamed.added))
    more = [f"… and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    assert not found, "\n".join([f"{name}: {len(found)} differences", *found[:SHOWN], *more])


def test_every_expected_file_belongs_to_a_run() -> None:
    assert {path.stem for path in EXPECTED.glob("*.json")} == set(RUNS)
