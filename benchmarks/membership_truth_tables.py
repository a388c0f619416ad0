"""The tables of membership_truth.py: what each audit was to find, said before its verdict is read, and what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from benchmarks.membership_gate import TOLERANCE, can_fail, can_pass, share_of, tolerance_of
from benchmarks.page import table
from discreet.audit.core.power import POWER, power_of
from discreet.audit.membership.options import WHOLE

Line = Mapping[str, Any]
Cell = tuple[str, str, str]
ASKED = {"leak": ("pass", "fail"), "hardly leaks": ("", ""), "no leak": ("fail", "pass"), "learnt nothing": ("fail", ""),
         "planted records": ("fail", "pass")}
"""Kinds of models with the wrong verdict and the right one."""


@dataclass(frozen=True)
class Judged:
    """A line of RUNS with what is said of it before its verdict is read, from the sizes of its parts and from other
    seeds alone. A model that trained on members leaks where its AUC on those seeds exceeds the tolerance of a part; if
    nowhere, it hardly leaks."""

    line: Line
    strength: Mapping[str, float]
    """Mean AUC of each part over the unjudged seeds; empty for models that saw no member."""

    @property
    def verdict(self) -> str:
        return str(self.line["verdict"])

    @property
    def sizes(self) -> dict[str, int]:
        """Units of each part: members or non-members, whichever are fewer."""
        return {part["name"]: max(2, min(part["n"])) for part in self.line["parts"]}

    @property
    def kind(self) -> str:
        if not self.strength:
            return str(self.line["leak"])
        return "leak" if any(auc > tolerance_of(part) for part, auc in self.strength.items()) else "hardly leaks"

    @property
    def resolvable(self) -> bool:
        """Whether the sample is to decide: a leak in one of its parts, a model without a leak in all of them."""
        sizes = self.sizes
        if self.strength:
            return any(can_fail(min(auc, 0.999), sizes[part], tolerance_of(part), len(sizes))
                       for part, auc in self.strength.items() if part in sizes)
        return can_pass(sizes) and power_of(TOLERANCE, sizes[WHOLE], sizes[WHOLE]) >= POWER

    @property
    def hidden(self) -> bool:
        """Whether the upper bound over all records alone is within its tolerance."""
        return bool(self.line["parts"][0]["state"] == "within")


def judged(lines: Sequence[Line], unjudged: int) -> list[Judged]:
    """The lines of the judged seeds, those from `unjudged` on, of cells that have others too."""
    found = dict[Cell, dict[str, list[float]]]()
    for line in lines:
        if line["seed"] < unjudged:
            aucs = found.setdefault(cell_of(line), {})
            for part in line["parts"]:
                if line["place"] and part["auc"] is not None:
                    aucs.setdefault(part["name"], []).append(part["auc"])
    return [Judged(line, {part: float(np.mean(aucs)) for part, aucs in found[cell_of(line)].items()})
            for line in lines if line["seed"] >= unjudged and cell_of(line) in found]


def cell_of(line: Line) -> Cell:
    return line["set"], line["family"], line["leak"]


def counts(found: Sequence[Judged]) -> str:
    """"5 / 1 / 0": fail, inconclusive, pass."""
    return " / ".join(str(sum(one.verdict == word for one in found)) for word in ("fail", "inconclusive", "pass"))


def totals(found: Sequence[Judged]) -> list[str]:
    rows = []
    for kind, (wrong, right) in ASKED.items():
        of_kind = [one for one in found if one.kind == kind]
        sure = [one for one in of_kind if one.resolvable]
        amiss = share_of(sum(one.verdict == wrong for one in of_kind), len(of_kind))
        rows.append([kind, len(of_kind), counts(of_kind), f"{wrong}: {amiss}" if wrong else "–",
                     f"{right}: {sum(one.verdict == right for one in sure)} of {len(sure)}" if right else "–",
                     sum(one.hidden for one in of_kind)])
    return table(["kind", "audits", "fail / inconclusive / pass", "wrong", "right, of the resolvable",
                  "within .55 over all records"], rows)


def cells(found: Sequence[Judged]) -> list[str]:
    """Of each cell the AUC where the leak is, on unjudged seeds, the verdicts, and in brackets how many of its audits are
    resolvable where not all are."""
    rows, leaks = [], in_order(found, "leak")
    for name, family in product(in_order(found, "set"), in_order(found, "family")):
        row = [name, family]
        for leak in leaks:
            mine = [one for one in found if cell_of(one.line) == (name, family, leak)]
            sure = sum(one.resolvable for one in mine)
            strength = mine[0].strength.get(mine[0].line["place"]) if mine else None
            said = "" if strength is None else f"{strength:.2f}: ".lstrip("0")
            few = "" if sure == len(mine) else f" ({sure})"
            row.append(f"{said}{counts(mine)}{few}" if mine else "–")
        rows.append(row)
    return table(["set", "model", *leaks], rows)


def reasons(found: Sequence[Judged]) -> list[str]:
    """Why inconclusive, the part that lacks most, and how many records that part lacks of a set: median, and the most."""
    kept = dict[tuple[str, str, str, str], list[int]]()
    for one in found:
        if one.verdict == "inconclusive":
            unclear = [part for part in one.line["parts"] if part["state"] in ("unclear", "control")]
            worst = max(unclear, key=lambda part: max(part["lacks"]), default={"name": "–", "lacks": [0]})
            key = (str(one.line["set"]), one.kind, str(one.line["codes"][0]), str(worst["name"]))
            kept.setdefault(key, []).append(max(worst["lacks"]))
    return table(["set", "kind", "first reason", "part that lacks most", "audits", "records lacked: median, most"], [
        [name, kind, f"`{code}`", part, len(lacks), f"{np.median(lacks):,.0f}, {max(lacks):,}"]
        for (name, kind, code, part), lacks in sorted(kept.items())])


def in_order(found: Sequence[Judged], what: str) -> list[str]:
    """The values of a field, as they first come."""
    return list(dict.fromkeys(str(one.line[what]) for one in found))


def tables(lines: Sequence[Line], unjudged: int) -> Iterator[list[str]]:
    """Totals, cells and reasons, in Markdown."""
    found = judged(lines, unjudged)
    yield from (totals(found), cells(found), reasons(found))
