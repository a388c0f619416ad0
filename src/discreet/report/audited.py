"""Saved audits, read row by row: what their summaries and figures ask of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.report.summary import Record

ROW_OF = ("attack", "scale", "reference_kind", "nonmembers")
"""What makes two rows figures of one attack."""
BOUNDARY_N = 20


@dataclass(frozen=True, slots=True)
class Audited:
    """One target of a record.

    Attributes
    ----------
    facts : Record
        Its entry in `targets`.
    rows : tuple of Record
        Its rows in `attacks`.
    tolerance : float
    peers : tuple of Record
        The rows of the other targets.
    classes : tuple of str
        What the labels are called; empty where the record does not say.
    """

    facts: Record
    rows: tuple[Record, ...]
    tolerance: float
    peers: tuple[Record, ...] = ()
    classes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The target's name."""
        return str(self.facts["target"])

    @property
    def primary(self) -> Record | None:
        """The row of the primary endpoint."""
        found: Record | None = self.facts["primary"]
        return found

    @property
    def paper(self) -> Record | None:
        """The published protocol's own figure: paired ratio on probabilities against what the reference trained on."""
        return self.first(attack="reference", scale="p", reference_kind="paired", nonmembers="reference_train",
                          selection="global")

    def label(self, number: int | None) -> str:
        """"label 1", or the name of that class; "all labels" for None."""
        if number is None:
            return "all labels"
        return self.classes[number] if number < len(self.classes) else f"label {number}"

    def whole(self, **wanted: Any) -> list[Record]:
        """The rows without stratum whose values are `wanted`, in order."""
        return [row for row in self.rows if all(row[name] == value for name, value in wanted.items())
                and row["label"] is None and row["category"] is None and row["decile"] is None
                and row["structure"] == self._structure]

    def first(self, **wanted: Any) -> Record | None:
        """The first of them."""
        return next(iter(self.whole(**wanted)), None)

    def like(self, row: Record, **wanted: Any) -> list[Record]:
        """The rows of any stratum with the attack, scale, references and non-members of `row`, and what is `wanted`."""
        wanted = {**{name: row[name] for name in ROW_OF}, **wanted}
        return [one for one in self.rows if all(one[name] == value for name, value in wanted.items())]

    @property
    def structures(self) -> list[str]:
        """The structures that rows are restricted to."""
        return sorted({row["structure"] for row in self.rows if row["structure"] != self._structure})

    @property
    def parts(self) -> list[tuple[str, Record]]:
        """The primary endpoint in each label, category and structure and at the boundary, where it has a figure."""
        if self.primary is None:
            return []
        found = []
        for row in self.like(self.primary):
            at = row["selection"] == "boundary" and row["n"] == BOUNDARY_N
            name = (self.label(row["label"]) if row["label"] is not None else str(row["category"] or (
                row["structure"] if row["structure"] in self.structures else "")))
            wanted = row["decile"] is None and (at or (row["selection"] == "global" and name != ""))
            if wanted and row["auc"]["value"] is not None:
                found.append((", ".join(filter(None, (name, "at the decision boundary" if at else ""))), row))
        return found

    @property
    def _structure(self) -> str | None:
        # A target whose inputs all have one structure names it in every row; the first row is never restricted.
        first: str | None = self.rows[0]["structure"] if self.rows else None
        return first


def audited(record: Record) -> list[Audited]:
    """The targets of a record, the decisive one first."""
    tolerance = float(record["provenance"]["tolerance_auc"])
    classes = tuple(map(str, (record.get("training") or {}).get("classes", ())))
    found = []
    for one in record["targets"]:
        of = {same: tuple(row for row in record["attacks"] if (row["target"] == one["target"]) is same)
              for same in (True, False)}
        found.append(Audited(one, of[True], tolerance, of[False], classes))
    decisive = next(one for one in found if one.facts["verdict"] == record["verdict"])
    return [decisive, *(one for one in found if one is not decisive)]


def below(estimate: Mapping[str, Any] | None, bound: float) -> bool:
    """Whether the whole interval lies below `bound`."""
    return estimate is not None and estimate["high"] is not None and estimate["high"] < bound


# Label audits


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
