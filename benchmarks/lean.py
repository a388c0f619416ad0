"""Run-time leanness of the bare install: size on disk, `--help`, the first verdict from cold, modules left out.

    python benchmarks/lean.py            # makes .benchenv/bare on first use

Budgets (seconds, MB) are the design's; the exit code is 1 where one is broken. Medians of seven whole processes.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".benchenv" / "bare"
BUDGET = {"installed_mb": 250.0, "help_s": 0.3, "first_verdict_s": 1.5}
ANSWER = "One comparable matter is a 52-year-old female litigator from Omaha with two children."


def bare() -> Path:
    """An environment with discreet and nothing but its own requirements."""
    if not (PLACE / "bin" / "discreet").exists():
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
        subprocess.run([PLACE / "bin" / "pip", "install", "--quiet", str(ROOT)], check=True)
    else:
        subprocess.run([PLACE / "bin" / "pip", "install", "--quiet", "--no-deps", "--force-reinstall", str(ROOT)], check=True)
    return PLACE / "bin"


def megabytes(folder: Path) -> float:
    """Size of the installed packages, pip and setuptools aside."""
    own = ("pip", "setuptools", "_distutils_hack", "pkg_resources")
    files = (f for f in folder.rglob("*") if f.is_file() and not f.relative_to(folder).parts[0].startswith(own))
    return sum(f.stat().st_size for f in files) / 1e6


def seconds(command: list[str], repeats: int = 7) -> float:
    """Median wall time of a whole process."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> int:
    binaries = bare()
    discreet = str(binaries / "discreet")
    site = next(PLACE.glob("lib/python*/site-packages"))
    found = {
        "installed_mb": round(megabytes(site), 1),
        "help_s": round(seconds([discreet, "--help"]), 3),
        "first_verdict_s": round(seconds([discreet, "guard", "check", "--domain", "law", ANSWER]), 3),
    }
    broken = [name for name, value in found.items() if value > BUDGET[name]]
    print(json.dumps({"measured": found, "budget": BUDGET, "broken": broken}, indent=1))
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
