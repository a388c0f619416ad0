"""Membership audits: who was in the training set."""
