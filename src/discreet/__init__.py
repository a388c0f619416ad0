"""discreet: find out what a classifier or a RAG answer gives away about people, and stop it.

Importing this package does nothing but define names: no network, no logging set-up, no thread or seed changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from discreet.audit.labels.audit import LabelAudit, audit_labels
    from discreet.audit.membership.audit import MembershipAudit, audit_membership
    from discreet.audit.membership.in_memory import audit_model
    from discreet.audit.membership.trainer_callback import AuditCallback
    from discreet.audit.scores.load import load_scores
    from discreet.audit.sealed.certificate import unseal
    from discreet.audit.sealed.sealing import seal
    from discreet.core.records import Answer, Estimate, Evidence, Verdict
    from discreet.guard.density.dual_density import DualDensity
    from discreet.guard.fit import fit_guard
    from discreet.guard.guard import Guard
    from discreet.guard.policy import Policy
    from discreet.guard.stress import stress_test

__all__ = ["Answer", "AuditCallback", "DualDensity", "Estimate", "Evidence", "Guard", "LabelAudit", "MembershipAudit",
           "Policy", "Verdict", "audit_labels", "audit_membership", "audit_model", "fit_guard", "load_scores", "seal",
           "stress_test", "unseal"]

HOMES = {
    "Answer": "discreet.core.records", "AuditCallback": "discreet.audit.membership.trainer_callback",
    "DualDensity": "discreet.guard.density.dual_density", "Estimate": "discreet.core.records",
    "Evidence": "discreet.core.records", "Guard": "discreet.guard.guard",
    "LabelAudit": "discreet.audit.labels.audit", "MembershipAudit": "discreet.audit.membership.audit",
    "Policy": "discreet.guard.policy", "Verdict": "discreet.core.records",
    "audit_labels": "discreet.audit.labels.audit", "audit_membership": "discreet.audit.membership.audit",
    "audit_model": "discreet.audit.membership.in_memory", "fit_guard": "discreet.guard.fit",
    "load_scores": "discreet.audit.scores.load", "seal": "discreet.audit.sealed.sealing",
    "stress_test": "discreet.guard.stress", "unseal": "discreet.audit.sealed.certificate",
}
__getattr__ = lazily(__name__, HOMES)
"""Public names are loaded when they are first asked for, so that `import discreet` costs nothing."""


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
