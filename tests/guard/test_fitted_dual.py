from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from discreet.core.errors import InputError
from discreet.guard.dual_density import DualDensity
from discreet.guard.fitted_dual import FittedDual, Projection

SETTINGS: dict[str, dict[str, Any]] = {
    "ocsvm": {"nu": 0.05},
    "ocsvm raw": {"nu": 0.05, "scale": "libsvm"},
    "gmm": {"density": "gmm", "n_components": 2, "pca": 6},
    "rff": {"density": "rff", "nu": 0.05, "n_frequencies": 128},
    "typicality": {"features": "typicality", "widths": (5, 5), "nu": 0.05},
    "ocsvm reduced": {"nu": 0.1, "pca": 4},
}


def _rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 10))


@pytest.fixture(scope="module", params=SETTINGS)
def fitted(request: pytest.FixtureRequest) -> FittedDual:
    x = np.concatenate([_rows(80, 0), _rows(120, 1) + 1.0])
    model = DualDensity(**SETTINGS[request.param], random_state=3)
    dual: FittedDual = model.fit(x, np.repeat([0, 1], [80, 120])).fitted_
    return dual


def test_a_row_scores_the_same_alone_in_a_batch_and_in_any_order(fitted: FittedDual) -> None:
    x = np.concatenate([_rows(400, 2), 1e4 * _rows(2, 3)]).astype(np.float32)
    batch = fitted.sigmas(x)
    order = np.random.default_rng(4).permutation(len(x))
    assert np.array_equal(fitted.sigmas(x[order]), batch[order])
    assert np.array_equal(np.concatenate([fitted.sigmas(row[None, :]) for row in x]), batch)
    assert np.array_equal(fitted.delta(x), batch[:, 1] - batch[:, 0])


def test_a_folder_of_safetensors_and_json_brings_back_the_same_bits(fitted: FittedDual, tmp_path: Path) -> None:
    save_file({k: np.ascontiguousarray(v) for k, v in fitted.state().items()}, tmp_path / "arrays.safetensors")
    (tmp_path / "dual.json").write_text(json.dumps(fitted.config()))
    config = json.loads((tmp_path / "dual.json").read_text())
    restored = FittedDual.restore(config, load_file(tmp_path / "arrays.safetensors"))
    x = _rows(100, 5)
    assert np.array_equal(restored.sigmas(x), fitted.sigmas(x))
    assert restored.stored_rows() == fitted.stored_rows()
    assert restored.config() == fitted.config()


def test_every_missing_part_is_an_input_error(fitted: FittedDual) -> None:
    for name in fitted.state():
        with pytest.raises(InputError, match="saved"):
            FittedDual.restore(fitted.config(), {k: v for k, v in fitted.state().items() if k != name})
    for name in set(fitted.config()) - {"stored_rows"}:
        with pytest.raises(InputError, match="saved"):
            FittedDual.restore({k: v for k, v in fitted.config().items() if k != name}, fitted.state())
    with pytest.raises(InputError, match="scale"):
        FittedDual.restore({**fitted.config(), "scale": "log"}, fitted.state())


def test_rows_of_another_width_are_refused(fitted: FittedDual) -> None:
    with pytest.raises(ValueError, match="expected \\(rows, 10\\)"):
        fitted.sigmas(np.zeros((2, 11)))


def test_a_projection_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    components, _ = np.linalg.qr(rng.standard_normal((300, 20)))
    mean = rng.standard_normal(300)
    x = rng.standard_normal((600, 300))
    found = Projection.of(mean, components.T).transform(x)
    np.testing.assert_allclose(found, (x - mean) @ components, atol=1e-5)
    assert np.array_equal(Projection.of(mean, components.T).transform(x[7:8])[0], found[7])
