from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.core.errors import InputError
from discreet.data.columns import open_columns
from discreet.data.one_hot import OneHot, Table, read_table

FRAME = pd.DataFrame({
    "id": ["a", "b", "c", "d", "e", "f"], "age": [30, 40, 50, 20, 60, 35], "gain": [0.5, None, 1.5, 2.0, 0.0, None],
    "sex": ["M", "F", "F", "M", "?", None], "fixed": [7] * 6,
    "income": [">50K", "<=50K", "<=50K", ">50K", ">50K", "<=50K"],
})
TRAIN = np.array([0, 1, 2, 3])


def written(tmp_path: Path, kind: str, frame: pd.DataFrame = FRAME) -> Path:
    path = tmp_path / f"table.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


def read(path: Path) -> Table:
    return read_table(open_columns(path, lambda _: True, lambda _: False), {"id", "income"})


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_reads_numbers_and_categories(kind: str, tmp_path: Path) -> None:
    table = read(written(tmp_path, kind))
    assert set(table.numbers) == {"age", "gain", "fixed"}
    np.testing.assert_array_equal(table.numbers["gain"], FRAME["gain"])
    assert set(table.categories) == {"sex"}


def test_standardises_by_the_training_rows_alone(tmp_path: Path) -> None:
    table = read(written(tmp_path, "parquet"))
    way = OneHot.fit(table, TRAIN)
    assert way.columns == ("age", "gain", "gain?", "fixed", "sex=F", "sex=M")
    found = way.apply(table)
    assert found.dtype == np.float32
    wide = pd.DataFrame({"age": FRAME["age"], "gain": FRAME["gain"], "gain?": FRAME["gain"].isna(),
                         "fixed": FRAME["fixed"], "F": FRAME["sex"] == "F", "M": FRAME["sex"] == "M"}).astype(float)
    own = wide.iloc[TRAIN]
    wanted = ((wide - own.mean()) / own.std(ddof=0).replace(0.0, 1.0)).fillna(0.0)
    np.testing.assert_allclose(found, wanted.to_numpy(), atol=1e-6)
    # "?" and an empty cell are values that no training row has.
    assert found[4, 4:].tolist() == found[5, 4:].tolist()
    other = read(written(tmp_path, "csv", FRAME.assign(age=[30, 40, 50, 20, 999, 0], sex=[*"MFFM", "X", "Y"])))
    again = OneHot.fit(other, TRAIN)
    assert again.mean.tolist() == way.mean.tolist()
    np.testing.assert_array_equal(way.apply(other)[:4], found[:4])


def test_another_file_gets_the_same_columns(tmp_path: Path) -> None:
    table = read(written(tmp_path, "parquet"))
    way = OneHot.fit(table, np.arange(6))
    assert way.columns[-3:] == ("sex=?", "sex=F", "sex=M")
    # Other codes for the same names.
    few = read(written(tmp_path, "csv", FRAME.iloc[[3, 0]]))
    np.testing.assert_array_equal(way.apply(few), way.apply(table)[[3, 0]])


def test_a_column_that_varies_by_rounding_only() -> None:
    numbers = {"a": np.array([0.1, 0.1, 0.1])}
    table = Table(numbers, {})
    assert np.abs(OneHot.fit(table, np.arange(3)).apply(table)).max() < 1e-9


def test_tables_that_are_refused(tmp_path: Path) -> None:
    many = pd.DataFrame({"name": [f"n{i}" for i in range(300)], "income": ["x", "y"] * 150})
    for said, frame in (("no column but the target", FRAME[["id", "income"]]),
                        ("'gain' holds NaN or infinity", FRAME.assign(gain=[1, 2, np.inf, 3, 4, 5])),
                        ("'gain' holds NaN or infinity", FRAME.assign(gain=[*"123", "nan", "4", ""])),
                        ("'name' has 300 different values", many)):
        with pytest.raises(InputError, match=said) as caught:
            read(written(tmp_path, "csv", frame))
        assert "\n" not in str(caught.value)
        assert ">50K" not in str(caught.value)


def test_rows_of_another_form_are_refused(tmp_path: Path) -> None:
    table = read(written(tmp_path, "csv"))
    way = OneHot.fit(table, TRAIN)
    for frame, said in ((FRAME.drop(columns="age"), "'age' of numbers"),
                        (FRAME.drop(columns="sex"), "'sex' of categories"),
                        (FRAME.assign(age=[*"abcdef"]), "'age' of numbers")):
        with pytest.raises(InputError, match=said):
            way.apply(read(written(tmp_path, "parquet", frame)))
    with pytest.raises(ValueError, match="no rows to fit to"):
        OneHot.fit(table, np.array([], dtype=np.int64))
