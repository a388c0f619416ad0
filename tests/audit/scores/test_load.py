from __future__ import annotations

import re
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.score_rows import EXAMPLES, LABEL_EXAMPLES, MODELS, Row, at, flat, label_rows, refused, same
from tests.inputs.written import put

from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import EXAMPLE_ROLES, UNKNOWN, ScoreTable


def obviously(rows: list[Row], table: ScoreTable) -> None:
    """Compare, cell by cell, with a dictionary of the rows."""
    cells = {(row["model"], row["example"], row.get("query")): row for row in rows}
    queries = sorted({row.get("query") for row in rows}, key=str)
    assert [model.name for model in table.models] == sorted({row["model"] for row in rows})
    assert table.examples.id.tolist() == sorted({row["example"] for row in rows})
    assert table.logits.shape[:3] == (len(table.models), len(table.examples), len(queries))
    for m, model in enumerate(table.models):
        for n, example in enumerate(table.examples.id):
            for q, query in enumerate(queries):
                row = cells[model.name, example, query]
                assert table.logits[m, n, q].tolist() == [row[f"logit_{k}"] for k in range(table.n_classes)]
                assert table.member[m, n] == (-1 if row["member"] is None else int(row["member"]))
                assert table.examples.label[n] == row["label"]
                assert model.role == row["model_role"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz", "jsonl", "jsonl.gz"])
@pytest.mark.parametrize("queries", [0, 3])
def test_every_cell_lands_where_its_row_says(tmp_path: Path, ending: str, queries: int) -> None:
    rows = flat(queries=queries)
    for row in rows:
        if row["model"] == "sel":
            row["member"] = None
    table = load_scores(put(tmp_path / f"s.{ending}", rows))
    obviously(rows, table)
    assert table.logits.dtype == np.float64
    assert table.member.dtype == np.int8
    assert table.given_as == "logit"
    assert {model.name: model.reference_kind for model in table.models} == {
        "f": None, "ref": "neutral", "sel": None, "plc": None, "s1": "population", "s2": "population"}
    assert {model.name: model.stated for model in table.models} == {
        name: {"seed": str(40 + len(name))} for name, _, _ in MODELS}
    assert table.examples.planted.tolist() == [0, 0, 0, 0]
    assert (table.examples.group, table.examples.split, table.examples.categories) == (None, None, None)
    assert dict(table.examples.columns) == {}


def described(rows: list[Row]) -> list[Row]:
    say: dict[str, Row]
    say = {"e10": {"group": 10, "category": "x|y", "split": "train", "planted": 4, "structure": "chat"},
           "e2": {"group": 9, "category": " y ; ", "split": "train", "planted": None, "structure": "flat"},
           "a": {"group": 11, "category": None, "split": None, "planted": 0, "structure": "flat"},
           "B": {"group": 11, "category": "z;x;z", "split": "eval", "planted": 0, "structure": "chat"}}
    return [{**row, **say[row["example"]]} for row in rows]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_what_the_table_says_of_examples(tmp_path: Path, ending: str) -> None:
    examples = load_scores(put(tmp_path / f"s.{ending}", described(flat()))).examples
    assert examples.id.tolist() == ["B", "a", "e10", "e2"]
    assert examples.group is not None
    assert examples.group.tolist() == [2, 2, 1, 0]
    assert examples.split is not None
    assert examples.split.tolist() == ["eval", None, "train", "train"]
    assert examples.planted.tolist() == [0, 0, 4, 0]
    assert examples.categories == (frozenset("zx"), frozenset(), frozenset("xy"), frozenset("y"))
    assert {name: values.tolist() for name, values in examples.columns.items()} == {
        "structure": ["chat", "flat", "chat", "flat"]}


def test_structure_belongs_to_models_or_to_examples(tmp_path: Path) -> None:
    rows = [{**row, "structure": "chat" if row["model"] == "f" else "flat"} for row in flat()]
    table = load_scores(put(tmp_path / "a.csv", rows))
    assert table.models[table.index("f")].facts["structure"] == "chat"
    assert "structure" not in table.examples.columns
    rows[0]["structure"] = "other"
    assert "'structure' is the same neither" in refused(put(tmp_path / "b.csv", rows))
    assert "structure" not in load_scores(put(tmp_path / "c.csv", described(flat()))).models[0].facts


def three(folder: Path, rows: list[Row]) -> Path:
    """The flat rows as three tables."""
    of_model = ("model", "model_role", "reference_kind", "seed")
    of_example = ("example", "label", "group", "category", "split", "planted", "structure")
    rest = [name for name in rows[0] if name not in (*of_model[1:], *of_example[1:])]
    put(folder / "models.csv", list({row["model"]: {key: row[key] for key in of_model} for row in rows}.values()))
    put(folder / "examples.jsonl",
        list({row["example"]: {key: row[key] for key in of_example if key in row} for row in rows}.values()))
    put(folder / "scores.parquet", [{key: row[key] for key in rest} for row in rows])
    return folder


def test_three_tables_say_the_same_as_the_flat_one(tmp_path: Path) -> None:
    rows = described(flat(queries=2))
    expected = load_scores(put(tmp_path / "flat.parquet", rows))
    folder = three(tmp_path, rows)
    same(load_scores(folder), expected)
    same(load_scores(folder / "scores.parquet", models=folder / "models.csv", examples=folder / "examples.jsonl"),
         expected)
    same(load_scores(tmp_path / "flat.parquet", models=folder / "models.csv", examples=folder / "examples.jsonl"),
         expected)


def test_three_tables_that_do_not_fit_together(tmp_path: Path) -> None:
    rows = flat()
    scores = put(tmp_path / "s.csv", rows)
    names = [{"model": name, "model_role": role} for name, role, _ in MODELS]

    def with_models(models: list[Row]) -> str:
        return refused(scores, models=put(tmp_path / "m.csv", models))

    assert "1 of the 6 models of s.csv are not in this table" in with_models(names[1:])
    assert "1 of its 7 models have no scores in s.csv" in with_models([*names, {"model": "x", "model_role": "shadow"}])
    assert "row 7: this model stands in a row before" in with_models([*names, names[0]])
    assert "'model' is empty in 1 row, first" in with_models([*names, {"model": "", "model_role": "shadow"}])
    assert "'model_role' says something else" in with_models([{"model": name, "model_role": "target"}
                                                             for name, _, _ in MODELS])
    examples = [{"example": name, "label": 9 if name == "a" else 0} for name in EXAMPLES]
    bare = put(tmp_path / "bare.csv", [{k: v for k, v in row.items() if k != "label"} for row in rows])
    message = refused(bare, examples=put(tmp_path / "e.csv", examples))
    assert "e.csv, row 3: 'label' is not a whole number from 0 to 2" in message
    assert "1 of its 5 examples have no scores" in refused(
        bare, examples=put(tmp_path / "e.csv", [*examples, {"example": "new", "label": 0}]))


@pytest.mark.parametrize(("column", "wrong", "said"), [
    ("label", lambda row: "safe", "'label' is not a whole number from 0 to 2, .* and so for 4 of 4 examples"),
    ("label", lambda row: 7, "'label' is not a whole number from 0 to 2, .* and so for 4 of 4 examples"),
    ("member", lambda row: ("no", "yes")[row["member"]],
     "'member' is none of true, false, 1, 0 and null, and so in 24 of 24 rows; correct them")])
def test_what_is_wrong_everywhere_is_said_of_the_first_row(tmp_path: Path, column: str, wrong: Callable[[Row], Any],
                                                           said: str) -> None:
    for seed in range(4):
        rows = [row | {column: wrong(row)} for row in flat(seed)]
        assert re.search(f"row 1: {said}", refused(put(tmp_path / "s.csv", rows)))


def test_whole_numbers_as_pandas_writes_them_beside_nulls(tmp_path: Path) -> None:
    rows = flat()
    spelled = [{**row, "label": f"{row['label']}.0", "member": f"{int(row['member'])}.0"} for row in rows]
    obviously(rows, load_scores(put(tmp_path / "s.csv", spelled)))


def test_kinds_of_references(tmp_path: Path) -> None:
    def kinds(rows: list[Row], said: dict[str, str] | None = None) -> dict[str, str | None]:
        models = None if said is None else put(
            tmp_path / "m.csv", [{"model": name, "reference_kind": said.get(name)} for name, _, _ in MODELS])
        table = load_scores(put(tmp_path / "s.csv", rows), models=models)
        return {model.name: model.reference_kind for model in table.models if model.role in ("reference", "shadow")}

    # A table of models fills in what the flat one leaves open.
    silent = [{**row, "reference_kind": None} for row in flat()]
    assert kinds(silent, {"ref": "paired"}) == {"ref": "paired", "s1": "population", "s2": "population"}
    assert kinds(flat(), {"s1": "paired"}) == {"ref": "neutral", "s1": "paired", "s2": "population"}
    # A reference without a kind is of none, and only references and shadows have one.
    assert kinds([{key: row[key] for key in row if key != "reference_kind"} for row in flat()])["ref"] is None
    everywhere = load_scores(put(tmp_path / "s.csv", [{**row, "reference_kind": " Neutral"} for row in flat()]))
    assert {model.name for model in everywhere.models if model.reference_kind == "neutral"} == {"ref", "s1", "s2"}
    assert everywhere.references("population") == everywhere.references("paired") == ()


def test_one_column_of_class_1(tmp_path: Path) -> None:
    rows = flat(n_classes=2)
    odds = [{**{k: v for k, v in row.items() if not k.startswith("logit_")}, "logit": row["logit_1"] - row["logit_0"]}
            for row in rows]
    probs = [{**{k: v for k, v in row.items() if k != "logit"}, "prob": 1 / (1 + np.exp(-row["logit"]))}
             for row in odds]
    expected = load_scores(put(tmp_path / "both.parquet", rows)).log_p
    for name, given_rows in (("logit", odds), ("prob", probs)):
        table = load_scores(put(tmp_path / f"{name}.parquet", given_rows))
        assert (table.n_classes, table.given_as) == (2, name)
        np.testing.assert_allclose(table.log_p, expected, atol=1e-12)


def with_probs(rows: list[Row]) -> list[Row]:
    found = []
    for row in rows:
        powers = np.exp([row[f"logit_{k}"] for k in range(3)])
        found.append({**{k: v for k, v in row.items() if not k.startswith("logit_")},
                      **{f"prob_{k}": float(p) for k, p in enumerate(powers / powers.sum())}})
    return found


def test_probabilities_stand_as_their_clipped_logs(tmp_path: Path) -> None:
    rows = with_probs(flat())
    rows[0].update(prob_0=1.0, prob_1=0.0, prob_2=0.0)
    table = load_scores(put(tmp_path / "s.parquet", rows))
    assert table.given_as == "prob"
    cell = table.logits[table.index(rows[0]["model"]), table.examples.id.tolist().index(rows[0]["example"]), 0]
    np.testing.assert_allclose(cell, np.log([1 - 1e-7, 1e-7, 1e-7]), rtol=1e-12)
    np.testing.assert_allclose(np.exp(table.log_p).sum(axis=-1), 1)
    rest = load_scores(put(tmp_path / "l.parquet", flat())).log_p
    differs = np.abs(table.log_p - rest).max(axis=-1) > 1e-9
    assert differs.sum() == 1


@pytest.mark.parametrize(("change", "words"), [
    ({"prob_0": 0.5, "prob_1": 0.5, "prob_2": 0.02}, "expected a sum within 0.015 of 1"),
    ({"prob_0": -0.1, "prob_1": 0.6, "prob_2": 0.5}, "probs are not between 0 and 1"),
    ({"prob_0": None, "prob_1": 0.6, "prob_2": 0.4}, "probs are NaN, infinite or null"),
])
def test_probabilities_that_are_none(tmp_path: Path, change: Row, words: str) -> None:
    rows = with_probs(flat())
    rows[5].update(change)
    message = refused(put(tmp_path / "s.parquet", rows))
    assert words in message[message.index("row 6:"):]
    rows[5].update({"prob_0": 0.33, "prob_1": 0.33, "prob_2": 0.33})
    assert load_scores(put(tmp_path / "s.parquet", rows)).given_as == "prob"


def test_queries_are_part_of_the_key(tmp_path: Path) -> None:
    rows = flat(queries=2)
    one = rows[3]
    assert "model 's1' lacks 1 of 4 examples × 2 queries" in refused(
        put(tmp_path / "a.csv", [row for row in rows if row is not at(rows, "s1", "a")]))
    assert "row 49: model, example and query are those of a row before" in refused(
        put(tmp_path / "b.csv", [*rows, one]))
    changed = [{**row, "member": None} if row is one else row for row in rows]
    assert "is not the same for all queries" in refused(put(tmp_path / "c.csv", changed))
    assert "'query' is empty in 1 row, first" in refused(
        put(tmp_path / "d.csv", [{**row, "query": None} if row is one else row for row in rows]))
    unasked = [{**row, "query": None} for row in flat()]
    assert load_scores(put(tmp_path / "e.csv", unasked)).logits.shape[2] == 1


@pytest.mark.parametrize("name", ["s.parquet", "s.csv", "s.csv.gz", "s.jsonl", "s.jsonl.gz"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_cell_by_cell_of_a_label_audit(tmp_path: Path, name: str, n_classes: int) -> None:
    rows = label_rows(n_classes=n_classes)
    table = load_scores(put(tmp_path / name, rows))
    cells = {(row["model"], row["example"]): row for row in rows}
    assert [model.name for model in table.models] == ["r", "t", "u"]
    assert table.examples.id.tolist() == sorted(LABEL_EXAMPLES)
    for m, model in enumerate(table.models):
        for n, example in enumerate(table.examples.id):
            row = cells[model.name, example]
            original, canary, trained = row["label_original"], row["label_canary"], row["label_trained"]
            assert EXAMPLE_ROLES[table.canaries.role[m, n]] == row["example_role"]
            assert table.examples.label[n] == original
            assert table.canaries.label[m, n] == (original if canary is None else canary)
            assert table.canaries.trained[m, n] == (UNKNOWN if trained is None else trained)
            assert table.canaries.planted[m, n] == (row["planted"] or 0)
            assert table.logits[m, n, 0].tolist() == [row[f"logit_{k}"] for k in range(n_classes)]
    assert [(one.role, one.mechanism, one.epsilon, one.seed) for one in table.models] == [
        ("reference", "rr", 2.0, "7"), ("target", "none", inf, "7"), ("target", "rr", 2.0, "7")]
    assert table.examples.group is None


def test_only_what_a_label_audit_needs(tmp_path: Path) -> None:
    further = {"model_role", "mechanism", "epsilon", "seed", "planted", "text"}
    bare = [{key: row[key] for key in row if key not in further} for row in label_rows() if row["model"] == "t"]
    table = load_scores(put(tmp_path / "s.csv", bare))
    assert [(one.role, one.epsilon, one.seed, one.facts) for one in table.models] == [("target", inf, None, {})]
    assert (table.canaries.planted == 0).all()
    rows = [row | {"epsilon": "inf" if row["model"] == "u" else None} for row in label_rows()]
    assert [model.epsilon for model in load_scores(put(tmp_path / "s.csv", rows)).models] == [inf] * 3


def test_groups_and_recipes_are_kept(tmp_path: Path) -> None:
    groups = {"a": "x", "B": "x", "c": "y"}
    rows = [row | {"group": groups.get(row["example"]), "recipe": "mlp"} for row in label_rows()]
    table = load_scores(put(tmp_path / "s.jsonl", rows))
    assert table.examples.group is not None
    code = dict(zip(table.examples.id, table.examples.group.tolist(), strict=True))
    assert code["a"] == code["B"] != code["c"]
    assert len(set(code.values())) == 7
    assert [model.facts for model in table.models] == [{"recipe": "mlp"}] * 3


def changed(where: Row, **values: Any) -> list[Row]:
    return [row | values if all(row[key] == value for key, value in where.items()) else row for row in label_rows()]


@pytest.mark.parametrize(("where", "values", "message"), [
    ({"model": "t", "example": "a"}, {"logit_1": float("nan")}, "logits are NaN, infinite or null here"),
    ({"model": "t", "example": "a"}, {"label_canary": 3}, "'label_canary' is no whole number from 0 to 2"),
    ({"model": "t", "example": "a"}, {"label_canary": -1}, "'label_canary' is no whole number from 0 to 2"),
    ({"example": "d"}, {"label_original": 9}, "'label_original' is no whole number from 0 to 2"),
    ({"example": "f", "model": "u"}, {"label_trained": 3}, "'label_trained' is no whole number from 0 to 2"),
    ({"example": "a", "model": "t"}, {"planted": 1.5}, "'planted' is no whole number from 0"),
    ({"example": "f", "model": "u"}, {"label_original": None}, "'label_original' is null"),
    ({"example": "f", "model": "u"}, {"label_original": 0}, "'label_original' is not the same for all models"),
    ({"model": "t", "example": "a"}, {"label_canary": None}, "'label_canary' is null for a canary or a control"),
    ({"model": "t", "example": "B"}, {"label_canary": None}, "'label_canary' is null for a canary or a control"),
    ({"model": "t"}, {"label_canary": 1}, "class 0 has no canary of target 't' among 3 canaries"),
    ({"model": "t", "example_role": "canary"}, {"example_role": "train"}, "target 't' has no canary among 8 examples"),
    ({"model": "u", "example": "a"}, {"example_role": "control"}, "canaries overlap held-out ones: 1 example"),
    ({"model": "u"}, {"epsilon": 0.0}, "'epsilon' of model 'u' is 0; expected a number above 0"),
    ({"model": "u"}, {"epsilon": -1.0}, "'epsilon' of model 'u' is -1; expected a number above 0"),
    ({"model": "u"}, {"epsilon": "high"}, "'epsilon' of model 'u' is no number; expected a number above 0"),
    ({"model": "t", "example": "a"}, {"example_role": "guest"}, "'example_role' is none that is known"),
    ({"model": "u"}, {"model_role": "shadow"}, "'model_role' of model 'u' is not one that is known"),
    ({}, {"model_role": "reference"}, "no model has the role 'target'"),
    ({"model": "t", "example": "a"}, {"model": "u"}, "model and example are those of a row before"),
])
def test_bad_tables_of_a_label_audit(tmp_path: Path, where: Row, values: Row, message: str) -> None:
    assert message in refused(put(tmp_path / "s.csv", changed(where, **values)))


@pytest.mark.parametrize("column", ["example_role", "label_original", "label_canary", "label_trained", "example"])
def test_absent_columns(tmp_path: Path, column: str) -> None:
    rows = [{key: row[key] for key in row if key != column} for row in label_rows()]
    assert f"there is no {column!r}" in refused(put(tmp_path / "s.csv", rows))


def test_tables_that_are_no_label_audit_s(tmp_path: Path) -> None:
    rows = label_rows()
    both = at(rows, "t", "a") | {"example_role": "control"}
    assert "canaries overlap held-out ones: 1 example of one model both ways" in refused(
        put(tmp_path / "s.csv", [*rows, both]))
    queries = [row | {"query": query} for row in rows for query in ("q0", "q1")]
    assert "there are 2 queries for each example" in refused(put(tmp_path / "s.csv", queries))
