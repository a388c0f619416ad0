from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit.defences.made_up import made

from discreet.audit.defences.bench import Bench
from discreet.audit.defences.frontier import ATTACKS, frontier
from discreet.audit.membership.attack import attacks, target_view
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.scores.table import ScoreTable
from discreet.core.arrays import log_softmax


def bench_of(table: ScoreTable) -> Bench:
    sets = evaluation_sets(table, 0, np.random.default_rng(0))
    return Bench.of(table, sets, ATTACKS, 20, None, np.random.default_rng(0))


def test_the_boundary_is_the_selectors_whatever_the_noise() -> None:
    table = made()
    bench = bench_of(table)
    [case] = [c for c in bench.cases if (c.spec.selection, c.spec.scale, c.spec.reference_kind)
              == ("boundary", "logit", "neutral")]
    y = table.examples.label
    selector = log_softmax(table.logits[3, :, 0])[np.arange(y.size), y]
    lot, expected = np.random.default_rng(0).permutation(y.size), set()
    for one in (0, 1):
        pools = [np.flatnonzero((y == one) & (table.member[0] == side)) for side in (1, 0)]
        size = min(pool.size for pool in pools)
        for pool in pools:
            kept = sorted(pool, key=lambda row: lot[row])[:size]
            expected |= set(sorted(kept, key=lambda row: selector[row])[:20])
    assert {bench.judged.inputs[row] for row in case.rows} == {f"e{row}".encode() for row in expected}
    assert (case.spec.n, case.rows.size) == (20, 80)
    loud = frontier(table, 0, np.random.default_rng(0), strengths={"sigma": [5.0]}, mechanisms=["laplace"], draws=2)
    assert {(f.n_members, f.n_nonmembers) for p in loud.points for f in p.attacks
            if f.spec.selection == "boundary"} == {(40, 40)}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_run_is_the_registered_attack_on_the_noisy_target(n_classes: int) -> None:
    table = made(n_classes=n_classes)
    bench, sets = bench_of(table), evaluation_sets(table, 0, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    noisy = log_softmax(table.logits[0, :, 0] + rng.laplace(0, 2.0, table.logits[0, :, 0].shape))
    view = target_view(table, sets).answered_by(noisy[:, None, :])
    assert [(one.attack, one.scale, one.kind) for one in bench.runs] == [
        ("loss", "p", None), ("reference", "logit", "neutral"), ("reference", "p", "neutral"),
        ("reference", "logit", "paired"), ("reference", "p", "paired")]
    for one, scores in zip(bench.runs, bench.scores(noisy), strict=True):
        np.testing.assert_allclose(scores, attacks[one.attack].scores(view, one.scale, one.kind, rng), atol=1e-9)


def test_population_references_where_none_is_neutral() -> None:
    table = made()
    shadows = replace(table, models=(*table.models[:2], replace(table.models[2], reference_kind="population"),
                                     *table.models[3:]))
    assert bench_of(shadows).primary.reference_kind == "population"


def test_the_paper_writes_the_ratio_with_clipped_probabilities() -> None:
    """The scale "p" of the ratio is the paper's log p ratio: clipping at 1e-7 is in it, noise or not."""
    table = made()
    bench = bench_of(table)
    place = next(place for place, one in enumerate(bench.runs) if (one.scale, one.kind) == ("p", "paired"))
    sure = np.zeros((table.examples.label.size, 2))
    sure[np.arange(sure.shape[0]), 1 - table.examples.label] = 60.0
    reference = np.exp(log_softmax(table.logits[1, :, 0]))[np.arange(sure.shape[0]), table.examples.label]
    np.testing.assert_allclose(bench.scores(log_softmax(sure))[place],
                               np.log(1e-7) - np.log(np.clip(reference, 1e-7, 1 - 1e-7)))
