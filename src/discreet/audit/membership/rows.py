"""One row of the report: an attack, whom it was tried on, and what came out beside its placebo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.audit.membership.evaluation_sets import NonMembers
from discreet.audit.membership.view import Access, Scale
from discreet.core.records import Estimate
from discreet.scores.table import ReferenceKind

Selection = Literal["global", "boundary", "boundary_union"]
"""All rows; the boundary of members and non-members apart (the paper's text); of both together (its code)."""

STRATA: tuple[str, ...] = ("label", "structure", "category", "decile")
"""What a row may be restricted to. Direction, regime and seed are facts of the target and stand in every row."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a row asks, before any figure.

    Attributes
    ----------
    attack, scale, reference_kind
        The attack, the scale of its score, and the references that it used.
    selection, n
        Which rows: n a label, None where the selection has no size.
    nonmembers : "clean" or "reference_train"
        Who the non-members are: only "clean" ones can decide a verdict.
    label, structure, category, decile, decile_by
        The stratum, None where the row is not restricted. `decile` 0 … 9, by "selector" (P_S) or "target".
    target, target_structure, direction, regime, seed
        The target and its facts, None where the table does not give them. `target_structure` is the one structure of
        all its inputs; a pooled model has none, and `structure` then splits its examples.
    """

    attack: str
    scale: Scale
    reference_kind: ReferenceKind | None
    selection: Selection = "global"
    n: int | None = None
    nonmembers: NonMembers = "clean"
    label: int | None = None
    structure: str | None = None
    category: str | None = None
    decile: int | None = None
    decile_by: Literal["selector", "target"] | None = None
    target: str = ""
    target_structure: str | None = None
    direction: str | None = None
    regime: str | None = None
    seed: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the row is not restricted to a stratum."""
        return all(getattr(self, name) is None for name in STRATA)

    @property
    def oracle(self) -> bool:
        """Whether the references were trained on the very non-members in question, or on a paired side."""
        return self.reference_kind == "paired" or self.nonmembers == "reference_train"

    @property
    def access(self) -> Access:
        """What the attacker needs: "oracle" with a paired reference, else "outputs"."""
        return "oracle" if self.reference_kind == "paired" else "outputs"


@dataclass(frozen=True, slots=True)
class AttackRow:
    """A row with its figures.

    Attributes
    ----------
    asked : Asked
    n_members, n_nonmembers : int
        Examples judged.
    auc, tpr_at_1pct_fpr, tpr_at_5pct_fpr : Estimate
        Of the target, in [0, 1].
    placebo_auc : Estimate
        The same attack, references, selection and rows, with the placebo's answers in the target's place.
    difference : mapping of str to Estimate
        Target less placebo on the same rows, in [-1, 1]: `auc` (DeLong's paired interval) and, for rows without a
        stratum, `tpr_at_1pct_fpr`, `tpr_at_5pct_fpr` (paired bootstrap).
    null_p : Estimate
        Family-wise p of max-T permutation; value only.
    null_band : (float, float) or None
        Where 95% of the AUCs lay when membership was dealt anew.
    """

    asked: Asked
    n_members: int
    n_nonmembers: int
    auc: Estimate
    tpr_at_1pct_fpr: Estimate
    tpr_at_5pct_fpr: Estimate
    placebo_auc: Estimate
    difference: Mapping[str, Estimate] = field(default_factory=dict)
    null_p: Estimate = field(default_factory=lambda: Estimate.unresolved("no permutations were asked for"))
    null_band: tuple[float, float] | None = None

    @property
    def uncontrolled(self) -> bool:
        """Whether no placebo stands beside the row: such a row cannot pass."""
        return not self.placebo_auc.resolved

    def to_json(self) -> dict[str, Any]:
        """The keys of the report; plain values."""
        asked = self.asked
        return {
            "attack": asked.attack, "scale": asked.scale, "reference_kind": asked.reference_kind,
            "selection": asked.selection, "n": asked.n, "label": asked.label, "direction": asked.direction,
            "regime": asked.regime, "structure": asked.structure or asked.target_structure, "category": asked.category,
            "decile": asked.decile, "seed": asked.seed, "n_members": self.n_members,
            "n_nonmembers": self.n_nonmembers, "auc": self.auc.to_json(),
            "tpr_at_1pct_fpr": self.tpr_at_1pct_fpr.to_json(), "tpr_at_5pct_fpr": self.tpr_at_5pct_fpr.to_json(),
            "placebo_auc": self.placebo_auc.to_json(), "null_p": self.null_p.to_json(), "oracle": asked.oracle,
            "access": asked.access, "nonmembers": asked.nonmembers, "target": asked.target,
            "decile_by": asked.decile_by, "uncontrolled": self.uncontrolled,
            "difference": {name: estimate.to_json() for name, estimate in self.difference.items()},
            "null_band": None if self.null_band is None else list(self.null_band),
        }
