"""The ways to train a classifier: one module each, found by the registry `recipes`."""
