from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.labels.attacks.lia_delta_margin import lia_delta_margin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.judge_planted import planted_of
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.stats import fisher_exact
from discreet.stats.testing import holm

RNG = np.random.default_rng
ATTACKS = (LiaThreshold(), LiaThreshold("median"), lia_delta_margin(loss_labels="secret"))


def test_planted_memorisation_is_seen_and_its_absence_is_not() -> None:
    world = LabelWorld(canaries=1000, placebos=400, memory=0.6, planted=(1, 4, 16))
    found = planted_of(simulated_labels(world, RNG(0)), 0, ATTACKS, RNG(1))
    assert [(one.copies, one.n) for one in found] == [(1, 100), (4, 100), (16, 100)]
    assert [one.seen for one in found][1:] == [True, True]
    none = planted_of(simulated_labels(LabelWorld(canaries=1000, placebos=400, planted=(1, 4, 16)), RNG(0)), 0, ATTACKS,
                      RNG(1))
    assert not any(one.seen for one in none)
    assert planted_of(simulated_labels(LabelWorld(), RNG(0)), 0, ATTACKS, RNG(1)) == ()


def test_holm_is_over_copies_and_honest_attacks() -> None:
    world = LabelWorld(canaries=1000, placebos=400, memory=0.3, planted=(1, 16))
    found = planted_of(simulated_labels(world, RNG(3)), 0, ATTACKS[:1], RNG(1))
    p = []
    for one in found:
        assert one.row is not None
        counts = [(round((e.value or 0.0) * (e.n or 0)), e.n or 0) for e in (one.row.success, one.row.placebo)]
        p.append(fisher_exact(*counts[0], *counts[1]))
        assert one.row.access == "outputs"
    assert [one.row.holm_p for one in found if one.row] == pytest.approx(list(holm(p)))
    assert found[0].to_json()["row"]["n"] == 100
