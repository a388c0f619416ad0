"""The ways to paraphrase: one module each, found by the registry `paraphrasers`."""
