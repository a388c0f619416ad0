from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discreet.audit.train.clones import can_clone, fitted_clone
from discreet.core.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] > 0, "high", "low")


def test_a_clone_is_trained_on_what_it_is_given_and_leaves_the_original_alone() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.5)).fit(X, Y)
    before = model.predict_proba(X)
    clone = fitted_clone(model, X[:30], Y[:30], 7, "a reference")
    np.testing.assert_allclose(clone.predict_proba(X), make_pipeline(
        StandardScaler(), LogisticRegression(C=0.5)).fit(X[:30], Y[:30]).predict_proba(X))
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_every_random_state_is_the_seed() -> None:
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(X, Y)
    clone = fitted_clone(model, X, Y, 5, "a reference")
    np.testing.assert_array_equal(clone.predict_proba(X), make_pipeline(
        StandardScaler(), RandomForestClassifier(3, random_state=5)).fit(X, Y).predict_proba(X))
    assert model.get_params()["randomforestclassifier__random_state"] == 0


def test_a_fit_that_fails_names_the_clone_and_quotes_nothing() -> None:
    with pytest.raises(InputError, match=r"^the control model: ValueError when a clone of Logistic") as no:
        fitted_clone(LogisticRegression(), np.array([["secret"]] * 4), Y[:4], 0, "the control model")
    assert "secret" not in str(no.value)


def test_what_can_be_cloned() -> None:
    assert can_clone(LogisticRegression())
    assert not can_clone(lambda inputs: inputs)
