from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from scipy.stats import mannwhitneyu, rankdata
from sklearn.neighbors import NearestNeighbors
from tests.audit.membership.scenes import ends

from discreet.audit.membership import diagnostics
from discreet.audit.membership.diagnostics import NAMES, Diagnostic, diagnose, neighbours, ranks_within
from discreet.audit.membership.evaluation_sets import boundary


def world(rng: Generator, m: int = 240, d: int = 6) -> dict[str, Any]:
    """Nothing depends on anything: `m` records, half of each side."""
    return {"vectors": rng.normal(size=(m, d)), "label": rng.integers(0, 2, m), "member": np.arange(m) % 2 == 0,
            "p_true": rng.random(m)}


def run(given: dict[str, Any], seed: int = 0, **options: Any) -> dict[str, Diagnostic]:
    found = diagnose(**given, rng=np.random.default_rng(seed), **{"permutations": 199, **options})
    assert [one.name for one in found] == list(NAMES)
    return {one.name: one for one in found}


def edge_of(given: dict[str, Any], n: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    chosen = boundary(given["p_true"], given["label"], given["member"].astype(np.int8), n)
    return np.isin(np.arange(given["label"].size), chosen)


class TestNeighbours:
    @pytest.mark.parametrize(("m", "d", "k"), [(30, 3, 10), (700, 5, 10), (11, 40, 10), (5, 1, 1)])
    def test_they_are_the_nearest(self, m: int, d: int, k: int) -> None:
        vectors = np.random.default_rng(m).normal(size=(m, d)) + 100.0
        distance, place = neighbours(vectors, k)
        apart = np.linalg.norm(vectors[:, None] - vectors, axis=-1)
        np.fill_diagonal(apart, np.inf)
        np.testing.assert_array_equal(place, np.argsort(apart, axis=1)[:, :k])
        np.testing.assert_allclose(distance, np.sort(apart, axis=1)[:, :k], rtol=1e-6)

    def test_equal_records_are_neighbours_at_distance_zero_and_never_of_themselves(self) -> None:
        vectors = np.repeat(np.eye(3), 3, axis=0)
        distance, place = neighbours(vectors, 2)
        assert distance.max() < 1e-7
        assert sorted(place[0]) == [1, 2]
        assert sorted(place[4]) == [3, 5]

    @pytest.mark.parametrize("k", [0, 5])
    def test_more_neighbours_than_there_are(self, k: int) -> None:
        with pytest.raises(ValueError, match=f"k is {k}: expected 1 to 4"):
            neighbours(np.zeros((5, 2)), k)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 2.0, 2.5]), st.integers(0, 2)), min_size=1, max_size=30))
@settings(deadline=None)
def test_ranks_are_midranks_within_a_label(drawn: list[tuple[float, int]]) -> None:
    values, label = np.array([v for v, _ in drawn]), np.array([y for _, y in drawn])
    found = ranks_within(values, label)
    for one in set(label.tolist()):
        rows = label == one
        np.testing.assert_allclose(found[rows], (rankdata(values[rows]) - 0.5) / rows.sum())


class TestFigures:
    def test_the_outlier_statistic_is_the_papers_mann_whitney_u(self) -> None:
        """Of one label it is U / (n₁ n₂) of the mean distances to the ten nearest."""
        there = world(np.random.default_rng(1)) | {"label": np.zeros(240, dtype=np.int64)}
        edge = edge_of(there, 20)
        assert edge.sum() == 40
        distance = NearestNeighbors(n_neighbors=10).fit(there["vectors"]).kneighbors()[0].mean(axis=1)
        found = run(there)
        for name, one, other in (("outlier_boundary", edge, ~edge),
                                 ("outlier_boundary_members", edge & there["member"], edge & ~there["member"])):
            u = mannwhitneyu(distance[one], distance[other]).statistic
            assert found[name].estimate.value == pytest.approx(u / (one.sum() * other.sum()))

    def test_agreement_is_counted_one_by_one(self) -> None:
        there = world(np.random.default_rng(2))
        edge, found = edge_of(there, 20), run(there)
        place = NearestNeighbors(n_neighbors=10).fit(there["vectors"]).kneighbors()[1]
        for name, code, rows in (("side_agreement_boundary", "member", edge),
                                 ("label_agreement_boundary", "label", edge),
                                 ("side_agreement", "member", np.ones(240, dtype=bool))):
            hits = [there[code][other] == there[code][row] for row in np.flatnonzero(rows) for other in place[row]]
            assert found[name].estimate.value == pytest.approx(np.mean(hits))
            assert found[name].estimate.n == rows.sum()

    def test_outliers_at_the_boundary_are_found_and_only_they(self) -> None:
        there = world(np.random.default_rng(3))
        there["vectors"] = np.where(edge_of(there, 20)[:, None], 6.0, 1.0) * there["vectors"]
        found = run(there)
        one = found["outlier_boundary"]
        assert ends(one.estimate)[0] > 0.8
        assert one.p.value == pytest.approx(5 * 2 / 200)
        assert one.chance == pytest.approx(0.5, abs=0.03)
        assert (found["outlier_boundary_members"].p.value or 0.0) > 0.1

    def test_a_dense_label_is_no_outlier(self) -> None:
        """One label is spread ten times as far, and half of the boundary is of it: that is not the boundary's doing."""
        there = world(np.random.default_rng(5))
        there["label"] = (np.arange(240) % 4 == 0).astype(np.int64)
        there["vectors"] = there["vectors"] * np.where(there["label"] == 1, 10.0, 1.0)[:, None]
        low, _, high = ends(run(there)["outlier_boundary"].estimate)
        assert low < 0.5 < high

    def test_p_is_that_of_permutation_and_corrected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        there = world(np.random.default_rng(6))
        corrected = run(there)
        monkeypatch.setattr(diagnostics, "holm", np.asarray)
        plain = run(there)
        raw = [plain[name].p.value or 0.0 for name in NAMES]
        adjusted, worst = {}, 0.0
        for place, value in enumerate(sorted(raw)):
            worst = max(worst, min(1.0, (5 - place) * value))
            adjusted[value] = worst
        assert [corrected[name].p.value for name in NAMES] == [pytest.approx(adjusted[value]) for value in raw]

    @pytest.mark.slow
    def test_p_is_uniform_where_nothing_is_distinctive(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also where distance goes with the selector's probability, so that selection matters."""
        monkeypatch.setattr(diagnostics, "holm", np.asarray)
        small = dict.fromkeys(NAMES, 0)
        for seed in range(100):
            rng = np.random.default_rng(1000 + seed)
            there = world(rng, m=160, d=3)
            there["p_true"] = 1.0 / (1.0 + np.linalg.norm(there["vectors"], axis=1))
            for name, one in run(there, seed, permutations=59).items():
                small[name] += (one.p.value or 0.0) <= 0.1
        for name in ("outlier_boundary_members", "side_agreement_boundary", "side_agreement"):
            # Binomial(100, .1): beyond 20 with chance below .001.
            assert small[name] <= 20, name
        assert small["outlier_boundary"] > 75


class TestWhatCannotBe:
    def test_without_permutations_or_neighbours_it_says_so(self) -> None:
        found = run(world(np.random.default_rng(0)), permutations=0)
        assert all(one.chance is None and "no permutations" in str(one.p.reason) for one in found.values())
        assert all(one.estimate.resolved for one in found.values())
        found = run(world(np.random.default_rng(0), m=10))
        assert all("at least 11 are needed" in str(one.estimate.reason) for one in found.values())

    def test_all_at_the_boundary(self) -> None:
        found = run(world(np.random.default_rng(0), m=30))
        assert not found["outlier_boundary"].estimate.resolved
        assert not found["outlier_boundary"].p.resolved
        assert found["side_agreement"].p.resolved

    @pytest.mark.parametrize(("change", "said"), [
        ({"label": np.zeros(3, dtype=np.int64)}, "expected"), ({"p_true": np.full(240, np.nan)}, "finite"),
        ({"vectors": np.full((240, 2), np.inf)}, "finite"), ({"k": 0}, "k is 0"), ({"permutations": -1}, "is -1")])
    def test_arrays_that_do_not_fit(self, change: dict[str, Any], said: str) -> None:
        with pytest.raises(ValueError, match=said):
            diagnose(**{**world(np.random.default_rng(0)), "rng": np.random.default_rng(0), **change})

    def test_the_seed_decides(self) -> None:
        there = world(np.random.default_rng(0))
        assert run(there, 1) == run(there, 1)
        assert run(there, 1) != run(there, 2)
        assert set(run(there)["side_agreement"].to_json()) == {"name", "estimate", "chance", "p"}
