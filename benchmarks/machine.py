"""What a figure was measured on, without a name of the machine."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version(),
            "numpy": np.__version__, "load_average": round(os.getloadavg()[0], 2)}
