"""Tables of label audits with some of their arrays replaced."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from discreet.audit.scores.table import Canaries, ScoreTable

DRAWN = tuple(field.name for field in fields(Canaries))


def changed(table: ScoreTable, **given: Any) -> ScoreTable:
    """`table` with other `role`, `label`, `trained`, `planted`, `original`, `group`, `logits` (M, N, K) or `models`."""
    drawn = replace(table.canaries, **{name: given.pop(name) for name in DRAWN if name in given})
    own = {"label" if name == "original" else name: given.pop(name) for name in ("original", "group") if name in given}
    if "logits" in given:
        given["logits"] = np.asarray(given["logits"])[:, :, None, :]
    return replace(table, drawn=drawn, examples=replace(table.examples, **own), **given)
