"""What a label attack may look at, held by type; the rows that it is judged on; and the door that attacks come in by.

| access | receives | may it look at the canary label? |
|---|---|---|
| `outputs` | `View`: the target's outputs, and references with the labels that *they* drew | no |
| `privileged` | `PrivilegedView`: also the data set's own labels, of which the redraw left no trace | no |
| `oracle` | `OracleView`: also the very labels that it claims to infer | yes: printed as such, decides nothing |

None of the three is a kind of another: a `View` has nothing on it, nor behind it, that was made with the canary label,
save the outputs of the model that was trained on it. `CanaryRows` has everything and is never handed to an attack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from discreet.audit.scores.table import CANARY, CONTROL, TRAIN, UNKNOWN, ScoreTable
from discreet.core.errors import InputError
from discreet.core.registry import Registry
from discreet.core.types import BoolArray, FloatArray, IntArray

Access = Literal["outputs", "privileged", "oracle"]
LossLabels = Literal["predicted", "original", "canary", "trained"]
Truth = Literal["canary", "trained"]
"""Which label is inferred: the canary label ("canary" in records), or the label after the mechanism."""

ABSTAINED = -1
UNTRAINED = -1


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """R named models that the attacker trained, over the same n rows.

    Attributes
    ----------
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
    """n rows as an honest attacker sees them, canaries alone or held-out canaries alone.

    Attributes
    ----------
    log_p : (n, K) float array
        Log probabilities of the attacked model.
    references : References or None
        Over the same rows.
    pool : References or None
        The same references over all canaries and held-out ones: where an attack learns what is common to all rows.
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
    canary: IntArray
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


class LabelAttack:
    """One variant of an attack: on outputs alone and for any number of classes, unless it says otherwise."""

    name: ClassVar[str]

    @property
    def settings(self) -> Settings:
        """Name and settings of this variant; of a dataclass its fields."""
        found: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return Settings(self.name, **found)

    @property
    def access(self) -> Access:
        """What it may see, and so which of the three views `guess` is given."""
        return "outputs"

    @property
    def classes(self) -> int | None:
        """2 for an attack on two classes only."""
        return None

    @property
    def looks_at(self) -> Truth | None:
        """Of an oracle, which of the two labels it is shown; its guess for a row depends on no other row's label."""
        return None

    def needs(self, view: View) -> str | None:
        """Why this view does not suffice, in one clause that begins with "it" and ends a sentence; else None."""
        return None

    def guess(self, view: Any) -> Guesses:
        """A guess for each row of a `View`, `PrivilegedView` or `OracleView`, as `access` says."""
        raise NotImplementedError


class LabelAttackFamily(Protocol):
    """A named kind of attack: one file in `discreet.audit.labels.attacks`, or a plug-in's."""

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """The attacks of this family that a report prints for K classes; none where it has none for so many."""
        ...


@dataclass(frozen=True, slots=True)
class Family:
    """The variants that a function of K makes."""

    made: Callable[[int], Iterable[LabelAttack]]

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """See `LabelAttackFamily`."""
        return tuple(self.made(n_classes))


label_attacks: Registry[LabelAttackFamily] = Registry("label_attacks", builtin="discreet.audit.labels.attacks")


def all_attacks(n_classes: int) -> tuple[LabelAttack, ...]:
    """Every variant of every registered family for K classes, families in order of their names."""
    return tuple(attack for _, family in label_attacks.items() for attack in family.variants(n_classes))


@dataclass(frozen=True, slots=True, eq=False)
class CanaryRows:
    """n rows of one target, all canaries or all held-out canaries, as the auditor knows them.

    Attributes
    ----------
    rows : (n,) int array
        Their places in the table.
    original, canary, trained : (n,) int array
        Labels of the data set, after the redraw, and after the mechanism; `trained` is `UNKNOWN` where the table does
        not say.
    group : (n,) int array or None
    """

    rows: IntArray
    view: View
    original: IntArray
    canary: IntArray
    trained: IntArray
    group: IntArray | None = None

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.view.n_classes

    def truth(self, target: Truth) -> IntArray:
        """(n,) the labels that guesses are compared with. InputError where the table does not say what was trained."""
        unknown = int((self.trained == UNKNOWN).sum())
        if target == "trained" and unknown:
            raise InputError(f"'label_trained' is not known for {unknown:,} of {len(self):,} rows; give it, or infer "
                             f"the canary label instead")
        return self.canary if target == "canary" else self.trained

    def take(self, places: IntArray) -> CanaryRows:
        """The part at `places` (m,) of its n rows; references keep their pool."""
        found = self.view.references
        part = replace(self.view, log_p=self.view.log_p[places], references=None if found is None else References(
            found.names, found.log_p[:, places], found.label[:, places]))
        return CanaryRows(self.rows[places], part, self.original[places], self.canary[places], self.trained[places],
                          None if self.group is None else self.group[places])


def canary_rows(table: ScoreTable, target: int, *, held_out: bool = False, planted: int = 0) -> CanaryRows:
    """The canaries, or the held-out canaries, of the model in a row of the table. InputError where it has none.

    `planted`: canaries that stood so many times in training on purpose (0: those that were not planted).
    """
    canaries = table.canaries
    role = canaries.role[target]
    chosen = role == (CONTROL if held_out else CANARY)
    if not held_out:
        chosen &= canaries.planted[target] == planted
    rows = np.flatnonzero(chosen)
    if not rows.size:
        kind = "held-out canary" if held_out else f"canary planted {planted} times" if planted else "canary"
        raise InputError(f"model {table.models[target].name!r} has no {kind}; draw some, or leave this model out")
    models = table.label_references(target)
    drawn = np.flatnonzero((role == CANARY) | (role == CONTROL))
    view = View(table.log_p[target, rows, 0], _references(table, models, rows), _references(table, models, drawn))
    return CanaryRows(
        rows, view, table.examples.label[rows], canaries.label[target, rows], canaries.trained[target, rows],
        None if table.examples.group is None else table.examples.group[rows])


def _references(table: ScoreTable, models: Sequence[int], rows: IntArray) -> References | None:
    if not models:
        return None
    chosen = np.asarray(models)[:, None]
    role, trained = table.canaries.role[chosen, rows], table.canaries.trained[chosen, rows]
    # Soft labels have no one label that was trained on; the draw that they were made from stands for it.
    label = np.where(trained == UNKNOWN, table.canaries.label[chosen, rows], trained)
    inside = (role == CANARY) | (role == TRAIN)
    return References(tuple(table.models[place].name for place in models), table.log_p[chosen, rows, 0], np.where(
        inside, label, UNTRAINED))


def run(attack: LabelAttack, rows: CanaryRows) -> Guesses:
    """What the attack makes of what it may see. InputError as `require`."""
    require(attack, rows)
    if attack.access == "outputs":
        return attack.guess(rows.view)
    if attack.access == "privileged":
        return attack.guess(PrivilegedView(rows.view, rows.original))
    trained = rows.truth("trained") if attack.looks_at == "trained" else rows.trained
    return attack.guess(OracleView(rows.view, rows.canary, trained))


def require(attack: LabelAttack, rows: CanaryRows) -> None:
    """InputError, in one line, for an attack on two classes where there are more, and where what it needs is absent."""
    name = attack.settings.attack
    if attack.classes not in (None, rows.n_classes):
        raise InputError(f"{name!r} is an attack on {attack.classes} classes and the target has {rows.n_classes}; "
                         f"expected a binary target: make it one, or leave the attack out")
    if clause := attack.needs(rows.view):
        raise InputError(f"{name!r} cannot be run: {clause}; give that, or leave the attack out")
