from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from discreet.core.errors import UsageError
from discreet.inputs.perturbed import NOISE, SHARE, can_perturb, perturbed


def test_words_are_dropped_and_swapped_as_often_as_said() -> None:
    words = [f"w{place}" for place in range(400)]
    texts = [" ".join(words)] * 50
    found = [text.split() for text in perturbed(texts, np.random.default_rng(0))]
    assert np.mean([len(one) for one in found]) == pytest.approx(400 * (1 - SHARE), rel=0.02)
    assert all(set(one) <= set(words) and len(set(one)) == len(one) for one in found)
    places = [[int(word[1:]) for word in one] for one in found]
    assert np.mean([np.mean(np.diff(one) < 0) for one in places]) == pytest.approx(SHARE, abs=0.03)
    assert found[0] != found[1]


def test_a_text_keeps_a_word_and_an_empty_one_stays_empty() -> None:
    found = perturbed(["alone"] * 200 + [""], np.random.default_rng(0))
    assert set(found[:-1]) == {"alone"}
    assert found[-1] == ""


def test_noise_is_in_deviations_of_its_column() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(5000, 2)) * [1.0, 100.0]
    before = values.copy()
    found = perturbed(values, np.random.default_rng(0))
    np.testing.assert_allclose((found - values).std(axis=0), NOISE * values.std(axis=0), rtol=0.05)
    assert np.array_equal(values, before)
    assert np.array_equal(found, perturbed(values, np.random.default_rng(0)))
    assert perturbed(values.astype(np.float32), rng).dtype == np.float32
    assert perturbed(np.arange(12).reshape(3, 2, 2), rng).shape == (3, 2, 2)


def test_sparse_values_are_dropped_and_frames_keep_what_is_no_number() -> None:
    dense = np.random.default_rng(0).random((100, 50))
    matrix = csr_matrix(dense)
    found = perturbed(matrix, np.random.default_rng(0))
    assert found.nnz / matrix.nnz == pytest.approx(1 - SHARE, abs=0.02)
    assert matrix.nnz == 5000
    frame = pd.DataFrame({"age": [30.0, 40.0, 50.0], "code": [1, 2, 3], "town": ["a", "b", "c"]})
    changed = perturbed(frame, np.random.default_rng(0))
    assert not np.array_equal(changed["age"], frame["age"])
    pd.testing.assert_frame_equal(changed[["code", "town"]], frame[["code", "town"]])


@pytest.mark.parametrize("inputs", [[{"a": 1}], np.array([["a"]], dtype=object), pd.DataFrame({"town": ["a"]})])
def test_other_forms_are_refused(inputs: object) -> None:
    assert not can_perturb(inputs)
    with pytest.raises(UsageError, match="cannot be perturbed"):
        perturbed(inputs, np.random.default_rng(0))
