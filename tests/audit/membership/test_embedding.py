from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.membership import diagnostics
from discreet.audit.membership.diagnostics import NAMES
from discreet.audit.membership.evaluation_sets import true_class_p
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError


def made(**changes: Any) -> ScoreTable:
    sizes = {"members": 100, "others": 0, "clean": 300, "selector": 40, "paired": 0}
    return simulated_table(World(**{**sizes, **changes}), np.random.default_rng(0))


def there(table: ScoreTable, seed: int = 0, **options: Any) -> diagnostics.BoundaryPlaces:
    return diagnostics.boundary_places(table, 0, np.random.default_rng(seed), **options)


def sets_of(m: int) -> dict[str, Any]:
    return dict(zip(diagnostics.SETS, np.split(np.arange(m), [m - 20, m - 10]), strict=True))


class TestWhere:
    def test_sides_are_of_one_size_per_label_and_the_boundary_is_the_selectors(self) -> None:
        table = made()
        found = there(table)
        p = true_class_p(table, table.of_role("selection"))
        np.testing.assert_array_equal(found.p_true, p[found.rows])
        np.testing.assert_array_equal(found.member, table.member[0][found.rows] == 1)
        assert (np.diff(found.rows) > 0).all()
        for label in (0, 1):
            cells = [(found.label == label) & (found.member == side) for side in (True, False)]
            assert cells[0].sum() == cells[1].sum() == ((table.member[0] == 1) & (table.examples.label == label)).sum()
            for cell in cells:
                lowest = np.flatnonzero(cell)[np.argsort(found.p_true[cell])[:20]]
                assert set(np.flatnonzero(cell & found.at_boundary)) == set(lowest)
        assert table.examples.split is not None
        assert "calibration" not in table.examples.split[found.rows]

    def test_of_a_group_one_record_is_looked_at(self) -> None:
        table, _ = made(group_size=4).without_split_groups()
        assert table.examples.group is not None
        groups = table.examples.group[there(table).rows]
        assert groups.size == np.unique(groups).size > 20
        assert set(there(table).rows) != set(there(table, 1).rows)

    def test_a_large_table_keeps_its_boundary(self) -> None:
        table = made(members=600, clean=600)
        whole, few = there(table), there(table, most=500)
        assert few.rows.size == 500
        assert set(whole.rows[whole.at_boundary]) == set(few.rows[few.at_boundary])
        for label in (0, 1):
            lowest = np.sort(whole.p_true[whole.label == label])[:200]
            assert np.isin(lowest, few.p_true[few.label == label]).all()
        assert there(table, most=10).rows.size >= 400

    def test_what_has_no_boundary(self) -> None:
        with pytest.raises(InputError, match="no scores of a selection model"):
            there(made(selector=0))
        table = made()
        # All members are of one label, all others of the other: no label has both.
        alike = replace(table, examples=replace(table.examples, label=(table.member[0] == 1).astype(np.int64)))
        with pytest.raises(InputError, match=f"^0 records of both sets .* expected at least {diagnostics.FEWEST}"):
            there(alike)


class TestPicture:
    def test_pca_is_that_of_scikit_learn(self) -> None:
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(60, 7)) * np.array([1, 5, 2, 1, 1, 3, 1]) + 10.0
        found = diagnostics.picture(vectors, sets_of(60), rng, representation="x")
        expected = PCA(2, svd_solver="full").fit(vectors)
        places = np.array([[p["x"], p["y"]] for p in found["points"]])
        assert found["explained"] == pytest.approx(expected.explained_variance_ratio_)
        ours = {tuple(np.round(np.abs(place), 6)) for place in places}
        assert ours == {tuple(np.round(np.abs(place), 6)) for place in expected.transform(vectors)}

    def test_the_largest_loading_is_positive(self) -> None:
        line = np.outer(np.arange(30.0), [-1.0, 0.2, 0.1])
        for vectors in (line, -line):
            found = diagnostics.picture(vectors, sets_of(30), np.random.default_rng(0), representation="x")
            last = [p for p in found["points"] if p["set"] == "boundary non-members"]
            # The first coordinate grows with the vectors' own first one.
            assert np.sign(last[-1]["x"] - last[0]["x"]) == np.sign(vectors[-1, 0] - vectors[0, 0])

    def test_only_so_many_random_records_are_drawn_and_all_of_the_boundary(self) -> None:
        vectors = np.random.default_rng(0).normal(size=(100, 3))
        found, again, other = (diagnostics.picture(vectors, sets_of(100), np.random.default_rng(seed), most=25,
                                                 representation="x") for seed in (1, 1, 2))
        counts = {name: sum(p["set"] == name for p in found["points"]) for name in diagnostics.SETS}
        assert counts == {"random": 25, "boundary members": 10, "boundary non-members": 10}
        assert found == again != other
        assert json.loads(json.dumps(found)) == found

    def test_vectors_that_are_all_alike(self) -> None:
        found = diagnostics.picture(np.ones((30, 4)), sets_of(30), np.random.default_rng(0), representation="x")
        assert found["explained"] == [0.0, 0.0]
        assert {(p["x"], p["y"]) for p in found["points"]} == {(0.0, 0.0)}

    @pytest.mark.parametrize(("vectors", "options", "said"), [
        (np.zeros((30, 1)), {}, "d >= 2"), (np.zeros((2, 4)), {}, "m >= 3"), (np.full((30, 2), np.nan), {}, "finite"),
        (np.zeros((30, 2)), {"sets": {"random": []}}, "sets are")])
    def test_what_cannot_be_drawn(self, vectors: Any, options: dict[str, Any], said: str) -> None:
        with pytest.raises(ValueError, match=said):
            diagnostics.picture(vectors, **{"sets": sets_of(30), "rng": np.random.default_rng(0), "representation": "x",
                                          **options})


def test_a_record_has_points_and_every_diagnostic() -> None:
    table = made()
    vectors = np.random.default_rng(5).normal(size=(len(table.examples), 8))
    vectors[table.member[0] == 1] += 4.0
    found = diagnostics.embedding_record(vectors, table, 0, np.random.default_rng(0),
                                         representation="a sentence encoder", permutations=49)
    assert (found["representation"], found["target"], found["dimensions"], found["neighbours"], found["permutations"]
            ) == ("a sentence encoder", table.models[0].name, 8, 10, 49)
    assert found["records"] == there(table).rows.size
    assert [one["name"] for one in found["diagnostics"]] == list(NAMES)
    by_name = {one["name"]: one for one in found["diagnostics"]}
    assert by_name["side_agreement"]["estimate"]["value"] > 0.95
    assert by_name["side_agreement"]["p"]["value"] == pytest.approx(5 * 2 / 50)
    assert sum(p["set"] != "random" for p in found["points"]) == 80
    assert json.loads(json.dumps(found)) == found


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
        diagnostics.load_vectors(path, IDS)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("write", [
    lambda path: npz(path / "e.npz"), lambda path: (frame().to_parquet(path / "e.parquet"), path / "e.parquet")[1],
    lambda path: (frame().to_csv(path / "e.csv", index=False), path / "e.csv")[1],
    lambda path: (frame().to_json(path / "e.jsonl", orient="records", lines=True), path / "e.jsonl")[1],
    lambda path: (frame()[["e2", "example", "e0", "e1"]].to_parquet(path / "e.parquet"), path / "e.parquet")[1]])
def test_vectors_come_in_the_order_of_the_examples(write: Callable[[Path], Path], tmp_path: Path) -> None:
    found = diagnostics.load_vectors(write(tmp_path), IDS)
    np.testing.assert_array_equal(found, [GIVEN[name] for name in IDS])
    assert found.dtype == np.float64


def test_whole_numbers_are_names_too(tmp_path: Path) -> None:
    path = npz(tmp_path / "e.npz", example=np.arange(4), vectors=np.arange(8.0).reshape(4, 2))
    found = diagnostics.load_vectors(path, np.array(["3", "0"], dtype=object))
    np.testing.assert_array_equal(found, [[6.0, 7.0], [0.0, 1.0]])


def test_examples_that_do_not_match_are_one_line(tmp_path: Path) -> None:
    other = npz(tmp_path / "e.npz", example=np.array(["a", "x", "y", "z"]))
    assert "2 of the 3 examples that were scored have no vector, the first of them 'b'" in refused(other)
    twice = npz(tmp_path / "t.npz", example=np.array(["a", "b", "7", "a"]))
    assert "example 'a' is there twice" in refused(twice)
    empty = frame()
    empty.loc[1, "example"] = None
    empty.to_parquet(tmp_path / "n.parquet")
    assert "row 2 has no example" in refused(tmp_path / "n.parquet")


@pytest.mark.parametrize(("arrays", "said"), [
    ({"vectors": np.array([[1.0, np.nan]] * 4)}, "the vectors of 3 examples hold NaN"),
    ({"vectors": np.zeros((3, 2))}, r"shapes (4,) and (3, 2)"), ({"vectors": np.zeros((4, 1))}, "d at least 2"),
    ({"vectors": np.zeros(4)}, "d at least 2"), ({"vectors": np.array([["1", "2"]] * 4)}, "types <U7 and <U1"),
    ({"example": np.array(["a", "b", "7", "c"], dtype=object)}, "without pickles"),
    ({"example": np.array([1.5, 2.0, 3.0, 4.0])}, "float64")])
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


def test_the_least_likely_of_each_label_and_set() -> None:
    table = made(members=30, clean=30, selector=10)
    texts = {name: f"text of {name}" for name in table.examples.id}
    found = diagnostics.boundary_records(table, texts, each=2)
    assert [(one["label"], one["side"]) for one in found] == [
        (label, side) for label in (0, 1) for side in ("member", "non-member") for _ in range(2)]
    p = true_class_p(table, table.of_role("selection"))
    rows = [row for row in range(70) if table.examples.label[row] == 1 and table.member[0, row] == 1]
    least = sorted(rows, key=lambda row: p[row])[:2]
    mine = found[4:6]
    assert [one["id"] for one in mine] == [table.examples.id[row] for row in least]
    assert [one["text"] for one in mine] == [f"text of {table.examples.id[row]}" for row in least]
    assert [one["p"] for one in mine] == [float(p[row]) for row in least]


def test_nothing_without_a_selector_and_no_record_without_text() -> None:
    table = made(members=5, clean=5, selector=0)
    assert diagnostics.boundary_records(table, dict.fromkeys(table.examples.id, "t")) == []
    table = made(members=5, clean=5, selector=5)
    assert [one["id"] for one in diagnostics.boundary_records(table, {"e3": "t"})] == ["e3"]
    # Nor by a selector that may have been trained on the records.
    table.member[table.of_role("selection")[0]] = -1
    assert diagnostics.boundary_records(table, dict.fromkeys(table.examples.id, "t")) == []
