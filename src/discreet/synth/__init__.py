"""Synthesis of safe, unsafe and borderline-safe answers: plans, generators, validators, campaigns."""
