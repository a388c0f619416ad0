from __future__ import annotations

import numpy as np
import pytest

from discreet.stats.sample import Sample, needed_rng, percentile_estimate


def test_units_are_examples_or_groups() -> None:
    alone = Sample.of([0.1, 0.2, 0.3, 0.4], [0, 1, 1, 0], 0.95, "record", None)
    assert alone.facts() == {"level": 0.95, "n": 4, "n_pos": 2, "n_neg": 2, "unit": "record"}
    users = Sample.of([0.1, 0.2, 0.3, 0.4], [0, 1, 1, 0], 0.9, "user", ["a", "a", "b", "c"])
    assert users.facts() == {"level": 0.9, "n": 3, "n_pos": 2, "n_neg": 2, "unit": "user"}


def test_refusals_say_what_would_do() -> None:
    few = Sample.of([0.1, 0.2, 0.3], [0, 1, 0], 0.95, "record", None)
    assert few.lacking("AUROC", least=1) is None
    assert "AUROC over 1 positives: 2 needed" in str(few.lacking("AUROC", least=2))
    coarse = few.too_coarse("TPR at FPR 0.1", few.n_neg, "negatives", 0.1, lambda n: int(n[0]) >= 10)
    assert coarse is not None
    assert coarse.reason == "TPR at FPR 0.1 over 2 negatives: 10 needed at the least, 42 for both bounds"
    assert few.too_coarse("TPR", 10, "negatives", 0.1, lambda n: int(n[0]) >= 10) is None


def test_percentiles_of_draws() -> None:
    facts = {"level": 0.9, "n": 7, "unit": "record"}
    found = percentile_estimate(0.5, np.arange(101) / 100, facts)
    assert (found.value, found.n) == (0.5, 7)
    assert found.low == pytest.approx(0.05)
    assert found.high == pytest.approx(0.95)
    assert "no spread" in str(percentile_estimate(1.0, np.ones(10), facts).reason)
    assert "1 of 2 resamples" in str(percentile_estimate(1.0, np.array([1.0, np.nan]), facts).reason)


def test_no_hidden_generator() -> None:
    rng = np.random.default_rng(0)
    assert needed_rng(rng) is rng
    with pytest.raises(ValueError, match="pass rng="):
        needed_rng(None)
