"""Experiments: assign records, train every model that an audit needs, and score them.

>>> from discreet.audit.engine import DataFile
>>> from discreet.audit.experiments import MembershipExperiment, train
>>> experiment = MembershipExperiment(DataFile.of("records.jsonl"), "tfidf-mlp")  # doctest: +SKIP
>>> [trained] = train([experiment], "store")                                      # doctest: +SKIP
>>> table = trained.table()                                                       # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.audit.experiments.labels import Arm, LabelExperiment
    from discreet.audit.experiments.membership import MembershipExperiment
    from discreet.audit.experiments.runner import Experiment, Trained, train

__all__ = ["Arm", "Experiment", "LabelExperiment", "MembershipExperiment", "Trained", "train"]
HOMES = {
    "Arm": "discreet.audit.experiments.labels", "Experiment": "discreet.audit.experiments.runner",
    "LabelExperiment": "discreet.audit.experiments.labels",
    "MembershipExperiment": "discreet.audit.experiments.membership", "Trained": "discreet.audit.experiments.runner",
    "train": "discreet.audit.experiments.runner",
}
__getattr__ = lazily(__name__, HOMES)
