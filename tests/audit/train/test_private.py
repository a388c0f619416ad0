"""DP-SGD against an accountant written out and clipping row by row; what is drawn, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, lgamma, log, log1p
from typing import Any

import numpy as np
import pytest
from tests.audit.train.tasks import nothing, task
from tests.errors import refused
from tests.heavy import need

from discreet.audit.train import Data, recipe_of
from discreet.audit.train.private import PrivatePlan, fit_private, spent
from discreet.core.errors import MissingExtraError, UsageError

torch, _ = need("torch"), need("opacus")


def plan(**changed: Any) -> PrivatePlan:
    return PrivatePlan(**{"epsilon": None, "noise": 1.0, "delta": None, "epochs": 2, "batch": 4, "clip": 1.0,
                          "rate": 0.1, **changed})


def slow_epsilon(noise: float, delta: float, share: float, steps: int) -> float:
    """ε of the Poisson-subsampled Gaussian by the binomial sum for whole orders (Mironov, Talwar & Zhang 2019, section
    3.3), turned into ε at δ as in Balle et al. 2020, Theorem 21."""
    best = inf
    for order in range(2, 200):
        terms = []
        for k in range(order + 1):
            chances = [0.0 if times == 0 else times * log(chance) for times, chance in (
                (k, share), (order - k, 1.0 - share)) if times or chance]
            chosen = lgamma(order + 1) - lgamma(k + 1) - lgamma(order - k + 1)
            terms.append(chosen + sum(chances) + k * (k - 1) / (2.0 * noise**2))
        top = max(terms)
        divergence = steps * (top + log(sum(exp(term - top) for term in terms))) / (order - 1)
        best = min(best, divergence + log1p(-1.0 / order) - (log(delta) + log(order)) / (order - 1))
    return best


@pytest.mark.parametrize(("noise", "share", "steps"), [(1.0, 0.1, 100), (1.5, 0.14, 215), (4.0, 0.5, 60),
                                                       (0.8, 0.01, 1000)])
def test_epsilon_is_that_of_the_binomial_sum(noise: float, share: float, steps: int) -> None:
    # Orders between whole numbers can only give less, and not much.
    slow = slow_epsilon(noise, 1e-5, share, steps)
    assert 0.96 * slow <= spent(noise, 1e-5, share, steps) <= slow + 1e-9


@pytest.mark.parametrize(("noise", "share", "steps"), [(1.0, 0.1, 100), (1.5, 0.14, 215)])
def test_epsilon_is_above_that_of_numerical_composition(noise: float, share: float, steps: int) -> None:
    accounting = need("dp_accounting")
    loss = need("dp_accounting.pld").PLDAccountant()
    loss.compose(accounting.PoissonSampledDpEvent(share, accounting.GaussianDpEvent(noise)), steps)
    tight = loss.get_epsilon(1e-5)
    assert tight <= spent(noise, 1e-5, share, steps) <= 1.2 * tight


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_the_noise_spends_the_epsilon_that_is_asked_for(epsilon: float) -> None:
    budget = plan(epsilon=epsilon, noise=None, epochs=20, batch=64).budget(1000)
    assert 0.98 * epsilon <= budget.epsilon <= epsilon
    assert (budget.share, budget.steps, budget.delta) == (0.064, 313, 1e-5)
    assert budget.epsilon == plan(noise=budget.noise, epochs=20, batch=64).budget(1000).epsilon
    assert plan(batch=64).budget(20).share == 1.0


def loss(weights: tuple[Any, ...], row: Any, label: Any) -> Any:
    first, second = weights
    return torch.nn.functional.cross_entropy(torch.tanh(row @ first) @ second, label)


def slow_training(start: Sequence[np.ndarray], rows: np.ndarray, labels: np.ndarray, asked: PrivatePlan, noise: float,
                  seeds: np.random.SeedSequence) -> list[np.ndarray]:
    """The same, row by row: each gradient cut to its norm over all parameters, noise on the sum, a step of Adam."""
    children = np.random.SeedSequence(seeds.entropy).spawn(3)
    coins = np.random.default_rng(children[1])
    drawn = torch.Generator().manual_seed(int(np.random.default_rng(children[2]).integers(2**63)))
    weights = [torch.tensor(one, requires_grad=True) for one in start]
    adam = torch.optim.Adam(weights, lr=asked.rate)
    share = asked.batch / len(rows)
    for _ in range(int(np.ceil(asked.epochs / share))):
        total = [torch.zeros_like(one) for one in weights]
        for row in np.flatnonzero(coins.random(len(rows)) < share):
            found = torch.autograd.grad(loss(tuple(weights), torch.tensor(rows[row]), torch.tensor(labels[row])),
                                        weights)
            size = float(sum((one**2).sum() for one in found)) ** 0.5
            total = [one + own * min(1.0, asked.clip / size) for one, own in zip(total, found, strict=True)]
        for one, own in zip(weights, total, strict=True):
            one.grad = (own + torch.normal(0.0, noise * asked.clip, own.shape, generator=drawn)) / asked.batch
        adam.step()
    return [one.detach().numpy() for one in weights]


@pytest.mark.parametrize(("clip", "noise"), [(0.05, 1e-4), (0.3, 1.0), (100.0, 1e-6)])
def test_training_is_that_of_a_loop_over_rows(clip: float, noise: float) -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(24, 5)).astype(np.float32), rng.integers(0, 3, 24)
    start = [rng.normal(size=shape).astype(np.float32) for shape in ((5, 4), (4, 3))]
    asked, seeds = plan(clip=clip, noise=noise, rate=0.01), np.random.SeedSequence(3)
    before = torch.random.get_rng_state(), np.random.get_state(legacy=False)  # noqa: NPY002 - the global state
    found, facts = fit_private(loss, start, rows, labels, asked, seeds)
    for one, slow in zip(found, slow_training(start, rows, labels, asked, noise, seeds), strict=True):
        np.testing.assert_allclose(one, slow, rtol=0, atol=2e-4)
        assert np.abs(one - start[0 if one.shape == (5, 4) else 1]).max() > 0.01
    assert (facts["steps"], facts["sample_rate"], facts["training_rows"]) == (12, 4 / 24, 24)
    # Nothing is drawn from what the process shares, and the same seeds draw the same.
    assert torch.equal(before[0], torch.random.get_rng_state())
    np.testing.assert_equal(np.random.get_state(legacy=False), before[1])  # noqa: NPY002
    again = fit_private(loss, start, rows, labels, asked, np.random.SeedSequence(3))[0]
    assert all(one.tobytes() == other.tobytes() for one, other in zip(found, again, strict=True))
    other = fit_private(loss, start, rows, labels, asked, np.random.SeedSequence(4))[0]
    assert found[0].tobytes() != other[0].tobytes()


def test_an_update_without_rows_is_noise_alone() -> None:
    rows, labels = np.ones((400, 5), dtype=np.float32), np.zeros(400, dtype=np.int64)
    start = [np.zeros((5, 4), dtype=np.float32), np.zeros((4, 3), dtype=np.float32)]
    found, facts = fit_private(loss, start, rows, labels, plan(epochs=1, batch=1), np.random.SeedSequence(0))
    assert facts["steps"] == 400
    assert all(np.isfinite(one).all() for one in found)


@pytest.mark.parametrize(("options", "said"), [
    ("epsilon=0", "epsilon is 0.0: expected a finite number above 0"),
    ("epsilon=none", "epsilon is None and noise is None: expected a number for one of them"),
    ("noise=1.1", "epsilon is 8.0 and noise is 1.1: expected a number for one of them and none for the other"),
    ("delta=1", "delta is 1: expected a number below 1"), ("delta=0", "delta is 0.0: expected a finite number above 0"),
    ("clip=-1", "clip is -1.0: expected a finite number above 0"), ("batch=0", "batch is 0: expected a whole number"),
])
def test_an_option_that_cannot_be_is_refused(options: str, said: str) -> None:
    with refused(UsageError, said):
        recipe_of(f"private-head:{options}")


@pytest.mark.parametrize(("options", "said"), [
    ("delta=0.05", r"delta is 0.05 for 24 training rows: expected less than 1 / rows, 0.042; give a lower delta"),
    ("epsilon=1e-9", r"epsilon is 1e-09 at delta 0.00042 over \d+ updates: no noise spends so little"),
])
def test_what_so_many_rows_do_not_allow_is_refused(options: str, said: str) -> None:
    train = task(24, 2)
    with refused(UsageError, said):
        recipe_of(f"private-tfidf-mlp:{options}").fit(train, nothing(train), 2, np.random.SeedSequence(0))


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opacus.accountants", None)
    with refused(MissingExtraError, r"differential privacy needs the package 'opacus', .*'discreet\[dp\]'"):
        plan(noise=1.2345).budget(100)


def test_no_document_frequencies_are_learnt() -> None:
    """A word that every training row has weighs as much as any other."""
    train = task(24, 2)
    model = recipe_of("private-tfidf-mlp:columns=64,hidden=4,epochs=1,batch=8").fit(
        train, nothing(train), 2, np.random.SeedSequence(0))
    assert not any(model.scaling.shapes)  # type: ignore[attr-defined]
    assert {"epsilon", "delta", "noise_multiplier", "clip", "sample_rate"} <= set(model.facts)
    assert model.facts["epsilon"] <= 8.0


@pytest.mark.parametrize(("name", "form"), [("private-mlp:hidden=6,layers=2", (5,)),
                                            ("private-cnn:width=2,hidden=4", (1, 8, 8))])
def test_a_network_is_trained_as_by_a_loop_over_rows(name: str, form: tuple[int, ...]) -> None:
    """Noise apart, an update is Adam's on the sum of gradients that are cut one by one."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(12, *form)).astype(np.float32), np.arange(12) % 3
    data, none = Data(rows, labels), Data(rows[:0], labels[:0])
    recipe = recipe_of(f"{name},epsilon=none,noise=1e-10,delta=0.01,epochs=3,batch=12,clip=0.2,rate=0.01")
    found = recipe.fit(data, none, 3, np.random.SeedSequence(5))
    network = recipe.network(form, 3)  # type: ignore[attr-defined]
    start = network.initial(np.random.default_rng(np.random.SeedSequence(5).spawn(1)[0]))
    weights = [torch.tensor(one, dtype=torch.float32, requires_grad=True) for one in start.values()]
    adam = torch.optim.Adam(weights, lr=0.01)
    for _ in range(3):
        total = [torch.zeros_like(one) for one in weights]
        for row, label in zip(rows, labels, strict=True):
            states = {key: one[None] for key, one in zip(start, weights, strict=True)}
            logits = network.forward(states, torch.tensor(row)[None, None], training=True)[0][0]
            one_loss = torch.nn.functional.cross_entropy(logits, torch.tensor([label]))
            grads = torch.autograd.grad(one_loss, weights)
            size = float(sum((one**2).sum() for one in grads)) ** 0.5
            total = [one + own * min(1.0, 0.2 / size) for one, own in zip(total, grads, strict=True)]
        for one, own in zip(weights, total, strict=True):
            one.grad = own / 12
        adam.step()
    for key, slow in zip(start, weights, strict=True):
        np.testing.assert_allclose(found.state[key], slow.detach().numpy(), atol=2e-3)  # type: ignore[attr-defined]
        moved = np.abs(slow.detach().numpy() - start[key])
        assert moved.max() > 0.005, key
    assert found.facts["training_rows"] == 12
