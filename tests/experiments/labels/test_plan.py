"""Which models are trained together, and which are found in what a store has already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.labels.made_up import INF, RECIPE, trial_of, write_table

from discreet.core.errors import UsageError
from discreet.engine import Task
from discreet.experiments.labels import plan as module
from discreet.experiments.labels.experiment import NONE, Arm, arms_of
from discreet.experiments.labels.plan import tasks_of


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_table(tmp_path / "d.csv", 40)


def models(task: Task) -> list[list[Any]]:
    found: list[list[Any]] = task.params["models"]
    return found


def specs(tasks: list[Task]) -> list[Any]:
    return [json.loads(task.spec) for task in tasks if task.name.startswith("models/")]


def test_models_of_one_scheme_and_role_share_a_bank(data: Path) -> None:
    arms = arms_of(("rr", "alibi", "rr_with_prior", "rr_top_k"), (INF, 2.0))
    found = tasks_of(trial_of(data, arms=arms, references=2))
    assert [task.name for task in found.tasks] == [
        "deal", "models/none/0+1", "models/none/1+3", "models/alibi-2/0", "models/alibi-2/1+1",
        "models/rr_with_prior-2/0+1", "models/rr_with_prior-2/1+3"]
    assert models(found.tasks[2]) == [["none", None, 1], ["none", None, 2], ["rr", 2.0, 1], ["rr", 2.0, 2]]
    assert list(found.models) == [(arm, number) for arm in arms for number in range(3)]
    for (arm, number), (task, place) in found.models.items():
        assert models(task)[place] == [arm.mechanism, None if arm == NONE else arm.epsilon, number]


def test_a_bank_has_a_most(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 2)
    found = tasks_of(trial_of(data, arms=(NONE,), references=5))
    assert [len(models(task)) for task in found.tasks[1:]] == [1, 2, 2, 1]


def test_what_gains_nothing_together_is_trained_alone(data: Path) -> None:
    found = tasks_of(trial_of(data, recipe="rnn", references=2))
    assert [len(models(task)) for task in found.tasks[1:]] == [1] * 9


def test_references_may_stand_at_one_arm(data: Path) -> None:
    found = tasks_of(trial_of(data, references_at=(NONE,)))
    assert [number for arm, number in found.models if arm == NONE] == [0, 1, 2]
    assert len(found.models) == 5


def test_a_model_that_a_bank_holds_is_not_trained_again(data: Path) -> None:
    before = tasks_of(trial_of(data, arms=arms_of(("rr",), (INF, 2.0))))
    more = trial_of(data, arms=arms_of(("rr", "alibi"), (INF, 4.0, 2.0)))
    after = tasks_of(more, specs(before.tasks))
    for model, at in before.models.items():
        assert after.models[model] == at
    new = [task for task in after.tasks if task not in before.tasks]
    assert [task.name for task in new] == ["models/rr-4/0", "models/rr-4/1+1", "models/alibi-4/0+1",
                                           "models/alibi-4/1+3"]
    # A study that was stopped cuts what is left as it did before.
    whole = tasks_of(more)
    assert tasks_of(more, specs(whole.tasks[2:4])).tasks[1:] in (
        [whole.tasks[1], *whole.tasks[4:], *whole.tasks[2:4]], whole.tasks[1:])


@pytest.mark.parametrize("changed", [
    {"seed": 4}, {"canaries": 61}, {"recipe": "mlp:epochs=3"}, {"group": None}, {"law": "exact_half"},
    {"keep_models": True}])
def test_models_of_another_study_are_others(data: Path, changed: dict[str, Any]) -> None:
    before = tasks_of(trial_of(data))
    after = tasks_of(trial_of(data, **changed), specs(before.tasks))
    kept = {task.key for task in before.tasks if task.name != "deal"}
    assert not kept & {task.key for task in after.tasks}


def test_the_clock_is_trained_first_even_where_it_is_not_asked_for(data: Path) -> None:
    until = f"{RECIPE},until_accuracy=0.9"
    found = tasks_of(trial_of(data, recipe=until, arms=(Arm("rr", 2.0),), references=1))
    assert [arm.name for arm, _ in found.models] == ["rr-2", "rr-2"]
    for task, _ in found.models.values():
        assert models(task.inputs["clock"]) == [["none", None, 0]]
    own = tasks_of(trial_of(data, recipe=until, same_epochs=False))
    assert all("clock" not in task.inputs for task in own.tasks)
    first = tasks_of(trial_of(data, recipe=until, references=1))
    assert "clock" not in first.models[NONE, 0][0].inputs
    assert first.models[NONE, 1][0].inputs["clock"] == first.models[NONE, 0][0]
    again = tasks_of(trial_of(data, recipe=until, references=1), specs([*first.tasks]))
    assert again.models == first.models


def test_recipes_that_train_no_network_are_refused(data: Path) -> None:
    with pytest.raises(UsageError, match=r"does not train under label mechanisms; expected one of cnn, mlp"):
        tasks_of(trial_of(data, recipe="tfidf-mlp"))
