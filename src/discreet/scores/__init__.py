"""The one score table of every audit: schema, reading, checks, writing; adapters that make one from a model."""
