"""Answers without what tells of a person: marks, generalised sentences, and the check of what is left."""
