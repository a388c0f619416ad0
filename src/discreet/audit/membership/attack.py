"""What a membership attack may look at, how an attack is registered, and the scores of all attacks on a target.

An attack never receives the target's membership: it cannot use, not even by accident, what it claims to infer.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.random import Generator

from discreet.audit.membership.evaluation_sets import EvaluationSets
from discreet.audit.scores.signals import Signal, per_model, query_mean, true_log_p
from discreet.audit.scores.table import MemberArray, ReferenceKind, ScoreTable
from discreet.core.registry import Registry
from discreet.core.types import BoolArray, FloatArray, IntArray

Scale = Literal["p", "logit"]
PRIMARY: tuple[tuple[str, Scale, ReferenceKind | None], ...] = (("reference", "logit", "neutral"),
                                                                ("reference", "logit", "population"),
                                                                ("loss", "logit", None), ("loss", "p", None))
"""The primary endpoint: the first of these that the table allows, global, against clean non-members."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """R reference models over the same N examples: `log_p` (R, N, Q, K), and `member` (R, N), the *references'* own
    membership, which the attacker knows: it trained them. `checkpoints` (R, N, T) are as of `View`, for as many as the
    target has; None where some reference has another number."""

    log_p: FloatArray
    member: MemberArray
    checkpoints: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.log_p)

    def of(self, signal: Signal, label: IntArray) -> FloatArray:
        """A signal of every reference, (R, N, Q)."""
        return per_model(signal, self.log_p, label)

    def inside(self) -> BoolArray:
        """(R, N) was this reference trained on this example, as far as the table says?"""
        return np.asarray(self.member == 1, dtype=np.bool_)

    def outside(self, kind: ReferenceKind) -> BoolArray:
        """(R, N) may this reference stand for a model that was not trained on this example?

        "population" and "neutral": only where the table says so; a null says nothing. "paired": everywhere; that
        reference *is* trained on the non-members, which is what makes the paper's attack an oracle.
        """
        return np.asarray((self.member == 0) | (kind == "paired"), dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """N candidates as the attacker sees them.

    Attributes
    ----------
    target : (N, Q, K) float array
        Log probabilities of the attacked model.
    label : (N,) int array
        True class of each candidate, in [0, K).
    references : mapping of ReferenceKind to References
    population : (Z,) int array
        Rows that the attacker may use as a population: known non-members, never judged. May be empty.
    judged : (J,) int array
        Rows that will be judged; an attack that fits anything fits it on other rows.
    steadiness : (N,) float array or None
        Share of a candidate and its perturbed copies that the attacked model gives their true class, in [0, 1].
    checkpoints : (N, T) float array or None
        log p_y of a candidate by each checkpoint of the attacked model's training, mean over queries.
    """

    target: FloatArray
    label: IntArray
    references: Mapping[ReferenceKind, References]
    population: IntArray
    judged: IntArray
    steadiness: FloatArray | None = None
    checkpoints: FloatArray | None = None
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def answered_by(self, log_p: FloatArray, steadiness: FloatArray | None = None,
                    checkpoints: FloatArray | None = None) -> View:
        """The same view of another model's answers, (N, Q, K): what was learned from the references still holds."""
        other = replace(self, target=log_p, steadiness=steadiness, checkpoints=checkpoints)
        object.__setattr__(other, "_kept", self._kept)
        return other

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What `make` returned when first called for `key`: what an attack learns without the target's answers, the
        same for the target, its control model and every draw of a defence."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found


class Attack(ABC):
    """A membership attack: a score per candidate, higher means "was in the training set".

    A subclass states what it needs in the attributes and computes in `score`; callers call `scores`.

    Attributes
    ----------
    scales : tuple of "p" and "logit"
        The scales that it has; each gives rows of the report.
    kinds : tuple of ReferenceKind or None
        The reference kinds that it can work with; (None,) for one that needs no reference.
    n_in, n_out : int
        References that a candidate needs that trained on it, and that did not.
    reads_others : bool
        Whether it looks at rows that are not judged, such as a population.
    title : str
        What reports call it; its name if empty.
    label_free : bool
        Whether its scores are the same whatever the true classes are.
    """

    scales: ClassVar[tuple[Scale, ...]] = ("p",)
    kinds: ClassVar[tuple[ReferenceKind | None, ...]] = (None,)
    n_in: ClassVar[int] = 0
    n_out: ClassVar[int] = 0
    reads_others: ClassVar[bool] = False
    title: ClassVar[str] = ""
    label_free: ClassVar[bool] = False

    @abstractmethod
    def score(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores of a view that suffices, NaN where a candidate cannot be scored. `rng` for attacks that draw."""

    def requirements(self, view: View, kind: ReferenceKind | None) -> str | None:
        """What this view lacks, in one clause that ends a sentence, or None if it suffices.

        One judged candidate that has the references it needs is enough, the others are NaN; where nothing is judged,
        any candidate counts.
        """
        if kind not in self.kinds:
            able = " or ".join(str(one) for one in self.kinds if one is not None) or "no"
            return f"it works with {able} references and was asked for {kind or 'none'}"
        if kind is None:
            return None
        if kind not in view.references or not len(view.references[kind]):
            return f"it needs {kind} references and there are none"
        references, judged = view.references[kind], view.judged if view.judged.size else slice(None)
        enough = (references.inside().sum(axis=0)[judged] >= self.n_in) & (
            references.outside(kind).sum(axis=0)[judged] >= self.n_out)
        if enough.any() or not (self.n_in or self.n_out):
            return None
        asked = " and ".join(f"{least} {words}" for least, words in (
            (self.n_in, "that trained on it"), (self.n_out, "that did not train on it")) if least)
        return f"it needs, of the {kind} references of an example, at least {asked}, and no judged example has them"

    def able(self, view: View) -> list[ReferenceKind | None]:
        """The reference kinds with which it can run on a view."""
        return [kind for kind in self.kinds if self.requirements(view, kind) is None]

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores, NaN where a candidate cannot be scored.

        ValueError for a scale that the attack does not have, or a view that does not suffice; see `requirements`.
        """
        if scale not in self.scales:
            raise ValueError(f"scale is {scale!r}: expected one of {', '.join(self.scales)}")
        clause = self.requirements(view, kind)
        if clause is not None:
            raise ValueError(f"this attack cannot be run on this view: {clause}")
        return self.score(view, scale, kind, rng)


attacks: Registry[Attack] = Registry("attacks", builtin="discreet.audit.membership.attacks")
"""All membership attacks by name; `@attacks.register("name")` on a subclass of `Attack` adds one."""


def attack_facts(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What a record says of its attacks, by name: how reports call each, and whether it sees no label."""
    found = {name: attacks[name] for name in names}
    return {name: {"attack_title": one.title or name.replace("_", " "), "label_free": one.label_free}
            for name, one in found.items()}


def attacks_left_out(names: Sequence[str] | None) -> dict[str, list[str]]:
    """The attacks that are not among those that were picked, for a record; nothing where all were run."""
    left_out = [] if names is None else [name for name in attacks if name not in names]
    return {"attacks_left_out": left_out} if left_out else {}


def target_view(table: ScoreTable, sets: EvaluationSets) -> View:
    """What the attacker sees of the target: every row of the table, in its order."""
    references: dict[ReferenceKind, References] = {}
    own = checkpoints_of(table, sets.target)
    for kind, models in sets.references.items():
        # The same rows as a slice where they are neighbours: 64 models need then no copy.
        first, end = models[0], models[-1] + 1
        rows = slice(first, end) if models == tuple(range(first, end)) else list(models)
        before = [] if own is None else [checkpoints_of(table, model) for model in models]
        alike = [one for one in before if one is not None and own is not None and one.shape == own.shape]
        references[kind] = References(table.log_p[rows], table.member[rows],
                                      np.stack(alike) if len(alike) == len(models) else None)
    return View(table.log_p[sets.target], table.examples.label, references, sets.population, sets.judged,
                _steadiness(table, sets.target), own)


def checkpoints_of(table: ScoreTable, row: int) -> FloatArray | None:
    """(N, T) log p_y by the checkpoints of a model, in the order of the table; None without any."""
    label, rows = table.examples.label, table.checkpoints(row)
    return np.column_stack([query_mean(true_log_p(table.log_p[one], label)) for one in rows]) if rows else None


def _steadiness(table: ScoreTable, row: int) -> FloatArray | None:
    return None if table.steadiness is None else table.steadiness[row]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """An attack's scores of all N examples, of the target and of its control model (None without one), NaN where an
    example could not be scored; or, where the attack could not run, the reason and no scores."""

    attack: str
    scale: Scale
    kind: ReferenceKind | None
    target: FloatArray | None
    control: FloatArray | None = None
    reason: str | None = None


def score_all(table: ScoreTable, sets: EvaluationSets, *, seed: int,
              names: Sequence[str] | None = None) -> list[Scores]:
    """Run the attacks called `names` (all registered ones if None) in all their scales and reference kinds.

    Target and control model get equal generators, so that an attack that draws treats both alike. An attack that
    cannot run with any kind comes back once, with the reason.
    """
    view = target_view(table, sets)
    views = (view, None if sets.control is None else view.answered_by(
        table.log_p[sets.control], _steadiness(table, sets.control), checkpoints_of(table, sets.control)))
    found: list[Scores] = []
    runs: list[tuple[str, Scale, ReferenceKind | None]] = []
    for name in attacks if names is None else names:
        attack = attacks[name]
        able = attack.able(view)
        if not able:
            kind = next((kind for kind in attack.kinds if kind in view.references), attack.kinds[0])
            found += [Scores(name, scale, kind, None, None, f"{name} cannot run: {attack.requirements(view, kind)}")
                      for scale in attack.scales]
        runs += [(name, scale, kind) for kind in able for scale in attack.scales]

    def run(name: str, scale: Scale, kind: ReferenceKind | None) -> Scores:
        # Each run has a generator of its own, so that working two at a time cannot change what it draws.
        key = (seed, zlib.crc32(f"{name}/{scale}/{kind}".encode()))
        target, control = (
            None if one is None or attacks[name].requirements(one, kind) else
            attacks[name].scores(one, scale, kind, np.random.default_rng(key)) for one in views)
        return Scores(name, scale, kind, target, control)

    with ThreadPoolExecutor(2) as pool:
        found += pool.map(lambda one: run(*one), runs)
    return sorted(found, key=lambda one: one.attack)


def primary_scores(scores: Sequence[Scores]) -> Scores | None:
    """The scores of the primary endpoint, or None where neither a ratio nor a loss could be computed."""
    return next((one for asked in PRIMARY for one in scores
                 if (one.attack, one.scale, one.kind) == asked and one.target is not None), None)
