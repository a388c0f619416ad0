"""A small table of scores as rows, what is refused of it, and when two tables that were read are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import ReferenceKind, Role, ScoreTable
from discreet.core.errors import InputError

Row = dict[str, Any]

MODELS: list[tuple[str, Role, ReferenceKind | None]] = [
    ("f", "target", None), ("ref", "reference", "neutral"), ("sel", "selection", None), ("plc", "control", None),
    ("s1", "shadow", None), ("s2", "shadow", None)]
EXAMPLES = ["e10", "e2", "a", "B"]
INSIDE = {"f": {"e10", "e2"}, "s1": {"e10", "a"}, "s2": {"B", "e2"}}
LABEL_EXAMPLES = ["e10", "e2", "a", "B", "c", "d", "f", "g"]
LABEL_ROLES = ["canary", "canary", "canary", "control", "control", "control", "train", "heldout"]


def flat(seed: int = 0, n_classes: int = 3, queries: int = 0) -> list[Row]:
    """A whole table: six models by four examples, in a random order of rows."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for model, role, kind in MODELS:
        for place, example in enumerate(EXAMPLES):
            for query in range(queries or 1):
                rows.append({
                    "model": model, "model_role": role, "reference_kind": kind, "example": example,
                    "label": place % n_classes, "member": example in INSIDE.get(model, ()), "seed": 40 + len(model),
                    **({"query": f"q{query}"} if queries else {}), "note": "MARKED-TEXT",
                    **{f"logit_{k}": float(v) for k, v in enumerate(rng.normal(size=n_classes))}})
    return [rows[place] for place in rng.permutation(len(rows))]


def label_rows(seed: int = 0, n_classes: int = 3) -> list[Row]:
    """A target at two ε and a reference over eight examples, in a random order of rows."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for model, role, mechanism, epsilon in (("t", "target", None, None), ("u", "target", "rr", 2.0),
                                            ("r", "reference", "rr", 2.0)):
        for place, (example, kind) in enumerate(zip(LABEL_EXAMPLES, LABEL_ROLES, strict=True)):
            drawn = kind in ("canary", "control")
            canary = place % n_classes if model != "r" else (place * 2 + 1) % n_classes
            rows.append({
                "model": model, "model_role": role, "mechanism": mechanism, "epsilon": epsilon, "seed": 7,
                "example": example, "example_role": kind, "label_original": (place + 1) % n_classes,
                "label_canary": canary if drawn else None,
                "label_trained": None if kind == "heldout" else int(rng.integers(n_classes)),
                "planted": 4 if (model, example) == ("t", "a") else None, "text": "MARKED-TEXT",
                **{f"logit_{k}": float(v) for k, v in enumerate(rng.normal(size=n_classes))}})
    return [rows[place] for place in rng.permutation(len(rows))]


def at(rows: list[Row], model: str, example: str) -> Row:
    return next(row for row in rows if (row["model"], row["example"]) == (model, example))


def refused(path: Path, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_scores(path, **more)
    message = str(caught.value)
    assert "\n" not in message
    assert "MARKED-TEXT" not in message
    assert message.startswith((str(path), str(path.parent)))
    return message


def same(one: ScoreTable, other: ScoreTable) -> None:
    assert one.models == other.models
    assert one.given_as == other.given_as
    assert np.array_equal(one.member, other.member)
    np.testing.assert_allclose(one.logits, other.logits, rtol=0, atol=1e-12)
    for name in ("id", "label", "planted", "group", "split"):
        first, second = getattr(one.examples, name), getattr(other.examples, name)
        assert (first is None) == (second is None)
        assert first is None or first.tolist() == second.tolist()
    assert one.examples.categories == other.examples.categories
    assert {name: values.tolist() for name, values in one.examples.columns.items()} == {
        name: values.tolist() for name, values in other.examples.columns.items()}
