"""Text: direct identifiers (layer 1) and quasi-identifier evidence, with spans and the subject each is bound to."""
