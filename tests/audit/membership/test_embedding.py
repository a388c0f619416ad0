from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from discreet.audit.membership.attacker_view import true_class_p
from discreet.audit.membership.diagnostics import NAMES
from discreet.audit.membership.embedding import FEWEST, SETS, Where, embedding_record, picture, where
from discreet.audit.membership.simulate import World, simulated_table
from discreet.core.errors import InputError, MissingExtraError
from discreet.scores.table import ScoreTable


def made(**changes: Any) -> ScoreTable:
    sizes = {"members": 100, "others": 0, "clean": 300, "selector": 40, "paired": 0}
    return simulated_table(World(**{**sizes, **changes}), np.random.default_rng(0))


def there(table: ScoreTable, seed: int = 0, **options: Any) -> Where:
    return where(table, 0, np.random.default_rng(seed), **options)


def sets_of(m: int) -> dict[str, Any]:
    return dict(zip(SETS, np.split(np.arange(m), [m - 20, m - 10]), strict=True))


class TestWhere:
    def test_sides_are_of_one_size_per_label_and_the_boundary_is_the_selectors(self) -> None:
        table = made()
        found = there(table)
        p = true_class_p(table, table.of_role("selection"))
        assert p is not None
        np.testing.assert_array_equal(found.p_true, p[found.rows])
        np.testing.assert_array_equal(found.member, table.member[0][found.rows] == 1)
        assert (np.diff(found.rows) > 0).all()
        for label in (0, 1):
            cells = [(found.label == label) & (found.member == side) for side in (True, False)]
            assert cells[0].sum() == cells[1].sum() == ((table.member[0] == 1) & (table.examples.label == label)).sum()
            for cell in cells:
                lowest = np.flatnonzero(cell)[np.argsort(found.p_true[cell])[:20]]
                assert set(np.flatnonzero(cell & found.edge)) == set(lowest)
        assert table.examples.split is not None
        assert "calibration" not in table.examples.split[found.rows]

    def test_the_three_sets_part_the_records(self) -> None:
        found = there(made())
        places = np.concatenate(list(found.sets.values()))
        assert sorted(places.tolist()) == list(range(found.rows.size))
        assert tuple(found.sets) == SETS
        assert found.member[found.sets["boundary members"]].all()
        assert not found.member[found.sets["boundary non-members"]].any()
        assert not found.edge[found.sets["random"]].any()

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
        assert set(whole.rows[whole.edge]) == set(few.rows[few.edge])
        for label in (0, 1):
            lowest = np.sort(whole.p_true[whole.label == label])[:200]
            assert np.isin(lowest, few.p_true[few.label == label]).all()
        assert there(table, most=10).rows.size >= 400

    def test_nobody_selects_for_the_target(self) -> None:
        with pytest.raises(InputError, match="no scores of a selection model"):
            there(made(selector=0))

    def test_too_few_to_compare(self) -> None:
        table = made()
        # All members are of one label, all others of the other: no label has both.
        alike = replace(table, examples=replace(table.examples, label=(table.member[0] == 1).astype(np.int64)))
        with pytest.raises(InputError, match=f"^0 records of both sides .* expected at least {FEWEST}"):
            there(alike)


class TestPicture:
    def test_pca_is_that_of_scikit_learn(self) -> None:
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(60, 7)) * np.array([1, 5, 2, 1, 1, 3, 1]) + 10.0
        found = picture(vectors, sets_of(60), rng, representation="x")
        expected = PCA(2, svd_solver="full").fit(vectors)
        places = np.array([[p["x"], p["y"]] for p in found["points"]])
        assert found["explained"] == pytest.approx(expected.explained_variance_ratio_)
        ours = {tuple(np.round(np.abs(place), 6)) for place in places}
        assert ours == {tuple(np.round(np.abs(place), 6)) for place in expected.transform(vectors)}

    def test_the_largest_loading_is_positive(self) -> None:
        line = np.outer(np.arange(30.0), [-1.0, 0.2, 0.1])
        for vectors in (line, -line):
            found = picture(vectors, sets_of(30), np.random.default_rng(0), representation="x")
            last = [p for p in found["points"] if p["set"] == "boundary non-members"]
            # The first coordinate grows with the vectors' own first one.
            assert np.sign(last[-1]["x"] - last[0]["x"]) == np.sign(vectors[-1, 0] - vectors[0, 0])

    def test_only_so_many_random_records_are_drawn_and_all_of_the_boundary(self) -> None:
        vectors = np.random.default_rng(0).normal(size=(100, 3))
        found, again, other = (picture(vectors, sets_of(100), np.random.default_rng(seed), representation="x", most=25)
                               for seed in (1, 1, 2))
        counts = {name: sum(p["set"] == name for p in found["points"]) for name in SETS}
        assert counts == {"random": 25, "boundary members": 10, "boundary non-members": 10}
        assert found == again != other
        assert json.loads(json.dumps(found)) == found

    def test_tsne_parts_what_is_apart_and_follows_its_seed(self) -> None:
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(60, 5))
        vectors[40:50] += 50.0
        # Two threads on one busy core take half a minute for sixty points.
        with import_module("threadpoolctl").threadpool_limits(1):
            one, again = (picture(vectors, sets_of(60), np.random.default_rng(3), representation="x", method="tsne")
                          for _ in range(2))
        assert one == again
        assert (one["method"], one["explained"]) == ("tsne", None)
        places = {name: np.array([[p["x"], p["y"]] for p in one["points"] if p["set"] == name]) for name in SETS}
        apart = np.linalg.norm(places["boundary members"].mean(axis=0) - places["random"].mean(axis=0))
        assert apart > 2 * np.linalg.norm(places["boundary members"] - places["boundary members"].mean(axis=0),
                                          axis=1).max()

    def test_tsne_needs_scikit_learn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
        with pytest.raises(MissingExtraError, match=r"discreet\[audit\]"):
            picture(np.eye(40), sets_of(40), np.random.default_rng(0), representation="x", method="tsne")

    def test_vectors_that_are_all_alike(self) -> None:
        found = picture(np.ones((30, 4)), sets_of(30), np.random.default_rng(0), representation="x")
        assert found["explained"] == [0.0, 0.0]
        assert {(p["x"], p["y"]) for p in found["points"]} == {(0.0, 0.0)}

    @pytest.mark.parametrize(("vectors", "options", "said"), [
        (np.zeros((30, 1)), {}, "d >= 2"), (np.zeros((2, 4)), {}, "m >= 3"), (np.full((30, 2), np.nan), {}, "finite"),
        (np.zeros((30, 2)), {"method": "umap"}, "'umap'"), (np.zeros((30, 2)), {"sets": {"random": []}}, "sets are"),
    ])
    def test_what_cannot_be_drawn(self, vectors: Any, options: dict[str, Any], said: str) -> None:
        with pytest.raises(ValueError, match=said):
            picture(vectors, **{"sets": sets_of(30), "rng": np.random.default_rng(0), "representation": "x", **options})


def test_a_record_has_points_and_every_diagnostic() -> None:
    table = made()
    vectors = np.random.default_rng(5).normal(size=(len(table.examples), 8))
    vectors[table.member[0] == 1] += 4.0
    found = embedding_record(vectors, table, 0, np.random.default_rng(0), representation="a sentence encoder",
                             permutations=49)
    assert (found["representation"], found["target"], found["dimensions"], found["neighbours"], found["permutations"]
            ) == ("a sentence encoder", table.models[0].name, 8, 10, 49)
    assert found["records"] == there(table).rows.size
    assert [one["name"] for one in found["diagnostics"]] == list(NAMES)
    by_name = {one["name"]: one for one in found["diagnostics"]}
    assert by_name["side_agreement"]["estimate"]["value"] > 0.95
    assert by_name["side_agreement"]["p"]["value"] == pytest.approx(5 * 2 / 50)
    assert sum(p["set"] != "random" for p in found["points"]) == 80
    assert json.loads(json.dumps(found)) == found
