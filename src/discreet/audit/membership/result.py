"""What a membership audit returns: rows, controls and verdicts of every target, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.audit.core.verdict import Judgement, Word
from discreet.audit.membership.controls import Planted
from discreet.audit.membership.rows import AttackRow
from discreet.core.design import Design
from discreet.core.records import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class TargetAudit:
    """What was found about one target.

    Attributes
    ----------
    judgement : Judgement
    primary : AttackRow or None
    attacks : tuple of AttackRow
    planted : tuple of Planted
    controls : mapping of str to Estimate
        `blind_auc`, `detectable_auc`, and of the primary endpoint `placebo_auc`, `group_auc`, `ppv`, `epsilon_lower`
        and the same of the placebo: `placebo_group_auc`, `placebo_ppv`, `placebo_epsilon_lower`.
    utility : mapping
        See `discreet.audit.membership.utility.utility_of`.
    can, cannot : tuple of str
        What may be claimed and what may not.
    curves : tuple of mapping
        ROC curves of the rows without stratum.
    """

    target: str
    judgement: Judgement
    primary: AttackRow | None
    attacks: tuple[AttackRow, ...]
    planted: tuple[Planted, ...]
    controls: Mapping[str, Estimate]
    utility: Mapping[str, Any]
    can: tuple[str, ...]
    cannot: tuple[str, ...]
    curves: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the rows."""
        return {
            "target": self.target, "verdict": self.judgement.verdict, "reasons": list(self.judgement.reasons),
            "claims": {"can": list(self.can), "cannot": list(self.cannot)},
            "primary": None if self.primary is None else self.primary.to_json(),
            "controls": {**{name: one.to_json() for name, one in self.controls.items()},
                         "planted": [one.to_json() for one in self.planted]},
            "utility": _plain(self.utility), "curves": [dict(one) for one in self.curves],
        }


@dataclass(frozen=True, slots=True, eq=False)
class MembershipAudit:
    """A membership audit of all targets of a table.

    Attributes
    ----------
    verdict : "pass", "fail" or "inconclusive"
        "fail" if any target fails, else "inconclusive" if any is, else "pass".
    design : Design
    targets : tuple of TargetAudit
        In the order of the table.
    provenance : mapping
        Parameters, versions and the size of the table.
    """

    verdict: Word
    design: Design
    targets: tuple[TargetAudit, ...]
    provenance: Mapping[str, Any]

    @property
    def decisive(self) -> TargetAudit:
        """The first target with the audit's own verdict."""
        return next(one for one in self.targets if one.judgement.verdict == self.verdict)

    @property
    def attacks(self) -> tuple[AttackRow, ...]:
        """All rows of all targets."""
        return tuple(row for one in self.targets for row in one.attacks)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values. `primary`, `controls`, `utility`, `reasons` and `claims` are of the decisive
        target; `targets` has them for each."""
        decisive = self.decisive.to_json()
        return {
            "verdict": self.verdict, "design": self.design,
            **{name: decisive[name] for name in ("reasons", "claims", "primary")},
            "attacks": [row.to_json() for row in self.attacks],
            **{name: decisive[name] for name in ("controls", "utility")},
            "targets": [one.to_json() for one in self.targets], "provenance": dict(self.provenance),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return value.to_json() if hasattr(value, "to_json") else value
