"""Membership experiments: rows assigned to sets, models trained on some of them, the scores of all."""

from discreet.audit.experiments.membership.experiment import MembershipExperiment, audit_task
from discreet.audit.experiments.membership.training import score_table, training_record

__all__ = ["MembershipExperiment", "audit_task", "score_table", "training_record"]
