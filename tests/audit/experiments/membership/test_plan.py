"""The plan of a run against the run: its parts, planted records and models are those that are audited."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from tests.audit.experiments.membership.made_up import experiment_on, write_rows
from tests.audit.membership.scenes import sure

from discreet.audit.core.power import pass_power, records_to_pass
from discreet.audit.experiments import train
from discreet.audit.experiments.membership.plan import plan_training, seconds_of
from discreet.audit.membership.audit import audit_membership
from discreet.core.design import ASSIGNED

RECIPE = "tfidf-mlp:steps=5,columns=64"


@pytest.mark.parametrize("users", [0, 260])
def test_its_parts_are_those_of_the_audit(tmp_path: Path, users: int) -> None:
    asked = experiment_on(write_rows(tmp_path / "d.jsonl", 700, users=users, turns=2), RECIPE, planted=(1,))
    [trained] = train([asked], tmp_path / "store", engine="inline", quiet=True)
    audit = audit_membership(trained.table(), design=ASSIGNED, permutations=0, bootstraps=1, attacks=["loss"])
    planned = plan_training(asked)
    sizes = [(one.name, sure(one.auc.n_pos), sure(one.auc.n_neg)) for one in audit.targets[0].parts]
    found = [(one["part"], one["members"], one["nonmembers"]) for one in planned["parts"]]
    assert found[:-1] == sizes[:-1]
    assert found[-1][0] == sizes[-1][0] == "least likely records"
    # Of groups, one may have several of the least likely records.
    assert found[-1][1] >= sizes[-1][1]
    assert users or found == sizes
    said = trained.training()
    assert (planned["sides"], planned["planted"]) == (said["sides"], said["planted"])
    assert planned["models"] == len(said["models"])
    whole = planned["parts"][0]
    assert whole["passes"] == pass_power(0.55, whole["members"], whole["nonmembers"])
    assert whole["needed"] == records_to_pass(0.55, 0.8 ** (1 / len(found)))


def test_models_and_parts_are_those_that_are_asked_for(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", 400)
    asked = experiment_on(data, RECIPE, shadows=3, planted=())
    planned = plan_training(asked, seeds=2, excluded=("class safe", "least likely records"))
    assert planned["models"] == 5 + 3 + 4  # The selector and the shadows are trained once.
    assert [one["part"] for one in planned["parts"]] == ["all records", "class unsafe"]
    assert planned["planted"] == {}


def test_fewer_than_ten_never_fail(tmp_path: Path) -> None:
    planned = plan_training(experiment_on(write_rows(tmp_path / "d.jsonl", 60), RECIPE, planted=()))
    small = planned["parts"][1]
    assert small["members"] < 10 <= planned["parts"][0]["members"]
    assert small["least_leak"] is None
    assert planned["parts"][0]["least_leak"] > 0.55


def test_minutes_are_those_of_the_clock(tmp_path: Path) -> None:
    asked, ticks = experiment_on(write_rows(tmp_path / "d.jsonl", 1200), RECIPE, planted=()), count(0, 3)
    planned = plan_training(asked, clock=lambda: float(next(ticks)))
    # Each piece takes three seconds: the fourth makes enough, or the third was a whole model.
    rows = planned["rows"]
    assert [one["rows"] for one in planned["pieces"]] == [64, 128, rows]
    assert (planned["timed"], planned["seconds"], planned["minutes"]) == ("whole", 3.0, 5 * 3.0 / 60)


def test_what_only_the_first_training_of_a_process_takes_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Importing:
        """Takes 20 seconds the first time, as for an import of torch, and one second a model afterwards."""

        name, now = "importing", 0.0

        def fit(self, *_: object) -> Importing:
            self.now += 1.0 if self.now else 20.0
            return self

        def logits(self, inputs: object) -> None:
            pass

    recipe, asked = Importing(), experiment_on(write_rows(tmp_path / "d.jsonl", 1200), RECIPE, planted=())
    monkeypatch.setattr("discreet.audit.experiments.membership.plan.recipe_of", lambda _: recipe)
    planned = plan_training(asked, clock=lambda: recipe.now)
    assert (planned["timed"], planned["seconds"], planned["minutes"]) == ("whole", 1.0, 5 / 60)


def test_a_model_by_its_pieces() -> None:
    assert seconds_of([(64, 9.0), (100, 2.0)], 100) == (2.0, "whole")
    assert seconds_of([(64, 1.0), (128, 2.0)], 256) == (4.0, "line")
    assert seconds_of([(64, 3.0), (128, 2.0)], 256) == (2.0, "line")
    assert seconds_of([(64, 12.0)], 640) == (120.0, "proportion")
