"""Which rows were fixed before any score was read: the primary endpoint, and the paper's own figure."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.audit.membership.plan import Plan
from discreet.audit.membership.scored import Scored
from discreet.audit.membership.view import Scale
from discreet.scores.table import ReferenceKind

PRIMARY: tuple[tuple[str, Scale, ReferenceKind | None], ...] = (
    ("reference", "logit", "neutral"), ("reference", "logit", "population"), ("loss", "logit", None),
    ("loss", "p", None),
)
"""In order: the first that the table allows, global, against non-members that nobody trained on."""


def primary_scored(scored: Sequence[Scored]) -> Scored | None:
    """The scores of the primary endpoint, or None where neither a ratio nor a loss could be computed."""
    for attack, scale, kind in PRIMARY:
        for one in scored:
            if (one.attack, one.scale, one.kind) == (attack, scale, kind) and one.target is not None:
                return one
    return None


def is_primary(plan: Plan, chosen: Scored) -> bool:
    """Whether this is the row of the primary endpoint."""
    asked = plan.asked
    return plan.scored is chosen and asked.selection == "global" and asked.whole and asked.nonmembers == "clean"


def is_paper(plan: Plan) -> bool:
    """Whether this is the paper's figure: its section 4.3 ratio, paired, global, on what the reference trained on."""
    asked = plan.asked
    return (asked.attack, asked.scale, asked.reference_kind) == ("reference", "p", "paired") and asked.whole \
        and asked.selection == "global" and asked.nonmembers == "reference_train"
