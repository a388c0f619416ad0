"""DP-SGD (Abadi et al. 2016) of one hidden layer, with the optimiser and the accountant of Opacus."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import need_torch
from discreet.audit.train.perceptron import Perceptron, Single, initial
from discreet.audit.train.plan import child
from discreet.core.errors import UsageError, need
from discreet.core.types import IntArray

ACCOUNTANT = "prv"
"""Numerical composition of privacy loss distributions (Gopi et al. 2021)."""


def need_opacus(module: str = "opacus") -> Any:
    """A module of Opacus. Raises MissingExtraError."""
    return need(module, "training with differential privacy", "private")


@dataclass(frozen=True, slots=True)
class PrivatePlan:
    """DP-SGD until ε at δ are spent: `epochs` expected passes over the rows, each of which is in an update by a coin of
    its own, `batch` rows in expectation; gradients of a row are cut to norm `clip`; steps of Adam at `rate`."""

    epsilon: float
    delta: float
    epochs: int
    batch: int
    clip: float
    rate: float

    def spent(self, n: int) -> tuple[float, int, float, float]:
        """Share of the rows in an update, updates, noise multiplier, and the accountant's ε, for n rows.

        ε is for adding or removing one row, of everything that leaves the training; n counts as public. UsageError
        where δ is 1 / n or more, which would allow a training that publishes a row.
        """
        if self.delta >= 1.0 / n:
            raise UsageError(f"delta is {self.delta:g} for {n:,} training rows: expected less than 1 / rows, "
                             f"{1.0 / n:.2g}; give a lower delta")
        share = min(1.0, self.batch / n)
        updates = ceil(self.epochs / share)
        accountants = need_opacus("opacus.accountants")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            noise = float(need_opacus("opacus.accountants.utils").get_noise_multiplier(
                target_epsilon=self.epsilon, target_delta=self.delta, sample_rate=share, steps=updates,
                accountant=ACCOUNTANT))
            accountant = accountants.create_accountant(mechanism=ACCOUNTANT)
            accountant.history = [(noise, share, updates)]
            return share, updates, noise, float(accountant.get_epsilon(delta=self.delta))


def fit_private(features: NDArray[Any], labels: IntArray, n_classes: int, hidden: int, plan: PrivatePlan,
                seeds: np.random.SeedSequence) -> tuple[Perceptron, dict[str, Any]]:
    """A perceptron on scaled features (n, d) and labels (n,), and the facts of its training.

    Initial weights, coins and noise are drawn from children 0, 1 and 2 of `seeds`: whoever knows the seeds can take the
    noise away, so that a guarantee is about a model whose seeds stay secret. Torch's generators are not touched.
    """
    torch = need_torch()
    share, updates, noise, epsilon = plan.spent(labels.size)
    rows = torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32))
    wanted = torch.from_numpy(np.ascontiguousarray(labels, dtype=np.int64))
    start = initial(rows.shape[1], hidden, n_classes, child(seeds, 0))
    coins = np.random.default_rng(child(seeds, 1))
    drawn = torch.Generator().manual_seed(int(np.random.default_rng(child(seeds, 2)).integers(2**63)))
    with torch.inference_mode(False), torch.enable_grad(), warnings.catch_warnings():
        # Opacus' hooks are on modules whose inputs need no gradient, of which torch warns.
        warnings.simplefilter("ignore")
        net = need_opacus().GradSampleModule(_network(start), loss_reduction="sum")
        optimizer = need_opacus("opacus.optimizers").DPOptimizer(
            torch.optim.Adam(net.parameters(), lr=plan.rate), noise_multiplier=noise, max_grad_norm=plan.clip,
            expected_batch_size=share * labels.size, generator=drawn)
        for _ in range(updates):
            chosen = torch.from_numpy(np.flatnonzero(coins.random(labels.size) < share))
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(rows[chosen]), wanted[chosen], reduction="sum").backward()
            optimizer.step()
        state = [one.detach().numpy().copy() for one in net.parameters()]
    facts = {"steps": updates, "best_step": updates, "learning_rate": plan.rate, "epsilon": epsilon,
             "delta": plan.delta, "noise_multiplier": noise, "sample_rate": share, "training_rows": int(labels.size)}
    return Perceptron(state[0].T.copy(), state[1], state[2].T.copy(), state[3]), facts


def _network(start: tuple[Single, ...]) -> Any:
    """The layers as modules, with these weights."""
    torch = need_torch()
    first, first_bias, second, second_bias = start
    net = torch.nn.Sequential(torch.nn.utils.skip_init(torch.nn.Linear, *first.shape), torch.nn.ReLU(),
                              torch.nn.utils.skip_init(torch.nn.Linear, *second.shape))
    with torch.no_grad():
        for mine, given in zip(net.parameters(), (first.T, first_bias, second.T, second_bias), strict=True):
            mine.copy_(torch.from_numpy(np.ascontiguousarray(given)))
    return net
