"""Settings of the documentation. `make docs` builds it without a network; no page loads anything from elsewhere."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from typing import Any

import discreet

project = "discreet"
author = "the discreet authors"
version = release = discreet.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["deflist", "fieldlist", "colon_fence"]
myst_heading_anchors = 4
# Fields of several records share a name: which one a short reference means is of no interest.
suppress_warnings = ["config.cache", "ref.python"]
default_role = "code"

autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
# Attributes are a list below their class: an entry for each would repeat the properties.
napoleon_use_ivar = True

html_theme = "pydata_sphinx_theme"
html_title = "discreet"
html_static_path = ["_static"]
html_css_files = ["discreet.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["globaltoc.html"]}
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
project_copyright = "discreet, Apache-2.0"


def public_packages() -> list[str]:
    """Every package of discreet whose ``__init__`` says in ``__all__`` what it offers, the top one first."""
    found = sorted(one.name for one in pkgutil.walk_packages(discreet.__path__, "discreet.") if one.ispkg)
    public = [name for name in ("discreet", *found) if hasattr(import_module(name), "__all__")]
    for name in public:
        module = import_module(name)
        # Names that a package loads on demand: autodoc looks only at those that are there.
        vars(module).update({one: getattr(module, one) for one in module.__all__})
    return public


def add_packages(_app: Any, page: str, source: list[str]) -> None:
    """The page of the API is its head and a section for each public package."""
    if page != "reference/api":
        return
    home: dict[int, str] = {}
    for name in public_packages():
        module = import_module(name)
        again = [one for one in sorted(module.__all__) if id(getattr(module, one)) in home]
        options = f"   :exclude-members: {', '.join(again)}\n" if again else ""
        said = f"\nAlso here, described above: {', '.join(f'``{one}``' for one in again)}.\n" if again else ""
        source[0] += f"\n{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n{options}{said}"
        home |= {id(getattr(module, one)): name for one in module.__all__}


def escape_bars(_app: Any, _what: str, _name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """|x| is an absolute value in a docstring, no substitution."""
    lines[:] = [re.sub(r"`[^`]*`|\|", lambda found: found[0] if found[0] != "|" else r"\|", line) for line in lines]


def skip_member(_app: Any, _what: str, name: str, _obj: object, _skip: bool, _options: object) -> bool | None:
    """Leave out what scikit-learn adds to its estimators by itself."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", add_packages)
