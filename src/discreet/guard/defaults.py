"""What a fitted guard is made of where nobody says otherwise; one place, so that a measurement changes one line."""

from __future__ import annotations

DEFAULT_DISCRIMINATOR = "evidence+logistic"
"""What decides between safe and flag: what did best on real text at matched review load (`docs/results/guard.md`). The
density always decides what is out of distribution."""

DEFAULT_DENSITY = "ocsvm"
"""The paper's T3+OCSVM (V-B)."""

DEFAULT_ENCODERS = "embedded"
"""The packaged MiniLM."""

SHARES = (0.7, 0.15, 0.15)
"""Of the texts of each side: to fit, to calibrate, to evaluate."""

LEAST_TEXTS = 40
"""Distinct texts a side that a fit needs: 28 to fit and 6 each to calibrate and to evaluate."""

PAPER_PERCENTILE = 5.0
"""θ of the paper's detectors, of each side's calibration scores; both under it is out of distribution (V-D)."""

THETA_PERCENTILE = 1.0
"""The same of a fitted guard. At the paper's 5 a new writer on the very topics is sent to review in one answer of ten;
at 1 in one of thirty, and texts of other domains are still held back (`docs/results/guard.md`, "gate")."""

TPRS = {"balanced": 0.90, "strict": 0.95}
"""True-positive rates of the operating points on the calibration set (V-C); conservative is τ = 0."""
