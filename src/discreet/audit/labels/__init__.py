"""Label audits: do a model's outputs give away the labels that it was trained on?

Before training, the labels of some examples, the *canaries*, are drawn again by chance, so that nothing but memory can
know them. *Held-out canaries* get labels drawn alike and are never trained on: what an attack gets right
about them is no memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.audit.labels.attacker_view import (
        Guesses,
        LabelAttack,
        LabelAttackFamily,
        Settings,
        View,
        all_attacks,
        label_attacks,
    )
    from discreet.audit.labels.audit import LabelAudit, audit_labels
    from discreet.audit.labels.bounds import canaries_needed, ceiling, ladder_bound, plan_canaries
    from discreet.audit.labels.conformance import conform, labels_needed
    from discreet.audit.labels.published_table import check_cells, read_cells
    from discreet.audit.labels.rows import LabelRow
    from discreet.audit.labels.verdict import ModelAudit

__all__ = ["Guesses", "LabelAttack", "LabelAttackFamily", "LabelAudit", "LabelRow", "ModelAudit", "Settings", "View",
           "all_attacks", "audit_labels", "canaries_needed", "ceiling", "check_cells", "conform", "label_attacks",
           "labels_needed", "ladder_bound", "plan_canaries", "read_cells"]
HOMES = {
    "Guesses": "discreet.audit.labels.attacker_view", "LabelAttack": "discreet.audit.labels.attacker_view",
    "LabelAttackFamily": "discreet.audit.labels.attacker_view", "LabelAudit": "discreet.audit.labels.audit",
    "LabelRow": "discreet.audit.labels.rows", "ModelAudit": "discreet.audit.labels.verdict",
    "Settings": "discreet.audit.labels.attacker_view", "View": "discreet.audit.labels.attacker_view",
    "all_attacks": "discreet.audit.labels.attacker_view", "audit_labels": "discreet.audit.labels.audit",
    "canaries_needed": "discreet.audit.labels.bounds", "ceiling": "discreet.audit.labels.bounds",
    "check_cells": "discreet.audit.labels.published_table", "conform": "discreet.audit.labels.conformance",
    "label_attacks": "discreet.audit.labels.attacker_view", "labels_needed": "discreet.audit.labels.conformance",
    "ladder_bound": "discreet.audit.labels.bounds", "plan_canaries": "discreet.audit.labels.bounds",
    "read_cells": "discreet.audit.labels.published_table",
}
__getattr__ = lazily(__name__, HOMES)
