"""Which members an attacker can name one by one, at a stated share of false names.

A member's scores are compared with those of the non-members of its own part, its class and stated groups: where a
random draw decided membership, a record that the model does not remember is exchangeable with them. The honest attacks
are joined into one score (`discreet.stats.attackers.joint_scores`), its conformal p values are adjusted by Benjamini
and Hochberg over all members, and members with q <= `ERROR` are named. On a model that remembers nobody, the list is
then empty in 95% of audits at least.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.audit.core.resampling import Units
from discreet.audit.core.verdict import Part, Sentences
from discreet.audit.membership.rows import NO_CONTROL, JudgedRow, RowSpec
from discreet.audit.scores.table import ScoreTable
from discreet.core.design import ASSIGNED, Design, decides, reads_apart
from discreet.core.files import atomic_writer
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.stats.attackers import (
    benjamini_hochberg,
    conformal_p,
    controls_needed,
    distinct_attacks,
    joint_scores,
    shortest_list,
)

say = Sentences.read(__package__).of("records")

ERROR = 0.05
"""Share of the named members that may be named falsely, as expected; and the chance of a list without any leak."""
ENOUGH = 400
"""Non-members from which a combination of groups is a part of its own, as with so many a list can be as short as 1 in
20 members; smaller ones of a class are one part."""
FEW = 10
"""Parts say how many non-members a list of so few names would take."""
FIRST = 20
"""Named members that a report lists."""
BLOCK = 20_000
"""Members that are written at a time: as Python objects all of them may not fit in memory."""
MOST_TEXTS = 50_000
"""Most texts among which near duplicates of the named members are looked for."""


@dataclass(frozen=True, slots=True)
class RecordPart(Part):
    """A part within which members are compared with non-members.

    Attributes
    ----------
    name : str
        Such as "class 1, category fraud", or "class 1, other groups".
    members, nonmembers : int
    controls : int
        Non-members, or with groups the groups of non-members: 1 / (`controls` + 1) is the least p.
    named : Estimate
        How many members are named; unresolved where none could be, whatever the scores.
    shortest : int
        Least length of a list that can hold members of this part.
    controls_for_few : int
        Controls that a list of `FEW` names would take.
    """

    name: str
    members: int
    nonmembers: int
    controls: int
    named: Estimate
    shortest: int
    controls_for_few: int


@dataclass(frozen=True, slots=True, eq=False)
class RecordRisk(Part):
    """The risk of each member of one target; arrays are in the order of the members, of whom there are m.

    Attributes
    ----------
    error : float
        `ERROR`.
    named, control_named : Estimate
        How many of the members are named; the same by the scores of the control model. Unresolved where the members
        are no random draw, where the control model names somebody, or where the controls are too few.
    parts : tuple of RecordPart
    attacks : tuple of str
        The honest attacks, such as "reference, logit, neutral".
    joined : int
        How many of them differ: those that order the records alike count as one.
    id, part, nearest : (m,) object arrays
        Example, name of its part, and id of the most similar text where one is nearly the same; looked for only for
        named members, where there are texts.
    scores, attack_p : mapping of attack to (m,) array
        The attack's score, and its own conformal p within the part, without any correction; NaN without a score.
    p, q : (m,) array
        Of all attacks together; q adjusted over all members, NaN without a list.
    """

    derived: ClassVar[tuple[str, ...]] = ("said", "brief", "first")
    hidden: ClassVar[tuple[str, ...]] = ("id", "part", "nearest", "scores", "attack_p", "p", "q")

    error: float
    named: Estimate
    control_named: Estimate
    parts: tuple[RecordPart, ...]
    attacks: tuple[str, ...]
    joined: int
    id: Any
    part: Any
    nearest: Any
    scores: Mapping[str, FloatArray]
    attack_p: Mapping[str, FloatArray]
    p: FloatArray
    q: FloatArray

    @property
    def is_named(self) -> BoolArray:
        """(m,) who is named."""
        return np.asarray(self.q <= self.error, dtype=np.bool_)

    @property
    def said(self) -> str:
        """What the list means, in a sentence or two."""
        facts = {"members": self.id.size, "error": f"{self.error:.0%}", "shortest": min(
            (one.shortest for one in self.parts), default=0)}
        if self.named.value is None:
            return say("unresolved", reason=self.named.reason)
        control = say("no_control") if self.control_named.value is None else say("control")
        return (say("named", named=int(self.named.value), control=control, **facts) if self.named.value else
                say("nobody", control=control, **facts))

    @property
    def brief(self) -> str:
        """The same in a line or two."""
        if self.named.value is None:
            return say("unresolved", reason=self.named.reason)
        return say("brief", named=int(self.named.value), members=self.id.size, error=f"{self.error:.0%}")

    @property
    def first(self) -> list[dict[str, Any]]:
        """The first `FIRST` named members, the lowest p first, without text."""
        places = np.flatnonzero(self.is_named)
        return [{"id": str(self.id[row]), "part": self.part[row], "p": float(self.p[row]), "q": float(self.q[row]),
                 "nearest_duplicate": self.nearest[row]}
                for row in places[np.argsort(self.p[places], kind="stable")][:FIRST].tolist()]

    def columns(self, rows: IntArray | slice = slice(None)) -> dict[str, Any]:
        """The table of all members, or of the members `rows`, as columns, for a data frame or a file; None where there
        is no figure."""
        q = self.q[rows]
        named = (q <= self.error).astype(object)
        named[~np.isfinite(q)] = None
        found: dict[str, Any] = {
            "id": self.id[rows], "part": self.part[rows], "p": self.p[rows], "q": _known(q),
            "named": named, "nearest_duplicate": self.nearest[rows]}
        for name in self.attacks:
            short = name.replace(", ", "_")
            found |= {f"score_{short}": _known(self.scores[name][rows]),
                      f"p_{short}": _known(self.attack_p[name][rows])}
        return found


def _known(values: FloatArray) -> Any:
    """The values, None where they are NaN."""
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    return found


def write_records(path: Path, found: Iterable[tuple[str, RecordRisk]]) -> None:
    """The members of each target as CSV, the lowest p first; empty cells where there is no figure. No text."""
    with atomic_writer(path) as out:
        rows = csv.writer(out, lineterminator="\n")
        head: list[str] = []
        for target, risk in found:
            order = np.argsort(risk.p, kind="stable")
            for start in range(0, max(1, order.size), BLOCK):
                columns = risk.columns(order[start:start + BLOCK])
                if not head:
                    head = list(columns)
                    rows.writerow(["target", *head])
                listed = [columns[name].tolist() if name in columns else repeat(None) for name in head]
                rows.writerows([target, *values] for values in zip(*listed, strict=False))


def record_risk(own: JudgedRow, judged: Sequence[JudgedRow], table: ScoreTable, units: Units, design: Design,
                blind: Estimate, tolerance: float, texts: Mapping[str, str] | None = None) -> RecordRisk:
    """The risk of each member of the row of the primary endpoint, `own`, by all honest attacks of `judged`."""
    rows, truth = own.rows, own.truth
    tried = [one for one in judged if one.spec.whole and not one.spec.oracle and one.scores.target is not None]
    names = [called(one.spec) for one in tried]
    target = {name: one.scores.target[rows] for name, one in zip(names, tried, strict=True)
              if one.scores.target is not None}
    places = distinct_attacks((scores, truth) for scores in target.values())
    parts, names_of = _parts(table, rows, truth)
    p = _joint_p([target[names[place]] for place in places], truth, parts, units.at(rows))
    attack_p = {name: _within(scores, truth, parts, units.at(rows)) for name, scores in target.items()}
    control = _control_named([one.scores.control for one in (tried[place] for place in places)], own, parts, units)
    n_controls = [units.count(rows[(parts == part) & ~truth]) for part in range(len(names_of))]
    named, q = _listed(p, n_controls, design, blind, tolerance, control)
    is_named, members = q <= ERROR, parts[truth]
    found = tuple(_part(name, members == part, is_named, named, int(((parts == part) & ~truth).sum()), n, p.size)
                  for part, (name, n) in enumerate(zip(names_of, n_controls, strict=True)))
    return RecordRisk(ERROR, named, control, found, tuple(target), len(places), table.examples.id[rows[truth]],
                      np.array(names_of, dtype=object)[members], _nearest(table, rows, truth, is_named, texts),
                      {name: scores[truth] for name, scores in target.items()}, attack_p, p, q)


def called(spec: RowSpec) -> str:
    """The name of an attack in the table: "reference, logit, neutral"."""
    return ", ".join(filter(None, (spec.attack, spec.scale, spec.reference_kind)))


def _parts(table: ScoreTable, rows: IntArray, truth: BoolArray) -> tuple[IntArray, list[str]]:
    """The number of the part of each of `rows`, and what the parts with members are called; -1 for records of others.

    Decided by counts of non-members alone, before any score.
    """
    label, names = table.examples.label[rows], table.class_names or range(table.n_classes)
    called, group = _groups(table, rows)
    counts = np.zeros((table.n_classes, called.size), dtype=np.int64)
    np.add.at(counts, (label[~truth], group[~truth]), 1)
    # The last column is what is left of a class.
    alone = (counts >= ENOUGH) & (called != "")
    code = label * (called.size + 1) + np.where(alone[label, group], group, called.size)
    known = np.unique(code[truth])
    place = np.searchsorted(known, code).clip(max=known.size - 1)
    found = []
    for kind, part in zip(*divmod(known, called.size + 1), strict=True):
        rest = ", other groups" if alone[kind].any() else ""
        found.append(f"class {names[kind]}" + (rest if part == called.size else f", {called[part]}"))
    return np.where(known[place] == code, place, -1), found


def _groups(table: ScoreTable, rows: IntArray) -> tuple[Any, IntArray]:
    """What the stated groups of the records are called, in order: their categories and structure, empty without any;
    and the place (n,) of that of each of `rows`."""
    examples, codes = table.examples, dict[tuple[Any, Any], int]()
    held = repeat(()) if examples.categories is None else map(examples.categories.__getitem__, rows.tolist())
    kinds = examples.columns["structure"][rows] if "structure" in examples.columns else repeat(None)
    found = np.fromiter((codes.setdefault(one, len(codes)) for one in zip(held, kinds, strict=False)),
                        dtype=np.int64, count=rows.size)
    names = [", ".join((*(f"category {one}" for one in sorted(categories)),
                        *(() if kind is None else (f"structure {kind}",)))) for categories, kind in codes]
    called, place = np.unique(names, return_inverse=True)
    return called, place[found]


def _within(scores: FloatArray, truth: BoolArray, parts: IntArray, groups: IntArray | None) -> FloatArray:
    """(members,) conformal p of each member among the non-members of its part; 1 where there are none, NaN without a
    score."""
    known = np.isfinite(scores)
    p = np.where(known, 1.0, np.nan)
    for part in np.unique(parts[truth]):
        tests, controls = (known & (parts == part) & (truth == inside) for inside in (True, False))
        if controls.any():
            p[tests] = conformal_p(scores[tests], scores[controls], None if groups is None else groups[controls])
    return p[truth]


def _joint_p(scores: Sequence[FloatArray], truth: BoolArray, parts: IntArray, groups: IntArray | None) -> FloatArray:
    """The same of several attacks together, joined within each part."""
    joint, stacked = np.zeros(truth.size), np.stack(scores)
    for part in np.unique(parts[truth]):
        inside = parts == part
        joint[inside] = joint_scores(stacked[:, inside])
    return _within(joint, truth, parts, groups)


def _control_named(scores: Sequence[FloatArray | None], own: JudgedRow, parts: IntArray, units: Units) -> Estimate:
    known = [one[own.rows] for one in scores if one is not None]
    if not known:
        return Estimate.unresolved(NO_CONTROL, unit="record")
    q = benjamini_hochberg(_joint_p(known, own.truth, parts, units.at(own.rows)))
    return _count(q <= ERROR)


def _count(named: BoolArray) -> Estimate:
    return Estimate(float(named.sum()), None, None, n=named.size, unit="record",
                    method=f"conformal p, Benjamini–Hochberg over members at {ERROR:g}")


def _listed(p: FloatArray, n_controls: Sequence[int], design: Design, blind: Estimate, tolerance: float,
            control: Estimate) -> tuple[Estimate, FloatArray]:
    """How many members are named, or why nobody is; and q, NaN then."""
    reason, most = "", max(n_controls)
    if not decides(design):
        reason = say("no_draw")
    elif design != ASSIGNED and reads_apart(blind, tolerance):
        reason = say("sets_differ")
    elif shortest_list(p.size, most, ERROR) > p.size:
        reason = _few(most)
    elif control.value:
        reason = say("control_named", named=int(control.value))
    if reason:
        return Estimate.unresolved(reason, n=p.size, unit="record"), np.full(p.size, np.nan)
    q = benjamini_hochberg(p)
    return _count(q <= ERROR), q


def _few(controls: int) -> str:
    return say("few_controls", controls=controls, needed=controls_needed(1, 1, ERROR), error=f"{ERROR:.0%}")


def _part(name: str, inside: BoolArray, is_named: BoolArray, named: Estimate, nonmembers: int, controls: int,
          tests: int) -> RecordPart:
    """The part of the members `inside` (m,), of `tests` in all."""
    shortest = shortest_list(tests, controls, ERROR)
    if named.value is None:
        found = named
    elif shortest > tests:
        found = Estimate.unresolved(_few(controls), n=int(inside.sum()), unit="record")
    else:
        found = _count(is_named[inside])
    return RecordPart(name, int(inside.sum()), nonmembers, controls, found, shortest,
                      controls_needed(tests, min(FEW, tests), ERROR))


def _nearest(table: ScoreTable, rows: IntArray, truth: BoolArray, named: BoolArray,
             texts: Mapping[str, str] | None) -> Any:
    """(m,) id of the nearest duplicate of each named member among the judged records, None where there is none."""
    found = np.full(int(truth.sum()), None, dtype=object)
    if texts is not None and named.any() and rows.size <= MOST_TEXTS:
        # Most tables come without texts.
        from discreet.inputs.duplicates import nearest_duplicates

        ids = table.examples.id[rows]
        asked = np.flatnonzero(truth)[named]
        near = nearest_duplicates([texts[str(one)] for one in ids], asked)
        found[named] = [ids[place] if place >= 0 else None for place in near]
    return found
