"""Doors: each translates one published request shape into answers to judge, and an outcome back."""
