from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.audit.defences.made_up import made

from discreet.audit.core.simulate import World, simulated_table
from discreet.audit.defences.figures import Figure, Frontier, Point
from discreet.audit.defences.frontier import frontier
from discreet.audit.membership.attack import attacks, score_all, target_view
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.membership.rows import NO_CONTROL, NO_SELECTOR
from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import UsageError
from discreet.stats import auroc


def run(table: ScoreTable, seed: int = 0, **options: Any) -> Frontier:
    options = {"strengths": {"sigma": [1.0], "decimals": [1]}, "queries": [1, 256], "draws": 20, **options}
    return frontier(table, 0, np.random.default_rng(seed), **options)


def point(result: Frontier, mechanism: str, queries: int, queried: str = "same", strength: float | None = None
          ) -> Point:
    [found] = [p for p in result.points if (p.mechanism, p.queries, p.queried) == (mechanism, queries, queried)
               and (strength is None or p.strength == strength)]
    return found


def figure(of: Point, selection: str = "global", attack: str = "reference", scale: str = "logit",
           kind: str | None = "neutral") -> Figure:
    [found] = [f for f in of.attacks if (f.spec.selection, f.spec.attack, f.spec.scale, f.spec.reference_kind)
               == (selection, attack, scale, kind)]
    return found


def auc(of: Point, **which: Any) -> float:
    value = figure(of, **which).auc.value
    assert value is not None
    return value


@pytest.fixture(scope="module")
def result() -> Frontier:
    return run(made())


class TestWhatItShows:
    def test_fresh_noise_averages_out_keyed_noise_does_not(self, result: Frontier) -> None:
        clean = auc(point(result, "none", 1))
        assert clean > 0.9
        for mechanism in ("laplace", "keyed"):
            assert auc(point(result, mechanism, 1)) < clean - 0.15
        assert auc(point(result, "laplace", 256)) == pytest.approx(clean, abs=0.01)
        assert point(result, "keyed", 256).attacks == point(result, "keyed", 1).attacks

    def test_near_duplicates_average_keyed_noise_out(self, result: Frontier) -> None:
        clean = auc(point(result, "none", 1))
        near = [point(result, "keyed", k, "near-duplicates") for k in (1, 256)]
        assert near[0].attacks == point(result, "keyed", 1).attacks
        assert auc(near[1]) == pytest.approx(clean, abs=0.01)

    def test_duplicates_that_are_far_average_less(self) -> None:
        table = made()
        near, far = (run(table, jitter=jitter, mechanisms=["keyed"], queries=[4]) for jitter in (0.0, 3.0))
        assert auc(point(far, "keyed", 4, "near-duplicates")) < auc(point(near, "keyed", 4, "near-duplicates")) - 0.1

    def test_less_is_released_less_is_found(self, result: Frontier) -> None:
        clean, rounded, top = (auc(point(result, name, 1)) for name in ("none", "rounding", "top_label"))
        assert clean > rounded > top
        assert point(result, "rounding", 256).attacks == point(result, "rounding", 1).attacks

    def test_the_control_model_is_shown_next_to_every_figure(self, result: Frontier) -> None:
        for one in result.points:
            control = figure(one).control_auc
            assert control.value is not None
            assert abs(control.value - 0.5) < 0.08
        paired = figure(point(result, "none", 1), kind="paired")
        assert paired.control_auc.value is not None
        # The oracle calls a model leaking that trained on neither set: the reference remembers the non-members.
        assert paired.control_auc.value > 0.7
        assert paired.spec.oracle

    def test_the_first_point_is_the_undefended_model(self, result: Frontier) -> None:
        table = made()
        sides = evaluation_sets(table, 0, np.random.default_rng(0))
        scores = attacks["reference"].scores(target_view(table, sides), "logit", "neutral", np.random.default_rng(0))
        rows = np.concatenate([sides.members, sides.clean["neutral"]])
        one = result.points[0]
        assert (one.mechanism, figure(one).n_members, figure(one).n_nonmembers) == ("none", 150, 300)
        assert auc(one) == auroc(scores[rows], table.member[0][rows])
        assert figure(one).auc_spread is None


class TestDefinitions:

    def test_accuracy_and_missed_positives_under_noise_have_a_closed_form(self) -> None:
        """P(d + η − η' > 0) = 1 − ½ e^(−d/σ) (1 + d / 2σ) for d > 0, by symmetry else."""
        table = made(n=400)
        sigma = 0.8
        noisy = run(table, draws=200, mechanisms=["laplace"], strengths={"sigma": [sigma]}, queries=[1])
        one = point(noisy, "laplace", 1)
        rows = np.flatnonzero(table.examples.split == "eval")
        y = table.examples.label[rows]
        d = table.logits[0, rows, 0, y] - table.logits[0, rows, 0, 1 - y]
        tail = 0.5 * np.exp(-np.abs(d) / sigma) * (1 + np.abs(d) / (2 * sigma))
        right = np.where(d > 0, 1 - tail, tail)
        assert one.utility["accuracy"].value == pytest.approx(right.mean(), abs=0.006)
        assert one.utility["missed_positives"].value == pytest.approx(1 - right[y == 1].mean(), abs=0.009)
        assert (one.utility["accuracy"].n, one.utility["missed_positives"].n) == (400, int((y == 1).sum()))

    def test_the_positive_class_is_the_one_that_is_named(self) -> None:
        table = made()
        zero, one = (run(table, positive=p, mechanisms=[]).points[0] for p in (0, 1))
        assert zero.utility["accuracy"] == one.utility["accuracy"]
        rows = np.flatnonzero(table.examples.split == "eval")
        called = table.logits[0, rows, 0].argmax(axis=1)
        y = table.examples.label[rows]
        assert zero.utility["missed_positives"].value == pytest.approx((called[y == 0] != 0).mean())
        assert one.utility["missed_positives"].value == pytest.approx((called[y == 1] != 1).mean())

    def test_ties_for_the_top_are_drawn_among(self) -> None:
        table = made(n=400)
        tied = replace(table, logits=np.zeros_like(table.logits))
        one = run(tied, mechanisms=[]).points[0]
        assert one.utility["missed_positives"].value is not None
        assert 0.35 < one.utility["missed_positives"].value < 0.65

    def test_utility_without_a_split_is_that_of_the_nonmembers(self) -> None:
        table = made()
        bare = replace(table, examples=replace(table.examples, split=None))
        assert [run(one, mechanisms=[]).points[0].utility["accuracy"].n for one in (table, bare)] == [150, 300]
        assert "non-members" in run(bare, mechanisms=[]).notes[0]

    def test_any_registered_attack_can_be_asked_for(self) -> None:
        world = World(members=60, others=0, clean=120, selector=40, paired=0, neutral=0, shadows=6, leak=2.0)
        table = simulated_table(world, np.random.default_rng(0))
        options: dict[str, Any] = {"mechanisms": ["laplace"], "draws": 3, "queries": [1]}
        found = run(table, attacks=["loss", *attacks], **options)
        # Two classes and one query: the loss and the confidence of the true class are one attack, as are others.
        tried = {f.spec.attack for f in found.points[0].attacks}
        assert tried <= set(attacks)
        assert not tried & {"confidence_true", "entropy"}
        assert tried >= {"loss", "lira", "reference", "rmia"}
        for one in found.points[0].attacks[::2]:
            [row] = [row for row in score_all(table, evaluation_sets(table, 0, np.random.default_rng(0)), seed=0,
                                              names=[one.spec.attack])
                     if (row.scale, row.kind) == (one.spec.scale, one.spec.reference_kind)]
            assert row.target is not None
            if one.spec.attack != "lira_fixed":  # its deviations are over the examples that it is shown
                rows = np.flatnonzero(np.isfinite(row.target) & (table.examples.split != "calibration"))
                judged = np.intersect1d(rows, evaluation_sets(table, 0, np.random.default_rng(0)).judged)
                assert one.auc.value == pytest.approx(auroc(row.target[judged], table.member[0][judged]))
        # Who else is asked for does not move a figure.
        alone = run(table, attacks=["loss"], **options)
        assert [f for f in found.points[1].attacks if f.spec.attack == "loss"] == list(alone.points[1].attacks)

    def test_attacks_that_cannot_run_are_refused(self) -> None:
        with pytest.raises(UsageError, match="none of the attacks lira can run"):
            run(made(n=30), attacks=["lira"])
        with pytest.raises(UsageError, match="telepathy"):
            run(made(n=30), attacks=["telepathy"])

    def test_a_paired_reference_is_tried_on_its_own_training_set(self, result: Frontier) -> None:
        paired = figure(result.points[0], kind="paired")
        assert (paired.spec.nonmembers, paired.n_nonmembers) == ("reference_train", 150)

    def test_local_epsilon_is_of_one_input(self) -> None:
        table = made(n=40)
        clipped = run(table, clip=2.0, draws=2, strengths={"sigma": [0.5]})
        assert [(p.local_epsilon, p.local_epsilon_of_all_queries) for p in (
            point(clipped, "none", 1), point(clipped, "laplace", 1), point(clipped, "laplace", 256),
            point(clipped, "keyed", 256), point(clipped, "keyed", 256, "near-duplicates"))
        ] == [(None, None), (16.0, 16.0), (16.0, 4096.0), (16.0, 16.0), (16.0, 4096.0)]
        assert point(run(table, draws=2), "laplace", 1).local_epsilon is None


class TestAsked:
    def test_a_point_does_not_depend_on_the_others(self) -> None:
        table = made(n=60)
        alone = run(table, draws=5, mechanisms=["keyed"], queries=[4])
        among = run(table, draws=5, queries=[1, 4], strengths={"sigma": [0.5, 1.0]})
        assert point(alone, "keyed", 4) == point(among, "keyed", 4, strength=1.0)
        assert replace(alone.points[0], queries=1) == among.points[0]

    def test_the_seed_decides(self) -> None:
        table = made(n=60)
        one, again, other = (run(table, seed, draws=4, queries=[2]) for seed in (1, 1, 2))
        assert one == again
        # Without noise only the lot by which a larger side is thinned at the boundary is drawn.
        assert figure(one.points[-1]) == figure(other.points[-1])
        for mechanism, queried in (("laplace", "same"), ("keyed", "same"), ("keyed", "near-duplicates")):
            assert point(one, mechanism, 2, queried) != point(other, mechanism, 2, queried)

    def test_sigma_zero_is_the_undefended_model(self) -> None:
        found = run(made(n=40), draws=2, strengths={"sigma": [0.0, 1.0], "decimals": [0]}, queries=[1])
        assert [(p.mechanism, p.strength, p.queried) for p in found.points] == [
            ("none", None, "same"), ("keyed", 1.0, "same"), ("keyed", 1.0, "near-duplicates"),
            ("laplace", 1.0, "same"), ("rounding", 0.0, "same"), ("top_label", None, "same")]

    def test_at_most_so_many_a_side(self) -> None:
        small = run(made(n=200), mechanisms=[], per_set=50)
        assert {(f.n_members, f.n_nonmembers) for f in small.points[0].attacks} == {(50, 50), (40, 40)}
        assert small.points[0].utility["accuracy"].n == 100
        everyone = run(made(n=200), mechanisms=[], per_set=None)
        assert figure(everyone.points[0]).n_nonmembers == 400

    def test_what_the_table_lacks_is_said(self) -> None:
        bare = run(made(models=("target",)), draws=3)
        assert bare.control is None
        one = bare.points[0]
        assert [(f.spec.attack, f.spec.selection) for f in one.attacks] == [("loss", "global"), ("loss", "boundary")]
        assert one.attacks[0].control_auc.reason == NO_CONTROL
        assert one.attacks[1].auc.reason == one.attacks[1].control_auc.reason == NO_SELECTOR
        assert bare.primary.attack == "loss"

    def test_groups_are_the_unit(self) -> None:
        grouped = run(made(groups=30), draws=3)
        found = figure(point(grouped, "laplace", 1))
        assert (found.auc.unit, found.auc.n_pos, found.tpr_at_5pct_fpr.unit) == ("group", 30, "group")
        plain = run(made(), draws=3)
        assert found.auc.value == pytest.approx(auc(point(plain, "laplace", 1)), abs=0.05)
        assert grouped.points[0].utility["accuracy"].unit == "group"

    def test_only_the_first_query_of_the_table_is_defended(self) -> None:
        table = made(n=60)
        more = replace(table, logits=np.concatenate([table.logits, table.logits * 3], axis=2))
        one, two = run(table, mechanisms=["top_label"]), run(more, mechanisms=["top_label"])
        of = {"selection": "global"}
        assert [auc(p, **of) for p in one.points] == [auc(p, **of) for p in two.points]

    @pytest.mark.parametrize(("options", "said"), [
        ({"queries": []}, "queries are"), ({"queries": [0]}, "queries are"), ({"draws": 0}, "draws is 0"),
        ({"positive": 2}, "positive is 2: expected a class from 0 to 1"), ({"clip": -1.0}, "clip is -1"),
        ({"strengths": {"decimals": [99]}}, "decimals is 99"), ({"jitter": -1.0}, "jitter is -1")])
    def test_numbers_that_cannot_be(self, options: dict[str, Any], said: str) -> None:
        with pytest.raises(ValueError, match=said):
            run(made(n=30), **{"queries": [2], "draws": 1, **options})

    def test_json_is_plain_and_names_its_figures(self, result: Frontier) -> None:
        said = json.loads(json.dumps(result.to_json()))
        assert said["primary"] == {"attack": "reference", "scale": "logit", "reference_kind": "neutral",
                                   "selection": "global"}
        assert said["attack_facts"] == {"reference": {"attack_title": "reference ratio", "label_free": False}}
        row = next(r for p in said["points"] if p["mechanism"] == "laplace" for r in p["attacks"])
        estimate = {"value", "low", "high", "level", "n", "n_pos", "n_neg", "unit", "method", "reason"}
        assert set(row["auc"]) == set(row["control_auc"]) == set(row["tpr_at_5pct_fpr"]) == estimate
        assert set(row["auc_spread"]) == {"draws", "sd", "low", "high"}
        assert row["auc_spread"]["draws"] == 20
