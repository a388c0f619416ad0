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
        roc_curve,
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
    "rank_sum_p", "rate_estimate", "rate_interval", "rating_table", "reliability", "roc_curve", "share_estimate",
    "tpr_at_fpr", "tpr_at_fpr_estimate", "tpr_at_fpr_interval", "wilson",
]
__getattr__ = lazily(__name__, __file__)
