"""What every audit shares: power, units and resampling, max-T, verdict, claims, record, simulated tables."""

from __future__ import annotations

from discreet.audit.core.max_t import PermutedRow, max_t
from discreet.audit.core.power import detectable_auc, planted_needed, power_of, ppv_at
from discreet.audit.core.record import Audit
from discreet.audit.core.resampling import Units, joint_tpr
from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.core.verdict import Claims, Judgement, Planted, Reason

__all__ = [
    "Audit", "Claims", "Judgement", "PermutedRow", "Planted", "Reason", "Units", "World", "detectable_auc",
    "joint_tpr", "max_t", "planted_needed", "power_of", "ppv_at", "simulated_table",
]
