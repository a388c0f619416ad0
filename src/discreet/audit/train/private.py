"""DP-SGD (Abadi et al. 2016): Poisson sampling here; clipping, noise and the accountant by Opacus.

A guarantee is about a model whose seeds stay secret, for whoever knows them can take the noise away. Noise is drawn as
floating-point numbers, which the proof does not know (Mironov 2012).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.train.base import need_torch
from discreet.audit.train.plan import check_above, check_positive, child
from discreet.core.errors import UsageError, need
from discreet.core.types import IntArray

ACCOUNTANT = "rdp"
"""Rényi divergences of the Poisson-subsampled Gaussian mechanism (Mironov, Talwar & Zhang 2019), added up."""
DELTA_ROWS = 0.01
"""δ times the number of training rows, where no δ is given."""
Tensor: TypeAlias = Any
Loss: TypeAlias = Callable[[tuple[Tensor, ...], Tensor, Tensor], Tensor]
"""Of parameters, one row and its label: a scalar."""
Gradients: TypeAlias = Callable[[IntArray], Sequence[Tensor]]
"""From row numbers (b,), b >= 1, to the gradient of each row's loss by each parameter, (b, …) each."""


def need_opacus(module: str = "opacus") -> Any:
    """A module of Opacus. Raises MissingExtraError."""
    return need(module, "training with differential privacy", "dp")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a training of n rows spends: ε at δ, for adding or removing one row, of all that leaves the training.

    `share` is the chance of a row to be in an update, `noise` the noise multiplier: standard deviation over clip.
    """

    epsilon: float
    delta: float
    share: float
    steps: int
    noise: float


@dataclass(frozen=True, slots=True)
class PrivatePlan:
    """How a classifier is trained by DP-SGD.

    Training spends at most `epsilon`, or has the noise multiplier `noise` and spends what it does: one of both is None.
    `delta` is below 1 over the number of training rows (None: a hundredth of that). `epochs` are expected passes; each
    row is in each update by a coin of its own, `batch` rows in expectation. The gradient of each row is cut to the norm
    `clip`; steps are Adam's, at `rate`. Raises ValueError for what is out of range.
    """

    epsilon: float | None
    noise: float | None
    delta: float | None
    epochs: int
    batch: int
    clip: float
    rate: float

    def __post_init__(self) -> None:
        check_positive(self, "epochs", "batch")
        check_above(self, "epsilon", "noise", "delta", "clip", "rate")
        if (self.epsilon is None) == (self.noise is None):
            raise ValueError(f"epsilon is {self.epsilon} and noise is {self.noise}: expected a number for one of them "
                             "and none for the other")
        if self.delta is not None and self.delta >= 1.0:
            raise ValueError(f"delta is {self.delta:g}: expected a number below 1 / training rows")

    def budget(self, n: int) -> Budget:
        """What training on n rows spends; n counts as public.

        Raises UsageError where δ is 1 / n or more, which would allow a training that publishes a row, and for an
        `epsilon` that no noise reaches; MissingExtraError without Opacus.
        """
        delta = DELTA_ROWS / n if self.delta is None else self.delta
        if delta >= 1.0 / n:
            raise UsageError(f"delta is {delta:g} for {n:,} training rows: expected less than 1 / rows, {1.0 / n:.2g}; "
                             "give a lower delta, or none")
        share = min(1.0, self.batch / n)
        steps = ceil(self.epochs / share)
        noise = _noise_of(self.epsilon, delta, share, steps) if self.noise is None else self.noise
        return Budget(spent(noise, delta, share, steps), delta, share, steps, noise)


@lru_cache(maxsize=256)
def spent(noise: float, delta: float, share: float, steps: int) -> float:
    """The ε >= 0 at `delta` of so many updates."""
    with warnings.catch_warnings():
        # Opacus warns where another order of the divergence might give less; ε is an upper bound all the same.
        warnings.simplefilter("ignore")
        accountant = need_opacus("opacus.accountants").create_accountant(mechanism=ACCOUNTANT)
        accountant.history = [(noise, share, steps)]
        return max(0.0, float(accountant.get_epsilon(delta=delta)))


@lru_cache(maxsize=256)
def _noise_of(epsilon: float | None, delta: float, share: float, steps: int) -> float:
    """The noise multiplier that spends at most ε, and at least .99 ε."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(need_opacus("opacus.accountants.utils").get_noise_multiplier(
                target_epsilon=epsilon, target_delta=delta, sample_rate=share, steps=steps, accountant=ACCOUNTANT,
                epsilon_tolerance=0.01 * (epsilon or 1.0)))
        except ValueError:
            raise UsageError(f"epsilon is {epsilon:g} at delta {delta:.2g} over {steps:,} updates: no noise spends so "
                             "little; give a higher epsilon, or fewer epochs") from None


def train_private(parameters: Sequence[Tensor], gradients: Gradients, n: int, plan: PrivatePlan,
                  seeds: np.random.SeedSequence) -> dict[str, Any]:
    """Train parameters in place on n rows; the facts of the training.

    Coins and noise are drawn from children 1 and 2 of `seeds`; torch's generators are not touched. Raises UsageError
    where training diverges, and as `PrivatePlan.budget`.
    """
    torch, budget = need_torch(), plan.budget(n)
    coins = np.random.default_rng(child(seeds, 1))
    noise = torch.Generator(parameters[0].device).manual_seed(
        int(np.random.default_rng(child(seeds, 2)).integers(2**63)))
    with torch.inference_mode(False), torch.enable_grad():
        # A sum of gradients, and division by the expected number of rows: the drawn number is not public.
        optimizer = need_opacus("opacus.optimizers").DPOptimizer(
            torch.optim.Adam(parameters, lr=plan.rate), noise_multiplier=budget.noise, max_grad_norm=plan.clip,
            expected_batch_size=budget.share * n, generator=noise)
        for _ in range(budget.steps):
            chosen = np.flatnonzero(coins.random(n) < budget.share)
            found = gradients(chosen) if chosen.size else [one.new_zeros((0, *one.shape)) for one in parameters]
            for parameter, own in zip(parameters, found, strict=True):
                parameter.grad_sample = own.detach()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    for parameter in parameters:
        if not bool(torch.isfinite(parameter).all()):
            raise UsageError(f"training diverged with a learning rate of {plan.rate:g}: expected finite numbers; give "
                             "a lower rate")
    return {"steps": budget.steps, "best_step": budget.steps, "learning_rate": plan.rate, "epsilon": budget.epsilon,
            "delta": budget.delta, "noise_multiplier": budget.noise, "clip": plan.clip, "sample_rate": budget.share,
            "training_rows": n}


def fit_private(loss: Loss, start: Sequence[NDArray[Any]], rows: NDArray[Any], labels: IntArray, plan: PrivatePlan,
                seeds: np.random.SeedSequence) -> tuple[list[NDArray[np.float32]], dict[str, Any]]:
    """Parameters trained from `start` on rows (n, …) and labels (n,), and the facts; see `train_private`.

    On a GPU where there is one. On a CPU with a fixed number of threads the result is the same to the last byte.
    """
    torch = need_torch()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with torch.inference_mode(False), torch.enable_grad():
        inputs, wanted = torch.from_numpy(rows).to(device), torch.from_numpy(labels).to(device)
        parameters = [torch.from_numpy(one.astype(np.float32)).to(device).requires_grad_() for one in start]
        facts = train_private(parameters, record_gradients(loss, parameters, inputs, wanted), len(rows), plan, seeds)
    return [np.array(one.detach().cpu().numpy()) for one in parameters], facts


def record_gradients(loss: Loss, parameters: Sequence[Tensor], rows: Tensor, labels: Tensor) -> Gradients:
    """The gradients of a loss on tensors of rows and labels."""
    torch = need_torch()
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))

    def gradients(chosen: IntArray) -> Sequence[Tensor]:
        at = torch.from_numpy(chosen).to(rows.device)
        found: Sequence[Tensor] = each(tuple(one.detach() for one in parameters), rows[at], labels[at])
        return found

    return gradients


@dataclass(frozen=True)
class PrivateOptions:
    """A recipe that trains by DP-SGD: its options are the fields of `PrivatePlan`, among others."""

    # No slots here, so that it goes with a recipe that has some: those of these options are the recipe's.
    __slots__ = ()

    epsilon: float | None = 8.0
    noise: float | None = None
    delta: float | None = None
    epochs: int = 30
    batch: int = 128
    clip: float = 1.0
    rate: float = 0.01

    @property
    def plan(self) -> PrivatePlan:
        """How the classifier is trained. Raises ValueError for options out of range."""
        return PrivatePlan(**{one.name: getattr(self, one.name) for one in fields(PrivatePlan)})


def guarantee_of(facts: Mapping[str, Any]) -> tuple[float, float] | None:
    """ε and δ of a model, from its facts; None for one that was trained otherwise."""
    return (float(facts["epsilon"]), float(facts["delta"])) if "noise_multiplier" in facts else None
