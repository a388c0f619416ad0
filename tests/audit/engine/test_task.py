"""Whatever a result depends on is in its key, and what it does not depend on is not."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module, invalidate_caches, metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.engine import DataFile, Task, seeds_of
from discreet.audit.engine import task as task_module
from discreet.core.errors import InputError

PLAIN = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
                     | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=8)


def describe(steps: Any, **change: Any) -> Task:
    given: dict[str, Any] = {"params": {"n": 3, "rate": 0.1}, "seed": 1, "libraries": ("pydantic",),
                             "inputs": {"a": Task.of(steps.draw, "before", params={"n": 1})}}
    function, name = change.pop("function", steps.draw), change.pop("name", "x")
    return Task.of(function, name, **{**given, **change})


def test_the_key_is_the_hash_of_the_whole_description(steps: Any, tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_bytes(b"one\n")
    task = describe(steps, files={"data": DataFile.of(data)})
    spec = json.loads(task.spec)
    assert task.key == sha256(task.spec.encode()).hexdigest()
    assert set(spec) == {"schema", "name", "function", "params", "inputs", "files", "seed", "versions"}
    assert spec["files"] == {"data": sha256(b"one\n").hexdigest()}
    assert spec["function"] == "engine_steps:draw"
    assert spec["versions"]["numpy"] == np.__version__
    assert set(spec["versions"]) == {"python", "numpy", "discreet", "pydantic", "engine_steps"}
    assert str(tmp_path) not in task.spec


def test_changing_anything_changes_the_key(steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    other = Task.of(steps.draw, "before", params={"n": 2})
    tasks = [describe(steps), describe(steps, name="y"), describe(steps, function=steps.total),
             describe(steps, params={"n": 4, "rate": 0.1}), describe(steps, params={"n": 3, "rate": 0.1, "more": None}),
             describe(steps, seed=2), describe(steps, inputs={"a": other}),
             describe(steps, inputs={"b": Task.of(steps.draw, "before", params={"n": 1})}), describe(steps, inputs={}),
             describe(steps, libraries=()), describe(steps, libraries=("discreet.stats",)),
             describe(steps, files={"data": DataFile.of(one)}), describe(steps, files={"data": DataFile.of(two)}),
             describe(steps, files={"other": DataFile.of(one)})]
    there = metadata.version
    for changed in ("discreet", "numpy", "pydantic"):
        monkeypatch.setattr("importlib.metadata.version",
                            lambda name, changed=changed: "0.0.test" if name == changed else there(name))
        tasks.append(describe(steps))
    monkeypatch.setattr("importlib.metadata.version", there)
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    tasks.append(describe(steps))
    monkeypatch.setattr(task_module, "SCHEMA", 99)
    tasks.append(describe(steps))
    assert len({task.key for task in tasks}) == len(tasks)


def test_where_a_file_lies_and_how_things_are_ordered_do_not(steps: Any, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"same")
    keys = {describe(steps, params=params, files={"data": DataFile.of(tmp_path / name)}, libraries=libraries).key
            for name, params, libraries in (("one", {"n": 3, "r": (1, 2)}, ("pydantic", "numpy")),
                                            ("two", {"r": np.array([1, 2]), "n": np.int64(3)}, ["pydantic"]))}
    assert len(keys) == 1


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "edited_package"
    (folder / "inner").mkdir(parents=True)
    for name, text in (("__init__.py", ""), ("steps.py", "def go(job):\n    return None\n"), ("helper.py", "X = 1\n"),
                       ("inner/__init__.py", ""), ("inner/table.json", "{}")):
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    yield folder
    for name in [m for m in sys.modules if m.startswith("edited_package")]:
        del sys.modules[name]


@pytest.mark.parametrize("edited", ["steps.py", "helper.py", "inner/table.json"])
def test_editing_the_package_of_the_function_changes_the_key(package: Path, edited: str) -> None:
    go = import_module("edited_package.steps").go
    before = Task.of(go, "x").key
    assert Task.of(go, "x").key == before
    path = package / edited
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "other.cpython-311.pyc").write_bytes(b"x")
    assert Task.of(go, "x").key == before
    path.write_text(path.read_text() + "\n")
    assert Task.of(go, "x").key != before


@given(PLAIN, PLAIN)
def test_parameters_survive_and_tell_tasks_apart(a: Any, b: Any) -> None:
    function = import_module("discreet.stats").auroc
    one, two = (Task.of(function, "x", params={"p": value}) for value in (a, b))
    assert one.params == {"p": a}
    assert (one.key == two.key) == (json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True))
    assert (one == two) == (one.key == two.key)


def test_what_is_asked_for_cannot_be_changed_later(steps: Any) -> None:
    params = {"n": 3}
    task = Task.of(steps.draw, "x", params=params)
    params["n"] = 4
    task.params["n"] = 5
    assert task.params == {"n": 3}


@pytest.mark.parametrize("change", [
    {"name": ""}, {"name": "My name is\nAda"}, {"name": "x" * 201}, {"seed": -1}, {"seed": 1.5}, {"seed": True},
    {"params": {"x": float("nan")}}, {"params": {"x": object()}}, {"params": {"x": [{1: 2}]}},
    {"libraries": ("no-such-distribution",)}, {"libraries": ("no.such.package",)}, {"function": lambda job: None},
    {"function": os.path},
])
def test_what_cannot_be_a_task(steps: Any, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected|JSON|imported"):
        describe(steps, **change)


def test_a_function_of_the_script_itself_is_refused(steps: Any) -> None:
    def go(job: Any) -> None: ...

    go.__module__ = "__main__"
    with pytest.raises(ValueError, match="top of a module"):
        Task.of(go, "x")


def test_a_missing_file_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere: no such file"):
        DataFile.of(tmp_path / "nowhere")


def test_seeds_depend_on_seed_name_and_label_only() -> None:
    base = seeds_of(3, "a", "x").generate_state(4).tolist()
    assert base == seeds_of(3, "a", "x").generate_state(4).tolist()
    others = [seeds_of(*which).generate_state(4).tolist()
              for which in ((4, "a", "x"), (3, "b", "x"), (3, "a", "y"), (3, "a", ""), (3, "ax", ""), (3, "", "ax"))]
    assert len({tuple(s) for s in [base, *others]}) == 7
