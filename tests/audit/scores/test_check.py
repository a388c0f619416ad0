from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.audit.labels.tables import changed
from tests.audit.score_rows import EXAMPLES, Row, at, flat, refused
from tests.inputs.written import put

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.scores.check import check_label_table, check_table
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import CANARY, CONTROL, Examples, Model, ScoreTable
from discreet.core.errors import InputError

Change = Callable[[list[Row]], Any]


def put_in(values: Row, **where: str) -> Change:
    """What the rows that are `where` says in place of their own; a callable is asked for each."""
    def change(rows: list[Row]) -> None:
        for row in rows:
            if all(row[key] == value for key, value in where.items()):
                row.update({name: value(row) if callable(value) else value for name, value in values.items()})
    return change


def drop(*cells: tuple[str, str]) -> Change:
    return lambda rows: [rows.pop(rows.index(at(rows, *cell))) for cell in cells]


def without(column: str) -> Change:
    return lambda rows: [row.pop(column) for row in rows]


def again(rows: list[Row]) -> list[Row]:
    rows.append(dict(rows[4]))
    return rows


def copy_scores(source: str, goal: str, shift: float = 0.0) -> Change:
    return lambda rows: [at(rows, goal, example).update({f"logit_{k}": at(rows, source, example)[f"logit_{k}"] + shift
                                                         for k in range(3)}) for example in EXAMPLES]


def own_model(row: Row) -> str:
    return str(row["model"])


BAD: list[tuple[Change, tuple[str, ...]]] = [
    (put_in({"label": 3}, example="a"), ("'label' is not a whole number from 0 to 2", "1 of 4 examples")),
    (put_in({"label": -1}, example="a"), ("'label' is not a whole",)),
    (put_in({"label": 0.5}, example="a"), ("'label' is not a whole number",)),
    (put_in({"label": "safe"}), ("'label' is not a whole", "4 of 4 examples")),
    (put_in({"label": None}, example="a"), ("'label' is null for some",)),
    (without("label"), ("there is no 'label'", "from 0 to 2")),
    (put_in({"label": 0}, model="s1", example="a"), ("'label' of the example of this row", "1 example;")),
    (put_in({"group": own_model}), ("'group' of the example", "4 examples")),
    (put_in({"category": own_model}), ("'category' of the example",)),
    (put_in({"planted": lambda row: len(row["model"])}), ("'planted' of the example",)),
    (put_in({"planted": 1.5}), ("'planted' is not a whole number from 0,",)),
    (put_in({"group": lambda row: None if row["example"] == "a" else "u"}), ("'group' is null for 1 of 4 examples",)),
    (put_in({"model_role": "selection"}, model="f", example="a"), ("'model_role' of model 'f' is not the same",
                                                                  "names of their own")),
    (put_in({"model_role": "attacker"}, model="f"), ("'model_role' of model 'f' is not one that is known",
                                                     "target, reference, shadow, selection, control")),
    (put_in({"model_role": None}, model="f"), ("'model_role' of model 'f' is null",)),
    (without("model_role"), ("there is no 'model_role'",)),
    (put_in({"reference_kind": "clean"}, model="ref"), ("'reference_kind' of model 'ref'",
                                                        "paired, neutral, population")),
    (put_in({"seed": 1}, model="s1", example="a"), ("'seed' of model 's1' is not the same",)),
    (put_in({"model_role": "shadow"}, model="f"), ("no model has the role 'target'",)),
    (put_in({"member": None}, model="f", example="a"), ("target 'f' is null for 1 of 4",)),
    (without("member"), ("there is no 'member'",)),
    (put_in({"member": "maybe"}), ("'member' is none of true, false",)),
    (put_in({"member": True}, model="f"), ("target 'f' has no non-members among 4",)),
    (put_in({"member": False}, model="f"), ("target 'f' has no members among 4",)),
    (put_in({"member": True}, model="plc", example="e2"), ("control 'plc' was trained on 1 member of target 'f'",)),
    (put_in({"member": True}, model="ref", example="e2"), ("neutral reference 'ref' was trained",)),
    (copy_scores("f", "sel"), ("selector 'sel' has the same scores as target 'f'",)),
    (copy_scores("f", "sel", 2.5), ("selector 'sel' has the same",)),
    (copy_scores("ref", "sel"), ("the same scores as reference 'ref'",)),
    (copy_scores("plc", "sel"), ("control 'plc' has the same scores as selector 'sel'",)),
    (drop(("s2", "a"), ("s2", "B")), ("model 's2' lacks 2 of 4 examples;", "every model must score every example")),
    (drop(("s1", "a"), ("s2", "a"), ("f", "a")), ("lacks 1 of 4 examples and 2 other models lack some",)),
    (lambda rows: again(again(rows)), ("row 25: model and example", "and so in 2 rows in all")),
    (again, ("row 25: model and example are those of a row before", "in a column")),
    (lambda rows: again(rows).pop(7), ("row 24: model and example are those",)),
    (put_in({"model": None}, model="s1", example="a"), ("'model' is empty in 1 row,",)),
    (without("example"), ("there is no 'example'",)),
]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize(("change", "words"), BAD, ids=[words[0][:40] for _, words in BAD])
def test_bad_input_is_refused_in_one_line(tmp_path: Path, ending: str, change: Change, words: tuple[str, ...]) -> None:
    rows = flat()
    change(rows)
    message = refused(put(tmp_path / f"s.{ending}", rows))
    for part in words:
        assert part in message


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None, -1e151])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_scores_that_are_not_finite_are_counted_and_placed(tmp_path: Path, ending: str, value: float | None) -> None:
    rows = flat()
    spoiled = [place for place, row in enumerate(rows) if row["model"] == "s1"]
    rows[spoiled[0]]["logit_2"] = value
    rows[spoiled[2]]["logit_0"] = value
    message = refused(put(tmp_path / f"s.{ending}", rows))
    assert f"row {spoiled[0] + 1}: logits are NaN, infinite or null here, and so in 2 rows of model 's1';" in message
    at(rows, "plc", "a")["logit_1"] = value
    assert " and of 1 other model;" in refused(put(tmp_path / f"s.{ending}", rows))


def test_a_group_on_both_sides(tmp_path: Path) -> None:
    users = {"e10": "u", "a": "u", "e2": "v", "B": "w"}
    path = put(tmp_path / "s.csv", [{**row, "group": users[row["example"]]} for row in flat()])
    assert "1 of 3 groups are split over both sets" in refused(path)
    group = load_scores(path, allow_split_groups=True).examples.group
    assert group is not None
    assert group.tolist() == [2, 0, 0, 1]


def test_keys_that_no_grid_could_hold_are_refused_in_little_memory(tmp_path: Path) -> None:
    rows = [{"model": f"m{n}", "model_role": "target", "example": f"e{n}", "label": 0, "member": True, "logit": 0.0}
            for n in range(30_000)]
    assert "lacks 29,999 of 30,000 examples and 29,999 other models" in refused(put(tmp_path / "s.parquet", rows))


def test_hard_labels_of_shadows_may_agree_with_the_target(tmp_path: Path) -> None:
    rows = flat()
    copy_scores("f", "s1")(rows)
    copy_scores("s2", "sel")(rows)
    assert len(load_scores(put(tmp_path / "s.csv", rows)).models) == 6


def test_models_that_differ_behind_the_rows_that_are_screened() -> None:
    # Hard labels, which two models may share but for one example.
    logits = np.random.default_rng(0).choice([-1.0, 1.0], size=(2, 200, 1, 2))
    logits[1] = logits[0]
    logits[1, 199, 0, 0] += 1e-3
    examples = Examples(np.array([str(n) for n in range(200)], dtype=object), np.zeros(200, dtype=np.int64),
                        np.zeros(200, dtype=np.int64))
    member = np.tile(np.arange(200) % 2, (2, 1)).astype(np.int8)
    table = ScoreTable((Model("f", "target"), Model("g", "selection")), examples, logits, member)
    check_table(table, "x")
    logits[1, 199] = logits[0, 199]
    with pytest.raises(InputError, match=r"^x: selector 'g' has the same scores as target 'f'"):
        check_table(table, "x")
    check_table(ScoreTable((Model("f", "target"), Model("g", "target")), examples, logits, member), "x")


RNG = np.random.default_rng


def canaries(seed: int = 0, n_classes: int = 2) -> ScoreTable:
    return simulated_labels(LabelWorld(canaries=80, held_out=80, n_classes=n_classes, references=2), RNG(seed))


def test_draws_of_one_s_own_pass() -> None:
    """At a level of 1e-6 none of 200 tables with two references is refused."""
    for seed in range(100):
        for n_classes in (2, 10):
            check_label_table(canaries(seed, n_classes), "t")


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("kept", [1.0, 0.9])
def test_a_reference_with_the_target_s_draws_is_refused(n_classes: int, kept: float) -> None:
    table = canaries(1, n_classes)
    label = table.canaries.label.copy()
    label[2] = np.where(RNG(2).random(160) < kept, label[0], label[2])
    with pytest.raises(InputError, match=r"^t: reference 'reference-2' has the canary label of target 'target' for "
                                         r"1\d\d of 160 canaries and held-out ones, where draws of its own "
                                         r"agree on about (80|16);"):
        check_label_table(changed(table, label=label), "t")


def test_among_many_pairs_some_agree_by_chance() -> None:
    # The least agreement that one pair alone may not have.
    alike = next(k for k in range(80, 160) if stats.binom.sf(k - 1, 160, 0.5) < 1e-6)

    def table(references: int) -> ScoreTable:
        found = simulated_labels(LabelWorld(canaries=80, held_out=80, references=references), RNG(1))
        label = found.canaries.label.copy()
        label[1] = np.where(np.arange(160) < alike, label[0], 1 - label[0])
        return changed(found, label=label)

    with pytest.raises(InputError, match=f"for {alike} of 160"):
        check_label_table(table(1), "t")
    check_label_table(table(40), "t")


def test_so_is_one_with_the_opposite_draws() -> None:
    table = canaries(1)
    label = table.canaries.label.copy()
    label[1] = 1 - label[0]
    with pytest.raises(InputError, match="for 0 of 160 canaries"):
        check_label_table(changed(table, label=label), "t")
    with pytest.raises(InputError, match="logits hold NaN or infinity"):
        check_label_table(changed(table, logits=np.full_like(table.logits[:, :, 0], np.inf)), "t")


def two_targets(seeds: tuple[str | None, str | None]) -> ScoreTable:
    table = canaries()
    models = (Model("t", seed=seeds[0]), Model("u", seed=seeds[1]), Model("r", "reference"))
    role = table.canaries.role.copy()
    role[1] = np.where(np.arange(160) < 70, CANARY, CONTROL)
    return changed(table, models=models, role=role)


def test_targets_of_one_seed_share_their_canaries() -> None:
    for seeds in (("0", "0"), (None, None)):
        with pytest.raises(InputError, match="canaries overlap held-out ones: 10 examples of targets 't' and 'u'"):
            check_label_table(two_targets(seeds), "t")
    check_label_table(two_targets(("0", "1")), "t")


@pytest.mark.parametrize(("roles", "words"), [
    ((CANARY, CONTROL), "all 80 canaries"), ((CANARY,), "all 80 canaries"), ((CONTROL,), "all 80 controls")])
def test_labels_that_are_the_original_ones_were_not_drawn(roles: tuple[int, ...], words: str) -> None:
    table = canaries(1)
    label = table.canaries.label.copy()
    label[0] = np.where(np.isin(table.canaries.role[0], roles), table.examples.label, label[0])
    with pytest.raises(InputError, match=rf"^t: no canary label was drawn: the canary label of target 'target' is "
                                         rf"the original one for {words}, where uniform draws agree on about 40;"):
        check_label_table(changed(table, label=label), "t")


@pytest.mark.parametrize("flipped", [0.2, 1.0])
def test_nor_were_labels_that_depend_on_the_original_labels(flipped: float) -> None:
    table = canaries(1)
    label = table.canaries.label.copy()
    label[0] = np.where(RNG(2).random(160) < flipped, 1 - table.examples.label, table.examples.label)
    with pytest.raises(InputError, match="not drawn uniformly: the canary label of target 'target' is "):
        check_label_table(changed(table, label=label), "t")


def test_a_few_groups_that_share_a_draw_may_keep_their_labels() -> None:
    """Ten draws that all agree by chance have a probability of .1%, whatever the number of rows."""
    table = canaries(1)
    kept = changed(table, group=np.arange(160) // 16, label=np.stack([table.examples.label, *table.canaries.label[1:]]))
    check_label_table(kept, "t")
    with pytest.raises(InputError, match="for all 40 groups of canaries,"):
        check_label_table(changed(kept, group=np.arange(160) // 2), "t")
