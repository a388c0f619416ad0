"""How many people fit a description: a model of a population, and the way from text to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.population.attributes import Description, describe
    from discreet.population.classes import LatentClasses, fit_classes
    from discreet.population.columns import Column
    from discreet.population.count import Count
    from discreet.population.fit import fit_population
    from discreet.population.people import Measured, measure
    from discreet.population.places import Places
    from discreet.population.population import Gain, Population

__all__ = ["Column", "Count", "Description", "Gain", "LatentClasses", "Measured", "Places", "Population", "describe",
           "fit_classes", "fit_population", "measure"]
__getattr__ = lazily(__name__, __file__)
