"""Classifiers trained from a recipe and a seed, so that what is known of their training can be audited."""
