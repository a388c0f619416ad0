"""What was assigned together is the unit of the audit: users where they are given, else clusters of near-duplicates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.audit.experiments.membership.made_up import experiment_on

from discreet.audit.core.resampling import Units
from discreet.audit.experiments import MembershipExperiment, Trained, train
from discreet.audit.membership.attack import Scores
from discreet.audit.membership.audit import audit_membership
from discreet.audit.membership.controls import blind_auc, group_level
from discreet.audit.membership.evaluation_sets import evaluation_sets
from discreet.audit.membership.verdict import claims_of
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import ScoreTable
from discreet.audit.scores.write import write_scores
from discreet.core.design import ASSIGNED

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "su", "ter", "von", "wel", "zu") for b in ("ba", "dor", "fin", "gel")]
COPIES = 4


def write_near_duplicates(path: Path, n: int = 1200, *, users: bool = False) -> Path:
    """Clusters of `COPIES` texts that differ in their last word; labels say nothing of the words."""
    rng, lines = np.random.default_rng(5), []
    for number in range(n):
        if number % COPIES == 0:
            body = " ".join(rng.choice(WORDS, 30))
        row = {"id": f"r{number}", "text": f"{body} {number}", "label": ("safe", "unsafe")[number // COPIES % 2]}
        lines.append(json.dumps(row | ({"group": f"u{number // COPIES // 2}"} if users else {})))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def trained_on(path: Path, store: Path, **options: object) -> Trained[MembershipExperiment]:
    experiment = experiment_on(path, "tfidf-mlp:steps=40", 3, planted=(1,), **options)
    return train([experiment], store, engine="inline", quiet=True)[0]


@pytest.fixture(scope="module")
def near(tmp_path_factory: pytest.TempPathFactory) -> Trained[MembershipExperiment]:
    folder = tmp_path_factory.mktemp("near")
    return trained_on(write_near_duplicates(folder / "d.jsonl"), folder / "s")


def blind(trained: Trained[MembershipExperiment], table: ScoreTable, seed: int = 0) -> float:
    found = blind_auc(table, evaluation_sets(table, 0, np.random.default_rng(0)), np.random.default_rng(seed),
                      texts=trained.texts(), units=Units.of(table))
    assert found.value is not None
    return found.value


def test_near_duplicates_are_the_unit_that_is_judged(near: Trained[MembershipExperiment]) -> None:
    table = near.table()
    group = table.examples.group
    assert group is not None
    body = np.array([near.texts()[one].rsplit(" ", 1)[0] for one in table.examples.id])
    for code in np.unique(group):
        assert np.unique(body[group == code]).size == 1
    assert np.unique(group).size == np.unique(body).size < table.examples.id.size
    assert table.examples.id.size == near.table(structure=None).examples.id.size


def test_the_blind_baseline_does_not_test_on_copies_of_what_it_trained_on(near: Trained[MembershipExperiment]) -> None:
    table = near.table()
    apart = replace(table, examples=replace(table.examples, group=None, columns={}))
    assert blind(near, apart) > 0.9
    assert np.mean([blind(near, table, seed) for seed in range(5)]) < 0.56


def test_a_model_that_remembers_fails_and_the_draw_is_not_blamed(near: Trained[MembershipExperiment]) -> None:
    found = audit_membership(near.table(), design=ASSIGNED, texts=near.texts(), permutations=9, bootstraps=10)
    assert found.verdict == "fail"
    for one in found.targets:
        assert one.judgement.verdict == "fail"
        assert one.primary is not None
        assert one.primary.auc.unit == "group"
        assert "not random" not in " ".join(one.judgement.reasons)


def test_clusters_of_texts_are_nobodys_records(near: Trained[MembershipExperiment], tmp_path: Path) -> None:
    table = near.table()
    write_scores(table, tmp_path / "scores.parquet")
    for one in (table, load_scores(tmp_path / "scores.parquet")):
        assert one.examples.group is not None
        assert not one.examples.has_users
        sides, units = evaluation_sets(one, one.targets[0], np.random.default_rng(0)), Units.of(one)
        scored = Scores("loss", "p", None, np.zeros(len(one.examples)))
        assert "near-duplicate texts" in (group_level(scored, sides, units).reason or "")
        assert not any("person" in said for said in claims_of(one, sides, ASSIGNED, texts=True).can)


def test_users_are_the_unit_where_they_are_given_and_rows_that_are_all_alone_are_no_groups(tmp_path: Path) -> None:
    trained = trained_on(write_near_duplicates(tmp_path / "u.jsonl", 600, users=True), tmp_path / "s")
    examples = trained.table().examples
    assert examples.has_users
    user = {row.id: row.group for row in trained.data}
    assert examples.group is not None
    assert np.unique(examples.group).size == len({user[one] for one in examples.id})
    path = write_near_duplicates(tmp_path / "d.jsonl", 600)
    assert trained_on(path, tmp_path / "s", allow_near=True).table().examples.group is None
