"""The assignment of an experiment: sizes as asked for, nothing but chance deciding, groups whole."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.audit.experiments.labels.steps import assign, planted_number
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, TRAIN
from discreet.core.errors import InputError

OPTIONS: dict[str, Any] = {"canaries": 0.02, "control": 0.02, "planted": (1, 4, 16), "planted_each": None,
                           "heldout": 0.2, "assignment": "uniform"}


def assigned(n: int = 1000, k: int = 2, groups: Any = None, seed: int = 0, **options: Any) -> dict[str, Any]:
    labels = np.random.default_rng(9).integers(0, k, n)
    data = SimpleNamespace(labels=labels, classes=[f"c{one}" for one in range(k)], groups=groups)
    return assign(data, {**OPTIONS, **options}, seed, "d.csv")  # type: ignore[arg-type]


def test_sizes_are_shares_of_the_rows_that_are_not_held_out() -> None:
    # The 26,048 rows and 520 canaries that the paper has of Census.
    found = assigned(32561)
    assert found["sizes"] == {"rows": 32561, "train": 24852, "canary": 520, "planted": {"1": 52, "4": 52, "16": 52},
                              "control": 520, "heldout": 6513}
    role = found["role"]
    assert [int((role == code).sum()) for code in (CANARY, CONTROL, TRAIN, HELDOUT)] == [676, 520, 24852, 6513]
    assert np.bincount(found["planted"])[[1, 4, 16]].tolist() == [52] * 3
    assert (role[found["planted"] > 0] == CANARY).all()


def test_numbers_are_numbers_and_only_canaries_and_controls_have_another_label() -> None:
    sizes = assigned(canaries=30, control=0, planted=(2,), planted_each=7, heldout=100)["sizes"]
    assert sizes == {"rows": 1000, "train": 863, "canary": 30, "planted": {"2": 7}, "control": 0, "heldout": 100}
    found = assigned(canaries=100, control=100)
    drawn = np.isin(found["role"], (CANARY, CONTROL))
    same = found["label"] == np.random.default_rng(9).integers(0, 2, 1000)
    assert same[~drawn].all()
    assert 0.4 < same[drawn].mean() < 0.6


def test_a_seed_is_one_assignment() -> None:
    one, again, other = assigned(seed=1), assigned(seed=1), assigned(seed=2)
    for name in ("role", "label", "planted"):
        np.testing.assert_array_equal(one[name], again[name])
    assert (one["role"] != other["role"]).any()


def test_groups_stay_whole() -> None:
    groups = np.random.default_rng(4).integers(0, 120, 1000)
    role = assigned(groups=groups, canaries=100, control=100, planted=())["role"]
    for group in range(120):
        assert np.unique(role[groups == group]).size <= 1


@pytest.mark.parametrize(("options", "said"), [
    ({"canaries": 0.0001}, "no canary"), ({"heldout": 1000}, "expected fewer"),
    ({"canaries": 700, "control": 300}, "ask for fewer"), ({"canaries": 4, "k": 12}, "has no canary among 4 canaries"),
    ({"planted_each": 400}, "ask for fewer")])
def test_what_does_not_fit(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=rf"^d\.csv: .*{said}"):
        assigned(**options)


def test_planted_canaries_are_enough_to_be_seen_and_not_too_many() -> None:
    assert planted_number((1, 4, 16), None, 520, 26048) == 52
    assert planted_number((1, 4, 16), None, 60, 3000) == 20
    assert planted_number((1, 4, 16), None, 60, 420) == 5
    assert planted_number((), None, 520, 26048) == 0
    assert planted_number((1, 4), 3, 520, 26048) == 3
