"""Names imported when one is asked for (PEP 562), so that using a part of a package loads no more than that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str], *, modules: bool = False) -> Callable[[str], Any]:
    """The `__getattr__` of `package`, which looks a name up in the module that `homes` gives for it.

    With `modules` it returns that module itself.
    """

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        value = home if modules else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return found
