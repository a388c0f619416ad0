"""Label experiments: canaries assigned, labels randomised, models trained, the scores of all."""

from discreet.audit.experiments.labels.experiment import NONE, LabelExperiment, arms_of, joined, training_record
from discreet.audit.experiments.labels.steps import Arm

__all__ = ["NONE", "Arm", "LabelExperiment", "arms_of", "joined", "training_record"]
