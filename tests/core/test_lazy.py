from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import discreet
from discreet.core.lazy import lazily

NAMES = ("discreet", *(module.name for module in pkgutil.walk_packages(discreet.__path__, "discreet.")))
LAZY = [name for name in NAMES
        if name == "discreet.cli.library" or name.count(".") < 3 and "integrations" not in name
        and hasattr(import_module(name), "HOMES")]


@pytest.mark.parametrize("name", LAZY)
def test_checkers_and_interpreter_find_the_same(name: str) -> None:
    package = import_module(name)
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    [block] = [one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"]
    seen = {alias.asname or alias.name: (str(line.module), alias.name) for line in block.body
            if isinstance(line, ast.ImportFrom) for alias in line.names}
    assert set(seen) == set(package.HOMES)
    for short, (module, inside) in seen.items():
        assert package.HOMES[short] in (module, f"{module}.{inside}")
        assert getattr(package, short) is not None
    assert set(getattr(package, "__all__", ())) <= {*seen, *vars(package)}


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'mine' has no attribute 'yours'"):
        lazily("mine", {"ours": "discreet.core.errors"})("yours")
