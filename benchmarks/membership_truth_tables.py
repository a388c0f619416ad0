"""The tables of membership_truth.py: what each audit was to find, said before its verdict is read, and what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from benchmarks.membership_gate import IN_PART, TOLERANCE, can_fail, can_pass, share_of
from benchmarks.page import table

from discreet.audit.core.power import POWER, power_of
from discreet.audit.membership.parts import WHOLE

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Judged:
    """A line of RUNS with what is said of it before its verdict is read: a leak that trains on members and whose AUC on
    the unjudged seeds is within the tolerance of its place hardly leaks."""

    line: Line
    strength: float | None
    """Mean AUC where the leak is, over the unjudged seeds; None without a leak."""

    @property
    def verdict(self) -> str:
        return str(self.line["verdict"])

    @property
    def sizes(self) -> dict[str, int]:
        """Units of each part: members or non-members, whichever are fewer."""
        return {part["name"]: max(2, min(part["n"])) for part in self.line["parts"]}

    @property
    def tolerance(self) -> float:
        return TOLERANCE if self.line["place"] == WHOLE else IN_PART

    @property
    def kind(self) -> str:
        if self.strength is None:
            return str(self.line["leak"])
        return "leak" if self.strength > self.tolerance else "hardly leaks"

    @property
    def resolvable(self) -> bool:
        """Whether the sample is to decide, from sizes and the strength on other seeds."""
        sizes = self.sizes
        if self.strength is not None:
            return can_fail(min(self.strength, 0.999), sizes[self.line["place"]], self.tolerance, len(sizes))
        n = sizes[WHOLE]
        return can_pass({"all" if part == WHOLE else part: size for part, size in sizes.items()}) and (
            power_of(TOLERANCE, n, n) >= POWER)

    @property
    def hidden(self) -> bool:
        """Whether the upper bound over all records alone is within its tolerance."""
        return bool(self.line["parts"][0]["state"] == "within")


def judged(lines: Sequence[Line], unjudged: int) -> list[Judged]:
    """The lines of the judged seeds: those from `unjudged` on."""
    strengths = dict[tuple[str, ...], list[float]]()
    for line in lines:
        if line["seed"] < unjudged and line["place"]:
            there = next(part["auc"] for part in line["parts"] if part["name"] == line["place"])
            strengths.setdefault((line["set"], line["family"], line["leak"]), []).append(0.5 if there is None else there)
    return [Judged(line, float(np.mean(strengths[cell])) if line["place"] else None) for line in lines
            if line["seed"] >= unjudged and (cell := (line["set"], line["family"], line["leak"]))
            and (cell in strengths or not line["place"])]


def counts(found: Sequence[Judged]) -> str:
    """"5 / 1 / 0": fail, inconclusive, pass."""
    return " / ".join(str(sum(one.verdict == word for one in found)) for word in ("fail", "inconclusive", "pass"))


def totals(found: Sequence[Judged]) -> list[str]:
    rows = []
    for kind in ("leak", "hardly leaks", "innocent", "learnt nothing"):
        of_kind = [one for one in found if one.kind == kind]
        sure = [one for one in of_kind if one.resolvable]
        wrong, right = ("fail", "pass") if kind in ("innocent", "learnt nothing") else ("pass", "fail")
        rows.append([kind, len(of_kind), counts(of_kind),
                     f"{wrong}: {share_of(sum(one.verdict == wrong for one in of_kind), len(of_kind))}",
                     len(sure), f"{right}: {sum(one.verdict == right for one in sure)}",
                     sum(one.hidden for one in of_kind)])
    return table(["kind", "audits", "fail / inconclusive / pass", "wrong", "resolvable", "right of these",
                  "within .55 over all records"], rows)


def cells(found: Sequence[Judged]) -> list[str]:
    rows, leaks = [], in_order(found, "leak")
    for name, family in product(in_order(found, "set"), in_order(found, "family")):
        row = [name, family]
        for leak in leaks:
            mine = [one for one in found if (one.line["set"], one.line["family"], one.line["leak"]) == (
                name, family, leak)]
            sure = sum(one.resolvable for one in mine)
            said = f".{round(1000 * mine[0].strength):03}: " if mine and mine[0].strength is not None else ""
            row.append(f"{said}{counts(mine)} ({sure})" if mine else "–")
        rows.append(row)
    return table(["set", "model", *leaks], rows)


def reasons(found: Sequence[Judged]) -> list[str]:
    """Why inconclusive, and how many members the least decided part lacks: median, and the most."""
    kept = dict[tuple[str, ...], list[int]]()
    for one in found:
        if one.verdict == "inconclusive":
            unclear = [part for part in one.line["parts"] if part["state"] in ("unclear", "control")]
            worst = max(unclear, key=lambda part: max(part["lacks"]), default={"name": "–", "lacks": [0]})
            kept.setdefault((one.line["set"], one.kind, one.line["codes"][0], worst["name"]), []).append(
                max(worst["lacks"]))
    return table(["set", "kind", "first reason", "part that lacks most", "audits", "records lacked: median, most"], [
        [*key[:2], f"`{key[2]}`", key[3], len(lacks), f"{np.median(lacks):,.0f}, {max(lacks):,}"]
        for key, lacks in sorted(kept.items())])


def in_order(found: Sequence[Judged], what: str) -> list[str]:
    """The values of a field, as they first come."""
    return list(dict.fromkeys(str(one.line[what]) for one in found))


def tables(lines: Sequence[Line], unjudged: int) -> Iterator[list[str]]:
    """Totals, cells and reasons, in Markdown."""
    found = judged(lines, unjudged)
    yield from (totals(found), cells(found), reasons(found))
