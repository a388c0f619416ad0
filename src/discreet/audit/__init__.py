"""Score tables, designs, selection, attacks, controls, sealed coins and verdicts."""
