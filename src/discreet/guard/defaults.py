"""What a fitted guard is made of where nobody says otherwise; one place, so that a measurement changes one line."""

from __future__ import annotations

DEFAULT_DISCRIMINATOR = "features+logistic"
"""What decides between safe and flag; the density always decides what is out of distribution (`docs/results`)."""

DEFAULT_DENSITY = "ocsvm"
"""The paper's T3+OCSVM (V-B)."""

DEFAULT_ENCODERS = "embedded"
"""The packaged MiniLM."""

SHARES = (0.7, 0.15, 0.15)
"""Of the texts of each side: to fit, to calibrate, to evaluate."""

LEAST_TEXTS = 40
"""Distinct texts a side that a fit needs: 28 to fit and 6 each to calibrate and to evaluate."""

THETA_PERCENTILE = 5.0
"""Of each side's calibration scores; both under it is out of distribution (V-D)."""

TPRS = {"balanced": 0.90, "strict": 0.95}
"""True-positive rates of the operating points on the calibration set (V-C); conservative is τ = 0."""
