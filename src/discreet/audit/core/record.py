"""From an audit in memory to its record, its page and its folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.core.errors import MissingExtraError
from discreet.core.files import dump_json, write_atomic
from discreet.report import summarise, to_html
from discreet.scores.table import ScoreTable

SCHEMA = 1


class Audit(ABC):
    """What the audits have in common: one record, which the page, the terminal and the file are made from."""

    kind: ClassVar[str]
    """The name of the record's kind, such as "audit membership"."""
    __slots__ = ()

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The record as plain values, without `kind` and `schema`."""

    @property
    def record(self) -> dict[str, Any]:
        """The record as it is saved and as `discreet.report` reads it."""
        return {"kind": self.kind, "schema": SCHEMA, **self.to_json()}

    def to_html(self, path: Path | str) -> Path:
        """Write the report page to `path` and return it. MissingExtraError without the extra "report"."""
        page = to_html(summarise(self.record))
        write_atomic(path, page)
        return Path(path)

    def save(self, folder: Path | str) -> Path:
        """Write `result.json` and `report.html` to `folder`, made where there is none, and return the folder.

        Without the extra "report" there is no page: `discreet report` makes it later.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomic(folder / "result.json", dump_json(self.record, indent=1) + "\n")
        with suppress(MissingExtraError):
            self.to_html(folder / "report.html")
        return folder


def plain(value: Any) -> Any:
    """Mappings, lists and tuples with everything in them that has `to_json` as plain values."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.to_json() if hasattr(value, "to_json") else value


def provenance(table: ScoreTable, **options: Any) -> dict[str, Any]:
    """The options of an audit with the size of its table: models by role, examples, classes, version of NumPy."""
    return {**options, "models": dict(Counter(model.role for model in table.models)),
            "examples": len(table.examples), "classes": table.n_classes, "numpy": np.__version__}
