"""What a label experiment may be, which models are trained together, and which are found in a store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.audit.experiments.labels.made_up import INF, RECIPE, experiment_of, write_table

from discreet.audit.engine import DataFile, Task
from discreet.audit.experiments.labels import NONE, Arm, LabelExperiment, arms_of
from discreet.audit.experiments.labels import experiment as module
from discreet.audit.experiments.labels.experiment import placed
from discreet.core.errors import UsageError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_table(tmp_path / "d.csv", 40)


def specs(tasks: Sequence[Task]) -> list[Any]:
    return [json.loads(task.spec) for task in tasks if task.name.startswith("models/")]


def tasks_of(experiment: LabelExperiment, stored: Sequence[Any] = ()) -> list[Task]:
    return list(experiment.tasks(stored).values())


def models_of(experiment: LabelExperiment, stored: Sequence[Any] = ()) -> dict[tuple[Arm, int], tuple[Task, int]]:
    tasks = experiment.tasks(stored)
    found = placed(experiment, {name: json.loads(task.spec) for name, task in tasks.items()})
    return {model: (tasks[name], place) for model, (name, place) in found.items()}


def listed(task: Task) -> list[list[Any]]:
    found: list[list[Any]] = task.params["models"]
    return found


def test_arms_cross_mechanisms_and_epsilons_and_some_cannot_be() -> None:
    names = [arm.name for arm in (*arms_of(("rr", "alibi"), (INF, 4.0, 0.5)), Arm("rr", 0.12345678))]
    assert names == ["none", "rr-4", "alibi-4", "rr-0.5", "alibi-0.5", "rr-0.12345678"]
    for mechanism, epsilon, said in (
            ("rr", 0.0, "epsilon is 0"), ("rr", -1.0, "epsilon is -1"), ("rr", float("nan"), "epsilon is nan"),
            ("rr", INF, "expected 'none' at inf"), ("none", 2.0, "expected 'none' at inf"), ("coin", 2.0, "coin")):
        with pytest.raises(UsageError, match=said):
            Arm(mechanism, epsilon)


@pytest.mark.parametrize(("options", "said"), [
    ({"canaries": 0.0}, "canaries is 0"), ({"canaries": 1.5}, "canaries is 1.5"),
    ({"control": -0.1}, "control is -0.1"),
    ({"heldout": float("nan")}, "heldout is nan"), ({"heldout": INF}, "heldout is inf"), ({"references": -1}, "-1"),
    ({"planted": (0,)}, "planted repetitions"), ({"planted": (4, 4)}, "planted repetitions"),
    ({"assignment": "coin"}, "assignment"),
    ({"arms": ()}, "arms"), ({"arms": (NONE, NONE)}, "arms are none, none"),
    ({"arms": (Arm("rr_halved", 2.0),)}, "broken on purpose")])
def test_experiments_that_cannot_be(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        LabelExperiment(DataFile(tmp_path / "d.csv", "0" * 64), "label", "mlp", **options)


def test_what_is_broken_may_be_let_in_and_references_left_out(tmp_path: Path) -> None:
    arms = (NONE, Arm("rr_halved", 2.0))
    experiment = LabelExperiment(DataFile(tmp_path / "d.csv", "0" * 64), "label", "mlp", arms, broken=True,
                                 references=3, references_at=(NONE,))
    assert experiment.models == [(NONE, 0), (NONE, 1), (NONE, 2), (NONE, 3), (arms[1], 0)]
    with pytest.raises(UsageError, match=r"does not train under label mechanisms; expected one of cnn, mlp"):
        tasks_of(LabelExperiment(DataFile(tmp_path / "d.csv", "0" * 64), "label", "tfidf-mlp"))
    with pytest.raises(UsageError, match="'mlp' has patience, which needs validation rows"):
        tasks_of(LabelExperiment(DataFile(tmp_path / "d.csv", "0" * 64), "label", "mlp:patience=3"))


def test_models_of_one_scheme_and_role_share_a_bank(data: Path) -> None:
    arms = arms_of(("rr", "alibi", "rr_with_prior", "rr_top_k"), (INF, 2.0))
    experiment = experiment_of(data, arms=arms, references=2)
    tasks = tasks_of(experiment)
    assert [task.name for task in tasks] == [
        "assign", "models/none/0+1", "models/none/1+3", "models/alibi-2/0", "models/alibi-2/1+1",
        "models/rr_with_prior-2/0+1", "models/rr_with_prior-2/1+3"]
    assert listed(tasks[2]) == [["none", None, 1], ["none", None, 2], ["rr", 2.0, 1], ["rr", 2.0, 2]]
    found = models_of(experiment)
    assert list(found) == [(arm, number) for arm in arms for number in range(3)]
    for (arm, number), (task, place) in found.items():
        assert listed(task)[place] == [arm.mechanism, None if arm == NONE else arm.epsilon, number]


def test_a_bank_has_a_most_and_what_gains_nothing_together_is_trained_alone(
        data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(listed(task)) for task in tasks_of(experiment_of(data, recipe="rnn", references=2))[1:]] == [1] * 9
    monkeypatch.setattr(module, "MOST", 2)
    found = tasks_of(experiment_of(data, arms=(NONE,), references=5))
    assert [len(listed(task)) for task in found[1:]] == [1, 2, 2, 1]


def test_a_model_that_a_bank_holds_is_not_trained_again(data: Path) -> None:
    experiment = experiment_of(data, arms=arms_of(("rr",), (INF, 2.0)))
    before = tasks_of(experiment)
    more = experiment_of(data, arms=arms_of(("rr", "alibi"), (INF, 4.0, 2.0)))
    after = models_of(more, specs(before))
    for model, at in models_of(experiment).items():
        assert after[model] == at
    new = [task for task in tasks_of(more, specs(before)) if task not in before]
    assert [task.name for task in new] == ["models/rr-4/0", "models/rr-4/1+1", "models/alibi-4/0+1",
                                           "models/alibi-4/1+3"]
    # A study that was stopped cuts what is left as it did before.
    whole = tasks_of(more)
    assert {task.key for task in tasks_of(more, specs(whole[2:4]))} == {task.key for task in whole}


@pytest.mark.parametrize("changed", [
    {"seed": 4}, {"canaries": 61}, {"recipe": "mlp:epochs=3"}, {"group": None}, {"assignment": "balanced"},
    {"keep_models": True}])
def test_models_of_another_study_are_others(data: Path, changed: dict[str, Any]) -> None:
    before = tasks_of(experiment_of(data))
    after = tasks_of(experiment_of(data, **changed), specs(before))
    assert not {task.key for task in before[1:]} & {task.key for task in after}


def test_the_clock_is_trained_first_even_where_it_is_not_asked_for(data: Path) -> None:
    until = f"{RECIPE},until_accuracy=0.9"
    found = models_of(experiment_of(data, recipe=until, arms=(Arm("rr", 2.0),), references=1))
    assert [arm.name for arm, _ in found] == ["rr-2", "rr-2"]
    for task, _ in found.values():
        assert listed(task.inputs["clock"]) == [["none", None, 0]]
    own = tasks_of(experiment_of(data, recipe=until, same_epochs=False))
    assert all("clock" not in task.inputs for task in own)
    experiment = experiment_of(data, recipe=until, references=1)
    first = models_of(experiment)
    assert "clock" not in first[NONE, 0][0].inputs
    assert first[NONE, 1][0].inputs["clock"] == first[NONE, 0][0]
    assert models_of(experiment, specs(tasks_of(experiment))) == first
