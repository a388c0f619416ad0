from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.audit.train.tasks import seeds

pytest.importorskip("torch")

from discreet.audit.train import child
from discreet.audit.train.labelled_training import NOISE, TRAINING, train_in_stages, train_labelled
from discreet.audit.train.networks import fit_bank
from discreet.audit.train.recipes.mlp import Mlp
from discreet.core.errors import InputError
from discreet.stats.mechanisms.base import softmax
from discreet.stats.mechanisms.labels.alibi import Alibi
from discreet.stats.mechanisms.labels.base import LabelMechanism
from discreet.stats.mechanisms.labels.rr import RandomisedResponse
from discreet.stats.mechanisms.labels.rr_top_k import RRTopK, RRWithPrior

N, K = 60, 3
RECIPE = Mlp(hidden=8, layers=1, epochs=8, batch=16, rate=0.02)


def problem(n: int = N, models: int = 3, n_classes: int = K) -> tuple[np.ndarray, np.ndarray]:
    """Labels that the inputs tell."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % n_classes
    inputs = rng.normal(size=(n, 4)) * 0.3
    inputs[np.arange(n), truth] += 3.0
    return inputs, np.tile(truth, (models, 1))


@dataclass(frozen=True)
class Watched(LabelMechanism):
    """Remembers what it was asked, and moves every label on by one."""

    epsilon: float = 1.0
    n_classes: int = K
    asked: list[tuple[Any, Any]] = field(default_factory=list)

    broken: ClassVar[bool] = False
    takes_prior: ClassVar[str] = "optional"

    def apply(self, labels: Any, rng: np.random.Generator, prior: Any = None) -> Any:
        self.asked.append((np.array(labels), prior))
        return (labels + 1) % self.n_classes

    def transition(self, prior: Any = None) -> Any:
        return None

    def should_stay(self, labels: Any, prior: Any = None) -> Any:
        return None

    def exact_epsilon(self, prior: Any = None) -> float:
        return self.epsilon


def test_models_are_trained_on_what_is_released_and_on_nothing_else() -> None:
    inputs, labels = problem()
    mechanisms: list[LabelMechanism | None] = [None, RandomisedResponse(1.0, K), Watched()]
    found = train_labelled(RECIPE, inputs, labels, mechanisms, K, seeds(3))
    noise = np.random.default_rng(child(seeds(3)[1], NOISE))
    wanted = [labels[0], RandomisedResponse(1.0, K).apply(labels[1], noise), (labels[2] + 1) % K]
    np.testing.assert_array_equal(found.trained, wanted)
    assert not found.stage.any()
    again = fit_bank(RECIPE, inputs, np.array(wanted), K, [child(one, TRAINING) for one in seeds(3)])
    assert found.bank.logits(inputs).tobytes() == again.logits(inputs).tobytes()
    # The model of the watched mechanism says the label that it was told, not its own.
    assert (found.bank.logits(inputs)[2].argmax(axis=1) == (labels[2] + 1) % K).mean() > 0.9


def test_the_prior_goes_to_those_that_take_one() -> None:
    inputs, labels = problem()
    prior = np.array([0.2, 0.3, 0.5])
    watched = Watched()
    train_labelled(RECIPE, inputs, labels[:2], [watched, RandomisedResponse(2.0, K)], K, seeds(2), prior=prior)
    np.testing.assert_array_equal(watched.asked[0][1], prior)


def test_soft_labels_follow_the_model_and_the_noise_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, labels = problem(models=2)
    drawn, given = [], []
    observe, posterior = Alibi.observe, Alibi.posterior

    def observing(self: Alibi, *args: Any) -> Any:
        drawn.append(observe(self, *args))
        return drawn[-1]

    def asking(self: Alibi, observed: Any, prior: Any = None) -> Any:
        given.append((observed, prior))
        return posterior(self, observed, prior)

    monkeypatch.setattr(Alibi, "observe", observing)
    monkeypatch.setattr(Alibi, "posterior", asking)
    found = train_labelled(RECIPE, inputs, labels, [Alibi(2.0, K), None], K, seeds(2), soft=True)
    assert len(drawn) == 1
    assert len(given) == RECIPE.epochs
    assert all(observed is drawn[0] for observed, _ in given)
    assert given[0][1] is None
    np.testing.assert_array_equal(found.trained[0], drawn[0].argmax(axis=1))
    np.testing.assert_array_equal(found.trained[1], labels[1])
    # The prior of the second epoch is the model after the first.
    monkeypatch.undo()
    once = fit_bank(Mlp(hidden=8, layers=1, epochs=1, batch=16, rate=0.02), inputs, found.trained, K,
                    [child(one, TRAINING) for one in seeds(2)],
                    soft=np.array([posterior(Alibi(2.0, K), drawn[0]), np.eye(K)[labels[1]]]))
    np.testing.assert_allclose(given[1][1], softmax(once.logits(inputs)[0]), atol=1e-5)


def test_stages_randomise_each_label_once_under_the_model_before() -> None:
    inputs, labels = problem(models=2)
    watched = [Watched(), Watched()]
    found = train_in_stages(RECIPE, inputs, labels, watched, K, seeds(2))
    np.testing.assert_array_equal(found.trained, (labels + 1) % K)
    assert [np.bincount(one).tolist() for one in found.stage] == [[N // 2] * 2] * 2
    assert (found.stage[0] != found.stage[1]).any()
    before = fit_bank(RECIPE, inputs, np.where(found.stage == 0, found.trained, -1), K,
                      [child(child(each, TRAINING), 0) for each in seeds(2)],
                      weights=(found.stage == 0).astype(np.int64)).logits(inputs)
    for m, one in enumerate(watched):
        assert one.asked[0][1] is None
        assert len(one.asked) == 2
        for number, (asked, _) in enumerate(one.asked):
            np.testing.assert_array_equal(asked, labels[m, found.stage[m] == number])
        np.testing.assert_allclose(one.asked[1][1], softmax(before[m, found.stage[m] == 1]), atol=1e-12)
    last = fit_bank(RECIPE, inputs, found.trained, K, [child(child(one, TRAINING), 1) for one in seeds(2)])
    assert found.bank.logits(inputs).tobytes() == last.logits(inputs).tobytes()


def test_impossible_calls() -> None:
    inputs, labels = problem()
    rr = RandomisedResponse(1.0, K)
    for given, mechanisms, options, said in (
        (labels[0], [rr] * 3, {}, "expected whole numbers"), (labels, [rr] * 2, {}, "for 2 mechanisms, 3 seeds"),
        (labels, [rr] * 3, {"soft": True}, "RandomisedResponse releases labels and no numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            train_labelled(RECIPE, inputs, given, mechanisms, K, seeds(3), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no training row of the label 1"):
        train_in_stages(RECIPE, inputs, np.zeros_like(labels), [None] * 3, K, seeds(3))


def test_a_row_is_trained_on_as_often_as_it_weighs_by_one_released_label() -> None:
    inputs, labels = problem(models=2)
    weights = np.ones((2, N), dtype=np.int64)
    weights[0, :20], weights[1, :6] = 0, 3
    mechanisms = [RandomisedResponse(1.0, K)] * 2
    found = train_labelled(RECIPE, inputs, labels, mechanisms, K, seeds(2), weights=weights)
    plain = train_labelled(RECIPE, inputs, labels, mechanisms, K, seeds(2))
    # What is released does not depend on the weights, and rows without weight are released too.
    np.testing.assert_array_equal(found.trained, plain.trained)
    again = fit_bank(RECIPE, inputs, plain.trained, K, [child(one, TRAINING) for one in seeds(2)], weights=weights)
    assert found.bank.logits(inputs).tobytes() == again.logits(inputs).tobytes()
    assert [one.facts["training_rows"] for one in found.bank.models] == [40, 72]
    soft = train_labelled(RECIPE, inputs, labels, [Alibi(2.0, K)] * 2, K, seeds(2), weights=weights, soft=True)
    staged = train_in_stages(RECIPE, inputs, labels, [RRWithPrior(2.0, K)] * 2, K, seeds(2), weights=weights)
    for one in (soft, staged):
        assert [model.facts["training_rows"] for model in one.bank.models] == [40, 72]
    assert set(staged.stage[0].tolist()) == {0, 1}


def test_what_needs_a_prior_begins_with_randomised_response() -> None:
    inputs, labels = problem(models=1)
    found = train_in_stages(RECIPE, inputs, labels, [RRTopK(2.0, K, 2)], K, seeds(1))
    first = found.stage[0] == 0
    noise = np.random.default_rng(child(seeds(1)[0], NOISE))
    np.testing.assert_array_equal(found.trained[0, first], RandomisedResponse(2.0, K).apply(labels[0, first], noise))
