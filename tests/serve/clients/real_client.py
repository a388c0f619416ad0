"""A client in its environment, named by its module: questions in as JSON lines, what was heard out as JSON lines."""

from __future__ import annotations

import json
import sys
from importlib import import_module

heard = import_module(sys.argv[1]).heard
for line in sys.stdin:
    try:
        said = heard(**json.loads(line))
    except Exception as error:
        said = {"error": str(error), "code": getattr(error, "code", None),
                "status": getattr(error, "status_code", None), "kind": type(error).__name__, "text": "",
                "end": "error"}
    print(json.dumps(said), flush=True)
