from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from tests.audit.membership.conftest import MakeView
from tests.audit.membership.scenes import drawn, sets_of, sure

import discreet
from discreet.audit.core.simulate import World
from discreet.audit.membership.attack import Scores, checkpoints_of, score_all
from discreet.audit.membership.attacks.trajectory import Trajectory
from discreet.audit.scores.check import check_table
from discreet.audit.scores.table import CHECKPOINT_OF, Model, ScoreTable
from discreet.audit.scores.write import write_scores
from discreet.core.errors import InputError


def with_checkpoints(table: ScoreTable, leak: float, seed: int, of: tuple[str, ...] = ("target", "shadow", "control"),
                     n: int = 3) -> ScoreTable:
    """The table with earlier states of its models, that remember their members more and more."""
    rng, places = np.random.default_rng(seed), [row for row, one in enumerate(table.models) if one.role in of]
    models, logits, member = list(table.models), [table.logits], [table.member]
    sign = np.where(table.examples.label[:, None] == np.arange(2), 0.5, -0.5)
    for row in places:
        for stage in range(n):
            models.append(Model(f"{table.models[row].name}/{stage}", "checkpoint",
                                facts={CHECKPOINT_OF: table.models[row].name}))
            odds = rng.normal(size=len(table.examples)) + leak * (table.member[row] == 1) * (stage + 1) / n
            logits.append((odds[:, None] * sign)[None, :, None, :])
            member.append(table.member[row][None])
    return replace(table, models=tuple(models), logits=np.concatenate(logits), member=np.concatenate(member))


def test_it_is_a_regression_on_the_losses_of_rows_that_nobody_judges(make_view: MakeView, rng: Generator) -> None:
    view = make_view(n=80)
    given, rows, truth = view.references["population"], [], []

    def losses(log_p: np.ndarray, before: np.ndarray, i: int) -> list[float]:
        return [*before[i], float(np.mean([log_p[i, q, view.label[i]] for q in range(2)]))]

    for r in range(len(given.member)):
        for i in set(range(80)) - set(view.judged.tolist()):
            rows.append(losses(given.log_p[r], sure(given.checkpoints)[r], i))
            truth.append(given.member[r, i] == 1)
    scaler = StandardScaler().fit(rows)
    fitted = LogisticRegression(max_iter=1_000).fit(scaler.transform(rows), truth)
    own = [losses(view.target, sure(view.checkpoints), i) for i in range(80)]
    np.testing.assert_allclose(Trajectory().scores(view, "p", "population", rng),
                               fitted.decision_function(scaler.transform(own)), rtol=1e-3, atol=1e-4)


def run(table: ScoreTable, kind: str = "population") -> Scores:
    [scores] = [one for one in score_all(table, sets_of(table), seed=0, names=["trajectory"])
                if one.kind == kind or one.target is None]
    return scores


def test_every_model_needs_as_many_checkpoints() -> None:
    table = drawn(World(members=200, others=0, clean=300, selector=0, paired=0, shadows=2, leak=1.0))
    for given in (table, with_checkpoints(table, 1.0, 0, of=("target",)), with_checkpoints(
            with_checkpoints(table, 1.0, 0, of=("target",)), 1.0, 1, of=("shadow",), n=2)):
        assert "as many" in sure(run(given).reason)
    uncontrolled = run(with_checkpoints(table, 1.0, 0, of=("target", "shadow")))
    assert (uncontrolled.target is None, uncontrolled.control) == (False, None)


def test_a_file_keeps_checkpoints_and_one_of_no_model_is_refused(tmp_path: Path) -> None:
    table = with_checkpoints(drawn(World(members=30, others=0, clean=30, selector=0, paired=0, shadows=2)), 1.0, 0)
    write_scores(table, tmp_path / "scores.parquet")
    again = discreet.load_scores(tmp_path / "scores.parquet")
    one, other = (sure(checkpoints_of(each, each.targets[0])) for each in (table, again))
    place = [again.examples.id.tolist().index(name) for name in table.examples.id]
    np.testing.assert_allclose(other[place], one)
    lost = replace(table, models=(*table.models[:-1], Model("x", "checkpoint", facts={CHECKPOINT_OF: "nobody"})))
    with pytest.raises(InputError, match="checkpoint 'x' is of no model of the table"):
        check_table(lost, "scores")


def test_a_boosted_model_in_memory_with_its_stages() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(900, 5))
    labels = ((inputs[:, 0] + inputs[:, 1] > 0) ^ (rng.random(900) < 0.2)).astype(int)
    model = GradientBoostingClassifier(n_estimators=30, max_depth=4, random_state=0).fit(inputs[:300], labels[:300])

    def stages(fitted: Any) -> list[Any]:
        return [lambda rows, at=at: list(fitted.staged_predict_proba(rows))[at] for at in (4, 14)]

    audit = discreet.audit_model(model, (inputs[:300], labels[:300]), (inputs[300:], labels[300:]), references=4,
                                 checkpoints=stages, attacks=["trajectory", "loss"], design="randomised",
                                 permutations=0, bootstraps=1)
    auc = {row.spec.attack: row for row in audit.attacks if row.spec.whole and row.auc.resolved}
    assert sure(auc["trajectory"].auc.low) > 0.6
    assert sure(auc["trajectory"].control_auc.low) < 0.5 < sure(auc["trajectory"].control_auc.high)
    assert audit.record["provenance"]["models"]["checkpoint"] == 2 * 6
