"""What a label attack may look at, held by type, and the door that label attacks come in by.

| access | receives | may it look at the secret? |
|---|---|---|
| `outputs` | `View`: the target's outputs, and references with the labels that *they* drew | no |
| `privileged` | `PrivilegedView`: also the data set's own labels, of which the redraw left no trace | no |
| `oracle` | `OracleView`: also the very labels that it claims to infer | yes: printed as such, wins nothing |

None of the three is a kind of another: a `View` has nothing on it, nor behind it, that was made with the secret, save
the outputs of the model that was trained on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from discreet.core.registry import Registry
from discreet.core.types import BoolArray, FloatArray, IntArray

Access = Literal["outputs", "privileged", "oracle"]
LossLabels = Literal["predicted", "original", "secret", "trained"]
Looked = Literal["secret", "trained"]

ABSTAINED = -1
UNTRAINED = -1


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """R named models that the attacker trained, over the same n rows.

    Attributes
    ----------
    names : tuple of str, R of them
    log_p : (R, n, K) float array
    label : (R, n) int array
        The label with which *this reference* was trained on the row; `UNTRAINED` where it was not.
    """

    names: tuple[str, ...]
    log_p: FloatArray
    label: IntArray

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """n rows as an honest attacker sees them, canaries alone or placebos alone.

    Attributes
    ----------
    log_p : (n, K) float array
        Log probabilities of the attacked model.
    references : References or None
        Over the same rows.
    pool : References or None
        The same references over all canaries and placebos: where an attack learns what is common to all rows.
    """

    log_p: FloatArray
    references: References | None = None
    pool: References | None = None

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.log_p.shape[-1])

    def __len__(self) -> int:
        return len(self.log_p)


@dataclass(frozen=True, slots=True, eq=False)
class PrivilegedView:
    """A `View` and the data set's own labels, (n,)."""

    outputs: View
    original: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class OracleView:
    """A `View` and the labels that are to be inferred: after the redraw, (n,), and after the mechanism, (n,)."""

    outputs: View
    secret: IntArray
    trained: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """A guess for each of n rows.

    Attributes
    ----------
    label : (n,) int array
        In [0, K), or `ABSTAINED`.
    confidence : (n,) float array, finite
        Larger means surer; comparable between the rows of one attack. 0 where it abstained.
    """

    label: IntArray
    confidence: FloatArray

    @property
    def made(self) -> BoolArray:
        """(n,) where there is a guess."""
        return np.asarray(self.label != ABSTAINED, dtype=np.bool_)

    def correct(self, truth: IntArray) -> BoolArray:
        """(n,) where the guess is `truth` (n,); False where it abstained."""
        return np.asarray(self.made & (self.label == truth), dtype=np.bool_)

    def only(self, share: float) -> Guesses:
        """The surest `share` in [0, 1] of all n rows, the rest abstained; of equally sure ones the first."""
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share is {share}: expected a number from 0 to 1")
        order = np.argsort(np.where(self.made, -self.confidence, np.inf), kind="stable")
        out = order[int(np.ceil(share * order.size - 1e-9)):]
        label, confidence = self.label.copy(), self.confidence.copy()
        label[out], confidence[out] = ABSTAINED, 0.0
        return Guesses(label, confidence)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a row of the report says of an attack; None where it does not apply."""

    attack: str
    threshold: str | float | None = None
    margin: str | None = None
    alpha: float | None = None
    beta: float | None = None
    loss_labels: LossLabels | None = None
    fit: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As the attributes."""
        return asdict(self)


class _Attack(Protocol):
    """What all label attacks have.

    Attributes
    ----------
    settings : Settings
    classes : int or None
        2 for an attack on two classes only.
    """

    @property
    def settings(self) -> Settings:
        """As above."""
        ...

    @property
    def classes(self) -> int | None:
        """As above."""
        ...

    def needs(self, view: View) -> str | None:
        """Why this view does not suffice, in one clause that begins with "it" and ends a sentence; else None."""
        ...


class HonestAttack(_Attack, Protocol):
    """An attack on outputs alone."""

    @property
    def access(self) -> Literal["outputs"]:
        """"outputs"."""
        ...

    def guess(self, view: View) -> Guesses:
        """A guess for each row of `view`."""
        ...


class PrivilegedAttack(_Attack, Protocol):
    """An attack that uses labels which the secret does not determine."""

    @property
    def access(self) -> Literal["privileged"]:
        """"privileged"."""
        ...

    def guess(self, view: PrivilegedView) -> Guesses:
        """A guess for each row of `view`."""
        ...


class OracleAttack(_Attack, Protocol):
    """An attack that is shown what it claims to infer.

    Attributes
    ----------
    looks_at : "secret" or "trained"
        Which of the two. The guess for a row depends on no other row's.
    """

    @property
    def access(self) -> Literal["oracle"]:
        """"oracle"."""
        ...

    @property
    def looks_at(self) -> Looked:
        """As above."""
        ...

    def guess(self, view: OracleView) -> Guesses:
        """A guess for each row of `view`."""
        ...


LabelAttack: TypeAlias = HonestAttack | PrivilegedAttack | OracleAttack


class LabelAttackFamily(Protocol):
    """A named kind of attack: one file in `discreet.audit.labels.attacks`, or a plug-in's."""

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """The attacks of this family that a report prints for K classes; none where it has none for so many."""
        ...


label_attacks: Registry[LabelAttackFamily] = Registry("label_attacks", builtin="discreet.audit.labels.attacks")


def all_attacks(n_classes: int, families: Mapping[str, LabelAttackFamily] | None = None) -> tuple[LabelAttack, ...]:
    """Every variant of every family (or of those given) for K classes, families in order of their names."""
    chosen = dict(label_attacks.items()) if families is None else families
    return tuple(attack for _, family in sorted(chosen.items()) for attack in family.variants(n_classes))
