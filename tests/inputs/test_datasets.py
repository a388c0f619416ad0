"""Data sets of every kind: what is a label, what an id, and what inputs are learnt from."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.jsonl import jsonl

from discreet.core.errors import InputError
from discreet.inputs.columns import Coded, open_columns
from discreet.inputs.datasets import one_hot, read_dataset, read_table

TABLE = "id,age,job,user,income\na,20,cook,u2,low\nb,30,maid,u1,high\nc,,cook,u2,low\nd,50,dean,u1,mid\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


class TestTables:
    def test_labels_ids_and_groups(self, table: Path) -> None:
        data = read_dataset(table, "income", group="user")
        assert (data.kind, data.classes, data.ids) == ("table", ("high", "low", "mid"), ("a", "b", "c", "d"))
        assert data.labels.tolist() == [1, 0, 1, 2]
        assert data.groups is not None
        assert data.groups.tolist() == [1, 0, 1, 0]
        assert len(data) == 4

    def test_inputs_are_learnt_from_the_named_rows_alone(self, table: Path) -> None:
        data, rows = read_dataset(table, "income", drop=("user",)), np.array([0, 1])
        plain = read_table(open_columns(table, lambda _: True, lambda _: False), ("income", "id", "user"))
        np.testing.assert_array_equal(data.inputs(rows), one_hot(plain, rows))
        found = data.inputs(rows)
        assert isinstance(found, np.ndarray)
        assert found.shape == (4, 3)  # age, cook, maid: nobody among the rows is a dean, or without an age
        with pytest.raises(ValueError, match="no rows to learn from"):
            data.inputs(np.array([], dtype=np.int64))

    def test_rows_without_ids_are_numbered(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_text("x,y\n1,0\n2,1\n", encoding="utf-8")
        data = read_dataset(path, "y")
        assert data.ids == ("1", "2")
        assert data.groups is None

    def test_positive_values_make_it_binary(self, table: Path) -> None:
        data = read_dataset(table, "income", positive=["high", " mid"])
        assert data.classes == ("other", "high|mid")
        assert data.labels.tolist() == [0, 1, 0, 1]

    @pytest.mark.parametrize(("text", "options", "said"), [
        (TABLE, {"target": "wage"}, "no column 'wage'"),
        (TABLE, {"group": "firm"}, "no column 'firm'"),
        (TABLE, {"group": "income"}, "as target and as group"),
        (TABLE, {"drop": ["wage"]}, "no column 'wage'"),
        (TABLE, {"drop": ["income"]}, "to be dropped"),
        (TABLE, {"positive": ["top"]}, "no row has 'top'"),
        (TABLE, {"positive": ["low", "mid", "high"]}, "all of the 3 values"),
        (TABLE.replace("b,30", "a,30"), {}, "1 of 4 rows have an 'id' that another row has"),
        (TABLE.replace("b,30", ",30"), {}, "row 2: 'id' is empty"),
        (TABLE.replace("u1,high", ",high"), {"group": "user"}, "row 2: 'user' is empty"),
        (TABLE.replace("u1,high", "u1,"), {}, "row 2: 'income' is empty"),
        (TABLE.replace("high", " NaN").replace("mid", ""), {}, r"row 2: 'income' is empty or NaN \(2 such rows\)"),
        (TABLE.replace("b,30", "b,nan"), {}, "'age' holds NaN"),
        (TABLE.replace("b,30", "b,inf"), {}, "'age' holds NaN or infinity"),
        ("a,y\n1,0\n2,0\n", {"target": "y"}, "one value in all rows;")])
    def test_what_cannot_be_is_said_in_a_line(self, tmp_path: Path, text: str, options: dict[str, Any], said: str
                                              ) -> None:
        (tmp_path / "t.csv").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=said) as raised:
            read_dataset(tmp_path / "t.csv", **{"target": "income", **options})
        assert "\n" not in str(raised.value)

    def test_a_table_has_its_labels_inside(self, table: Path) -> None:
        with pytest.raises(InputError, match="expected a column"):
            read_dataset(table, "income", labels=table)


class TestTexts:
    def test_a_column_text_makes_texts(self, tmp_path: Path) -> None:
        path = jsonl(tmp_path / "t.jsonl", [{"text": "good\nfilm", "stars": 1, "id": "p"},
                                            {"text": "bad film", "stars": 0, "id": "q"}])
        data = read_dataset(path, "stars")
        assert (data.kind, data.classes, data.ids, data.labels.tolist()) == ("text", ("0", "1"), ("p", "q"), [1, 0])
        assert list(data.inputs(np.array([0]))) == ["good\nfilm", "bad film"]

    @pytest.mark.parametrize(("rows", "said"), [
        ([{"text": "a", "y": 1}, {"text": "", "y": 0}], "'text' is empty"),
        ([{"text": "a", "y": 1}, {"text": "b", "y": None}], "'y' is empty"),
        ([{"text": "a", "y": "p"}, {"text": "b", "y": "nan"}, {"text": "c", "y": "q"}],
         r"row 2: 'y' is empty or NaN \(1 such rows\)"),
        ([{"text": "a", "y": 1.0}, {"text": "b", "y": 0.0}, {"text": "c", "y": float("nan")}],
         "line 3: JSON that cannot be read"),
        ([{"text": "a", "y": 1}, {"text": "b", "y": 1}], "one value")])
    def test_mistakes(self, tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
        with pytest.raises(InputError, match=said):
            read_dataset(jsonl(tmp_path / "t.jsonl", rows), "y")

    @pytest.mark.parametrize("missing", ["nan", "", None, float("nan")])
    def test_a_label_that_is_missing_in_parquet_is_no_class(self, tmp_path: Path, missing: Any) -> None:
        parquet = pytest.importorskip("pyarrow.parquet")
        pa = pytest.importorskip("pyarrow")
        labels = [2.0, missing, 1.0] if isinstance(missing, float) else ["b", missing, "a"]
        for beside in ({"text": ["k", "l", "m"]}, {"x": [1, 2, 3]}):
            parquet.write_table(pa.table({**beside, "y": labels}), tmp_path / "t.parquet")
            with pytest.raises(InputError, match=r"row 2: 'y' is empty or NaN \(1 such rows\)"):
                read_dataset(tmp_path / "t.parquet", "y")

    def test_a_class_may_be_called_nancy(self, tmp_path: Path) -> None:
        data = read_dataset(jsonl(tmp_path / "t.jsonl", [{"text": "a", "y": "Nancy"}, {"text": "b", "y": "NaNa"}]), "y")
        assert data.classes == ("NaNa", "Nancy")


class TestArrays:
    def test_images_come_between_minus_one_and_one(self, tmp_path: Path) -> None:
        pixels = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
        np.savez(tmp_path / "a.npz", x_train=pixels, y_train=np.array([7, 3]), id=np.array(["p", "q"]))
        data = read_dataset(tmp_path / "a.npz", "y_train")
        assert (data.kind, data.classes, data.labels.tolist(), data.ids) == ("array", ("3", "7"), [1, 0], ("p", "q"))
        found = np.asarray(data.inputs(np.array([0])))
        np.testing.assert_allclose(found, np.moveaxis(pixels, 3, 1) / 127.5 - 1.0, rtol=1e-6, atol=1e-7)

    def test_rows_of_numbers_are_standardised_on_the_named_rows(self, tmp_path: Path) -> None:
        rows = np.array([[1.0, 5.0], [3.0, 5.0], [10.0, 7.0]])
        np.savez(tmp_path / "a.npz", inputs=rows, labels=np.array(["b", "a", "b"]), user=np.array([4, 4, 2]))
        data = read_dataset(tmp_path / "a.npz", "labels", group="user")
        np.testing.assert_allclose(np.asarray(data.inputs(np.array([0, 1]))), [[-1.0, 0.0], [1.0, 0.0], [8.0, 2.0]])
        assert data.classes == ("a", "b")
        assert data.groups is not None
        assert data.groups.tolist() == [1, 1, 0]

    def test_whole_numbers_stay_as_they_are(self, tmp_path: Path) -> None:
        words = np.array([[3, 0], [1, 2]])
        np.savez(tmp_path / "a.npz", x=words, y=np.array([0, 1]))
        np.testing.assert_array_equal(read_dataset(tmp_path / "a.npz", "y").inputs(np.array([0])), words)

    def test_labels_may_lie_apart(self, tmp_path: Path) -> None:
        def idx(*shape: int, body: bytes) -> bytes:
            return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + body

        images, labels = tmp_path / "train-images-idx3-ubyte.gz", tmp_path / "train-labels-idx1-ubyte.gz"
        images.write_bytes(gzip.compress(idx(3, 2, 2, body=bytes(range(12)))))
        labels.write_bytes(gzip.compress(idx(3, body=bytes([10, 9, 10]))))
        data = read_dataset(images, "", labels=labels, positive=["10"])
        assert (data.labels.tolist(), data.classes) == ([1, 0, 1], ("other", "10"))
        assert np.asarray(data.inputs(np.array([0]))).shape == (3, 1, 2, 2)

    @pytest.mark.parametrize(("arrays", "options", "said"), [
        ({"x": np.zeros((2, 3)), "y": np.array([0, 1])}, {"target": "z"}, "no array 'z'"),
        ({"z": np.zeros((2, 3)), "y": np.array([0, 1])}, {}, "no array of inputs"),
        ({"x": np.zeros((2, 3)), "y": np.array([0, 1])}, {"group": "g"}, "no array 'g'"),
        ({"x": np.full((2, 3), np.nan), "y": np.array([0, 1])}, {}, "NaN or infinity"),
        ({"x": np.zeros(3), "y": np.array([0, 1, 1])}, {}, "shape"),
        ({"x": np.zeros((2, 3)), "y": np.array([0, 1, 1])}, {}, "one for each of 2 rows"),
        ({"x": np.zeros((2, 3)), "y": np.array([0.5, 1])}, {}, "whole numbers or words"),
        ({"x": np.zeros((3, 3)), "y": np.array([0, np.nan, np.nan])}, {}, r"row 2: the array 'y' is .*\(2 such rows\)"),
        ({"x": np.zeros((3, 3)), "y": np.array([["a"], ["b"], ["NaN "]])}, {}, r"row 3: the array 'y' .*\(1 such rows"),
        ({"x": np.zeros((3, 3)), "y": np.array(["", "b", "c"])}, {}, "row 1: the array 'y' is empty or NaN"),
        ({"x": np.zeros((2, 3)), "y": np.array([1, 1])}, {}, "all 2 labels are one"),
        ({"x": np.zeros((2, 3)), "y": np.array([0, 1]), "id": np.array([1, 1])}, {}, "another row has")])
    def test_mistakes(self, tmp_path: Path, arrays: dict[str, Any], options: dict[str, Any], said: str) -> None:
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(InputError, match=said):
            read_dataset(tmp_path / "a.npz", **{"target": "y", **options})


FRAME = pd.DataFrame({
    "id": ["a", "b", "c", "d", "e", "f"], "age": [30, 40, 50, 20, 60, 35], "gain": [0.5, None, 1.5, 2.0, 0.0, None],
    "sex": ["M", "F", "F", "M", "?", None], "fixed": [7] * 6,
    "income": [">50K", "<=50K", "<=50K", ">50K", ">50K", "<=50K"],
})
TRAIN = np.array([0, 1, 2, 3])


def saved(tmp_path: Path, kind: str, frame: pd.DataFrame = FRAME) -> Path:
    path = tmp_path / f"table.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


def columns_of(path: Path) -> dict[str, Any]:
    return read_table(open_columns(path, lambda _: True, lambda _: False), {"id", "income"})


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_reads_numbers_and_categories(kind: str, tmp_path: Path) -> None:
    table = columns_of(saved(tmp_path, kind))
    assert {name: isinstance(column, Coded) for name, column in table.items()} == {
        "age": False, "gain": False, "sex": True, "fixed": False}
    np.testing.assert_array_equal(table["gain"], FRAME["gain"])


def test_standardises_by_the_training_rows_alone(tmp_path: Path) -> None:
    table = columns_of(saved(tmp_path, "parquet"))
    found = one_hot(table, TRAIN)
    assert found.dtype == np.float32
    wide = pd.DataFrame({"age": FRAME["age"], "gain": FRAME["gain"], "gain?": FRAME["gain"].isna(),
                         "fixed": FRAME["fixed"], "F": FRAME["sex"] == "F", "M": FRAME["sex"] == "M"}).astype(float)
    own = wide.iloc[TRAIN]
    wanted = ((wide - own.mean()) / own.std(ddof=0).replace(0.0, 1.0)).fillna(0.0)
    np.testing.assert_allclose(found, wanted.to_numpy(), atol=1e-6)
    # "?" and an empty cell are values that no training row has.
    assert found[4, 4:].tolist() == found[5, 4:].tolist()
    other = columns_of(saved(tmp_path, "csv", FRAME.assign(age=[30, 40, 50, 20, 999, 0], sex=[*"MFFM", "X", "Y"])))
    np.testing.assert_array_equal(one_hot(other, TRAIN)[:4], found[:4])


def test_a_column_that_varies_by_rounding_only() -> None:
    assert np.abs(one_hot({"a": np.array([0.1, 0.1, 0.1])}, np.arange(3))).max() < 1e-9


def test_tables_that_are_refused(tmp_path: Path) -> None:
    many = pd.DataFrame({"name": [f"n{i}" for i in range(300)], "income": ["x", "y"] * 150})
    for said, frame in (("no column but the target", FRAME[["id", "income"]]),
                        ("'gain' holds NaN or infinity", FRAME.assign(gain=[1, 2, np.inf, 3, 4, 5])),
                        ("'gain' holds NaN or infinity", FRAME.assign(gain=[*"123", "nan", "4", ""])),
                        ("'name' has 300 different values", many)):
        with pytest.raises(InputError, match=said) as caught:
            columns_of(saved(tmp_path, "csv", frame))
        assert "\n" not in str(caught.value)
        assert ">50K" not in str(caught.value)
