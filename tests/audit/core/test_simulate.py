from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit.core.simulate import World, simulated_table
from discreet.stats import auroc


def test_the_ratio_has_the_auc_of_its_closed_form() -> None:
    world = World(members=20_000, others=0, clean=20_000, selector=0, paired=0, neutral=3, leak=0.6)
    table = simulated_table(world, np.random.default_rng(0))
    sign = np.where(table.examples.label == 1, 1.0, -1.0)
    phi = (table.logits[:, :, 0, 1] - table.logits[:, :, 0, 0]) * sign
    ratio = phi[0] - phi[list(table.references("neutral"))].mean(axis=0)
    truth = table.member[0] == 1
    expected = norm.cdf(0.6 / (np.sqrt(2) * world.noise * np.sqrt(1 + 1 / 3)))
    assert auroc(ratio, truth) == pytest.approx(expected, abs=0.01)


def test_membership_goes_by_person_and_coins() -> None:
    table = simulated_table(World(members=40, others=40, clean=40, shadows=5, group_size=4, planted={2: 40}),
                            np.random.default_rng(0))
    group = table.examples.group
    assert group is not None
    for row in table.references("population"):
        assert all(len(set(table.member[row, group == one])) == 1 for one in np.unique(group[:120]))
    out = (table.member[0] == 0) & (table.examples.planted > 0)
    assert 0 < out.sum() < 40
