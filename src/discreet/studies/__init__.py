"""Compositions of the rooms below: what the papers report, kept as data, and ours beside it."""
