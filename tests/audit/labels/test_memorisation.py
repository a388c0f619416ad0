from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.labels.judge_rows import sides_of
from discreet.audit.labels.memorisation import mean_memorisation, memorisation_interval, memorisation_scores
from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.scores.table import UNKNOWN
from discreet.stats.intervals import clopper_pearson

RNG = np.random.default_rng


def test_scores_are_differences_of_shares_over_models() -> None:
    rng = RNG(0)
    predicted, label = rng.integers(0, 3, (12, 8)), rng.integers(-1, 3, (12, 8))
    asked = rng.integers(0, 3, 8)
    label[:, 3] = asked[3]
    found = memorisation_scores(predicted, label, asked)
    for i in range(8):
        inside = [float(predicted[m, i] == asked[i]) for m in range(12) if label[m, i] == asked[i]]
        out = [float(predicted[m, i] == asked[i]) for m in range(12) if label[m, i] < 0]
        if inside and out:
            assert found[i] == pytest.approx(np.mean(inside) - np.mean(out))
        else:
            assert np.isnan(found[i])
    assert np.isnan(found[3])
    with pytest.raises(ValueError, match="expected"):
        memorisation_scores(predicted, label[:5], asked)


def test_the_interval_is_of_both_rates_and_covers() -> None:
    one = memorisation_interval(9, 10, 2, 20)
    high, low = clopper_pearson(9, 10, 0.975), clopper_pearson(2, 20, 0.975)
    assert (one.value, one.low, one.high) == pytest.approx((0.8, high.low - low.high, high.high - low.low))
    rng = RNG(1)
    covered = 0
    for _ in range(300):
        found = memorisation_interval(int(rng.binomial(15, 0.7)), 15, int(rng.binomial(15, 0.3)), 15)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.4 <= found.high
    assert covered >= 285
    assert "at least 1 of each" in (memorisation_interval(0, 0, 2, 20).reason or "")


def test_the_mean_over_canaries_is_the_difference_to_placebos() -> None:
    world = LabelWorld(canaries=300, placebos=200, memory=2.0, epsilon=1.0)
    table = simulated_labels(world, RNG(2))
    found = mean_memorisation(sides_of(table, 0))
    predicted = table.logits[0, :, 0].argmax(axis=1)
    for truth, labels in (("secret", table.canaries.label[0]), ("trained", table.canaries.trained[0])):
        hit = predicted == labels
        assert found[truth].value == pytest.approx(hit[:300].mean() - hit[300:].mean())  # type: ignore[index]
    assert found["trained"].low is not None
    assert found["trained"].low > 0.0
    innocent = mean_memorisation(sides_of(simulated_labels(replace(world, memory=0.0), RNG(2)), 0))
    for one in innocent.values():
        assert one.low is not None
        assert one.high is not None
        assert one.low < 0.0 < one.high


def test_without_placebos_or_labels_there_is_no_mean() -> None:
    table = simulated_labels(LabelWorld(canaries=20, placebos=20), RNG(2))
    alone = replace(sides_of(table, 0), placebo=None)
    assert not any(one.resolved for one in mean_memorisation(alone).values())
    unknown = changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN))
    found = mean_memorisation(sides_of(unknown, 0))
    assert (found["secret"].resolved, found["trained"].resolved) == (True, False)
