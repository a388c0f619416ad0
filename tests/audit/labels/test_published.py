from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from discreet.audit.labels.published import Cell, read_cells
from discreet.core.errors import InputError

HEAD = "n_canaries,train_accuracy,epsilon,success"


def csv(folder: Path, *rows: str, head: str = HEAD) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join((head, *rows)) + "\n", encoding="utf-8")
    return path


def test_percent(tmp_path: Path) -> None:
    cells = read_cells(csv(tmp_path, "520,84.72,inf,51.73", "520,,0.3,50.4"))
    assert cells == [
        Cell(1, 520, inf, 0.5173, 0.8472, success_unit=1e-4, accuracy_unit=1e-4),
        Cell(2, 520, 0.3, 0.504, None, success_unit=1e-4, accuracy_unit=1e-4),
    ]


def test_shares(tmp_path: Path) -> None:
    [cell] = read_cells(csv(tmp_path, "1000,0.9267,1,0.769"))
    assert (cell.success, cell.train_accuracy) == (0.769, 0.9267)
    assert (cell.success_unit, cell.accuracy_unit) == (1e-3, 1e-4)


def test_a_percent_sign_is_percent_however_small(tmp_path: Path) -> None:
    [cell] = read_cells(csv(tmp_path, "1000,99%,1,0.5 %"))
    assert (cell.success, cell.train_accuracy) == (0.005, 0.99)
    assert cell.accuracy_unit == pytest.approx(0.01)


def test_a_share_written_short_is_not_taken_for_a_rounded_one(tmp_path: Path) -> None:
    [cell] = read_cells(csv(tmp_path, "100,1,1,1"))
    assert (cell.success, cell.success_unit) == (1.0, 0.01)


@pytest.mark.parametrize("written", ["inf", "Infinity", " INF ", "∞", "none", "1e999"])
def test_infinity_is_spelled_in_several_ways(tmp_path: Path, written: str) -> None:
    assert read_cells(csv(tmp_path, f"10,.5,{written},.5"))[0].epsilon == inf


def test_everything_that_a_row_may_say(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    row = {"n_canaries": 100, "train_accuracy": None, "epsilon": 2, "success": 0.25, "n_classes": 10, "n_train": 5000,
           "benchmark": " digits ", "attack": "mine", "guess": "Prediction", "more": [1]}
    path.write_text(json.dumps(row), encoding="utf-8")
    assert read_cells(path) == [Cell(1, 100, 2.0, 0.25, None, 10, 5000, "digits", "mine", "prediction", 0.01, 0.01)]


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({"n_canaries": [10, 20], "train_accuracy": [0.5, None], "epsilon": [1.0, 2.0],
                                  "success": [0.5, 0.75]}), path)
    assert [(c.n_canaries, c.train_accuracy, c.success) for c in read_cells(path)] == [(10, 0.5, 0.5), (20, None, 0.75)]


@pytest.mark.parametrize(("row", "message"), [
    ("0,.5,1,.5", "line 2: 'n_canaries' is 0; expected a whole number, at least 1"),
    ("1.5,.5,1,.5", "'n_canaries' is 1.5"),
    ("1e99,.5,1,.5", "'n_canaries' is 1E"),
    ("x,.5,1,.5", "'n_canaries' is not a number"),
    ("10,.5,0,.5", "'epsilon' is 0; expected a number above 0, or inf"),
    ("10,.5,-1,.5", "'epsilon' is -1"),
    ("10,.5,nan,.5", "'epsilon' is not a number"),
    ("10,.5,,.5", "'epsilon' is not a number"),
    ("10,.5,1,", "'success' is not a number"),
    ("10,.5,1,nan", "'success' is NaN or infinite"),
    ("10,.5,1,-0.1", "'success' is -0.1; expected a number from 0 to 1"),
    ("10,.5,1,101", "'success' is 101; expected a number from 0 to 100, since the column holds percent"),
    ("10,101,1,.5", "'train_accuracy' is 101"),
])
def test_cells_that_cannot_be_read(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_cells(csv(tmp_path, row))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("extra", "message"), [
    ({"n_classes": 1}, "'n_classes' is 1; expected a whole number, at least 2"),
    ({"n_train": 5}, "'n_train' is 5; expected a whole number, at least 10"),
    ({"guess": "perhaps"}, "'guess' is not one that is known; expected prediction or other"),
    ({"guess": 1}, "'guess' is not one that is known"),
    ({"benchmark": 3}, "'benchmark' is a number; expected a name or null"),
    ({"success": True}, "'success' is true or false"),
    ({"epsilon": True}, "'epsilon' is not a number"),
    ({"epsilon": [1]}, "'epsilon' is not a number"),
])
def test_values_that_cannot_be(tmp_path: Path, extra: dict[str, Any], message: str) -> None:
    path = tmp_path / "table.jsonl"
    row = {"n_canaries": 10, "train_accuracy": 0.5, "epsilon": 1, "success": 0.5} | extra
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_cells(path)
    assert message in str(error.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no 'success'"):
        read_cells(csv(tmp_path, "10,.5,1", head="n_canaries,train_accuracy,epsilon"))
