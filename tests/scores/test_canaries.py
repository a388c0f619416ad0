from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.written import put

from discreet.core.errors import InputError
from discreet.scores.load import load_scores
from discreet.scores.table import EXAMPLE_ROLES, UNKNOWN

Row = dict[str, Any]
EXAMPLES = ["e10", "e2", "a", "B", "c", "d", "f", "g"]
ROLES = ["canary", "canary", "canary", "placebo", "placebo", "placebo", "train", "heldout"]


def flat(seed: int = 0, n_classes: int = 3) -> list[Row]:
    """A target at two ε and a reference over eight examples, in a random order of rows."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for model, role, mechanism, epsilon in (("t", "target", None, None), ("u", "target", "rr", 2.0),
                                            ("r", "reference", "rr", 2.0)):
        for place, (example, kind) in enumerate(zip(EXAMPLES, ROLES, strict=True)):
            drawn = kind in ("canary", "placebo")
            secret = place % n_classes if model != "r" else (place * 2 + 1) % n_classes
            rows.append({
                "model": model, "model_role": role, "mechanism": mechanism, "epsilon": epsilon, "seed": 7,
                "example": example, "example_role": kind, "label_original": (place + 1) % n_classes,
                "label_secret": secret if drawn else None,
                "label_trained": None if kind == "heldout" else int(rng.integers(n_classes)),
                "planted": 4 if (model, example) == ("t", "a") else None, "text": "MARKED-TEXT",
                **{f"logit_{k}": float(v) for k, v in enumerate(rng.normal(size=n_classes))}})
    return [rows[place] for place in rng.permutation(len(rows))]


def refused(tmp_path: Path, rows: list[Row]) -> str:
    path = put(tmp_path / "scores.csv", rows)
    with pytest.raises(InputError) as caught:
        load_scores(path)
    message = str(caught.value)
    assert "\n" not in message
    assert "MARKED-TEXT" not in message
    assert message.startswith(str(path))
    return message


@pytest.mark.parametrize("name", ["s.parquet", "s.csv", "s.csv.gz", "s.jsonl", "s.jsonl.gz"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_cell_by_cell(tmp_path: Path, name: str, n_classes: int) -> None:
    rows = flat(n_classes=n_classes)
    table = load_scores(put(tmp_path / name, rows))
    cells = {(row["model"], row["example"]): row for row in rows}
    assert [model.name for model in table.models] == ["r", "t", "u"]
    assert table.examples.id.tolist() == sorted(EXAMPLES)
    for m, model in enumerate(table.models):
        for n, example in enumerate(table.examples.id):
            row = cells[model.name, example]
            original, secret, trained = row["label_original"], row["label_secret"], row["label_trained"]
            assert EXAMPLE_ROLES[table.canaries.role[m, n]] == row["example_role"]
            assert table.examples.label[n] == original
            assert table.canaries.label[m, n] == (original if secret is None else secret)
            assert table.canaries.trained[m, n] == (UNKNOWN if trained is None else trained)
            assert table.canaries.planted[m, n] == (row["planted"] or 0)
            assert table.logits[m, n, 0].tolist() == [row[f"logit_{k}"] for k in range(n_classes)]
    assert [(one.role, one.mechanism, one.epsilon, one.seed) for one in table.models] == [
        ("reference", "rr", 2.0, "7"), ("target", "none", inf, "7"), ("target", "rr", 2.0, "7")]
    assert table.examples.group is None


def test_only_what_must_be_there(tmp_path: Path) -> None:
    bare = [{key: row[key] for key in row if key not in ("model_role", "mechanism", "epsilon", "seed", "planted",
                                                         "text")} for row in flat(n_classes=2) if row["model"] == "t"]
    table = load_scores(put(tmp_path / "s.csv", bare))
    assert [(one.role, one.epsilon, one.seed, one.facts) for one in table.models] == [("target", inf, None, {})]
    assert (table.canaries.planted == 0).all()
    rows = [row | {"epsilon": "inf" if row["model"] == "u" else None} for row in flat()]
    assert [model.epsilon for model in load_scores(put(tmp_path / "s.csv", rows)).models] == [inf] * 3


def test_groups_and_recipes_are_kept(tmp_path: Path) -> None:
    rows = [row | {"group": {"a": "x", "B": "x", "c": "y"}.get(row["example"]), "recipe": "mlp"} for row in flat()]
    table = load_scores(put(tmp_path / "s.jsonl", rows))
    assert table.examples.group is not None
    code = dict(zip(table.examples.id, table.examples.group.tolist(), strict=True))
    assert code["a"] == code["B"] != code["c"]
    assert len(set(code.values())) == 7
    assert [model.facts for model in table.models] == [{"recipe": "mlp"}] * 3


def changed(where: Row, **values: Any) -> list[Row]:
    return [row | values if all(row[key] == value for key, value in where.items()) else row for row in flat()]


@pytest.mark.parametrize(("where", "values", "message"), [
    ({"model": "t", "example": "a"}, {"logit_1": float("nan")}, "logits are NaN, infinite or null here"),
    ({"model": "t", "example": "a"}, {"label_secret": 3}, "'label_secret' is no whole number from 0 to 2"),
    ({"model": "t", "example": "a"}, {"label_secret": -1}, "'label_secret' is no whole number from 0 to 2"),
    ({"example": "d"}, {"label_original": 9}, "'label_original' is no whole number from 0 to 2"),
    ({"example": "f", "model": "u"}, {"label_trained": 3}, "'label_trained' is no whole number from 0 to 2"),
    ({"example": "a", "model": "t"}, {"planted": 1.5}, "'planted' is no whole number from 0"),
    ({"example": "f", "model": "u"}, {"label_original": None}, "'label_original' is null"),
    ({"example": "f", "model": "u"}, {"label_original": 0}, "'label_original' is not the same for all models"),
    ({"model": "t", "example": "a"}, {"label_secret": None}, "'label_secret' is null for a canary or a placebo"),
    ({"model": "t", "example": "B"}, {"label_secret": None}, "'label_secret' is null for a canary or a placebo"),
    ({"model": "t"}, {"label_secret": 1}, "class 0 has no canary of target 't' among 3 canaries"),
    ({"model": "t", "example_role": "canary"}, {"example_role": "train"}, "target 't' has no canary among 8 examples"),
    ({"model": "u", "example": "a"}, {"example_role": "placebo"}, "canaries overlap placebos: 1 example of targets"),
    ({"model": "u"}, {"epsilon": 0.0}, "'epsilon' of model 'u' is 0; expected a number above 0"),
    ({"model": "u"}, {"epsilon": -1.0}, "'epsilon' of model 'u' is -1; expected a number above 0"),
    ({"model": "u"}, {"epsilon": "high"}, "'epsilon' of model 'u' is no number; expected a number above 0"),
    ({"model": "t", "example": "a"}, {"example_role": "control"}, "'example_role' is none that is known"),
    ({"model": "u"}, {"model_role": "shadow"}, "'model_role' of model 'u' is not one that is known"),
    ({}, {"model_role": "reference"}, "no model has the role 'target'"),
    ({"model": "t", "example": "a"}, {"model": "u"}, "model and example are those of a row before"),
])
def test_bad_tables_are_said_in_one_line(tmp_path: Path, where: Row, values: Row, message: str) -> None:
    assert message in refused(tmp_path, changed(where, **values))


@pytest.mark.parametrize("column", ["example_role", "label_original", "label_secret", "label_trained", "example"])
def test_absent_columns(tmp_path: Path, column: str) -> None:
    rows = [{key: row[key] for key in row if key != column} for row in flat()]
    # A table without the old name is asked for the new one.
    named = "label_canary" if column == "label_secret" else column
    assert f"there is no {named!r}" in refused(tmp_path, rows)


def test_one_model_with_an_example_as_both(tmp_path: Path) -> None:
    rows = flat()
    again = next(row for row in rows if (row["model"], row["example"]) == ("t", "a"))
    message = refused(tmp_path, [*rows, again | {"example_role": "placebo"}])
    assert "canaries overlap placebos: 1 example of one model both ways" in message


def test_several_queries(tmp_path: Path) -> None:
    rows = [row | {"query": query} for row in flat() for query in ("q0", "q1")]
    assert "there are 2 queries for each example" in refused(tmp_path, rows)
