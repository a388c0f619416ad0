"""Density estimators of the guard: one module each, found by the registry `densities`."""
