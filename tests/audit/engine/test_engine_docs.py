"""The example of docs/engine.md runs as it stands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from discreet.audit.engine import Store, seeds_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "engine.md"


def test_the_example_runs_twice_and_works_once(tmp_path: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        name = block.split("\n", 1)[0].removeprefix("# ")
        (tmp_path / name).write_text(block, encoding="utf-8")
    outputs = [subprocess.run([sys.executable, "study.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
               .stdout for _ in range(2)]
    others, *members = (np.random.default_rng(seeds_of(7, name)).normal(mean, size=500) for name, mean in
                        [("others", 0.0), *((f"members/{i}", 1.0) for i in range(4))])
    expected = [round(float(np.mean([np.mean(m > o) for o in others])), 2) for m in members]
    assert [ast.literal_eval(out) for out in outputs] == [expected] * 2
    assert sum(e["event"] == "begin" for e in Store(tmp_path / "store").history()) == 9
