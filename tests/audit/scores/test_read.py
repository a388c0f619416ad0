from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests.inputs.written import put

from discreet.audit.scores.read import open_scores
from discreet.core.errors import InputError, MissingExtraError
from discreet.inputs import columns as column_files
from discreet.inputs.columns import Coded, ColumnFile, name_order

MARK = "MARKED-TEXT"
ROWS: list[dict[str, Any]] = [
    {"model": "f", "example": "007", "text": f"{MARK}, \"a\"\nb", "label": 1, "member": True, "category": "a|b",
     "logit_0": 0.25, "logit_1": -1.5},
    {"model": "f", "example": "é", "text": MARK, "label": 0, "member": False, "category": None,
     "logit_0": 3, "logit_1": 4e-3},
    {"model": "g", "example": "007", "text": MARK, "label": 1, "member": None, "category": "",
     "logit_0": 1e5, "logit_1": -0.0},
]
ENDINGS = ("parquet", "csv", "csv.gz", "jsonl", "jsonl.gz", "ndjson")


def read_all(path: Path, **sides: Path) -> None:
    scores = open_scores(path, **sides).scores
    for name in scores.names:
        (scores.numbers if name.startswith(("logit", "prob")) else scores.coded)(name)


def refused(path: Path, **sides: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_all(path, **sides)
    message = str(caught.value)
    assert "\n" not in message
    assert MARK not in message
    return message


def values(file: ColumnFile, name: str) -> list[str | None]:
    coded = file.coded(name)
    return [None if code < 0 else coded.names[code] for code in coded.codes]


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_kind_of_file_gives_the_same_columns(tmp_path: Path, ending: str) -> None:
    files = open_scores(put(tmp_path / f"s.{ending}", ROWS))
    scores = files.scores
    assert scores.rows == 3
    assert set(scores.names) == {"model", "example", "label", "member", "category", "logit_0", "logit_1"}
    assert values(scores, "model") == ["f", "f", "g"]
    assert values(scores, "example") == ["007", "é", "007"]
    assert values(scores, "label") == ["1", "0", "1"]
    assert [value and value.lower() for value in values(scores, "member")] == ["true", "false", None]
    assert values(scores, "category") == ["a|b", None, None]
    if ending in ("parquet", "jsonl"):
        lists = [{**row, "category": given} for row, given in zip(ROWS, (["a", "b"], None, []), strict=True)]
        assert values(open_scores(put(tmp_path / f"l.{ending}", lists)).scores, "category") == ["a|b", None, None]
    assert scores.numbers("logit_0").tolist() == [0.25, 3.0, 1e5]
    assert scores.numbers("logit_1").tolist() == [-1.5, 4e-3, -0.0]
    assert scores.numbers("logit_0").dtype == np.float64
    assert (files.given_as, files.columns, files.sides) == ("logit", ("logit_0", "logit_1"), {})


def test_parquet_types_that_other_tools_write(tmp_path: Path) -> None:
    frame = pd.DataFrame({
        "model": pd.Categorical(["b", "a", "b"], categories=["unused", "b", "a"]),
        "example": np.array([3, 1, 2], dtype=np.int16),
        "label": [1.0, None, 0.0],
        "group": pd.Categorical([7, None, 7]),
        "logit_0": np.array([0.5, 1.5, 2.5], dtype=np.float16),
        "logit_1": np.array([0.1, 0.2, 0.3], dtype=np.float32),
    })
    frame.to_parquet(tmp_path / "s.parquet", row_group_size=1)
    scores = open_scores(tmp_path / "s.parquet").scores
    assert values(scores, "model") == ["b", "a", "b"]
    assert set(scores.coded("model").names) == {"a", "b"}
    assert values(scores, "example") == ["3", "1", "2"]
    assert values(scores, "label") == ["1", None, "0"]
    assert values(scores, "group") == ["7", None, "7"]
    assert scores.numbers("logit_0").tolist() == [0.5, 1.5, 2.5]
    assert scores.numbers("logit_1").tolist() == [float(np.float32(x)) for x in (0.1, 0.2, 0.3)]


def test_json_lines_longer_than_a_batch_with_a_late_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_files, "BATCH", 4)
    rows: list[dict[str, Any]] = [{"model": f"m{n % 3}", "example": n, "logit": n / 2} for n in range(11)]
    rows[9]["group"] = "u"
    del rows[10]["logit"]
    scores = open_scores(put(tmp_path / "s.jsonl", rows)).scores
    assert scores.rows == 11
    assert values(scores, "model") == [f"m{n % 3}" for n in range(11)]
    assert values(scores, "group") == [None] * 9 + ["u", None]
    assert scores.numbers("logit")[:10].tolist() == [n / 2 for n in range(10)]
    assert np.isnan(scores.numbers("logit")[10])


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)), min_size=1,
                max_size=20))
def test_codes_spell_the_column_and_ordering_changes_no_value(given_names: list[str | None]) -> None:
    chunks = pa.chunked_array([pa.array(given_names[:7], pa.string()), pa.array(given_names[7:], pa.string())])
    coded = ColumnFile(Path("x"), ("a",), len(given_names), lambda _: chunks).coded("a")
    ordered = coded.ordered()
    said = [name if name and name.strip() else None for name in given_names]
    for column in (coded, ordered):
        assert [None if code < 0 else column.names[code] for code in column.codes] == said
        assert sorted(column.names) == sorted({name for name in said if name})
    assert list(ordered.names) == [coded.names[place] for place in name_order(coded.names)]


def test_numbers_are_ordered_by_value_and_other_names_by_code_point() -> None:
    codes = np.array([0, 1, 2, -1], dtype=np.int32)
    for given_names, ordered in [("10 9 0", "0 9 10"), ("10 9 00", "00 10 9"), ("b10 b9 B", "B b10 b9"),
                                 ("² 1 0", "0 1 ²")]:
        assert Coded(codes, tuple(given_names.split())).ordered().names == tuple(ordered.split())
    assert Coded(codes, ("10", "9", "0")).ordered().codes.tolist() == [2, 1, 0, -1]


@pytest.mark.parametrize(("names", "expected"), [
    (["logit_1", "logit_0"], ("logit", ("logit_0", "logit_1"))), (["prob"], ("prob", ("prob",))),
    ([f"prob_{n}" for n in range(11)], ("prob", tuple(f"prob_{n}" for n in range(11))))])
def test_score_columns(tmp_path: Path, names: list[str], expected: tuple[str, tuple[str, ...]]) -> None:
    row = {"model": "f", "example": "1", **dict.fromkeys(names, 0.5)}
    found = open_scores(put(tmp_path / "s.csv", [row]))
    assert (found.given_as, found.columns) == expected
    assert found.n_classes == max(2, len(names))


@pytest.mark.parametrize(("names", "words"), [
    ([], "there are no scores"),
    (["logit_0", "logit_1", "prob_0", "prob_1"], "logits and of probabilities"),
    (["logit_0", "logit_2"], "no logit_1"),
    (["logit_1", "logit_2"], "no logit_0"),
    (["logit_0"], "logit_0 alone"),
    (["prob_0"], "prob_0 alone"),
    (["logit", "logit_0"], "'logit' beside logit_0"),
])
def test_score_columns_that_cannot_be(tmp_path: Path, names: list[str], words: str) -> None:
    row = {"model": "f", "example": "1", **dict.fromkeys(names, 0.5)}
    assert words in refused(put(tmp_path / "s.csv", [row]))


def test_a_folder_of_three_tables_and_tables_that_are_named(tmp_path: Path) -> None:
    scores = put(tmp_path / "scores.csv", ROWS)
    assert open_scores(tmp_path).sides == {}
    models = put(tmp_path / "models.jsonl", [{"model": "f", "model_role": "target", "seed": 1}])
    examples = put(tmp_path / "examples.parquet", [{"example": "007", "label": 1, "note": MARK}])
    for files in (open_scores(tmp_path), open_scores(scores, models, examples)):
        assert files.scores.path == scores
        assert files.sides["model"].names == ("model", "model_role", "seed")
        assert files.sides["example"].names == ("example", "label")
    elsewhere = put(tmp_path / "other.csv", [{"model": "f", "model_role": "control"}])
    assert open_scores(tmp_path, models=elsewhere).sides["model"].path == elsewhere
    put(tmp_path / "scores.jsonl", ROWS)
    assert "scores.csv and scores.jsonl" in refused(tmp_path)


def test_a_folder_or_table_that_lacks_something(tmp_path: Path) -> None:
    assert "no table 'scores'" in refused(tmp_path)
    scores = put(tmp_path / "s.csv", ROWS)
    assert "there is no 'model'" in refused(scores, models=put(tmp_path / "m.csv", [{"name": "f", "seed": 1}]))
    assert "there is no 'example'" in refused(scores, examples=put(tmp_path / "e.csv", [{"label": 1}]))
    assert "there is no file" in refused(tmp_path / "none.csv")
    assert "ending that is not known" in refused(put(tmp_path / "s.tsv", ROWS))
    (tmp_path / "d.parquet").mkdir()
    (tmp_path / "d.parquet" / "scores.csv").mkdir()
    assert "no table 'scores'" in refused(tmp_path / "d.parquet")


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_without_rows_and_files_cut_short(tmp_path: Path, ending: str) -> None:
    empty = tmp_path / f"empty.{ending}"
    empty.write_bytes(gzip.compress(b"") if ending.endswith(".gz") else b"")
    assert str(empty) in refused(empty)
    whole = put(tmp_path / f"s.{ending}", ROWS * 200)
    if ending != "ndjson":
        assert open_scores(whole).scores.rows == 600
    cut = tmp_path / f"cut.{ending}"
    cut.write_bytes(whole.read_bytes()[:-25])
    assert str(cut) in refused(cut)
    (tmp_path / "head.csv").write_text("model,example,logit\n", encoding="utf-8")
    assert "no rows" in refused(tmp_path / "head.csv")
    none = pa.table({"model": pa.array([], pa.string()), "logit": pa.array([], pa.float64())})
    parquet.write_table(none, tmp_path / "none.parquet")
    assert "no rows" in refused(tmp_path / "none.parquet")
    (tmp_path / "none.jsonl").write_text("", encoding="utf-8")
    assert refused(tmp_path / "none.jsonl").endswith("none.jsonl holds no rows; expected at least one")


def test_cells_that_are_no_numbers_are_never_quoted(tmp_path: Path) -> None:
    rows = [*ROWS, {**ROWS[0], "logit_1": MARK}]
    assert "s.csv, row 4: 'logit_1' holds a cell that is no number" in refused(put(tmp_path / "s.csv", rows))
    assert "line 4: 'logit_1' is a string; expected a number" in refused(put(tmp_path / "s.jsonl", rows))
    text = [{**row, "logit_1": str(row["logit_1"])} for row in rows]
    assert "'logit_1' holds no numbers" in refused(put(tmp_path / "s.parquet", text))
    truth = [{**row, "logit_1": True} for row in ROWS]
    assert "'logit_1' holds no numbers" in refused(put(tmp_path / "t.parquet", truth))
    assert "'logit_1' is true or false" in refused(put(tmp_path / "t.jsonl", truth))
    assert "holds neither text nor numbers" in refused(put(tmp_path / "u.parquet", [{**ROWS[0], "model": b"f"}]))


def test_mixed_types_in_json_lines(tmp_path: Path) -> None:
    bad: list[tuple[str, Any, str]]
    bad = [("example", 7, "'example' is a number here and a string before"),
           ("member", 1, "'member' is a number here and true or false before"),
           ("category", {"a": MARK}, "'category' is an object"),
           ("category", [1], "'category' is a list with other things")]
    for name, value, words in bad:
        assert f"line 4: {words}" in refused(put(tmp_path / "s.jsonl", [*ROWS, {**ROWS[0], name: value}]))
    rows: list[dict[str, Any]]
    rows = [{"model": 1, "example": 2, "logit": 10**400}, {"model": 2, "example": 2, "logit": None}]
    numbers = open_scores(put(tmp_path / "n.jsonl", rows)).scores.numbers("logit")
    assert numbers[0] == np.inf
    assert np.isnan(numbers[1])


def test_csv_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"model;example;logit\nf;{MARK};1\n", encoding="utf-8")
    assert "none of the columns that are known" in refused(path)
    assert "such as model, example, member, logit_0" in refused(path)
    path.write_text(f"model,example,logit\nf,1,0.5\nf,{MARK}\n", encoding="utf-8")
    assert "more or fewer cells" in refused(path)
    path.write_text("model,example,logit,model\nf,1,0.5,f\n", encoding="utf-8")
    assert "'model' twice" in refused(path)
    path.write_bytes("model,example,logit\nf,1,0.5\n".encode("utf-16"))
    assert "not UTF-8" in refused(path)
    path.write_bytes("model,example,logit\nf,é,0.5\n".encode("latin-1"))
    assert "UTF-8" in refused(path)
    path.write_bytes("\ufeffmodel,example,logit\nf,1,0.5\n".encode())
    assert open_scores(path).scores.names == ("model", "example", "logit")
    path.write_text("model,example,logit\nf,1,nan\nf,2,-inf\nf,3,\nf,4,1e-3\n", encoding="utf-8")
    np.testing.assert_array_equal(open_scores(path).scores.numbers("logit"), [np.nan, -np.inf, np.nan, 1e-3])


def test_line_breaks_in_a_column_that_is_passed_over(tmp_path: Path) -> None:
    rows = [{"model": "f", "example": str(n), "text": f"{n},\n" * 400, "logit": float(n)} for n in range(2_000)]
    path = put(tmp_path / "s.csv", rows)
    assert path.stat().st_size > 2 * 2**20  # more than one block of the reader
    scores = open_scores(path).scores
    assert values(scores, "example") == [row["example"] for row in rows]
    assert scores.numbers("logit").tolist() == [row["logit"] for row in rows]


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "s.csv", ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[audit\]"):
        open_scores(path)
