"""A saved label audit, read row by row: what its summary and its figures ask of it."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.report.summary import Record


def decisive(record: Record) -> Record:
    """The target that the verdict of the whole is explained by."""
    found: Record = next(one for one in record["targets"] if one["target"] == record["decisive"])
    return found


def rows_of(record: Record, target: Record) -> list[Record]:
    """The rows of one target."""
    return [row for row in record["attacks"] if row["model"] == target["target"]]


def resolved(rows: Sequence[Record]) -> list[Record]:
    """Those with a figure."""
    return [row for row in rows if row["success"]["value"] is not None]


def kinds(rows: Sequence[Record]) -> dict[str, list[Record]]:
    """Rows with a figure by access; the strongest first among those on outputs, then in order."""
    found = {access: [row for row in resolved(rows) if row["access"] == access]
             for access in ("outputs", "privileged", "oracle")}
    found["outputs"].sort(key=_nearness)
    return found


def strongest(rows: Sequence[Record], label: str | None = None) -> Record | None:
    """Of the attacks on outputs alone the one that comes nearest to a finding; about one label, or about either."""
    honest = [row for row in resolved(rows) if row["access"] == "outputs" and label in (None, row["target"])]
    controlled = [row for row in honest if row["placebo"]["value"] is not None and not row["vetoed"]]
    deciding = [row for row in controlled if row["decides"]] or controlled or honest
    return min(deciding, default=None, key=_nearness)


def published(rows: Sequence[Record]) -> Record | None:
    """LIA-Delta-Margin with the loss at the canary label, α = β, as the paper's figures have it."""
    return next((row for row in resolved(rows) if row["loss_labels"] == "secret" and row["target"] == "secret"
                 and not row["tuned"] and row["alpha"] == row["beta"] and row["margin"] == "p1-second"), None)


def _nearness(row: Record) -> tuple[float, float, float]:
    """Smaller where a row is nearer to a finding."""
    holm, p = (1.0 if row[name] is None else float(row[name]) for name in ("holm_p", "difference_p"))
    excess = 0.0 if row["placebo"]["value"] is None else float(row["success"]["value"] - row["placebo"]["value"])
    return holm, p, -excess
