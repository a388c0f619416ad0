"""Classifiers trained from a recipe and a seed, so that what is known of their training can be audited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.audit.train.base import Data, FiledRecipe, Fitted, ManyRecipe, Recipe, checked_training, options_of
    from discreet.audit.train.plan import TrainedModel, TrainingPlan, child
    from discreet.audit.train.spec import load_fitted, recipe_of, saving

__all__ = ["Data", "FiledRecipe", "Fitted", "ManyRecipe", "Recipe", "TrainedModel", "TrainingPlan", "checked_training",
           "child", "load_fitted", "options_of", "recipe_of", "saving"]
HOMES = {
    "Data": "discreet.audit.train.base", "FiledRecipe": "discreet.audit.train.base",
    "Fitted": "discreet.audit.train.base", "ManyRecipe": "discreet.audit.train.base",
    "Recipe": "discreet.audit.train.base", "TrainedModel": "discreet.audit.train.plan",
    "TrainingPlan": "discreet.audit.train.plan", "checked_training": "discreet.audit.train.base",
    "child": "discreet.audit.train.plan", "load_fitted": "discreet.audit.train.spec",
    "options_of": "discreet.audit.train.base", "recipe_of": "discreet.audit.train.spec",
    "saving": "discreet.audit.train.spec",
}
__getattr__ = lazily(__name__, HOMES)
