"""Pure functions of arrays: ROC curves, intervals that hold, resampling, tests, and the estimates made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.stats.calibration import (
        Bin,
        bootstrap_estimate,
        calibrated_error,
        calibration_error,
        reliability,
    )
    from discreet.stats.estimates import (
        PrecisionRecall,
        auroc_estimate,
        fpr_at_tpr_estimate,
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
        tpr_at_fpr_interval,
        wilson,
    )
    from discreet.stats.kappa import Kappa, cohen_kappa, kappa_estimate, kappa_interval, kappa_variance, rating_table
    from discreet.stats.roc import (
        AucVariance,
        RocCore,
        RocCurve,
        StepCounts,
        auc_covariance,
        auc_variance,
        auroc,
        fpr_at_tpr,
        placements,
        tpr_at_fpr,
    )
    from discreet.stats.testing import (
        PairedAuc,
        Statistic,
        bootstrap_roc,
        bootstrap_weights,
        delong_test,
        fisher_exact,
        holm,
        max_t_p,
        mcnemar_exact,
        percentile_interval,
        permutation_p,
        permuted_labels,
        rank_sum_p,
    )

__all__ = [
    "AucVariance", "Bin", "Interval", "Kappa", "PairedAuc", "PrecisionRecall", "RocCore", "RocCurve", "Statistic",
    "StepCounts", "auc_covariance", "auc_interval", "auc_variance", "auroc", "auroc_estimate", "bootstrap_estimate",
    "bootstrap_roc", "bootstrap_weights", "calibrated_error", "calibration_error", "clopper_pearson", "cohen_kappa",
    "delong_logit_interval", "delong_test", "fisher_exact", "fpr_at_tpr", "fpr_at_tpr_estimate",
    "fpr_at_tpr_interval", "holm", "kappa_estimate", "kappa_interval", "kappa_variance", "max_t_p", "mcnemar_exact",
    "percentile_interval", "permutation_p", "permuted_labels", "placements", "precision_recall_estimates",
    "rank_sum_p", "rate_estimate", "rate_interval", "rating_table", "reliability", "share_estimate",
    "tpr_at_fpr", "tpr_at_fpr_estimate", "tpr_at_fpr_interval", "wilson",
]
HOMES = {
    "AucVariance": "discreet.stats.roc", "Bin": "discreet.stats.calibration", "Interval": "discreet.stats.intervals",
    "Kappa": "discreet.stats.kappa", "PairedAuc": "discreet.stats.testing",
    "PrecisionRecall": "discreet.stats.estimates", "RocCore": "discreet.stats.roc", "RocCurve": "discreet.stats.roc",
    "Statistic": "discreet.stats.testing", "StepCounts": "discreet.stats.roc", "auc_covariance": "discreet.stats.roc",
    "auc_interval": "discreet.stats.intervals", "auc_variance": "discreet.stats.roc", "auroc": "discreet.stats.roc",
    "auroc_estimate": "discreet.stats.estimates", "bootstrap_estimate": "discreet.stats.calibration",
    "bootstrap_roc": "discreet.stats.testing", "bootstrap_weights": "discreet.stats.testing",
    "calibrated_error": "discreet.stats.calibration", "calibration_error": "discreet.stats.calibration",
    "clopper_pearson": "discreet.stats.intervals", "cohen_kappa": "discreet.stats.kappa",
    "delong_logit_interval": "discreet.stats.intervals", "delong_test": "discreet.stats.testing",
    "fisher_exact": "discreet.stats.testing", "fpr_at_tpr": "discreet.stats.roc",
    "fpr_at_tpr_estimate": "discreet.stats.estimates", "fpr_at_tpr_interval": "discreet.stats.intervals",
    "holm": "discreet.stats.testing", "kappa_estimate": "discreet.stats.kappa",
    "kappa_interval": "discreet.stats.kappa", "kappa_variance": "discreet.stats.kappa",
    "max_t_p": "discreet.stats.testing", "mcnemar_exact": "discreet.stats.testing",
    "percentile_interval": "discreet.stats.testing", "permutation_p": "discreet.stats.testing",
    "permuted_labels": "discreet.stats.testing", "placements": "discreet.stats.roc",
    "precision_recall_estimates": "discreet.stats.estimates", "rank_sum_p": "discreet.stats.testing",
    "rate_estimate": "discreet.stats.estimates", "rate_interval": "discreet.stats.intervals",
    "rating_table": "discreet.stats.kappa", "reliability": "discreet.stats.calibration",
    "share_estimate": "discreet.stats.estimates", "tpr_at_fpr": "discreet.stats.roc",
    "tpr_at_fpr_estimate": "discreet.stats.estimates", "tpr_at_fpr_interval": "discreet.stats.intervals",
    "wilson": "discreet.stats.intervals",
}
__getattr__ = lazily(__name__, HOMES)
