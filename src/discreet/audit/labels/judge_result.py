"""What a label audit returns, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.audit.core.verdict import Judgement, Word
from discreet.audit.labels.access import Truth
from discreet.audit.labels.conformance import epsilon_json
from discreet.audit.labels.judge_facts import ConformanceRow, plain
from discreet.audit.labels.judge_planted import Planted
from discreet.audit.labels.judge_rows import LabelRow
from discreet.core.records import Estimate
from discreet.scores.table import Model


@dataclass(frozen=True, slots=True, eq=False)
class ModelAudit:
    """What was found about one target.

    Attributes
    ----------
    rows : tuple of LabelRow
        After Holm over all models.
    planted : tuple of Planted
    utility : mapping
        See `discreet.audit.labels.judge_facts.utility_of`.
    epsilon_lower : Estimate
        What all attacks on outputs prove together, at 95%.
    exposure : mapping of str to Estimate
        Of "canary" and of "placebo".
    memorisation : mapping of Truth to Estimate
        Mean Feldman–Zhang score of canaries at either label.
    histogram : mapping
        See `discreet.audit.labels.judge_facts.histogram_of`.
    can, cannot : tuple of str
        What may be claimed and what may not.
    """

    model: Model
    judgement: Judgement
    rows: tuple[LabelRow, ...]
    planted: tuple[Planted, ...]
    conformance: ConformanceRow
    utility: Mapping[str, Any]
    epsilon_lower: Estimate
    exposure: Mapping[str, Estimate]
    memorisation: Mapping[Truth, Estimate]
    histogram: Mapping[str, Any]
    can: tuple[str, ...]
    cannot: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the rows."""
        return {
            "target": self.model.name, "mechanism": self.model.mechanism, "epsilon": epsilon_json(self.model.epsilon),
            "seed": self.model.seed, "verdict": self.judgement.verdict, "reasons": list(self.judgement.reasons),
            "claims": {"can": list(self.can), "cannot": list(self.cannot)}, "planted": plain(self.planted),
            "conformance": self.conformance.to_json(), "utility": plain(self.utility),
            "epsilon_lower": self.epsilon_lower.to_json(), "exposure": plain(self.exposure),
            "memorisation": plain(self.memorisation), "histogram": plain(self.histogram),
        }


@dataclass(frozen=True, slots=True, eq=False)
class LabelAudit:
    """A label audit of all targets of a table, in its order.

    Attributes
    ----------
    verdict : "pass", "fail" or "inconclusive"
        "fail" if any target fails, else "inconclusive" if any is, else "pass".
    """

    verdict: Word
    models: tuple[ModelAudit, ...]
    provenance: Mapping[str, Any]

    @property
    def decisive(self) -> ModelAudit:
        """Of the targets with the audit's own verdict the one whose attacks come nearest to a finding."""
        return min((one for one in self.models if one.judgement.verdict == self.verdict), key=_least_p)

    @property
    def rows(self) -> tuple[LabelRow, ...]:
        """All rows of all targets."""
        return tuple(row for one in self.models for row in one.rows)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values. `reasons`, `claims` and `utility` are of the decisive target; `targets` has all.
        """
        decisive = self.decisive.to_json()
        return {
            "verdict": self.verdict, "decisive": decisive["target"], "reasons": decisive["reasons"],
            "claims": decisive["claims"],
            "attacks": [row.to_json() for row in self.rows], "utility": decisive["utility"],
            "conformance": [one.conformance.to_json() for one in self.models],
            "targets": [one.to_json() for one in self.models], "provenance": dict(self.provenance),
        }


def _least_p(one: ModelAudit) -> float:
    return min((row.difference_p for row in one.rows if row.decides and not row.vetoed
                and row.difference_p is not None), default=1.0)
