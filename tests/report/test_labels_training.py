"""What a page says of the models that a label audit trained."""

from __future__ import annotations

from typing import Any

from discreet.report.labels_training import lines

SIZES = {"rows": 100, "train": 60, "canary": 10, "planted": {"1": 2, "16": 2}, "placebo": 6, "heldout": 20}
MODELS = [{"role": "target", "epochs_done": 9, "seed": 1}, {"role": "reference", "epochs_done": 9, "seed": 1}]
TRAINING: dict[str, Any] = {
    "recipe": {"name": "mlp"}, "data": "table", "classes": ["no", "yes"], "deals": {"1": SIZES}, "grouped": False,
    "same_epochs": True, "models": MODELS}


def said(**changes: Any) -> list[str]:
    return lines({"training": {**TRAINING, **changes}})


def test_a_run_that_trained_nothing_says_nothing() -> None:
    assert lines({}) == []


def test_who_is_what() -> None:
    assert said() == [
        "Every model was trained here by the recipe mlp, on a table with 2 classes (no, yes); seed 1.",
        "Of 100 rows 20 were held out. Chance made 10 of the others canaries and 6 placebos, and drew their labels; 60 "
        "kept theirs. Further canaries stood in training on purpose, 2 once and 2 16 times.",
        "Beside 1 target an attacker's 1 reference was trained, on the rows of a target and its placebos, with labels "
        "of canaries and placebos drawn afresh.",
        "Each was trained for 9 epochs."]


def test_seeds_groups_and_many_classes() -> None:
    found = said(deals={"1": SIZES, "2": {**SIZES, "train": 61}}, grouped=True, classes=[str(k) for k in range(20)],
                 models=MODELS[:1])
    assert "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …); seeds 1 and 2." in found[0]
    assert found[1].startswith("With seed 1, of 100 rows")
    assert found[1].endswith("A group is one of these as a whole.")
    assert found[2] == "No references were trained."


def test_how_long_was_trained() -> None:
    until = {"recipe": {"name": "mlp", "until_accuracy": 0.9}}
    assert said(**until)[-1] == ("Each was trained for 9 epochs: as long as it took the one without noise to classify "
                                 "90% of its training rows as trained.")
    missed = [{**MODELS[0], "reached": False}, MODELS[1]]
    assert said(**until, models=missed)[-1].endswith("That accuracy was not reached with seed 1.")
    apart = [MODELS[0], {**MODELS[1], "epochs_done": 4}]
    assert said(**until, models=apart, same_epochs=False)[-1] == (
        "Each was trained for 4 to 9 epochs, until 90% of its training rows were classified as trained, or to the end.")
    assert said(models=[{**MODELS[0], "epochs_done": 1}])[-1] == "Each was trained for 1 epoch."
