"""The history of an audit: a file of JSON Lines, a line a run, so that releases can be read one after another.

A run is its scores and its settings, whatever file they came from (`run_hash`): the same audit done again replaces its
line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.scores.table import ScoreTable
from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json, why, write_atomic

ENTRY = "run", "at", "model", "verdict", "auc", "record"
"""What each line has at least."""
FIGURES = "auc", "control_auc", "tpr_at_1pct_fpr"
EXPECTED = "expected a file that --history wrote, or the name of a new one"


def run_hash(table: ScoreTable, settings: Mapping[str, Any]) -> str:
    """SHA-256 of what a run is of: the content of the score table and the settings of the audit, as plain values.

    The format of a file, and the order of its rows and columns, do not count, nor the order of words in a setting;
    scores count in single precision, as a file of text may have fewer digits.
    """
    asked = {name: sorted(given) if isinstance(given, list | tuple) else given for name, given in settings.items()}
    examples = table.examples
    rows = np.argsort(examples.id.astype(str), kind="stable")
    models = sorted(range(len(table.models)), key=lambda place: table.models[place].name)
    of_models = [(one.name, one.role, one.reference_kind, one.stated) for one in (table.models[k] for k in models)]
    columns: dict[str, Any] = {"id": examples.id, "label": examples.label, "planted": examples.planted,
                               "split": examples.split, **examples.columns}
    if examples.categories is not None:
        columns["categories"] = np.array([";".join(sorted(one)) for one in examples.categories], dtype=np.object_)
    if examples.group is not None:
        # Which records belong together counts, not what the groups are called.
        _, first, at = np.unique(examples.group[rows], return_index=True, return_inverse=True)
        columns["group"] = np.empty(rows.size, dtype=np.int64)
        columns["group"][rows] = first[at.reshape(-1)]
    said = {name: list(map(str, values[rows])) for name, values in columns.items() if values is not None}
    found = hashlib.sha256(dump_json([asked, of_models, said]).encode())
    found.update(np.ascontiguousarray(table.member[models][:, rows]).tobytes())
    with np.errstate(over="ignore"):
        found.update(np.ascontiguousarray(table.logits[models][:, rows], dtype=np.float32).tobytes())
    return found.hexdigest()


def run_entry(record: Mapping[str, Any], run: str) -> dict[str, Any]:
    """The line of the run `run` (`run_hash`): when, which model, verdict, headline figures, and the hash of its record.

    `auc`, `control_auc` and `tpr_at_1pct_fpr` are those of the deciding attack over all records, `worst_part` is the
    part with the largest AUC; null where there is no figure.
    """
    primary, facts = record["primary"] or {}, record["provenance"]
    parts = [one for one in record["parts"][1:] if one["auc"]["value"] is not None]
    worst = max(parts, key=lambda one: float(one["auc"]["value"]), default=None)
    return {
        "run": run,
        "at": facts.get("finished") or datetime.now(UTC).isoformat(timespec="seconds"), "model": record["decisive"],
        "input": facts.get("input"), "design": record["design"], "verdict": record["verdict"],
        "reason_codes": list(record["reason_codes"]), "tolerance_auc": facts["tolerance_auc"],
        "tolerance_part": facts["tolerance_part"],
        "n_members": primary.get("n_members"), "n_nonmembers": primary.get("n_nonmembers"),
        **{name: _figure(primary.get(name)) for name in FIGURES},
        "worst_part": None if worst is None else {"name": worst["name"], **_figure(worst["auc"])},
        "record": record_hash(record)}


def _figure(estimate: Mapping[str, Any] | None) -> dict[str, Any]:
    return {end: None if estimate is None else estimate[end] for end in ("value", "low", "high")}


def record_hash(record: Mapping[str, Any]) -> str:
    """SHA-256 of a record without its `history`: that of `result.json`, read as JSON, is the one in its line."""
    plain = json.loads(dump_json({name: value for name, value in record.items() if name != "history"}))
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def read_history(path: Path | str) -> list[dict[str, Any]]:
    """The lines of a history, none where there is no file. InputError for a line that is none of a run, UsageError for
    a file that cannot be."""
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        found = "it is a folder" if path.is_dir() else "its folder is not there"
        raise UsageError(f"--history is {path}: {found}; {EXPECTED}")
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        said = why(error) if isinstance(error, OSError) else "it is no text"
        raise InputError(f"--history is {path}: {said}; {EXPECTED}") from None
    return [_entry(line, f"{path} line {place}") for place, line in enumerate(lines, start=1) if line.strip()]


def _entry(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or any(name not in found for name in ENTRY):
        raise InputError(f"{where} is no run of a history; {EXPECTED}")
    return found


def add_run(path: Path | str, record: Mapping[str, Any], run: str) -> tuple[list[dict[str, Any]], str | None]:
    """Append the line of the run `run`, or replace its earlier one. Raises as `read_history`.

    Returns all lines, the one of this run with `this` true, and when the line that it replaces was written, None
    without one.
    """
    entries, entry = read_history(path), run_entry(record, run)
    earlier = next((place for place, one in enumerate(entries) if one["run"] == run), None)
    if earlier is None:
        # One write at the end of the file: of two runs that end together none loses its line.
        with Path(path).open("a", encoding="utf-8", newline="\n") as file:
            file.write(dump_json(entry) + "\n")
        return [*entries, {**entry, "this": True}], None
    lines = [*entries[:earlier], entry, *entries[earlier + 1:]]
    write_atomic(path, "".join(dump_json(one) + "\n" for one in lines))
    lines[earlier] = {**entry, "this": True}
    return lines, str(entries[earlier]["at"])
