"""Fresh copies of a scikit-learn estimator, trained on records that the audit chooses."""

from __future__ import annotations

import warnings
from typing import Any

from discreet.core.errors import InputError, need

SEEDED = "random_state"


def can_clone(estimator: Any) -> bool:
    """Whether `estimator` can be copied unfitted and trained again, as estimators of scikit-learn can."""
    return hasattr(estimator, "get_params") and hasattr(estimator, "fit")


def fitted_clone(estimator: Any, inputs: Any, labels: Any, seed: int, name: str) -> Any:
    """An unfitted copy of `estimator` (scikit-learn's `clone`), fitted to n inputs and their labels (n,).

    Every parameter called `random_state`, nested ones included, is set to `seed` >= 0: a copy with the target's own
    seed would begin where the target began. Warnings of the fit are those of the target's fit, and are left out. Raises
    InputError, beginning with `name`, where copying or training fails; MissingExtraError without scikit-learn.
    """
    clone = need("sklearn.base", "training references by clone", "audit").clone
    try:
        copy = clone(estimator)
        seeded = [key for key in copy.get_params(deep=True) if key == SEEDED or key.endswith(f"__{SEEDED}")]
        copy.set_params(**dict.fromkeys(seeded, seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return copy.fit(inputs, labels)
    except Exception as error:
        # The message may quote a record.
        raise InputError(f"{name}: {type(error).__name__} when a clone of {type(estimator).__name__} was trained on "
                         f"{len(labels):,} records; expected an estimator that fits these inputs and labels as they "
                         "were given") from None
