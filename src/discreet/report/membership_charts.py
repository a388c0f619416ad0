"""A target of a membership audit, read row by row, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.core.numbers import REFERENCES, SELECTIONS, attack_name, given, interval, number, times
from discreet.report import charts
from discreet.report.charts import Mark, Panel, across, band, curve, datum, dot, dot_figure, drawn, panels, upright
from discreet.report.figure import Figure
from discreet.report.summary import Record

ROW_OF = ("attack", "scale", "reference_kind", "nonmembers")
"""What makes two rows figures of one attack."""
BOUNDARY_N = 20
BOTH = [("control hollow", "control_auc"), ("target", "auc")]
MODEL = [("target", "your model"), ("control hollow", "control model")]
DECILES = {"target": "by your model's own confidence", "selector": "by another model's (the selector's)"}
OVER_ALL = "tolerance over all records"
STATES = ("exceeds", "within", "control", "unclear", "excluded")
ESTIMATES = "auc* control_auc*"
COUNTS = "members=n_members nonmembers=n_nonmembers"
NULL = "null_low=null_band.0 null_high=null_band.1"


@dataclass(frozen=True, slots=True)
class Audited:
    """One target of a record: its entry in `targets`, its rows in `attacks` and those of its `peers`.

    `classes` are what the labels are called; empty where the record does not say.
    """

    facts: Record
    rows: tuple[Record, ...]
    tolerance: float
    tolerance_part: float
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
        """"class 1", or the name of that class; "all classes" for None."""
        if number is None:
            return "all classes"
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    def whole(self, **wanted: Any) -> list[Record]:
        """The rows without stratum whose values are `wanted`, in order."""
        return _with(self.rows, **wanted, label=None, category=None, decile=None, structure=self._structure)

    def first(self, **wanted: Any) -> Record | None:
        """The first of them."""
        return next(iter(self.whole(**wanted)), None)

    def like(self, row: Record, **wanted: Any) -> list[Record]:
        """The rows of any stratum with the attack, scale, references and non-members of `row`, and what is `wanted`."""
        return _with(self.rows, **{**{name: row[name] for name in ROW_OF}, **wanted})

    @property
    def structures(self) -> list[str]:
        """The structures that rows are restricted to."""
        return sorted({row["structure"] for row in self.rows if row["structure"] != self._structure})

    def parts(self, *states: str) -> list[Record]:
        """The parts of the verdict that are in one of `states` (any, if none is given), all records first, each with
        its name as it is shown: classes are called what they are called."""
        return [{**part, "shown": f"class {self.label(int(part['value']))}" if part["kind"] == "class" and self.classes
                 else part["name"]} for part in self.facts.get("parts", ()) if part["state"] in (states or STATES)]

    @property
    def _structure(self) -> str | None:
        # A target whose inputs all have one structure names it in every row; the first row is never restricted.
        first: str | None = self.rows[0]["structure"] if self.rows else None
        return first


def _with(rows: Iterable[Record], **wanted: Any) -> list[Record]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def audited(record: Record) -> list[Audited]:
    """The targets of a record, the decisive one first."""
    facts, said = record["provenance"], record["attack_facts"]
    classes = tuple(map(str, (record.get("training") or {}).get("classes", ()) or facts.get("class_names", ())))
    whole, part = float(facts["tolerance_auc"]), float(facts.get("tolerance_part", facts["tolerance_auc"]))
    rows, found = [{**row, **said[row["attack"]]} for row in record["attacks"]], list[Audited]()
    for one in record["targets"]:
        primary = one["primary"] and {**one["primary"], **said[one["primary"]["attack"]]}
        others = tuple(row for row in rows if row["target"] != one["target"])
        found.append(Audited({**one, "primary": primary}, tuple(_with(rows, target=one["target"])), whole, part, others,
                             classes))
    decisive = next(one for one in found if one.name == record["decisive"])
    return [decisive, *(one for one in found if one is not decisive)]


def standing(one: Audited) -> Figure | None:
    """The primary endpoint with what it must be read against; None where it has no figure."""
    primary, planted = one.primary, one.facts["controls"]["planted"]
    if primary is None or primary["auc"]["value"] is None:
        return None
    rows = [("your model", "target", primary["auc"], primary["n_members"]),
            ("control model, trained on neither set", "control", primary["control_auc"], None)]
    for part in one.parts("exceeds"):
        if part["kind"] != "all records":
            said = f"{part['shown']} (tolerance {given(part['tolerance'])})"
            rows += [(f"your model, {said}", "target", part["auc"], part["n_members"]),
                     (f"control model, {part['shown']}", "control", part["control_auc"], None)]
    for part in planted:
        said = f"on records planted {times(part['repetitions'])}"
        rows.append((f"your model, {said}", "second", part["auc"], part["auc"]["n_pos"]))
        if part["control_auc"]["value"] is not None:
            rows.append((f"control model, {said}", "control", part["control_auc"], None))
    levels = {part["auc"]["level"] for part in planted} - {0.95}
    wider = "".join(f", those of planted records {100 * level:.3g}%" for level in sorted(levels))
    seen = (" Records that were planted on purpose should lie to the right of it, and the control model there at "
            "chance: then the audit can see a leak." if planted else "")
    return dot_figure("standing", [
        {"line": label, "role": role, "auc": estimate, "members": n, "note": number(estimate["value"], missing=""),
         "space": role == "second", "soft": role == "control"} for label, role, estimate, n in rows],
        [("{role}", "auc")], "what=line members auc*", compact=True, tolerance=one.tolerance,
        said={"seen": seen, "wider": wider})


def protocols(one: Audited) -> Figure | None:
    """The published protocol and this audit on the model and its control; None where one of the figures is missing."""
    paper, primary = one.paper, one.primary
    if paper is None or primary is None or None in (paper["auc"]["value"], paper["control_auc"]["value"]):
        return None
    rows = [{"heading": title, "line": who, "role": role, "auc": row[name], "note": number(row[name]["value"], 2)}
            for title, row, mine in (("published protocol", paper, "oracle"), ("this audit", primary, "target"))
            for who, name, role in (("your model", "auc", mine),
                                    ("control model, trained on neither set", "control_auc", "control hollow"))]
    return dot_figure("protocols", rows, [("{role}", "auc")], "protocol=heading model=line auc*",
                      tolerance=one.tolerance, notes=60,
                      said={"ours": interval(paper["auc"], 2), "control": interval(paper["control_auc"], 2)})


def attacks(one: Audited) -> Figure | None:
    """All honest attacks on all judged records, a row each; None where nothing has a figure."""
    return dot_figure("attacks", [
        {**row, "line": short(_line(row), 46), "band": row["null_band"]}
        for row in merged(_known(one.whole(selection="global", oracle=False)))],
        BOTH, f"attack scale reference_kind {ESTIMATES} {NULL} p=null_p.value", tolerance=one.tolerance,
        legend=[*MODEL, ("null area", "95% of permutations of the membership labels")])


def _line(row: Record) -> str:
    """A merged row with its references and scales: "loss, confidence, true class, p, logit scale"."""
    references = "" if row["reference_kind"] is None else f", {row['reference']}"
    return f"{row['attack']}{references}, {row['scale']} scale"


def short(name: str, most: int = 36) -> str:
    """A name that fits to the left of a chart."""
    return name if len(name) <= most else name[: most - 1] + "…"


def merged(rows: Iterable[Record]) -> list[dict[str, Any]]:
    """Rows whose figures are the same once, with all their names: with two classes several attacks are one."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        of = (*(row["auc"][end] for end in ("value", "low", "high")), row["control_auc"]["value"], *(
            row[name] for name in ("reference_kind", "selection", "nonmembers", "n_members", "n_nonmembers")))
        kept = found.setdefault(of, {**row, "names": {}, "scales": {}, "reference": REFERENCES[row["reference_kind"]]})
        kept["names"][attack_name(row, scale=False, reference=False)] = None
        kept["scales"][row["scale"]] = None
        others = ", paper's others" if row["nonmembers"] == "reference_train" else ""
        kept |= {"attack": ", ".join(kept["names"]), "scale": ", ".join(kept["scales"]),
                 "records": selection_name(row) + others,
                 "control": "no control" if row["uncontrolled"] else number(row["control_auc"]["value"])}
    return list(found.values())


def selection_name(row: Record) -> str:
    """Which records a row is of, in words."""
    return SELECTIONS.get(row["selection"], str(row["selection"]))


def _known(rows: Iterable[Record]) -> list[Record]:
    return [row for row in rows if row["auc"]["value"] is not None]


def boundary(one: Audited) -> Figure | None:
    """From all records to those at the decision boundary, a label a row; None where no boundary has a figure."""
    rows = []
    for title, row, role in (("this audit", one.primary, "target"), ("published protocol", one.paper, "oracle")):
        if row is None:
            continue
        for label in [None, *sorted({r["label"] for r in one.like(row) if r["label"] is not None})]:
            pick: Callable[..., list[Record]] = partial(one.like, row, label=label) if label is not None else partial(
                one.whole, **{name: row[name] for name in ROW_OF})
            whole, edge = pick(selection="global", n=None), _known(pick(selection="boundary", n=BOUNDARY_N)[:1])
            if whole and edge:
                shared = {"heading": f"{title}: {attack_name(row)}", "protocol": title, "label": label, "edge": edge[0]}
                rows += [{**shared, "line": one.label(label) if figure == "auc" else who, "role": mark, "model": model,
                          "whole": whole[0][figure], "last": edge[0][figure], "soft": figure != "auc",
                          "space": figure == "auc"} for who, model, figure, mark in (
                              ("your model", "your model", "auc", role),
                              ("control model", "control", "control_auc", "control"))]
    return dot_figure(
        "boundary", rows, [("{role} hollow", "whole"), ("{role}", "last")],
        "protocol label model global_auc*=whole boundary_auc*=last members_at_boundary=edge.n_members "
        "nonmembers_at_boundary=edge.n_nonmembers", joined=True, tolerance=one.tolerance, labels=352, legend=[
            ("target hollow", "all records"), ("target", f"the {BOUNDARY_N} least likely per label and set"),
            ("control", "the same, control model")])


def strata(one: Audited) -> Figure | None:
    """The deciding attack in each category and structure; None where there are no two of either."""
    base = [] if one.primary is None else one.like(one.primary, selection="global", decile=None)
    parts = {("categories", "category"): [row for row in base if row["category"] is not None],
             ("input structures", "structure"): [row for row in base if row["structure"] in one.structures
                                                 and row["label"] is None]}
    return dot_figure("strata", [
        {**row, "heading": title, "name": row[name], "note": f"{row['n_members']:,} / {row['n_nonmembers']:,}",
         "line": short(row[name])}
        for (title, name), rows in parts.items() if len(rows) > 1
        for row in sorted(rows, key=lambda row: (-(row["auc"]["value"] or 0.0), row[name]))],
        BOTH, f"kind=heading name {ESTIMATES} {COUNTS} reason=auc.reason", tolerance=one.tolerance_part, notes=120,
        note_title="members / others", legend=MODEL)


def deciles(one: Audited) -> Figure | None:
    """The primary endpoint by tenths of the target's and the selector's confidence; None without any figure."""
    rows = [] if one.primary is None else sorted((row for row in _known(one.like(one.primary, selection="global"))
                                                  if row["decile"] is not None), key=lambda row: row["decile"])
    if not rows:
        return None
    parts = {name: [(row, *_spread(one, row)) for row in rows if row["decile_by"] == name] for name in DECILES}
    ends = charts.reach((row[which][end] for row in rows for which in ("auc", "control_auc")
                  for end in ("low", "high", "value")), 0.3)
    shown = []
    for name, part in parts.items():
        marks = [across(0.5, "soft"), across(one.tolerance, "tolerance")]
        for row, low, high in part:
            at = row["decile"]
            marks += [band([at - 0.32, at - 0.02], low, high, "target", 0.16)] if high > low else []
            marks += [upright(at + 0.17, row["control_auc"], "control hollow", 8),
                      upright(at - 0.17, row["auc"], "target", 8)]
        shown.append(Panel(title=DECILES[name], x="tenth", y="AUC", marks=marks, axes={
            "xlim": (-0.6, 9.6), "ylim": ends, "xticks": range(10), "xticklabels": range(1, 11)}))
    legend = [*MODEL, ("tolerance dashed", OVER_ALL),
              *([("target area", "least to most over all models audited")] if one.peers else [])]
    return drawn("deciles", partial(panels, [
        panel for panel, part in zip(shown, parts.values(), strict=True) if part], side=210, legend=legend), [
            {**datum(row, f"{ESTIMATES} {COUNTS}", by=by, tenth=row["decile"] + 1), "least_of_all_models": low,
             "most_of_all_models": high} for by, part in parts.items() for row, low, high in part])


def _spread(one: Audited, row: Record) -> tuple[float, float]:
    """The least and the greatest AUC of all targets in this tenth."""
    same = _with(one.peers, **{name: row[name] for name in (*ROW_OF, "selection", "decile", "decile_by")})
    values = [row["auc"]["value"], *(other["auc"]["value"] for other in _known(same))]
    return min(values), max(values)


def sizes(one: Audited) -> Figure | None:
    """AUC over n, the least likely records per label and set; None where fewer than two sizes have a figure."""
    found = []
    for title, row, role in (("deciding attack", one.primary, "target"), ("published protocol", one.paper, "oracle")):
        rows = [] if row is None else _known(one.whole(**{name: row[name] for name in ROW_OF}, selection="boundary"))
        if len(rows) > 1:
            found.append((title, sorted(rows, key=lambda row: row["n"]), role))
    ends = charts.reach(row["auc"][end] for _, rows, _ in found for row in rows for end in ("low", "high"))
    shown = []
    for title, rows, role in found:
        marks = [across(0.5, "soft"), across(one.tolerance, "tolerance")]
        for name, alpha, order in (("null", 1.0, 0), (role, 0.16, 1)):
            areas = [(row["n"], *(row["null_band"] or (None, None) if name == "null" else (
                row["auc"]["low"], row["auc"]["high"]))) for row in rows]
            areas = [area for area in areas if area[1] is not None]
            xs, lows, highs = ([area[place] for area in areas] for place in range(3))
            marks.append(band(xs, lows, highs, name, alpha, zorder=order))
        marks += [curve([(row["n"], row["control_auc"]["value"]) for row in rows], "control"),
                  curve([(row["n"], row["auc"]["value"]) for row in rows], role),
                  *(dot(row["n"], row["auc"]["value"], role, 8) for row in rows)]
        ns = [row["n"] for row in rows]
        # The words of the last tick take a fifth of the panel.
        ticks = [*(n for n in ns[:-1] if n < ns[-1] / (ns[-1] / ns[0]) ** 0.2), ns[-1]]
        shown.append(Panel(title=title, x="n per label and set", y="AUC", marks=marks, axes={
            "xscale": "log", "xlim": (ns[0] / 1.15, ns[-1] * 1.15), "ylim": ends, "xticks": ticks,
            "xticklabels": [*(f"{n:,}" for n in ticks[:-1]), f"{ns[-1]:,} (all)"]}))
    return drawn("sizes", partial(panels, shown, side=240, legend=[
        ("target line", "your model, with its 95% interval"), ("control dashed", "control model"),
        ("null area", "95% of permutations"), ("tolerance dashed", OVER_ALL)]), [
            datum(row, f"n {ESTIMATES} {NULL} {COUNTS}", panel=title) for title, rows, _ in found for row in rows]
        ) if found else None


def roc(one: Audited) -> Figure | None:
    """Primary endpoint, strongest other honest attack, loss and published figure; None without curves."""
    chosen = _chosen(one)
    if not chosen:
        return None
    # Half a person is where the axes begin: no rate but zero lies below.
    left, low = (0.5 / max(row[side] for _, row, _, _ in chosen) for side in ("n_nonmembers", "n_members"))
    shown, data, roles = list[Panel](), list[dict[str, Any]](), {"soft"}
    for title, row, both, role in chosen:
        marks: list[Mark] = [curve([(max(left, low),) * 2, (1, 1)], "soft", lw=1, ls=(0, (2, 3)), zorder=2)]
        for who, key, mark in (("control", "control", "control"), ("your model", "curve", role)):
            points = [] if both[key] is None else list(zip(both[key]["fpr"], both[key]["tpr"], strict=True))
            data += [{"panel": title, "model": who, "fpr": x, "tpr": y} for x, y in points]
            roles |= {mark} if points else set()
            marks += [curve([(max(x, left), y) for x, y in points if y > 0], mark, drawstyle="steps-post")
                      ] if points else []
        shown.append(Panel(title=title, under=attack_name(row, scale=False), x="FPR", y="" if shown else "TPR",
                           percent="xy", marks=marks, axes={"xscale": "log", "yscale": "log", "xlim": (left, 1),
                                                            "ylim": (low, 1)}))
    legend = [("target line", "your model"), ("control dashed", "the same attack on the control model"),
              ("oracle line", "published protocol"), ("soft dashed", "chance")]
    table = [{"panel": title, "attack": attack_name(row), "TPR at 1% FPR": interval(row["tpr_at_1pct_fpr"]),
              "TPR at 5% FPR": interval(row["tpr_at_5pct_fpr"]), "AUC": interval(row["auc"]),
              "control's AUC": interval(row["control_auc"])} for title, row, _, _ in chosen]
    return drawn("roc", partial(panels, shown, columns=4, side=218, top=84, legend=[
        entry for entry in legend if entry[0].split()[0] in roles]), data, table=tuple(table))


def _chosen(one: Audited) -> list[tuple[str, Record, Mapping[str, Any], str]]:
    curves = {tuple(curve[name] for name in ROW_OF): curve for curve in one.facts["curves"]}
    primary = one.primary
    decides = None if primary is None else primary["attack"]
    honest = [row for row in _known(one.whole(selection="global", oracle=False)) if tuple(
        row[name] for name in ROW_OF) in curves and row["attack"] not in (decides, "loss")]
    wanted = [("deciding attack", primary, "target"),
              ("strongest other", max(honest, key=lambda row: row["auc"]["value"], default=None), "target"),
              ("loss alone", None if decides == "loss" else one.first(
                  attack="loss", selection="global", nonmembers="clean"), "target"),
              ("published protocol", one.paper, "oracle")]
    return [(title, row, curves[of], role) for title, row, role in wanted
            if row is not None and (of := tuple(row[name] for name in ROW_OF)) in curves]
