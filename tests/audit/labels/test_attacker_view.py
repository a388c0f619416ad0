from __future__ import annotations

import pickle
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.labels.attacker_view import (
    OracleView,
    PrivilegedView,
    References,
    View,
    all_attacks,
    canary_rows,
    label_attacks,
    run,
)
from discreet.audit.labels.attacks.lia_delta_margin import DeltaMargin
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, TRAIN, UNKNOWN, Canaries, Model, ScoreTable
from discreet.core.errors import InputError
from discreet.core.registry import Registry


def test_a_view_has_no_canary_label() -> None:
    names = [{one.name for one in fields(kind)} for kind in (View, PrivilegedView, References)]
    assert names == [{"log_p", "references", "pool"}, {"outputs", "original"}, {"names", "log_p", "label"}]
    assert not issubclass(PrivilegedView, View)
    assert not issubclass(OracleView, View)


@pytest.mark.parametrize("n_classes", [2, 3, 100])
def test_every_built_in_is_found_once(n_classes: int) -> None:
    assert isinstance(label_attacks, Registry)
    assert set(label_attacks) >= {"lia_threshold", "lia_delta_margin", "likeliest", "reference", "lira_label"}
    found = all_attacks(n_classes)
    settings = [attack.settings for attack in found]
    assert len(set(settings)) == len(settings) > 15
    assert {attack.settings.attack for attack in found} <= set(label_attacks)
    assert all(attack.classes in (None, n_classes) for attack in found)
    assert all(pickle.loads(pickle.dumps(attack)) == attack for attack in found)


RNG = np.random.default_rng


def small() -> ScoreTable:
    """Two targets and three references over eight rows, every role and draw spelled out."""
    models = (Model("t", seed="0"), Model("u", mechanism="rr", epsilon=1.0, seed="0"),
              Model("a", "reference"), Model("b", "reference", mechanism="rr", epsilon=1.0), Model("c", "reference"))
    c, p, t, h = CANARY, CONTROL, TRAIN, HELDOUT
    role = np.array([[c, c, c, p, p, t, h, c], [c, c, c, p, p, t, h, c], [c, t, h, p, c, t, h, c],
                     [c, c, c, c, c, t, h, c], [h, c, c, p, p, t, h, c]], dtype=np.int8)
    secret = RNG(0).integers(0, 3, (5, 8))
    trained = RNG(1).integers(0, 3, (5, 8))
    trained[2] = UNKNOWN
    planted = np.zeros((5, 8), dtype=np.int64)
    planted[:2, 7] = 4
    return ScoreTable.of_canaries(
        models, np.array([f"e{i}" for i in range(8)], dtype=object), RNG(2).integers(0, 3, 8),
        Canaries(role, secret, trained, planted), RNG(3).normal(size=(5, 8, 3)), np.array([0, 0, 1, 2, 2, 3, 4, 5]))


def test_rows_of_a_target() -> None:
    table = small()
    for held_out, planted, rows in ((False, 0, [0, 1, 2]), (False, 4, [7]), (True, 0, [3, 4])):
        trial = canary_rows(table, 1, held_out=held_out, planted=planted)
        assert trial.rows.tolist() == rows
        assert trial.canary.tolist() == table.canaries.label[1, rows].tolist()
        assert trial.trained.tolist() == table.canaries.trained[1, rows].tolist()
        assert trial.original.tolist() == table.examples.label[rows].tolist()
        assert trial.group is not None
        assert table.examples.group is not None
        assert trial.group.tolist() == table.examples.group[rows].tolist()
        assert trial.view.log_p == pytest.approx(table.log_p[1, rows, 0])


def test_references_come_with_the_labels_that_they_were_trained_on() -> None:
    table = small()
    references = canary_rows(table, 0).view.references
    assert references is not None
    assert references.names == ("a", "c")
    # Canary, train, held out; the first says no trained labels, so its draws stand for them.
    assert references.label[0].tolist() == [table.canaries.label[2, 0], table.canaries.label[2, 1], -1]
    assert references.label[1].tolist() == [-1, *table.canaries.trained[4, [1, 2]]]
    assert references.log_p == pytest.approx(table.log_p[[2, 4]][:, [0, 1, 2], 0])
    pool = canary_rows(table, 0, held_out=True).view.pool
    assert pool is not None
    label = table.canaries.label
    assert pool.label[0].tolist() == [*label[2, :2], -1, -1, label[2, 4], label[2, 7]]


def test_references_of_the_same_mechanism_first_else_all() -> None:
    table = small()
    assert table.label_references(0) == (2, 4)
    assert table.label_references(1) == (3,)
    other = changed(table, models=(Model("t", epsilon=2.0), *table.models[1:]))
    assert other.label_references(0) == (2, 3, 4)


def arrays_in(found: Any) -> list[np.ndarray]:
    if isinstance(found, np.ndarray):
        return [found]
    return [array for one in fields(found) for array in arrays_in(getattr(found, one.name))] if is_dataclass(
        found) else []


def test_nothing_in_a_view_was_made_with_the_canary_label() -> None:
    """Every array that an honest attack can reach is the same, bit by bit, under other canary labels of the target."""
    table = small()
    secret, trained, original = table.canaries.label.copy(), table.canaries.trained.copy(), RNG(9).integers(0, 3, 8)
    secret[0], trained[0] = RNG(7).integers(0, 3, (2, 8))
    other = changed(table, label=secret, trained=trained, original=original)
    one, two = (arrays_in(canary_rows(of, 0).view) for of in (table, other))
    assert len(one) == len(two) == 5
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))


def test_rows_and_labels_that_are_not_there() -> None:
    table = small()
    with pytest.raises(InputError, match="model 't' has no canary planted 16 times"):
        canary_rows(table, 0, planted=16)
    with pytest.raises(InputError, match="has no held-out canary"):
        canary_rows(changed(table, role=np.full_like(table.canaries.role, CANARY)), 0, held_out=True)
    trial = canary_rows(changed(table, trained=np.full_like(table.canaries.trained, UNKNOWN)), 0)
    with pytest.raises(InputError, match="'label_trained' is not known for 3 of 3 rows"):
        run(DeltaMargin("trained"), trial)
    assert run(DeltaMargin("canary"), trial).label.shape == (3,)
    assert trial.truth("canary").tolist() == table.canaries.label[0, :3].tolist()
