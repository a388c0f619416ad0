"""How many files and functions does one command touch? As JSON on standard error.

    python tools/journey.py guard check --domain law "One matter on file is a 52-year-old litigator from Omaha."

Plug-ins (recognisers, attacks, mechanisms, recipes and so on, one file each) are counted apart.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from types import FrameType

import discreet
from discreet.cli.main import run

ROOT = Path(discreet.__file__).parent
PLUGINS = {"recognisers", "encoders", "densities", "attacks", "recipes"}
touched: dict[str, set[str]] = {}


def profile(frame: FrameType, event: str, _arg: object) -> None:
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<module"):
        touched.setdefault(code.co_filename, set()).add(code.co_qualname)


def is_plugin(path: Path) -> bool:
    inside = path.relative_to(ROOT)
    mechanism = inside.parts[0] == "mechanisms" and inside.name not in {"base.py", "__init__.py"}
    return inside.parent.name in PLUGINS or mechanism


threading.setprofile(profile)
sys.setprofile(profile)
try:
    code = run(sys.argv[1:])
finally:
    sys.setprofile(None)
files = {Path(name) for name in touched}
own = {path for path in files if not is_plugin(path)}
named = sum(not name.rsplit(".", 1)[-1].startswith("<") for path in own for name in touched[str(path)])
print(json.dumps({"exit": code, "files": len(own), "plugins": len(files - own), "functions": named,
                  "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)}), file=sys.stderr)
sys.exit(code)
