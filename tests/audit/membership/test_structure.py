from __future__ import annotations

from collections import Counter, defaultdict
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
from tests.audit.membership.scenes import sure

import discreet
from discreet.audit.membership.structure import tree_structure
from discreet.core.types import FloatArray
from discreet.report import summarise, to_html, to_text

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
