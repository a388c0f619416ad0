"""What a label mechanism is, what they share, and the door for plug-ins.

A label mechanism randomises the labels of a training set once, before training; what is then trained on them is
post-processing and costs nothing more. A mechanism is one file in this package: a subclass of
`LabelMechanism`, registered under its name with `@label_mechanisms.register("name")`.

A *prior* is what is known of the labels without those that are being randomised: one distribution over the K classes
for all examples, (K,), or one for each, (N, K), such as the softmax of a model that was trained on other labels. A
prior that has seen the labels at hand voids every ε here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, isnan, log
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from discreet.core.errors import UsageError
from discreet.core.registry import Registry
from discreet.core.types import FloatArray, IntArray
from discreet.stats.mechanisms.base import checked_logits, softmax

ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LabelMechanism:
    """What is done to labels 0 … K − 1 before anything is trained on them.

    Attributes
    ----------
    broken : bool
        Whether it claims an ε that it does not have; only reproductions and conformance tests accept such a one.
    takes_prior : "no", "optional" or "needed"
        Whether `apply` and `transition` make use of a prior.
    epsilon : float
        The ε that it claims, above 0; infinity for no noise. ValueError for others.
    n_classes : int
        K >= 2. ValueError for others.
    """

    epsilon: float
    n_classes: int

    broken: ClassVar[bool] = False
    takes_prior: ClassVar[str] = "no"

    def __post_init__(self) -> None:
        checked_epsilon(self.epsilon, self.n_classes)

    @classmethod
    def at(cls, epsilon: float, n_classes: int) -> Self:
        """The mechanism for K classes that claims this ε. ValueError for an ε that is not above 0, or K < 2."""
        return cls(*checked_epsilon(epsilon, n_classes))

    def apply(self, labels: ArrayLike, rng: Generator, prior: ArrayLike | None = None) -> IntArray:
        """The labels (N,) to train on: every label drawn once, independently of all others."""
        raise NotImplementedError

    def transition(self, prior: ArrayLike | None = None) -> FloatArray | None:
        """P(released = column | label = row), (K, K); None where it is not known in closed form.

        ValueError for a prior per example: each example then has its own matrix.
        """
        return None

    def should_stay(self, labels: ArrayLike, prior: ArrayLike | None = None) -> FloatArray | None:
        """The chance with which each label is released as it is if `epsilon` is held, (N,); None as for `transition`.

        A conformance check holds observed flips against it. Here that of K-ary randomised response.
        """
        size = checked_labels(labels, self.n_classes).size
        return np.full(size, truth_probability(self.epsilon, self.n_classes))

    def exact_epsilon(self, prior: ArrayLike | None = None) -> float:
        """The least ε that holds for what is released; it may differ from `epsilon`, which is what is claimed."""
        return self.epsilon


@runtime_checkable
class SoftLabelMechanism(Protocol):
    """A label mechanism that releases numbers, from which a trainer makes new soft labels whenever its prior improves.

    `observe` is called once for a training set; the privacy is spent there. `posterior` may be called at will.
    """

    def observe(self, labels: ArrayLike, rng: Generator) -> FloatArray:
        """What is released of the labels, (N, K)."""
        ...

    def posterior(self, observed: ArrayLike, prior: ArrayLike | None = None) -> FloatArray:
        """P(label | observed), (N, K), rows that sum to 1; a prior that is None is uniform."""
        ...


label_mechanisms: Registry[type[LabelMechanism]] = Registry(
    "label_mechanisms", builtin="discreet.stats.mechanisms.labels", classes=True)
"""Label mechanisms by name: classes, built with `at`."""


def label_mechanism(name: str, epsilon: float, n_classes: int, *, allow_broken: bool = False) -> LabelMechanism:
    """The mechanism `name` at `epsilon`; the one door for commands.

    UsageError for an unknown name, for an ε that is not above 0, for fewer than 2 classes, and for a mechanism that
    is broken on purpose unless `allow_broken`.
    """
    if not allow_broken:
        sound = [other for other, one in label_mechanisms.items() if not one.broken]
        if name not in sound:
            why = (f"the label mechanism {name!r} is broken on purpose and serves reproductions only"
                   if name in label_mechanisms else f"no label mechanism is called {name!r}")
            raise UsageError(f"{why}: expected one of {', '.join(sound)}")
    try:
        return label_mechanisms[name].at(epsilon, n_classes)
    except ValueError as error:
        raise UsageError(f"label mechanism {name!r}: {error}") from None


def truth_probability(epsilon: float, n_classes: int) -> float:
    """e^ε / (e^ε + K − 1): how often K-ary randomised response tells the truth (Ghazi et al. 2021, section 2)."""
    return 1.0 / (1.0 + (n_classes - 1) * exp(-epsilon))


def symmetric(truth: float, n_classes: int) -> FloatArray:
    """(K, K) with `truth` on the diagonal and the rest of each row in equal parts elsewhere."""
    matrix = np.full((n_classes, n_classes), (1.0 - truth) / (n_classes - 1))
    np.fill_diagonal(matrix, truth)
    return matrix


def epsilon_of(matrix: ArrayLike) -> float:
    """Exact pure ε of a transition matrix (A inputs, B outputs), rows of which sum to 1.

    The largest log ratio between two inputs of the chance of one output, >= 0; infinity where one input can give an
    output that another cannot. Columns that no input gives do not count.
    """
    given = np.asarray(matrix, dtype=np.float64)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(f"matrix has shape {given.shape}: expected (inputs, outputs)")
    if not (given >= 0.0).all() or not np.isfinite(given).all():
        raise ValueError("matrix holds a negative number, NaN or infinity: expected chances")
    sums = given.sum(axis=1)
    if np.abs(sums - 1.0).max() > ROW_SUM_TOLERANCE * max(1, given.shape[1]):
        row = int(np.abs(sums - 1.0).argmax())
        raise ValueError(f"row {row} of the matrix sums to {sums[row]:.12g}: expected 1, rows are inputs")
    most, least = given.max(axis=0), given.min(axis=0)
    used = most > 0.0
    if (least[used] == 0.0).any():
        return inf
    # Of logarithms, since a quotient of chances may overflow.
    return float(np.max(np.log(most[used]) - np.log(least[used])))


def checked_epsilon(epsilon: float, n_classes: int) -> tuple[float, int]:
    """ε above 0 (infinity means no noise) and a whole K >= 2. ValueError for others."""
    if isnan(epsilon) or epsilon <= 0.0:
        raise ValueError(f"epsilon is {epsilon:g}: expected a number above 0, or inf for no noise")
    if n_classes != int(n_classes) or n_classes < 2:
        raise ValueError(f"n_classes is {n_classes}: expected a whole number, at least 2")
    return float(epsilon), int(n_classes)


def checked_labels(labels: ArrayLike, n_classes: int) -> IntArray:
    """Labels (N,) as int64. ValueError for another shape, or for what is not a whole number from 0 to K − 1."""
    given = np.asarray(labels)
    if given.ndim != 1:
        raise ValueError(f"labels have shape {given.shape}: expected (N,)")
    if given.size and given.dtype.kind not in "biuf":
        raise ValueError(f"labels hold values of type {given.dtype}: expected whole numbers from 0 to {n_classes - 1}")
    # Written so that NaN is odd too.
    odd = np.flatnonzero(~((given >= 0) & (given < n_classes) & (given == np.floor(given))))
    if odd.size:
        raise ValueError(f"labels[{odd[0]}] is {given[odd[0]]} ({odd.size} such): expected whole numbers from 0 to "
                         f"{n_classes - 1}")
    return given.astype(np.int64)


def checked_prior(prior: ArrayLike | None, n_classes: int, n: int | None = None) -> FloatArray | None:
    """A prior (K,) or (N, K) divided by its sums, as float64; None as it is. Without `n` examples only (K,) is one.

    ValueError for another shape, for negative or infinite weights, and for weights that are all 0.
    """
    if prior is None:
        return None
    given = np.asarray(prior, dtype=np.float64)
    expected: list[tuple[int, ...]] = [(n_classes,)] if n is None else [(n_classes,), (n, n_classes)]
    if given.shape not in expected:
        raise ValueError(f"prior has shape {given.shape}: expected {' or '.join(map(str, expected))}")
    if not (given >= 0.0).all() or not np.isfinite(given).all():
        raise ValueError("prior holds a negative number, NaN or infinity: expected weights of the classes")
    sums = given.sum(axis=-1, keepdims=True)
    if (sums == 0.0).any():
        raise ValueError("prior is 0 for every class of an example: expected at least one class that can be")
    return np.asarray(given / sums, dtype=np.float64)


def epsilon_of_truth(rate: float, n_classes: int) -> float:
    """The ε at which `truth_probability` is `rate`: ln((K − 1) rate / (1 − rate)), 0 at rates of 1 / K and below."""
    if rate >= 1.0:
        return inf
    if rate * n_classes <= 1.0:
        return 0.0
    return log(n_classes - 1) + log(rate) - log(1.0 - rate)


def stage_parts(n: int, rng: Generator, n_stages: int = 2) -> tuple[IntArray, ...]:
    """Rows 0 … n − 1 in `n_stages` disjoint random parts of equal size, give or take one; rising within a part.

    For multi-stage training, LP-MST (Ghazi et al. 2021, Algorithm 3), of which LP-2ST has two stages: labels of the
    first part are randomised without a prior; a model trained on them gives the prior of the second part
    (`prior_of_logits`), and so on. Each label is randomised once, so that the ε of the whole is that of a stage.
    ValueError for fewer rows than stages, or no stage.
    """
    if not 1 <= n_stages <= n:
        raise ValueError(f"{n_stages} stages of {n} rows: expected at least one stage, and a row for each")
    return tuple(np.sort(part) for part in np.array_split(rng.permutation(n), n_stages))


def prior_of_logits(logits: ArrayLike, temperature: float = 1.0) -> FloatArray:
    """softmax(logits / temperature), (N, K): the prior that an earlier stage's model gives. `temperature` > 0.

    The model must not have seen the labels that are to be randomised under this prior.
    """
    if not (np.isfinite(temperature) and temperature > 0.0):
        raise ValueError(f"temperature is {temperature:g}: expected a finite number above 0")
    return softmax(checked_logits(np.asarray(logits, dtype=np.float64)) / temperature)
