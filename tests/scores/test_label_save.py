from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.audit.labels.simulate import LabelWorld, simulated_labels
from discreet.scores.label_load import load_label_scores
from discreet.scores.label_save import write_label_scores
from discreet.scores.label_table import UNKNOWN


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    world = LabelWorld(canaries=40, placebos=30, references=2, epsilon=2.0, planted=(4,))
    table = simulated_labels(world, np.random.default_rng(0))
    order = np.argsort(table.id.astype(str))
    trained = table.trained.copy()
    trained[0, :5] = UNKNOWN
    table = replace(table, trained=trained, group=np.arange(len(table)) // 2)
    write_label_scores(table, tmp_path / "scores.parquet")
    back = load_label_scores(tmp_path / "scores.parquet")
    assert [model.name for model in back.models] == ["reference-1", "reference-2", "target"]
    places = [1, 2, 0]
    assert [back.models[place] for place in range(3)] == [table.models[place] for place in places]
    np.testing.assert_array_equal(back.id, table.id[order])
    np.testing.assert_array_equal(back.original, table.original[order])
    for name in ("role", "secret", "trained", "planted", "logits"):
        np.testing.assert_array_equal(getattr(back, name), getattr(table, name)[places][:, order])
    assert back.group is not None
    assert table.group is not None
    assert (np.equal.outer(back.group, back.group) == np.equal.outer(table.group[order], table.group[order])).all()


def test_a_table_without_models_is_refused(tmp_path: Path) -> None:
    table = simulated_labels(LabelWorld(canaries=4, placebos=4), np.random.default_rng(0))
    none = replace(table, models=(), role=table.role[:0], logits=table.logits[:0])
    with pytest.raises(ValueError, match="without models"):
        write_label_scores(none, tmp_path / "scores.parquet")
