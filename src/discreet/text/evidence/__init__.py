"""Quasi-identifiers: tagged, normalised, and bound to a person."""
