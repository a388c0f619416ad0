from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.audit.membership.scenes import sure

import discreet
from discreet.audit.membership import in_memory
from discreet.audit.membership.attacks.label_only import LabelOnly
from discreet.audit.membership.audit import MembershipAudit
from discreet.audit.membership.rows import Row
from discreet.audit.scores.check import check_table
from discreet.core.errors import UsageError
from discreet.inputs.perturbed import perturbed
from discreet.stats import auroc

N = 120


def audited(seed: int, **options: Any) -> tuple[MembershipAudit, Any, np.ndarray, np.ndarray]:
    """A tree that learned labels that are half noise, by heart; its control model is a tree like it."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(3 * N, 3))
    labels = np.where(rng.random(3 * N) < 0.3, rng.integers(0, 2, 3 * N), inputs[:, 0] > 0).astype(int)
    model, control = (DecisionTreeClassifier(random_state=0).fit(inputs[rows], labels[rows]) for rows in (
        slice(0, N), slice(2 * N, 3 * N)))
    audit = discreet.audit_model(model, (inputs[:N], labels[:N]), (inputs[N : 2 * N], labels[N : 2 * N]),
                                 control=control, permutations=0, bootstraps=5, seed=seed, attacks=["label_only"],
                                 **options)
    return audit, model, inputs, labels


def row_of(audit: MembershipAudit) -> Row:
    [row] = [row for row in audit.attacks if row.spec.attack == "label_only" and row.spec.whole]
    return row


def test_it_is_the_share_of_copies_that_keep_their_class_record_by_record(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[Any] = []
    given: list[Any] = []

    def checked(table: Any, *rest: Any, **more: Any) -> None:
        tables.append(table)
        check_table(table, *rest, **more)

    def copied(inputs: Any, rng: Any) -> Any:
        given.append((inputs, perturbed(inputs, rng)))
        return given[-1][1]

    monkeypatch.setattr(in_memory, "check_table", checked)
    monkeypatch.setattr(in_memory, "perturbed", copied)
    audit, model, inputs, labels = audited(0, perturbations=3)
    [table], records = tables, given[0][0]
    label_of = {row.tobytes(): label for row, label in zip(inputs, labels, strict=True)}
    # Target and control model are asked for the same three copies of each record.
    assert len(given) == 6
    assert all(np.array_equal(one[1], other[1]) for one, other in zip(given[:3], given[3:], strict=True))
    expected = []
    for place, record in enumerate(records):
        copies = [record, *(copy[place] for _, copy in given[:3])]
        expected.append(np.mean([model.predict(copy[None])[0] == label_of[record.tobytes()] for copy in copies]))
    np.testing.assert_allclose(table.steadiness[0], expected)
    assert row_of(audit).auc.value == pytest.approx(auroc(np.array(expected), table.member[0] == 1))


def test_without_perturbations_it_says_what_it_needs() -> None:
    audit = audited(0)[0]
    row = next(row for row in audit.attacks if row.spec.attack == "label_only")
    assert not row.auc.resolved
    assert "perturbations=16" in sure(row.auc.reason)
    assert LabelOnly.kinds == (None,)
    with pytest.raises(UsageError, match="perturbations is -1"):
        audited(0, perturbations=-1)
