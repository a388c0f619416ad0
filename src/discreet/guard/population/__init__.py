"""How many people fit a description: a model of a population, and the way from text to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.guard.population.attributes import describe
    from discreet.guard.population.classes import LatentClasses, fit_classes
    from discreet.guard.population.columns import Column
    from discreet.guard.population.count import Count
    from discreet.guard.population.fit import fit_population
    from discreet.guard.population.found import Description
    from discreet.guard.population.people import Measured, measure
    from discreet.guard.population.places import Places
    from discreet.guard.population.population import Gain, Population

__all__ = ["Column", "Count", "Description", "Gain", "LatentClasses", "Measured", "Places", "Population", "describe",
           "fit_classes", "fit_population", "measure"]
HOMES = {
    "Column": "discreet.guard.population.columns", "Count": "discreet.guard.population.count",
    "Description": "discreet.guard.population.found", "Gain": "discreet.guard.population.population",
    "LatentClasses": "discreet.guard.population.classes", "Measured": "discreet.guard.population.people",
    "Places": "discreet.guard.population.places", "Population": "discreet.guard.population.population",
    "describe": "discreet.guard.population.attributes", "fit_classes": "discreet.guard.population.classes",
    "fit_population": "discreet.guard.population.fit", "measure": "discreet.guard.population.people",
}
__getattr__ = lazily(__name__, HOMES)
