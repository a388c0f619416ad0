from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.audit.membership.vectors import load_vectors
from discreet.core.errors import InputError

IDS = np.array(["b", "a", "7"], dtype=object)
GIVEN = {"a": [1.0, 2.0, 3.0], "7": [4.0, 5.0, 6.0], "b": [7.0, 8.0, 9.0], "further": [0.0, 0.0, 0.0]}


def frame() -> pd.DataFrame:
    return pd.DataFrame({"example": list(GIVEN), **{f"e{at}": [one[at] for one in GIVEN.values()] for at in range(3)}})


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **{"example": np.array(list(GIVEN)), "vectors": np.array(list(GIVEN.values()), dtype=np.float32),
                      **arrays})
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as raised:
        load_vectors(path, IDS)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("write", [
    lambda path: npz(path / "e.npz"),
    lambda path: (frame().to_parquet(path / "e.parquet"), path / "e.parquet")[1],
    lambda path: (frame().to_csv(path / "e.csv", index=False), path / "e.csv")[1],
    lambda path: (frame().to_json(path / "e.jsonl", orient="records", lines=True), path / "e.jsonl")[1],
    lambda path: (frame()[["e2", "example", "e0", "e1"]].to_parquet(path / "e.parquet"), path / "e.parquet")[1],
])
def test_vectors_come_in_the_order_of_the_examples(write: Callable[[Path], Path], tmp_path: Path) -> None:
    found = load_vectors(write(tmp_path), IDS)
    np.testing.assert_array_equal(found, [GIVEN[name] for name in IDS])
    assert found.dtype == np.float64


def test_whole_numbers_are_names_too(tmp_path: Path) -> None:
    path = npz(tmp_path / "e.npz", example=np.arange(4), vectors=np.arange(8.0).reshape(4, 2))
    found = load_vectors(path, np.array(["3", "0"], dtype=object))
    np.testing.assert_array_equal(found, [[6.0, 7.0], [0.0, 1.0]])


def test_examples_that_do_not_match_are_one_line(tmp_path: Path) -> None:
    other = npz(tmp_path / "e.npz", example=np.array(["a", "x", "y", "z"]))
    assert "2 of the 3 examples that were scored have no vector, the first of them 'b'" in refused(other)
    twice = npz(tmp_path / "t.npz", example=np.array(["a", "b", "7", "a"]))
    assert "example 'a' stands there twice" in refused(twice)
    empty = frame()
    empty.loc[1, "example"] = None
    empty.to_parquet(tmp_path / "n.parquet")
    assert "row 2 has no example" in refused(tmp_path / "n.parquet")


@pytest.mark.parametrize(("arrays", "said"), [
    ({"vectors": np.array([[1.0, np.nan]] * 4)}, "the vectors of 3 examples hold NaN"),
    ({"vectors": np.zeros((3, 2))}, r"shapes (4,) and (3, 2)"), ({"vectors": np.zeros((4, 1))}, "d at least 2"),
    ({"vectors": np.zeros(4)}, "d at least 2"), ({"vectors": np.array([["1", "2"]] * 4)}, "types <U7 and <U1"),
    ({"example": np.array(["a", "b", "7", "c"], dtype=object)}, "without pickles"),
    ({"example": np.array([1.5, 2.0, 3.0, 4.0])}, "float64"),
])
def test_arrays_that_are_not_that(tmp_path: Path, arrays: dict[str, Any], said: str) -> None:
    assert said in refused(npz(tmp_path / "e.npz", **arrays))


def test_files_that_are_not_that(tmp_path: Path) -> None:
    assert "there is no file" in refused(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    assert "cannot be read" in refused(tmp_path / "bad.npz")
    np.save(tmp_path / "one.npy", np.zeros((4, 2)))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    assert "cannot be read as a NumPy .npz file" in refused(tmp_path / "one.npz")
    np.savez(tmp_path / "half.npz", vectors=np.zeros((4, 2)))
    assert "lacks 'example'" in refused(tmp_path / "half.npz")
    for columns in (["example", "e0"], ["e0", "e1"], ["example", "e0", "e2"]):
        frame()[columns].to_parquet(tmp_path / "c.parquet")
        assert "expected 'example' and e0, e1, …" in refused(tmp_path / "c.parquet")
