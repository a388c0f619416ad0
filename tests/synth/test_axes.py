from __future__ import annotations

from discreet.synth.axes import FRAMINGS, K_PRIOR, MODE_PATTERN, MODES, PLACEMENTS, REGISTERS, RETRY_BUDGET


def test_levels_of_the_paper() -> None:
    assert [len(set(axis)) for axis in (FRAMINGS, PLACEMENTS, MODES, REGISTERS)] == [6, 4, 4, 3]
    assert K_PRIOR == {2: 0.45, 3: 0.35, 4: 0.20}


def test_every_mode_has_its_share_and_its_budget() -> None:
    assert tuple(MODE_PATTERN) == tuple(RETRY_BUDGET) == MODES
    assert sum(MODE_PATTERN.values()) == 15_000 + 1_500 + 3_000
    assert MODE_PATTERN["DISTRACTOR_PADDED"] + MODE_PATTERN["STYLE_TRANSFER"] == 3_000
    assert RETRY_BUDGET["INDIRECT_QI"] == max(RETRY_BUDGET.values())
