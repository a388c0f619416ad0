"""Names that a package offers and imports when one is asked for, so that using a part of it loads no more than that."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazily(package: str, file: str) -> Callable[[str], Any]:
    """The `__getattr__` of `package`, in `file`: what stands under `if TYPE_CHECKING` is its table of what is where.

    A name may be a module, and may not be that of a module of the package unless it is that module.
    """
    homes: dict[str, tuple[str, str]] = {}
    for block in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            homes |= {alias.asname or alias.name: (str(line.module), alias.name) for line in block.body
                      if isinstance(line, ast.ImportFrom) for alias in line.names}

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inside = homes[name]
        home = import_module(module)
        value = getattr(home, inside) if hasattr(home, inside) else import_module(f"{module}.{inside}")
        setattr(sys.modules[package], name, value)
        return value

    return found
