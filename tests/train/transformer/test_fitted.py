from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heavy import need
from tests.train.transformer.conftest import loaded
from tests.train.transformer.tiny import tiny_bert

from discreet.core.errors import InputError
from discreet.train.transformer.fitted import Best, base_digest, set_state, state_of


def spoil(model: Any) -> None:
    torch = need("torch")
    with torch.no_grad():
        for weights in model.trained().values():
            weights.add_(1.0)


def bytes_of(model: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in state_of(model).items()}


@pytest.mark.parametrize("in_memory", [0, 1 << 30])
def test_the_best_weights_come_back_from_memory_or_a_file(tiny: dict[str, Path], in_memory: int) -> None:
    model = loaded(tiny["bert"], regime="lora")
    with Best(model, in_memory) as best:
        with pytest.raises(ValueError, match="take before put_back"):
            best.put_back()
        best.take()
        spoil(model)
        best.take()
        second = bytes_of(model)
        spoil(model)
        assert bytes_of(model) != second
        best.put_back()
        folder = None if best._folder is None else Path(best._folder.name)
        assert (folder is not None and folder.is_dir()) == (in_memory == 0)
    assert bytes_of(model) == second
    assert folder is None or not folder.exists()


def test_the_state_of_lora_is_adapter_and_head_alone(tiny: dict[str, Path]) -> None:
    adapter, whole = (state_of(loaded(tiny["llama"], regime=regime)) for regime in ("lora", "full"))
    assert all("lora_" in name or "score" in name for name in adapter)
    assert any("score" in name for name in adapter)
    assert sum(array.size for array in adapter.values()) < sum(array.size for array in whole.values()) / 4


def test_weights_of_another_shape_are_refused_in_one_line(tiny: dict[str, Path]) -> None:
    model = loaded(tiny["bert"], regime="lora")
    good = {name: array.copy() for name, array in state_of(model).items()}
    name = next(iter(good))
    for spoilt, said in (
        ({k: v for k, v in good.items() if k != name}, "lack"),
        ({**good, "zz": good[name]}, "unexpected"),
        ({**good, name: good[name][:-1]}, "of shape"),
        ({**good, name: good[name].astype(np.float64)}, "float64"),
    ):
        before = bytes_of(model)
        with pytest.raises(InputError, match=said) as caught:
            set_state(model, spoilt)
        assert "\n" not in str(caught.value)
        assert bytes_of(model) == before
    set_state(model, good)


def test_a_base_is_known_by_what_is_not_trained(tiny: dict[str, Path], tmp_path: Path) -> None:
    first, again = (loaded(tiny["bert"], seed, regime="lora") for seed in (1, 2))
    spoil(again)
    assert base_digest(first) == base_digest(again)
    rounded = loaded(tiny["bert"], regime="lora", dtype="bfloat16")
    assert base_digest(rounded) == base_digest(first)
    other = loaded(tiny_bert(tmp_path / "other", seed=5), regime="lora")
    assert base_digest(other) != base_digest(first)
