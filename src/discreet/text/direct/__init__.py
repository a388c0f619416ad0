"""Layer 1: direct identifiers."""
