"""Rows as files of each kind that a table may be."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet


def put(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as a file of the kind that the name says: parquet, csv or JSON Lines, the two also with .gz."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    if path.name.endswith(".parquet"):
        parquet.write_table(pa.table({key: [row.get(key) for row in rows] for key in names}), path)
        return path
    opened: Any = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8", newline="") as handle:
        if ".csv" in path.name:
            writer = csv.DictWriter(handle, names)
            writer.writeheader()
            writer.writerows(rows)
        else:
            handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path
