from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tests.audit.labels.tables import changed
from tests.audit.score_rows import same

from discreet.audit.core.simulate import LabelWorld, simulated_labels
from discreet.audit.scores.load import load_scores
from discreet.audit.scores.table import UNKNOWN, Examples, Model, ReferenceKind, ScoreTable
from discreet.audit.scores.write import write_scores
from discreet.core.errors import InputError, UsageError


def small() -> ScoreTable:
    """Three models by four examples."""
    examples = Examples(np.array(["a", "b", "c", "d"], dtype=object), np.array([0, 1, 0, 1]),
                        np.zeros(4, dtype=np.int64))
    member = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [-1, -1, -1, -1]], dtype=np.int8)
    return ScoreTable((Model("f", "target"), Model("p", "control"), Model("s", "shadow", "population")), examples,
                      np.random.default_rng(0).normal(size=(3, 4, 1, 2)), member)


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path: Path, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    shape = [data.draw(st.integers(low, high)) for low, high in ((1, 4), (2, 6), (1, 3), (2, 4))]
    n_models, n_examples, _, n_classes = shape
    as_prob = data.draw(st.booleans())
    logits = rng.normal(size=shape)
    if as_prob:
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    member = rng.integers(-1, 2, size=shape[:2]).astype(np.int8)
    member[0] = np.arange(n_examples) % 2
    words = st.sampled_from([None, "a", "b c", "é"])

    def column() -> Any:
        found = np.array(data.draw(st.lists(words, min_size=n_examples, max_size=n_examples)), dtype=object)
        found[0] = "a"
        return found

    categories = tuple(frozenset(data.draw(st.sets(st.sampled_from(["x", "y z"])))) for _ in range(n_examples))
    examples = Examples(
        np.array(sorted(f"e-{n}" for n in range(n_examples)), dtype=object),
        rng.integers(0, n_classes, n_examples), rng.integers(0, 3, n_examples),
        group=np.arange(n_examples) if data.draw(st.booleans()) else None,
        split=column() if data.draw(st.booleans()) else None,
        categories=(frozenset("x"), *categories[1:]) if data.draw(st.booleans()) else None,
        columns={"group_kind": column()} if data.draw(st.booleans()) else {})
    kinds: list[ReferenceKind | None] = [None, "paired", "population"]
    others = tuple(Model(f"m{place}", "reference", kinds[place % 3], epsilon=1.0 + place, seed=str(place))
                   for place in range(1, n_models))
    table = ScoreTable((Model("f", "target", None, {"recipe": "lora"}), *others), examples, logits, member,
                       "prob" if as_prob else "logit")
    write_scores(table, tmp_path / "s.parquet")
    same(load_scores(tmp_path / "s.parquet"), table)


def test_rows_that_were_not_scored_are_not_written(tmp_path: Path) -> None:
    table = small()
    table.logits[2, 1] = np.nan
    write_scores(table, tmp_path / "s.parquet")
    assert parquet.read_metadata(tmp_path / "s.parquet").num_rows == 11
    with pytest.raises(InputError, match="model 's' lacks 1 of 4 examples"):
        load_scores(tmp_path / "s.parquet")


def test_a_row_group_holds_all_rows_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row group holds the names of all examples: with one a million rows a large file grows with their square."""
    sizes = []
    write = parquet.ParquetWriter.write_table

    def spy(writer: Any, rows: Any, row_group_size: int | None = None) -> None:
        sizes.append((rows.num_rows, row_group_size))
        write(writer, rows, row_group_size)

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", spy)
    table = small()
    write_scores(table, tmp_path / "scores.parquet")
    assert sizes == [(table.logits[0, :, :, 0].size,) * 2] * len(table.models)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    table, path = small(), tmp_path / "s.parquet"
    write_scores(table, path)
    same(load_scores(path), table)
    before = path.read_bytes()
    broken = ScoreTable(table.models, table.examples, table.logits, table.member[:2], table.given_as)
    with pytest.raises(IndexError):
        write_scores(broken, path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["s.parquet"]
    with pytest.raises(UsageError):
        write_scores(table, tmp_path / "none" / "s.parquet")
    with pytest.raises(ValueError, match="without models"):
        write_scores(ScoreTable((), table.examples, table.logits[:0], table.member[:0]), path)


def test_canaries_are_read_back(tmp_path: Path) -> None:
    world = LabelWorld(canaries=40, held_out=30, references=2, epsilon=2.0, planted=(4,))
    table = simulated_labels(world, np.random.default_rng(0))
    order = np.argsort(table.examples.id.astype(str))
    trained = table.canaries.trained.copy()
    trained[0, :5] = UNKNOWN
    table = changed(table, trained=trained, group=np.arange(len(table.examples)) // 2)
    write_scores(table, tmp_path / "scores.parquet")
    back = load_scores(tmp_path / "scores.parquet")
    assert [model.name for model in back.models] == ["reference-1", "reference-2", "target"]
    places = [1, 2, 0]
    assert [back.models[place] for place in range(3)] == [table.models[place] for place in places]
    np.testing.assert_array_equal(back.examples.id, table.examples.id[order])
    np.testing.assert_array_equal(back.examples.label, table.examples.label[order])
    np.testing.assert_array_equal(back.logits, table.logits[places][:, order])
    np.testing.assert_array_equal(back.member, table.member[places][:, order])
    for name in ("role", "label", "trained", "planted"):
        np.testing.assert_array_equal(getattr(back.canaries, name), getattr(table.canaries, name)[places][:, order])
    there, before = back.examples.group, table.examples.group
    assert there is not None
    assert before is not None
    assert (np.equal.outer(there, there) == np.equal.outer(before[order], before[order])).all()
