"""Membership audits: do a model's outputs give away who was in its training set?

`audit_membership` judges a table of scores; the attacks, in `discreet.audit.membership.attacks`, and the selections are
functions of arrays that can be used alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.audit.membership.attack import Attack, References, View, target_view
    from discreet.audit.membership.audit import MembershipAudit, TargetAudit, audit_membership
    from discreet.audit.membership.diagnostics import diagnose
    from discreet.audit.membership.evaluation_sets import EvaluationSets, boundary, deciles
    from discreet.audit.membership.in_memory import audit_model
    from discreet.audit.membership.rows import Row, RowSpec

__all__ = ["Attack", "EvaluationSets", "MembershipAudit", "References", "Row", "RowSpec", "TargetAudit", "View",
           "audit_membership", "audit_model", "boundary", "deciles", "diagnose", "target_view"]
HOMES = {
    "Attack": "discreet.audit.membership.attack", "EvaluationSets": "discreet.audit.membership.evaluation_sets",
    "MembershipAudit": "discreet.audit.membership.audit", "References": "discreet.audit.membership.attack",
    "Row": "discreet.audit.membership.rows", "RowSpec": "discreet.audit.membership.rows",
    "TargetAudit": "discreet.audit.membership.audit", "View": "discreet.audit.membership.attack",
    "audit_membership": "discreet.audit.membership.audit", "audit_model": "discreet.audit.membership.in_memory",
    "boundary": "discreet.audit.membership.evaluation_sets", "deciles": "discreet.audit.membership.evaluation_sets",
    "diagnose": "discreet.audit.membership.diagnostics", "target_view": "discreet.audit.membership.attack",
}
__getattr__ = lazily(__name__, HOMES)
