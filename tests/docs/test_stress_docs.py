"""docs/stress_test.md executes, and its words are those of the result."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from discreet.guard.stress import StressResult

PAGE = Path(__file__).resolve().parents[2] / "docs" / "stress_test.md"


def test_the_example_runs() -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(code) == 2
    namespace: dict[str, Any] = {}
    results = []
    for block in code:
        exec(compile(block, PAGE.name, "exec"), namespace)
        results.append(namespace["result"])
    by_words, guard = results
    assert (by_words.verdict, by_words.score) == ("fail", "decision_function")
    assert (guard.verdict, guard.score) == ("pass", "guard")
    assert set(by_words.subtypes) == {"chart", "note"}


def test_every_figure_that_the_page_names_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("| figure |")[1].split("\n\n")[0]
    named = {part for row in table.splitlines()[2:] for part in re.findall(r"`([\w.]+)`", row.split("|")[1])}
    figures = {"auroc", "fpr95", "fpr90", "fpr_at_tpr", "fpr_at_threshold"}
    known = {f.name for f in fields(StressResult)} | figures | {f"{p}.auroc" for p in ("within", "borderline")}
    assert len(named) == 9
    assert named <= known
