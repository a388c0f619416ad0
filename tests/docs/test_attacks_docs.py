"""The page on attacks names every attack, with the kinds and scales it has, and its example is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.membership.attack import View, attacks

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "attacks.md").read_text(encoding="utf-8")


@pytest.fixture
def example() -> Iterator[None]:
    assert len(attacks) > 0
    [block] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    namespace: dict[str, Any] = {}
    exec(compile(block, "attacks.md", "exec"), namespace)
    yield
    attacks._items.pop("margin")


def test_the_table_is_the_registry() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([\w, ]+) \| ([^|]+) \| [^|]+ \|$", PAGE, re.M)
    stated = {name: (scales.split(", "), {k for k in ("paired", "neutral", "population") if k in kinds})
              for name, scales, kinds in rows}
    assert stated == {
        name: (list(attack.scales), {kind for kind in attack.kinds if kind}) for name, attack in attacks.items()}


@pytest.mark.usefixtures("example")
def test_the_example_is_an_attack() -> None:
    log_p = np.log(np.array([[[0.7, 0.3]], [[0.4, 0.6]]]))
    view = View(log_p, np.array([0, 0]), {}, np.zeros(0, dtype=np.int64), np.arange(2))
    assert attacks["margin"].requirements(view, None) is None
    np.testing.assert_allclose(attacks["margin"].scores(view, "p", None, np.random.default_rng(0)), [0.4, -0.2])
