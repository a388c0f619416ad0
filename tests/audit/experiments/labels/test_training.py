"""Label experiments trained whole: labels that were trained on, references with draws of their own, no model twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.audit.experiments.labels.made_up import INF, RECIPE, experiment_of, write_table

from discreet.audit.engine import DataFile, Store
from discreet.audit.experiments import Trained, train
from discreet.audit.experiments.labels import NONE, LabelExperiment, arms_of, joined
from discreet.audit.labels.audit import audit_labels
from discreet.audit.labels.memorisation import utility_of
from discreet.audit.scores.check import check_label_table
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, TRAIN, UNKNOWN, ScoreTable
from discreet.audit.train import load_fitted
from discreet.inputs.datasets import read_dataset
from discreet.stats.mechanisms.labels.alibi import map_truth
from discreet.stats.mechanisms.labels.base import truth_probability

Done = Trained[LabelExperiment]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("data") / "d.csv")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store") / "s"


def trained(experiments: list[LabelExperiment], store: Path) -> list[Done]:
    return train(experiments, store, engine="inline", quiet=True)


@pytest.fixture(scope="module")
def done(data: Path, store: Path) -> list[Done]:
    return trained([experiment_of(data), experiment_of(data, seed=4)], store)


@pytest.fixture(scope="module")
def table(done: list[Done]) -> ScoreTable:
    return joined(done)


def test_the_table_can_be_audited(table: ScoreTable, done: list[Done]) -> None:
    check_label_table(table, "made")
    assert [model.name for model in table.models[:4]] == ["none/3", "none/3/reference-1", "none/3/reference-2",
                                                          "rr-2/3"]
    assert len(table.examples) == 600
    assert len(table.targets) == 6
    assert table.label_references(0) == (1, 2)
    assert table.models[3].facts == {"recipe": "mlp"}
    audit = audit_labels(done[0].table(), tune=False)
    assert [one.conformance.ok for one in audit.models] == [True] * 3
    assert utility_of(table, 0)["test_accuracy"].value > 0.7


def test_one_seed_is_one_assignment_and_another_seed_another(table: ScoreTable) -> None:
    drawn, first, later = table.canaries, table.targets[0], table.targets[3]
    for target in table.targets:
        own = first if table.models[target].seed == table.models[first].seed else later
        np.testing.assert_array_equal(drawn.role[target], drawn.role[own])
        np.testing.assert_array_equal(drawn.label[target], drawn.label[own])
    assert (drawn.role[first] != drawn.role[later]).any()


def test_what_each_model_was_trained_on(table: ScoreTable, data: Path) -> None:
    original, canaries = read_dataset(data, "label", group="user").labels, table.canaries
    np.testing.assert_array_equal(table.examples.label, original)
    for model, role, label, trained in zip(table.models, canaries.role, canaries.label, canaries.trained, strict=True):
        np.testing.assert_array_equal(trained == UNKNOWN, role == HELDOUT)
        assert (label == original)[~np.isin(role, (CANARY, CONTROL))].all()
        kept = (trained == label)[role != HELDOUT]
        if model.mechanism == "none":
            assert kept.all()
        else:
            # Of 480 labels, those of controls among them.
            wanted = truth_probability(2.0, 2) if model.mechanism == "rr" else map_truth(2.0, 2)
            assert kept.mean() == pytest.approx(wanted, abs=0.07)
            assert not kept[role[role != HELDOUT] == CANARY].all()


def test_a_reference_is_trained_on_the_controls_and_draws_for_itself(table: ScoreTable) -> None:
    role, label = table.canaries.role, table.canaries.label
    for target in table.targets:
        for reference in table.label_references(target):
            drawn = role[reference] == CANARY
            np.testing.assert_array_equal(drawn, np.isin(role[target], (CANARY, CONTROL)))
            np.testing.assert_array_equal(role[reference] == TRAIN, role[target] == TRAIN)
            assert 0.25 < (label[reference] == label[target])[drawn].mean() < 0.75
    one, other = table.label_references(0)
    assert (label[one] != label[other])[role[one] == CANARY].any()


def test_rows_that_were_trained_on(done: list[Done]) -> None:
    record = done[0].training()
    sizes = record["deals"]["3"]
    assert sizes == {"rows": 600, "train": 340, "canary": 60, "planted": {"1": 10, "4": 10}, "control": 60,
                     "heldout": 120}
    rows = {one["model"]: one["training_rows"] for one in record["models"]}
    assert rows["none/3"] == rows["alibi-2/3"] == 340 + 60 + 10 + 40
    assert rows["none/3/reference-1"] == rows["none/3"] + 60
    assert record["classes"] == ["k0", "k1"]
    assert record["models"][0]["epochs_done"] == 12


def test_planted_canaries_are_learnt_best_and_a_model_that_is_kept_gives_the_scores_again(data: Path, tmp_path: Path
                                                                                          ) -> None:
    experiment = experiment_of(data, arms=(NONE,), references=0, planted=(1, 16), planted_each=25, keep_models=True,
                               recipe="mlp:hidden=64,layers=1,epochs=40,batch=32,rate=0.01")
    [done] = trained([experiment], tmp_path / "s")
    table = done.table()
    guess, drawn = table.logits[0, :, 0].argmax(axis=1), table.canaries
    right = {times: (guess == drawn.label[0])[(drawn.role[0] == CANARY) & (drawn.planted[0] == times)].mean()
             for times in (0, 16)}
    assert right[16] > 0.9 > right[0]
    [result] = [result for name, result in done.results.items() if name != "assign"]
    assigned = done.results["assign"].arrays["role"]
    inputs = read_dataset(data, "label", group="user").inputs(np.flatnonzero(np.isin(assigned, (CANARY, TRAIN))))
    np.testing.assert_allclose(load_fitted(result.files / "none-3").logits(inputs), table.logits[0, :, 0], atol=1e-4)


def test_a_later_epsilon_and_a_later_seed_train_themselves_alone(data: Path, store: Path, done: list[Done]
                                                                 ) -> None:
    def published() -> list[str]:
        return [line["task"] for line in Store(store).history() if line["event"] == "publish"]

    before = published()
    arms = arms_of(("rr", "alibi"), (INF, 4.0, 2.0))
    found = trained([experiment_of(data, arms=arms), experiment_of(data, seed=4)], store)
    assert published()[len(before):] == ["models/rr-4/0", "models/rr-4/1+1", "models/alibi-4/0", "models/alibi-4/1+1"]
    table, old = found[0].table(), done[0].table()
    names = [model.name for model in table.models]
    for place, model in enumerate(old.models):
        np.testing.assert_array_equal(table.logits[names.index(model.name)], old.logits[place])


def test_all_models_are_trained_as_long_as_the_one_without_noise(data: Path, tmp_path: Path) -> None:
    recipe = RECIPE.replace("epochs=12", "epochs=30") + ",until_accuracy=0.65"
    arms = arms_of(("rr", "rr_with_prior"), (INF, 2.0))
    [done] = trained([experiment_of(data, recipe=recipe, references=1, arms=arms)], tmp_path / "s")
    said = {one["model"]: one for one in done.training()["models"]}
    assert said["none/3"]["reached"]
    assert 1 <= said["none/3"]["epochs_done"] < 30
    assert {one["epochs_done"] for one in said.values()} == {said["none/3"]["epochs_done"]}


def test_a_store_holds_no_text_and_no_ids(store: Path, done: list[Done]) -> None:
    for path in (store / "results").rglob("*"):
        assert path.is_dir() or not any(f"u{number}".encode() in path.read_bytes() for number in (101, 317, 555))


def test_tables_of_other_rows_are_not_joined(data: Path, done: list[Done]) -> None:
    with pytest.raises(ValueError, match="two models have one name"):
        joined([done[0], done[0]])
    other = replace(done[1], data=replace(done[1].data, labels=1 - done[1].data.labels))
    with pytest.raises(ValueError, match="of different examples"):
        joined([done[0], other])


def test_texts_and_images_are_trained_on_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 160)
    lines = [json.dumps({"text": f"{('bad', 'good')[label]} film {number}", "y": int(label)})
             for number, label in enumerate(labels)]
    (tmp_path / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    np.savez(tmp_path / "d.npz", x=rng.integers(0, 99, (160, 4, 4)).astype(np.uint8) + labels[:, None, None] * 99,
             y=labels)
    for name, recipe in (("d.jsonl", "rnn:vocabulary=50,tokens=4,embedding=4,hidden=4,epochs=1"),
                         ("d.npz", "cnn:width=2,hidden=4,epochs=1")):
        experiment = LabelExperiment(DataFile.of(tmp_path / name), "y", recipe, arms_of(("rr",), (2.0,)), canaries=20,
                                     control=20, planted=())
        [done] = trained([experiment], tmp_path / f"{name}.store")
        assert done.table().logits.shape == (1, 160, 1, 2)
        assert done.training()["data"] == {"d.jsonl": "text", "d.npz": "array"}[name]
