"""Scales, from conditions to experiments, and what is found beside an audit, against the slow way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.engine import Store, run
from discreet.audit.experiments.membership import score_table
from discreet.audit.membership.evaluation_sets import boundary, evaluation_sets, true_class_p
from discreet.audit.train import recipe_of
from discreet.core.errors import UsageError
from discreet.inputs.texts import read_texts
from discreet.stats import auroc
from discreet_papers.mia.corpora import CORPORA
from discreet_papers.mia.reproduction import audits
from discreet_papers.mia.results import rows_of
from discreet_papers.mia.settings import FULL, SETTINGS, Condition, Study, experiment_of, recipe_for

PLAIN = Condition("made_up", "single-turn", "MLP", FULL, 42)
USERS = Condition("made_up_users", "users", "MLP", FULL, 42)
QUIET: dict[str, Any] = {"engine": "inline", "quiet": True}


def variant(name: str) -> Condition:
    return replace(PLAIN, variant=name)


@pytest.mark.parametrize("scale", list(SETTINGS))
def test_everything_named_is_there(scale: str) -> None:
    setting = SETTINGS[scale]
    used = {*setting.corpora.values(), *setting.further, setting.mismatched}
    assert used <= set(CORPORA)
    assert set(setting.sizes) <= set(CORPORA)
    models = {*setting.sweep, *setting.broad, *setting.depressed, *setting.upsampled}
    assert models <= set(setting.models)
    assert setting.mismatched
    assert setting.mismatched != setting.corpora["single-turn"]
    for name, corpus in setting.corpora.items():
        assert name == "users" or CORPORA[corpus].structure == name or corpus == "made_up"


def test_the_paper_scale_is_the_papers() -> None:
    setting = SETTINGS["paper"]
    assert len(setting.broad) == 4
    assert setting.draws == 50
    assert setting.sigmas[0] == 0.0
    assert [one.split("-")[-2] for one in setting.upsampled] == ["1B", "3B"] == [
        one.split("-")[-2] for one in setting.depressed]
    recipe = recipe_for(setting, "Llama-3.2-1B-IT", "lora r=16", "hub_multi_turn", "safety")
    assert isinstance(recipe, dict)
    assert (recipe["rank"], recipe["max_tokens"]) == (16, 8192)
    assert "prompt" not in recipe
    other = recipe_for(setting, "Llama-3.2-1B-IT", "full", "hub_depression", "depression")
    assert isinstance(other, dict)
    assert (other["prompt"], other["max_tokens"]) == ("depression", 512)


def test_recipes_of_the_scales_that_run_here_are_recipes() -> None:
    for scale in ("smoke", "small"):
        setting = SETTINGS[scale]
        for model, regimes in setting.models.items():
            for regime in regimes:
                assert recipe_of(recipe_for(setting, model, regime, "depression", "depression")).to_json()


def test_only_some_corpora_keep_what_the_reference_is_trained_on() -> None:
    setting = SETTINGS["small"].only(["beavertails", "davidson"])
    assert (setting.corpora, setting.further) == ({"single-turn": "beavertails"}, ("davidson",))
    assert setting.mismatched == "diasafety"


def test_a_number_type_is_the_transformers_alone() -> None:
    setting = replace(SETTINGS["small"], dtype="bfloat16")
    recipe = recipe_for(setting, "MiniLM", "full", "davidson", "safety")
    assert recipe_of(recipe).to_json()["dtype"] == "bfloat16"
    smoke = replace(SETTINGS["smoke"], dtype="bfloat16")
    assert recipe_for(smoke, "TF-IDF, linear", "full", "made_up", "safety") == "tfidf-linear"


def test_variants_are_experiments(tiny: Study) -> None:
    whole = replace(tiny, setting=replace(tiny.setting, planted=(1, 4), shadows=3))
    experiment = experiment_of(PLAIN, whole)
    assert (experiment.sizes, experiment.seed, experiment.planted) == ({"a": 60}, 42, (1, 4))
    assert (experiment.shadows, experiment.copies, experiment.hidden) == (3, 1, True)
    plain = experiment_of(variant("plain"), whole)
    assert (plain.planted, plain.shadows, plain.copies, plain.hidden) == ((), 0, 1, False)
    copied = experiment_of(variant("duplicated x4"), whole)
    assert (copied.copies, copied.copied, copied.planted, copied.paraphrases) == (4, "exact", (), None)
    assert copied.sizes == plain.sizes
    assert copied.data == plain.data
    assert copied.seed == plain.seed
    other = experiment_of(variant("mismatched made_up_users"), whole)
    assert other.mismatched is not None
    assert other.mismatched.path.name == "made_up_users-0.jsonl"
    # One model more than the matched experiment: f_A with its representations is not trained again.
    apart, together = ({name: task.key for name, task in one.tasks().items()}
                       for one in (other, experiment_of(variant(""), whole)))
    assert {name: key for name, key in apart.items() if together.get(name) != key}.keys() == {"fit/mismatched"}
    with pytest.raises(ValueError, match="there is no variant"):
        experiment_of(variant("boiled x2"), whole)


def test_the_curve_over_sizes_keeps_evaluation_and_calibration(tiny: Study) -> None:
    small, large = (experiment_of(variant(f"size {size}"), tiny) for size in (20, 30))
    assert {side: small.sizes[side] for side in ("val", "cal", "eval")} == {"val": 24, "cal": 36, "eval": 60}
    changed = {side for side in small.sizes if small.sizes[side] != large.sizes[side]}
    assert changed == {"a", "b", "neutral", "control"}


def test_paraphrases_come_from_the_studys_paraphraser(tiny: Study, tmp_path: Path) -> None:
    asked: list[tuple[str, int, Path]] = []

    def paraphraser(data: Path, n: int, to: Path) -> Path:
        asked.append((data.name, n, to))
        found = tmp_path / "said.jsonl"
        found.write_text("{}", encoding="utf-8")
        return found

    experiment = experiment_of(variant("paraphrased x4"), replace(tiny, paraphraser=paraphraser))
    assert asked == [("made_up-0.jsonl", 3, tiny.out / "data")]
    assert experiment.paraphrases is not None
    assert (experiment.copies, experiment.copied) == (4, "paraphrase")
    with pytest.raises(UsageError, match="need a paraphraser"):
        experiment_of(variant("paraphrased x2"), tiny)


@pytest.fixture(scope="module")
def supplementary(tiny: Study) -> dict[Condition, Any]:
    return audits([PLAIN, USERS], tiny, supplementary=True, **QUIET)


def test_non_boundary_is_what_the_boundary_of_the_audit_leaves_out(
        tiny: Study, supplementary: dict[Condition, Any]) -> None:
    experiment = experiment_of(PLAIN, tiny)
    tasks = experiment.tasks()
    found = run(tasks.values(), Store(tiny.out / "store"), **QUIET)
    table = score_table({name: found[task.key] for name, task in tasks.items()}, read_texts(experiment.data.path))
    audit, label = supplementary[PLAIN]["audit"], table.examples.label
    selector = true_class_p(table, table.of_role("selection"))
    assert selector is not None
    rows = rows_of(audit, "reference", "paper", selection="non-boundary", n=20)
    assert [row["target"] for row in rows] == ["f_A", "f_B"]
    for row in rows:
        target, paired = (table.index(name) for name in (row["target"], {"f_A": "f_B", "f_B": "f_A"}[row["target"]]))
        sides = evaluation_sets(table, target, np.random.default_rng(0))
        member = np.full(label.size, -1, dtype=np.int8)
        member[sides.reference_train], member[sides.members] = 0, 1
        edge = boundary(selector, label, member, 20)
        rest = np.setdiff1d(np.flatnonzero(member >= 0), edge)
        log_p = table.log_p[:, :, 0][:, np.arange(label.size), label].clip(np.log(1e-7), np.log(1 - 1e-7))
        expected = auroc(log_p[target, rest] - log_p[paired, rest], member[rest] == 1)
        assert row["auc"]["value"] == pytest.approx(expected)
        [whole] = [one for one in rows_of(audit, "reference", "paper") if one["target"] == row["target"]]
        [at] = [one for one in rows_of(audit, "reference", "paper", selection="boundary", n=20)
                if one["target"] == row["target"]]
        assert row["n_members"] + at["n_members"] == whole["n_members"]
        assert row["control_auc"]["value"] is not None


def test_users_are_the_audits_own_with_a_control(supplementary: dict[Condition, Any]) -> None:
    audit = supplementary[USERS]["audit"]
    assert [one["target"] for one in audit["users"]] == [one["target"] for one in audit["targets"]]
    for one, target in zip(audit["users"], audit["targets"], strict=True):
        assert one["group_auc"] == target["controls"]["group_auc"]
        assert one["group_auc"]["unit"] == "group"
        assert one["control_auc"]["value"] not in (None, one["group_auc"]["value"])
    alone = supplementary[PLAIN]["audit"]["users"]
    assert all("column 'group'" in one["group_auc"]["reason"] for one in alone)


def test_what_is_in_the_store_is_not_made_again(tiny: Study, supplementary: dict[Condition, Any]) -> None:
    before = len((tiny.out / "store" / "log.jsonl").read_text(encoding="utf-8").splitlines())
    assert audits([PLAIN, USERS], tiny, supplementary=True, **QUIET) == supplementary
    assert len((tiny.out / "store" / "log.jsonl").read_text(encoding="utf-8").splitlines()) == before
