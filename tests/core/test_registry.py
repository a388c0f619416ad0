from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import discreet
from discreet.core import registry
from discreet.core.errors import UsageError
from discreet.core.registry import Registry

Points = Callable[..., None]


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Points:
    """Set what the entry points of every group are, as name=value."""

    def set_to(**values: str) -> None:
        def found(group: str) -> list[EntryPoint]:
            return [EntryPoint(name, value, group) for name, value in values.items()]

        monkeypatch.setattr(registry, "entry_points", found)

    set_to()
    return set_to


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty importable package `plugins_of_a_test`, with a `room` to register in."""
    folder = tmp_path / "plugins_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "the_room.py").write_text("from discreet.core.registry import Registry\nroom = Registry('tests')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [m for m in sys.modules if m.startswith("plugins_of_a_test")]:
        del sys.modules[name]


def test_a_class_is_instantiated_once_and_stays_a_class(points: Points) -> None:
    room: Registry[object] = Registry("tests")

    @room.register("two")
    class Two:
        pass

    assert isinstance(Two, type)
    assert isinstance(room["two"], Two)
    assert room["two"] is room["two"]


def test_names_are_sorted_whatever_the_order(points: Points) -> None:
    room: Registry[str] = Registry("tests")
    for name in ("b", "c", "a"):
        room.register(name)(f"item {name}")
    assert list(room) == ["a", "b", "c"]
    assert len(room) == 3
    assert room.items() == [("a", "item a"), ("b", "item b"), ("c", "item c")]


def test_a_name_is_taken_once_and_others_are_unknown(points: Points) -> None:
    room: Registry[str] = Registry("tests")
    for name in ("b", "a"):
        room.register(name)("first")
    with pytest.raises(UsageError, match="two plug-ins of 'tests' are called 'a'"):
        room.register("a")("second")
    assert room["a"] == "first"
    with pytest.raises(UsageError, match="'c' is none of the tests that are installed; expected some of a, b"):
        room["c"]


def test_a_package_brings_one_plug_in_a_file(points: Points, package: Path) -> None:
    for name in ("first", "second"):
        (package / f"{name}.py").write_text(
            f"from plugins_of_a_test.the_room import room\nroom.register('{name}')('item {name}')\n"
        )
    points(builtin="plugins_of_a_test")
    room = import_module("plugins_of_a_test.the_room").room
    assert "plugins_of_a_test.first" not in sys.modules
    assert room.items() == [("first", "item first"), ("second", "item second")]


def test_a_plug_in_elsewhere_names_its_own_module(points: Points, package: Path) -> None:
    (package / "first.py").write_text("")
    (package / "mine.py").write_text("from plugins_of_a_test.the_room import room\nroom.register('mine')('x')\n")
    points(mine="plugins_of_a_test.mine")
    room = import_module("plugins_of_a_test.the_room").room
    assert list(room) == ["mine"]
    assert "plugins_of_a_test.first" not in sys.modules


def test_a_package_is_loaded_once(points: Points, package: Path) -> None:
    (package / "first.py").write_text("from plugins_of_a_test.the_room import room\nroom.register('first')('x')\n")
    points(builtin="plugins_of_a_test", again="plugins_of_a_test")
    room = import_module("plugins_of_a_test.the_room").room
    assert [len(room), len(room)] == [1, 1]


def test_a_plug_in_that_cannot_be_imported_is_not_left_out_in_silence(points: Points, package: Path) -> None:
    """Fewer detectors without a word would be a guard that fails open, on the second call as on the first."""
    (package / "broken.py").write_text("raise RuntimeError('cannot be imported')\n")
    (package / "good.py").write_text("from plugins_of_a_test.the_room import room\nroom.register('good')('x')\n")
    points(builtin="plugins_of_a_test")
    room = import_module("plugins_of_a_test.the_room").room
    for _ in range(2):
        with pytest.raises(UsageError, match=r"'builtin' of the group discreet.tests cannot be imported: .* RuntimeE"):
            room.items()


def test_what_is_not_built_in(points: Points, package: Path) -> None:
    (package / "the_room.py").write_text("from discreet.core.registry import Registry\n"
                                         "room = Registry('tests', builtin='plugins_of_a_test')\n")
    (package / "own.py").write_text("from plugins_of_a_test.the_room import room\nroom.register('own')('x')\n")
    room = import_module("plugins_of_a_test.the_room").room
    for name in ("z", "a"):
        room.register(name)("x")
    assert (list(room), room.outside()) == (["a", "own", "z"], ("a", "z"))


def test_a_plug_in_without_what_its_room_needs(points: Points) -> None:
    room: Registry[object] = Registry("tests", needs=("types", "find"), remedy="put @made above it")
    with pytest.raises(UsageError, match="the tests plug-in 'mine' is a function without types, find: put @made"):
        room.register("mine")(lambda facts: [])
    assert list(room) == []


def test_a_class_that_needs_arguments_is_an_error_of_its_author(points: Points) -> None:
    room: Registry[object] = Registry("tests")
    with pytest.raises(TypeError):

        @room.register("needs")
        class Needs:
            def __init__(self, what: str) -> None:
                self.what = what


def test_a_registry_of_the_package_has_its_built_ins() -> None:
    from discreet.guard.text.direct.detect import recognisers

    package = Path(discreet.__file__).parent.joinpath(*str(recognisers._builtin).split(".")[1:])
    files = [p for p in package.glob("*.py") if p.stem != "__init__"]
    assert len(recognisers) >= len(files) > 5
