"""Words of version 0.1 that saved files still have, to the words of today."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.core.design import Design

ROLES = {"placebo": "control"}
"""Of models and of examples, in score tables."""
COLUMNS = {"label_secret": "label_canary"}
"""Of score tables."""
DESIGNS: dict[str, Design] = {"randomised (dealt here)": "randomised (assigned here)"}
NAMES = {**ROLES, "secret": "canary"}
"""Of keys and values, in records of runs."""
