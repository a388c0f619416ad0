from __future__ import annotations

import json
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.special import log_softmax

from discreet.audit.sealed import read_scores
from discreet.core.errors import InputError


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_scores_as_they_are(tmp_path: Path) -> None:
    found = read_scores(write(tmp_path / "s.jsonl", {"id": 1, "score": 2, "text": "MARK"}, {"id": "b", "score": -0.5}))
    assert (found.names, found.ids, found.values.tolist()) == (("score",), ("1", "b"), [[2.0], [-0.5]])
    several = read_scores(write(tmp_path / "t.jsonl", {"id": "a", "score_b": 1, "score": 2, "logit_0": 3}))
    assert (several.names, several.values.tolist()) == (("score", "score_b"), [[2.0, 1.0]])


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_logits_to_log_p_and_margin(tmp_path: Path, suffix: str) -> None:
    logits = np.array([[2.0, -1.0, 0.5], [0.1, 50.0, -3.0], [1.0, 1.0, 0.0]])
    rows = [{"id": f"r{i}", "label": i % 3, **{f"logit_{k}": v for k, v in enumerate(row)}}
            for i, row in enumerate(logits)]
    path = tmp_path / f"s.{suffix}"
    if suffix == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == "csv":
        path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, r.values())) for r in rows)]) + "\n")
    else:
        write(path, *rows)
    found = read_scores(path)
    assert found.names == ("log_p", "margin")
    np.testing.assert_allclose(found.values[:, 0], log_softmax(logits, axis=1)[range(3), range(3)], atol=1e-14)
    np.testing.assert_allclose(found.values[:, 1], [1.5, 49.9, -1.0])


def test_a_saturated_model_still_orders_its_losses(tmp_path: Path) -> None:
    rows = [{"id": str(x), "label": "no", "logit_no": x, "logit_yes": 0.0} for x in (60.0, 61.0)]
    low, high = read_scores(write(tmp_path / "s.jsonl", *rows)).values[:, 0]
    assert low < high < 0.0


def test_probabilities_and_named_classes(tmp_path: Path) -> None:
    rows = [{"id": "a", "label": "unsafe", "prob_safe": 0.2, "prob_unsafe": 0.8},
            {"id": "b", "label": "safe", "prob_safe": 0.0, "prob_unsafe": 1.0}]
    found = read_scores(write(tmp_path / "s.jsonl", *rows)).values
    np.testing.assert_allclose(found[0], [log(0.8), log(4)])
    assert np.isfinite(found).all()
    assert found[1].max() < -600


GOOD = {"id": "a", "label": 0, "logit_0": 1.0, "logit_1": 2.0}


@pytest.mark.parametrize(("rows", "said"), [
    ([{"id": "a"}], "neither 'score' nor 'logit_…'"), ([{"score": 1}], "there is no 'id'"),
    ([{"id": "a", "score": "x"}], "'score' is not a number"), ([{"id": "a", "score": None}], "'score' is null"),
    ([{"id": "a", "score": True}], "true or false"), ([{"id": "a", "score": "nan"}], "'score' is nan"),
    ([{"id": "a", "score": "inf"}], "'score' is inf"), ([{"id": "a", "score": 1e200}], "expected a finite number"),
    ([{"id": "a", "score": 10**400}], "expected a finite number"),
    ([{"id": "a", "score": 1}, {"id": "a", "score": 1}], "line 2: the id of this row was used before"),
    ([{"id": "a", "score": 1}, {"id": "b", "score": 1, "score_2": 2}], "line 2: other score columns"),
    ([{"id": "", "score": 1}], "'id' is empty"),
    ([{**GOOD, "label": 2}], "no column"), ([{**GOOD, "label": None}], "no column"),
    ([{"id": "a", "logit_0": 1, "logit_1": 2}], "no 'label'"),
    ([{"id": "a", "label": 0, "logit_0": 1}], "one for every class"),
    ([{"id": "a", "label": 0, "prob_0": 1.2, "prob_1": 0}], "outside 0 to 1"),
    ([{"id": "a", "label": 0, "prob_0": 0.6, "prob_1": 0.6}], "the 2 'prob_…' sum to 1.2; expected 1 within 0.001"),
    ([{"id": "a", "label": 0, "prob_0": 0.6, "prob_1": 0.3989}], "sum to 0.9989"),
])
def test_bad_scores(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_scores(write(tmp_path / "s.jsonl", *rows))
    assert "\n" not in str(caught.value)


def test_json_nan(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"id": "a", "score": NaN}\n')
    with pytest.raises(InputError, match="NaN"):
        read_scores(tmp_path / "s.jsonl")


def test_rounded_probabilities_are_probabilities(tmp_path: Path) -> None:
    rows = [{"id": "a", "label": 0, "prob_0": 0.333, "prob_1": 0.333, "prob_2": 0.333},
            {"id": "b", "label": 0, "prob_0": 0.601, "prob_1": 0.3, "prob_2": 0.1}]
    assert np.isfinite(read_scores(write(tmp_path / "s.jsonl", *rows)).values).all()
