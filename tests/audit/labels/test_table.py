from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.audit.labels.table import EXAMPLE_ROLES, MODEL_ROLES, log_softmax


@given(st.lists(st.lists(st.floats(-800, 800), min_size=3, max_size=3), min_size=1, max_size=5))
def test_log_softmax_is_scipy_s(rows: list[list[float]]) -> None:
    logits = np.array(rows)
    assert log_softmax(logits) == pytest.approx(special.log_softmax(logits, axis=-1), abs=1e-9)


def test_what_a_table_says_of_itself() -> None:
    table = simulated_labels(LabelWorld(canaries=6, placebos=5, n_classes=4, references=3), np.random.default_rng(0))
    assert (len(table), table.n_classes, table.targets, table.references(0)) == (11, 4, (0,), (1, 2, 3))
    assert table.log_p.shape == (4, 11, 4)
    assert np.exp(table.log_p).sum(axis=-1) == pytest.approx(1.0)


def test_the_names_of_roles_are_those_of_the_files() -> None:
    assert EXAMPLE_ROLES == ("canary", "placebo", "train", "heldout")
    assert MODEL_ROLES == ("target", "reference")
