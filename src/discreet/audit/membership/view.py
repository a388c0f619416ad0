"""What an attacker sees, and the door that attacks come in by.

An attack never receives the target's membership: it cannot use, not even by accident, what it claims to infer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from numpy.random import Generator

from discreet.core.registry import Registry
from discreet.core.types import FloatArray, IntArray
from discreet.scores.table import MemberArray, ReferenceKind

Scale = Literal["p", "logit"]
Access = Literal["outputs", "privileged", "oracle"]


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """R reference models over the same N rows.

    Attributes
    ----------
    log_p : (R, N, Q, K) float array
    member : (R, N) int8 array
        The *references'* own membership, which the attacker knows: it trained them.
    """

    log_p: FloatArray
    member: MemberArray


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
        What was brought of each kind.
    population : (Z,) int array
        Rows of `target` that the attacker may use as a population: known non-members, never judged. May be empty.
    judged : (J,) int array
        Rows that will be judged; an attack that fits anything fits it on other rows.
    """

    target: FloatArray
    label: IntArray
    references: Mapping[ReferenceKind, References]
    population: IntArray
    judged: IntArray


class Attack(Protocol):
    """A membership attack: a score per candidate, higher means "was in the training set".

    Attributes
    ----------
    scales : tuple of "p" and "logit"
        The scales that it has; a row of the report each.
    kinds : tuple of ReferenceKind or None
        The reference kinds that it can work with; (None,) for one that needs no reference.
    """

    scales: tuple[Scale, ...]
    kinds: tuple[ReferenceKind | None, ...]

    def needs(self, view: View, kind: ReferenceKind | None) -> str | None:
        """Why this view does not suffice, in one clause that ends a sentence, or None if it does."""

    def scores(self, view: View, scale: Scale, kind: ReferenceKind | None, rng: Generator) -> FloatArray:
        """(N,) scores, NaN where this attack cannot score a row. `rng` for attacks that draw."""


attacks: Registry[Attack] = Registry("attacks", builtin="discreet.audit.membership.attacks")
