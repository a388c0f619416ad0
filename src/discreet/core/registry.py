"""The one door for plug-ins, used by our own built-ins too.

A room declares `recognisers = Registry("recognisers", builtin="discreet.guard.text.direct.recognisers")`. On first
use the registry imports every module of its built-in package, and each module registers what it brings with
`@recognisers.register("ssn")`: a new built-in is one file. A plug-in elsewhere names its own module as an entry
point of the group `discreet.<room>` in its `pyproject.toml`; where that is a package, all its modules are imported:

    [project.entry-points."discreet.recognisers"]
    mine = "my_package.my_recogniser"
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar, cast

from discreet.core.errors import DiscreetError, UsageError, meant

T = TypeVar("T")


def offered(room: str) -> dict[str, Any]:
    """What installed packages offer a room as mappings, joined: entry points of the group `discreet.<room>`."""
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=f"discreet.{room}"), key=lambda p: p.name):
        found |= point.load()
    return found


def _import_all(name: str) -> None:
    """Import a module and, where it is a package, the modules in it."""
    module = import_module(name)
    for found in iter_modules(getattr(module, "__path__", [])):
        import_module(f"{name}.{found.name}")


K = TypeVar("K", bound=Any)


class Registry(Generic[T]):
    """Names to plug-ins of one room, loaded on first use.

    With `classes=True` a registered class is kept as it is, for rooms whose plug-ins are built with options. A plug-in
    without one of the attributes `needs` is refused; `remedy` says what its author does about it.
    """

    def __init__(self, room: str, *, builtin: str | None = None, classes: bool = False, needs: tuple[str, ...] = (),
                 remedy: str = "") -> None:
        self.room, self._builtin, self._classes = room, builtin, classes
        self._needs, self._remedy = needs, remedy
        self._items: dict[str, T] = {}
        self._homes: dict[str, str] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[K], K]:
        """Decorator: put an object, or the instance of a class without arguments, under `name`; once a name."""
        # The module that registers: an item need not know where it was made.
        home = sys._getframe(1).f_globals.get("__name__", "")

        def keep(item: K) -> K:
            if name in self._items:
                raise UsageError(f"two plug-ins of {self.room!r} are called {name!r}: rename one of them")
            made = item() if isinstance(item, type) and not self._classes else item
            if lacking := [one for one in self._needs if not hasattr(made, one)]:
                raise UsageError(f"the {self.room} plug-in {name!r} is a {type(made).__name__} without "
                                 f"{', '.join(lacking)}: {self._remedy}")
            self._homes[name] = home
            self._items[name] = cast(T, made)
            return item

        return keep

    def __getitem__(self, name: str) -> T:
        # A built-in that is called as its file needs no others.
        if name not in self._items and name.replace("-", "_") in self._files():
            import_module(f"{self._builtin}.{name.replace('-', '_')}")
        if name not in self._items:
            self._load()
        if name not in self._items:
            raise UsageError(f"{name!r} is none of the {self.room.replace('_', ' ')} that are installed; "
                             f"{meant(name, self)}")
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._items))

    def __len__(self) -> int:
        self._load()
        return len(self._items)

    def items(self) -> list[tuple[str, T]]:
        """All plug-ins with their names, sorted by name."""
        return [(name, self[name]) for name in self]

    def outside(self) -> tuple[str, ...]:
        """The names of plug-ins that are not built in, sorted."""
        return tuple(name for name in self if not self._homes.get(name, "").startswith(f"{self._builtin}."))

    def _files(self) -> set[str]:
        path = getattr(import_module(self._builtin), "__path__", []) if self._builtin else []
        return {found.name for found in iter_modules(path)}

    def _load(self) -> None:
        if self._loaded:
            return
        others = sorted(entry_points(group=f"discreet.{self.room}"), key=lambda p: p.name)
        if self._builtin:
            _import_all(self._builtin)
        for point in others:
            try:
                _import_all(point.module)
            except DiscreetError:
                raise
            except Exception as error:
                raise UsageError(f"the plug-in {point.name!r} of the group discreet.{self.room} cannot be imported: "
                                 f"{point.module} raises {type(error).__name__}; mend it, or uninstall its package"
                                 ) from error
        # Only now: after a failure the next use must fail again, not find a registry that looks empty.
        self._loaded = True
