"""The history of an audit: a file of JSON Lines, a line a run, so that releases can be read one after another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json, why

ENTRY = "at", "model", "verdict", "auc", "record"
"""What each line has at least."""
FIGURES = "auc", "control_auc", "tpr_at_1pct_fpr"
EXPECTED = "expected a file that --history wrote, or the name of a new one"


def run_entry(record: Mapping[str, Any]) -> dict[str, Any]:
    """The line of a run: when, which model, verdict, headline figures, and the hash of its record.

    `auc`, `control_auc` and `tpr_at_1pct_fpr` are those of the deciding attack over all records, `worst_part` is the
    part with the largest AUC; null where there is no figure.
    """
    primary, facts = record["primary"] or {}, record["provenance"]
    parts = [one for one in record["parts"][1:] if one["auc"]["value"] is not None]
    worst = max(parts, key=lambda one: float(one["auc"]["value"]), default=None)
    return {
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


def add_run(path: Path | str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Append the line of a run, and return all lines, the new one last. Raises as `read_history`."""
    entries, entry = read_history(path), run_entry(record)
    # One write at the end of the file: of two runs that end together none loses its line.
    with Path(path).open("a", encoding="utf-8", newline="\n") as file:
        file.write(dump_json(entry) + "\n")
    return [*entries, entry]
