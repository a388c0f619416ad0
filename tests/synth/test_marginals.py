from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.synth.marginals import PAPER_K, distance, distances

COUNTS = st.dictionaries(st.sampled_from("a b c d".split()), st.integers(0, 50), min_size=1)


def test_the_drift_of_the_paper() -> None:
    drift = distance(PAPER_K["found"], PAPER_K["asked"])
    assert drift is not None
    assert (drift.total_variation, drift.deviation, drift.relative) == pytest.approx((0.08, 0.08, 0.35))
    assert drift.level == "4"
    assert not drift.within()
    asked = distance({"2": 45_000, "3": 35_000, "4": 20_000}, PAPER_K["asked"])
    assert asked is not None
    assert asked.within()
    assert asked.total_variation == pytest.approx(0)


@given(COUNTS, COUNTS)
def test_distance_is_that_of_shares(found: dict[str, int], asked: dict[str, int]) -> None:
    one = distance(found, asked)
    if not sum(found.values()) or not sum(asked.values()):
        assert one is None
        return
    assert one is not None
    levels = sorted({*found, *asked})
    p, q = (np.array([of.get(level, 0) for level in levels]) / sum(of.values()) for of in (found, asked))
    assert one.total_variation == pytest.approx(np.abs(p - q).sum() / 2)
    assert one.deviation == pytest.approx(np.abs(p - q).max())
    assert one.deviation <= one.total_variation + 1e-9 or len(levels) == 1
    other = distance(asked, found)
    assert other is not None
    assert other.total_variation == pytest.approx(one.total_variation)


def test_by_axis() -> None:
    found = distances({"k": {"2": 53, "3": 34, "4": 13}, "mode": {"NEW": 1}},
                      {"k": {"2": 45, "3": 35, "4": 20}, "mode": {"NONE": 1}, "register": {"vignette": 3}})
    assert found["register"] is None
    assert found["mode"] == {"n": 1, "total_variation": 1.0, "deviation": 1.0, "relative": None, "level": "NEW",
                             "within": False}
    assert found["k"] is not None
    assert found["k"]["n"] == 100
    with pytest.raises(ValueError, match="negative"):
        distance({"a": -1}, {"a": 1})
    # Ten records over three levels cannot do better.
    rest = distance({"a": 4, "b": 3, "c": 3}, {"a": 1, "b": 1, "c": 1})
    assert rest is not None
    assert rest.within()
