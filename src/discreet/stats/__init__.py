"""Pure functions of arrays: ROC curves, intervals that hold, resampling, tests, and the estimates made of them."""

from __future__ import annotations

from discreet.stats.delong import AucVariance, auc_covariance, auc_variance, placements
from discreet.stats.estimates import (
    PrecisionRecall,
    auroc_estimate,
    fpr_at_tpr_estimate,
    kappa_estimate,
    precision_recall_estimates,
    rate_estimate,
    share_estimate,
    tpr_at_fpr_estimate,
)
from discreet.stats.intervals import (
    Interval,
    auc_interval,
    clopper_pearson,
    delong_logit_interval,
    fpr_at_tpr_interval,
    rate_interval,
    threshold_above,
    tpr_at_fpr_interval,
    wilson,
)
from discreet.stats.kappa import Kappa, cohen_kappa, kappa_interval, kappa_variance, rating_table
from discreet.stats.resample import (
    Permutation,
    Statistic,
    bootstrap_roc,
    bootstrap_weights,
    max_t_p,
    percentile_interval,
    permutation_p,
    permutation_test,
    permuted_labels,
)
from discreet.stats.roc import (
    RocCore,
    RocCurve,
    StepCounts,
    auroc,
    fpr_at_tpr,
    roc_curve,
    tpr_at_fpr,
    weighted_tpr_at_fpr,
)
from discreet.stats.testing import PairedAuc, benjamini_hochberg, delong_test, fisher_exact, holm, mcnemar_exact

__all__ = [
    "AucVariance", "Interval", "Kappa", "PairedAuc", "Permutation", "PrecisionRecall", "RocCore", "RocCurve",
    "Statistic", "StepCounts", "auc_covariance", "auc_interval", "auc_variance", "auroc", "auroc_estimate",
    "benjamini_hochberg", "bootstrap_roc", "bootstrap_weights", "clopper_pearson", "cohen_kappa",
    "delong_logit_interval", "delong_test", "fisher_exact", "fpr_at_tpr", "fpr_at_tpr_estimate",
    "fpr_at_tpr_interval", "holm", "kappa_estimate", "kappa_interval", "kappa_variance", "max_t_p", "mcnemar_exact",
    "percentile_interval", "permutation_p", "permutation_test", "permuted_labels", "placements",
    "precision_recall_estimates", "rate_estimate", "rate_interval", "rating_table", "roc_curve", "share_estimate",
    "threshold_above", "tpr_at_fpr", "tpr_at_fpr_estimate", "tpr_at_fpr_interval", "weighted_tpr_at_fpr", "wilson",
]
