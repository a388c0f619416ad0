from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.audit.labels.tables import changed

from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.scores.load import load_scores
from discreet.scores.table import UNKNOWN
from discreet.scores.write import write_scores


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    world = LabelWorld(canaries=40, placebos=30, references=2, epsilon=2.0, planted=(4,))
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


def test_a_table_without_models_is_refused(tmp_path: Path) -> None:
    table = simulated_labels(LabelWorld(canaries=4, placebos=4), np.random.default_rng(0))
    none = changed(table, models=(), role=table.canaries.role[:0], logits=table.logits[:0, :, 0])
    with pytest.raises(ValueError, match="without models"):
        write_scores(none, tmp_path / "scores.parquet")
