"""How many people fit a description: a model of a population, and the way from text to it."""
