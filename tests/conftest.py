"""Hypothesis draws anew at every desk, and the same examples in CI, where a red build must say what a commit broke."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
