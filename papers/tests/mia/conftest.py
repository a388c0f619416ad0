"""Audits written by hand, and one tiny study that is really trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.core.records import Estimate
from discreet_papers.mia.settings import FULL, Setting, Study

KINDS = {"paper": ("p", "paired", "reference_train"), "paper, clean non-members": ("p", "paired", "clean"),
         "honest, p": ("p", "neutral", "clean"), "honest, logit": ("logit", "neutral", "clean")}


def row_of(auc: float | None, control: float | None = 0.5, *, definition: str = "paper", attack: str = "reference",
           **asked: Any) -> dict[str, Any]:
    """A row of an audit: what it asks, its AUC .05 inside its interval, TPRs that are parts of the AUC."""
    scale, kind, nonmembers = KINDS[definition]
    return {"attack": attack, "scale": scale, "reference_kind": kind if attack != "loss" else None,
            "nonmembers": nonmembers, "selection": "global", "n": None, "label": None, "structure": None,
            "category": None, "decile": None, "decile_by": None, "auc": _json(auc), "control_auc": _json(control),
            "tpr_at_1pct_fpr": _json(None if auc is None else auc / 10),
            "tpr_at_5pct_fpr": _json(None if auc is None else auc / 2), **asked}


def _json(value: float | None) -> dict[str, Any]:
    found = Estimate.unresolved("too few") if value is None else Estimate(value, value - 0.05, value + 0.05, n=80)
    return found.to_json()


def utility_of(train: float, test: float) -> dict[str, Any]:
    """The utility of a target, the same for every label."""
    parts = {"train": _json(train), "test": _json(test), "gap": _json(train - test)}
    return {"target": "f", **dict.fromkeys(("all", "0", "1"), parts)}


TINY = Setting({"MLP": {FULL: "tfidf-mlp:steps=15"}},
               {"single-turn": "made_up", "depression": "made_up", "users": "made_up_users"}, (42,),
               sizes={"made_up": 60, "made_up_users": 60}, sweep=("MLP",), mismatched="made_up_users", curve=(20,),
               planted=(), sigmas=(0.0, 0.5), draws=2)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of one small model; what one test has trained, the next finds in its store."""
    return Study(TINY, None, Path(tmp_path_factory.mktemp("tiny")), permutations=0, bootstraps=10)
