"""`python -m tests.golden.make_expected [RUN …]`: write what the runs give now as what they should give.

A commit that refreshes these files says which change to the package explains each difference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.golden.compare import EXPECTED, expected_path, plain, written
from tests.golden.runs import RUNS


def main(names: list[str]) -> None:
    EXPECTED.mkdir(exist_ok=True)
    for name in names or RUNS:
        started = perf_counter()
        with TemporaryDirectory(prefix="golden-") as work:
            text = written(plain(RUNS[name](Path(work)), name))
        expected_path(name).write_text(text, encoding="utf-8")
        print(f"{name:32} {perf_counter() - started:5.1f} s {len(text):9,} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
