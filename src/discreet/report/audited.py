"""A saved membership audit, read row by row: what the page, the figures and the terminal all ask of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Record: TypeAlias = Mapping[str, Any]

ATTACKS = {
    "loss": "loss", "confidence": "confidence, top class", "confidence_true": "confidence, true class",
    "entropy": "entropy", "reference": "reference ratio",
    "probe": "logit probe", "lira": "LiRA", "lira_fixed": "LiRA, fixed variance", "lira_offline": "LiRA offline",
    "rmia": "RMIA", "rmia_offline": "RMIA offline",
}
REFERENCES = {None: "none", "paired": "paired", "neutral": "neutral", "population": "population"}
SELECTIONS = {"global": "all", "boundary": "boundary", "boundary_union": "boundary, pooled"}


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
    """

    facts: Record
    rows: tuple[Record, ...]
    tolerance: float
    peers: tuple[Record, ...] = ()

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
        return self._alike(self.rows, row, wanted)

    def beside(self, row: Record, **wanted: Any) -> list[Record]:
        """The same of the other targets."""
        return self._alike(self.peers, row, wanted)

    @staticmethod
    def _alike(rows: Sequence[Record], row: Record, wanted: Mapping[str, Any]) -> list[Record]:
        wanted = {**{name: row[name] for name in ("attack", "scale", "reference_kind", "nonmembers")}, **wanted}
        return [one for one in rows if all(one[name] == value for name, value in wanted.items())]

    @property
    def structures(self) -> list[str]:
        """The structures that rows are restricted to."""
        return sorted({row["structure"] for row in self.rows if row["structure"] != self._structure})

    @property
    def _structure(self) -> str | None:
        # A target whose inputs all have one structure names it in every row; the first row is never restricted.
        first: str | None = self.rows[0]["structure"] if self.rows else None
        return first


def audited(record: Record) -> list[Audited]:
    """The targets of a record, the decisive one first."""
    tolerance = float(record["provenance"]["tolerance_auc"])
    found = []
    for facts in record["targets"]:
        of = {same: tuple(row for row in record["attacks"] if (row["target"] == facts["target"]) is same)
              for same in (True, False)}
        found.append(Audited(facts, of[True], tolerance, of[False]))
    decisive = next(one for one in found if one.facts["verdict"] == record["verdict"])
    return [decisive, *(one for one in found if one is not decisive)]


def attack_words(row: Record, *, scale: bool = True) -> str:
    """"reference ratio, neutral, logit scale"."""
    parts = [ATTACKS.get(row["attack"], str(row["attack"]).replace("_", " "))]
    if row["reference_kind"] is not None:
        parts.append(REFERENCES[row["reference_kind"]])
    if scale:
        parts.append(f"{row['scale']} scale")
    return ", ".join(parts)


def listed(one: Audited) -> tuple[list[Record], list[Record]]:
    """Rows for a table, each attack global and at the boundary: honest ones, the primary first; and oracle ones."""
    rows = [row for row in one.whole() if row["n"] in (None, 20)]
    first = one.primary
    honest = [row for row in rows if not row["oracle"]]
    if first is not None:
        named = ("attack", "scale", "reference_kind", "selection", "nonmembers")
        honest.sort(key=lambda row: any(row[name] != first[name] for name in named))
    return honest, [row for row in rows if row["oracle"]]


def said_of(facts: Record) -> list[tuple[str, str]]:
    """Facts of a run as pairs of words, for the end of a page."""
    shown = []
    for name, value in facts.items():
        said = ", ".join(f"{count} {role}" for role, count in value.items()) if isinstance(value, Mapping) else (
            "none" if value is None else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool)
            else str(value))
        shown.append((name.replace("_", " "), said))
    return shown
