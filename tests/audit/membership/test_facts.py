from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.audit.membership.scenes import drawn, ends, scene, sets_of, sure
from tests.errors import refused

import discreet
from discreet.audit.core.resampling import Units
from discreet.audit.core.simulate import World
from discreet.audit.membership.audit import MembershipAudit, audit_membership
from discreet.audit.membership.facts import (
    Guarantee,
    gap,
    guarantee_of,
    guaranteed,
    learned,
    mean_share,
    tree_structure,
    utility_of,
)
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import ScoreTable
from discreet.audit.scores.write import write_scores
from discreet.core.errors import InputError
from discreet.core.records import Estimate
from discreet.core.types import FloatArray
from discreet.report import summarise, to_html, to_text
from discreet.stats import auroc, rate_estimate
from discreet.stats.epsilon import one_run_p


def test_accuracy_per_class_and_gap_as_counted() -> None:
    table = drawn(World(members=80, others=0, clean=90, paired=0, leak=3.0), 2)
    sets = sets_of(table)
    found = utility_of(table, sets, Units.of(table))
    right = table.logits[0, :, 0].argmax(axis=1) == table.examples.label
    for name in ("all", "0", "1"):
        chosen = np.ones(right.size, dtype=bool) if name == "all" else table.examples.label == int(name)
        train, test = (right[rows][chosen[rows]].mean() for rows in (sets.members, sets.clean[None]))
        given = [found[name][one].value for one in ("train", "test", "gap")]
        assert given == pytest.approx([train, test, train - test])
    assert found["all"]["gap"].low > 0.0


def test_the_answer_is_the_mean_over_queries() -> None:
    table = drawn(World(members=20, others=0, clean=20, paired=0), 2)
    # One loud wrong answer against two mild right ones.
    logits = np.zeros((len(table.models), len(table.examples), 3, 2))
    rows = np.arange(len(table.examples))
    logits[:, rows, 0, 1 - table.examples.label] = 9.0
    for query in (1, 2):
        logits[:, rows, query, table.examples.label] = 2.0
    table = replace(table, logits=logits)
    assert utility_of(table, sets_of(table), Units.of(table))["all"]["train"].value == 1.0


def test_gap_covers_the_difference() -> None:
    rng, covered = np.random.default_rng(6), 0
    for _ in range(500):
        train, test = (rate_estimate(int(rng.binomial(n, p)), n) for n, p in ((60, 0.9), (45, 0.8)))
        low, _, high = ends(gap(train, test))
        covered += low <= 0.1 <= high
    # Exact intervals are conservative: at least 95%, one-sided at .001.
    assert covered >= 459
    assert gap(Estimate.unresolved("a share of no members"), rate_estimate(3, 4)).reason == "a share of no members"


def test_balanced_accuracy_is_the_mean_over_classes_and_the_auc_that_of_class_1() -> None:
    table = drawn(World(members=200, others=0, clean=200, paired=0), 2)
    sets = sets_of(table)
    found = utility_of(table, sets, Units.of(table))
    assert found["balanced"]["train"].value == pytest.approx(
        (found["0"]["train"].value + found["1"]["train"].value) / 2)
    margin = table.logits[0, sets.members, 0, 1] - table.logits[0, sets.members, 0, 0]
    assert found["auc"]["train"].value == pytest.approx(auroc(margin, table.examples.label[sets.members] == 1))
    low, value, high = ends(mean_share([rate_estimate(9, 10), rate_estimate(400, 500)]))
    assert value == pytest.approx(0.85)
    assert low < value < high
    assert not mean_share([rate_estimate(9, 10), Estimate.unresolved("no members")]).resolved


def test_a_model_that_always_answers_the_common_class_may_have_learned() -> None:
    table = drawn(World(members=400, others=0, clean=400, paired=0), 2)
    # 5% of class 1; the model ranks classes well and answers 0 to everything: accuracy is the share of class 0.
    rows = np.flatnonzero((table.examples.label == 0) | (np.arange(len(table.examples)) % 20 == 0))
    rare = table.take(rows)
    logits = rare.logits.copy()
    logits[..., 0] += 20.0
    shifted, idle = replace(rare, logits=logits), replace(rare, logits=np.random.default_rng(0).normal(
        size=rare.logits.shape))
    for one, expected in ((shifted, True), (idle, False)):
        sets = sets_of(one)
        assert learned(one, sets, Units.of(one)) == expected
    assert utility_of(shifted, sets_of(shifted), Units.of(shifted))["1"]["train"].value == 0.0


def of_ten_classes(weights_of: Callable[[FloatArray, np.random.Generator], FloatArray], seed: int) -> bool:
    """Whether a linear model of ten classes with means of their own learned something."""
    rng = np.random.default_rng(seed)
    table = drawn(World(members=2000, others=0, clean=20, paired=0), 2)
    n, means = len(table.examples), rng.normal(size=(10, 20))
    label = rng.integers(0, 10, n)
    logits = (means[label] + 3.0 * rng.normal(size=(n, 20))) @ weights_of(means, rng).T
    table = replace(table, examples=replace(table.examples, label=label),
                    logits=np.broadcast_to(logits[None, :, None, :], (len(table.models), n, 1, 10)))
    return learned(table, sets_of(table), Units.of(table))


def test_of_many_classes_some_are_ranked_well_by_accident() -> None:
    by_chance = [of_ten_classes(lambda means, rng: rng.normal(size=means.shape), seed) for seed in range(20)]
    assert sum(by_chance) <= 2
    assert all(of_ten_classes(lambda means, _: means, seed) for seed in range(3))
    # One class alone is something.
    assert of_ten_classes(lambda means, _: np.where(np.arange(10)[:, None] == 4, means, 0.0), 0)


RNG = np.random.default_rng(0)
X: FloatArray = RNG.normal(size=(300, 4))
Y = np.where(X[:, 0] + RNG.normal(size=300) > 0, "yes", np.where(X[:, 1] > 1, "maybe", "no"))


def by_hand(trees: list[Any], probabilities: FloatArray, features: FloatArray) -> dict[str, int]:
    """Record by record, tree by tree, walking from the root."""
    small, smallest = set(), len(features)
    parameters = leaves = 0
    for one in trees:
        tree, where = one.tree_, []
        for row in features.astype(np.float32):
            node = 0
            while tree.children_left[node] != -1:
                below = row[tree.feature[node]] <= tree.threshold[node]
                node = tree.children_left[node] if below else tree.children_right[node]
            where.append(node)
        counts = Counter(where)
        smallest = min(smallest, *counts.values())
        small |= {place for place, node in enumerate(where) if counts[node] < 10}
        for node in range(tree.node_count):
            leaf = tree.children_left[node] == -1
            leaves += leaf
            parameters += (tree.value.shape[2] - 1 or 1) if leaf else 2
    groups = defaultdict(list)
    for place, row in enumerate(probabilities):
        groups[tuple(float(value) for value in row.round(9))].append(place)
    return {"leaves": leaves, "smallest_leaf": smallest, "in_small_leaves": len(small), "groups": len(groups),
            "smallest_group": min(map(len, groups.values())),
            "in_small_groups": sum(len(rows) for rows in groups.values() if len(rows) < 10),
            "in_one_class_groups": sum(len(rows) for rows in groups.values() if len({Y[row] for row in rows}) == 1),
            "parameters": parameters, "degrees_of_freedom": len(features) - parameters}


@pytest.mark.parametrize("model", [
    DecisionTreeClassifier(random_state=0), DecisionTreeClassifier(min_samples_leaf=12, random_state=0),
    RandomForestClassifier(5, random_state=0), ExtraTreesClassifier(4, max_depth=3, random_state=0),
    GradientBoostingClassifier(n_estimators=3, random_state=0)], ids=str)
def test_every_count_is_that_of_a_walk(model: Any) -> None:
    model.fit(X, Y)
    found = sure(tree_structure(model, X, Y)).to_json()
    trees = list(np.ravel(getattr(model, "estimators_", [model])))
    expected = by_hand(trees, model.predict_proba(X), X)
    assert {name: found[name] for name in expected} == expected
    assert (found["trees"], found["members"], found["threshold"]) == (len(trees), 300, 10)


def test_large_leaves_of_mixed_classes_are_no_risk_and_pure_leaves_are() -> None:
    safe = DecisionTreeClassifier(min_samples_leaf=60, random_state=0).fit(X, Y)
    assert sure(tree_structure(safe, X, Y)).risks == ()
    grown = sure(tree_structure(DecisionTreeClassifier(random_state=0).fit(X, Y), X, Y))
    assert grown.risks == ("small_leaves", "class_disclosure", "degrees_of_freedom")
    assert grown.in_one_class_groups == 300


def test_pipelines_and_searches_are_looked_into_and_other_models_are_none() -> None:
    tree = DecisionTreeClassifier(min_samples_leaf=12, random_state=0)
    plain = sure(tree_structure(tree.fit(X, Y), X, Y))
    piped = make_pipeline(StandardScaler(), DecisionTreeClassifier(min_samples_leaf=12, random_state=0)).fit(X, Y)
    searched = GridSearchCV(make_pipeline(DecisionTreeClassifier(random_state=0)), {
        "decisiontreeclassifier__min_samples_leaf": [12]}, cv=2).fit(X, Y)
    for model in (piped, searched):
        assert sure(tree_structure(model, X, Y)).to_json() == plain.to_json()
    assert tree_structure(LogisticRegression().fit(X, Y), X, Y) is None
    assert tree_structure(lambda rows: np.zeros((len(rows), 2)), X, Y) is None


def test_an_audit_in_memory_shows_it_next_to_its_verdict() -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["river", "bread", "form", "baker", "permit"], 6)) + f" {place}"
             for place in range(240)]
    labels = rng.choice(["calm", "toxic"], 240)
    model = make_pipeline(TfidfVectorizer(), DecisionTreeClassifier(random_state=0)).fit(texts[:120], labels[:120])
    audit = discreet.audit_model(model, (texts[:120], labels[:120]), (texts[120:], labels[120:]), permutations=0,
                                 bootstraps=5)
    structure = sure(audit.structure)
    assert structure.members == 120
    assert "small_leaves" in structure.risks
    assert audit.record["structure"] == structure.to_json()
    said = to_text(summarise(audit.record))
    assert "What the trees give away by themselves" in said
    assert "leaves of fewer than 10 members" in to_html(summarise(audit.record))
    linear = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts[:120], labels[:120])
    other = discreet.audit_model(linear, (texts[:120], labels[:120]), (texts[120:], labels[120:]), permutations=0,
                                 bootstraps=5)
    assert other.structure is None
    assert "structure" not in other.record


LEAKING = World(members=400, others=0, clean=400, selector=0, paired=0, leak=3.0)


def private(table: ScoreTable, epsilon: float, **facts: str) -> ScoreTable:
    first, *rest = table.models
    return replace(table, models=(replace(first, mechanism="dp-sgd", epsilon=epsilon, facts=facts), *rest))


def audited(table: ScoreTable, design: str = "randomised") -> MembershipAudit:
    return audit_membership(table, design=design, permutations=0, bootstraps=5, attacks=["loss"])


def test_a_larger_epsilon_than_guaranteed_fails_whatever_the_tolerance() -> None:
    table = private(drawn(LEAKING), 0.5, delta="1e-5")
    done = audit_membership(table, design="randomised", permutations=0, bootstraps=5, attacks=["loss"],
                            tolerance_auc=0.999, tolerance_part=0.999)
    found = sure(done.decisive.guarantee)
    assert (found.broken, done.verdict) == (True, "fail")
    assert sure(found.lower.value) > 1.0
    assert done.decisive.judgement.reason_codes[0] == "guarantee_broken"
    page = summarise(done.record)
    assert "gives away more about its training records than its ε of 0.5 allows" in page.headline
    assert "The guarantee does not hold" in to_html(page)


def test_a_guarantee_that_holds_stands_next_to_the_bound() -> None:
    done = audited(private(drawn(replace(LEAKING, leak=0.0)), 4.0, delta="1e-5"))
    found = sure(done.decisive.guarantee)
    assert not found.broken
    assert 0.0 <= sure(found.lower.value) < 1.0
    assert "guarantee" in done.decisive.judgement.reason_codes
    assert "at most 4 at δ = 1e-05" in " ".join(done.decisive.judgement.reasons)
    assert "is the most that ε of this training run can be" in to_html(summarise(done.record))


def test_without_a_random_draw_nothing_is_broken() -> None:
    done = audited(private(drawn(LEAKING), 0.5, delta="1e-5"), "convenience")
    found = sure(done.decisive.guarantee)
    assert (found.broken, done.verdict) == (False, "inconclusive")
    assert "random draw" in found.sentence


def test_models_without_a_guarantee_have_none() -> None:
    table = drawn(LEAKING)
    assert audited(table).decisive.guarantee is None
    first, *rest = table.models
    assert guaranteed(replace(table, models=(replace(first, mechanism="rr", epsilon=1.0), *rest)), 0) is None


def test_the_bound_is_about_rows_that_stand_alone() -> None:
    """Groups, and rows that were planted, are left out; δ makes the bound smaller."""
    table, sets, scores = scene(replace(LEAKING, planted={4: 60}))
    members = sets.members
    rng = np.random.default_rng(0)

    def bound(table: ScoreTable) -> Guarantee:
        return sure(guarantee_of(table, sets, scores, "randomised", rng, 0.05))

    strict, lax = (bound(private(table, 1.0, delta=delta)) for delta in ("1e-6", "0.001"))
    assert sure(strict.lower.value) > sure(lax.lower.value)
    assert strict.lower.n_pos == min(members.size, sets.clean[scores.kind].size)
    group = np.arange(len(table.examples))
    group[members[:300]] = np.repeat(members[:150], 2)
    grouped = replace(table, examples=replace(table.examples, group=group))
    assert bound(private(grouped, 1.0, delta="1e-6")).lower.n_pos == members.size - 300


def test_the_bound_at_delta_is_the_first_epsilon_that_is_not_rejected() -> None:
    from discreet.audit.membership.controls import RUNGS, ladder_bound

    truth = np.arange(200) < 100
    best, guesses = ladder_bound(truth.astype(float), truth, 0.05, np.random.default_rng(0), 1e-4)
    level = 0.05 / len(RUNGS)
    for epsilon, rejected in ((best - 0.01, True), (best + 0.01, False)):
        assert (one_run_p(guesses, guesses, epsilon, delta=1e-4, n=200) <= level) == rejected


def test_a_table_keeps_the_guarantee(tmp_path: Path) -> None:
    table = private(drawn(LEAKING), 2.0, delta="1e-05")
    write_scores(table, tmp_path / "scores.parquet")
    again = load_scores(tmp_path / "scores.parquet")
    assert guaranteed(again, again.index("target-0")) == (2.0, 1e-5)


@pytest.mark.parametrize(("facts", "said"), [
    ({}, "the mechanism dp-sgd and no delta; expected a column 'delta'"), ({"delta": "x"}, "the delta 'x'"),
    ({"delta": "1.5"}, "with a number from 0 to below 1")])
def test_a_delta_that_is_none_is_refused(facts: dict[str, str], said: str) -> None:
    with refused(InputError, said):
        audited(private(drawn(LEAKING), 1.0, **facts))
