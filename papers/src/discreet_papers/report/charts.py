"""The figures of the two papers rerun, from their saved records, and the words of the pages of `discreet reproduce`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import Any

import yaml

from discreet.core.numbers import epsilon, number
from discreet.report import charts
from discreet.report.charts import datum, dot_figure, drawn
from discreet.report.embedding import embedding
from discreet.report.figure import Figure, name_of
from discreet.report.summary import Record


@cache
def words_of(kind: str) -> dict[str, Any]:
    """The words of one kind of record, by name."""
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("words.yaml").read_text(encoding="utf-8"))[kind]
    return found


ROLES = {"paper": "oracle", "honest, logit": "target"}
NAMES = {"paper": "paper's definition", "honest, logit": "honest, logit scale"}
LEGEND = [("oracle", "paper's definition"), ("target", "honest"), ("control", "its control")]
TENTHS = {"target": "by the target's own confidence", "selector": "by the selector's P_S"}
DEFINITIONS = {"paper": {"reference_kind": "paired", "scale": "p", "nonmembers": "reference_train"},
               "honest": {"reference_kind": "neutral", "scale": "logit", "nonmembers": "clean"}}
"""The two definitions that figure 4 of the membership paper shows."""
DEFINED = {"paper": "paper's definition", "honest": "honest: neutral reference, logit scale"}
MECHANISMS = {"rr": "randomised response as it is meant", "rr_halved": "randomised response that flips half as often"}
CURVES = {"rr": ("target", "randomised response"), "alibi": ("oracle", "ALIBI"),
          "rr_with_prior": ("second", "RRWithPrior in two stages")}


def at_boundary(point: Record, definition: str) -> Record | None:
    """The reference attack at the boundary in a point of a frontier, by one of `DEFINITIONS`."""
    asked = {"attack": "reference", "selection": "boundary", **DEFINITIONS[definition]}
    return next((one for one in point["attacks"] if all(one[name] == value for name, value in asked.items())), None)


def gains(rows: Sequence[Record], corpus: str, *, paper: bool) -> Figure | None:
    """From all records to the boundary, a row per model, regime, label and definition; None without a figure."""
    known = [{**row, "role": ROLES[row["definition"]], "line": f"{row['label']}, {NAMES[row['definition']]}",
              "heading": f"{row['model']}, {row['regime']}", "control_note": _gain(row["control_gain"]),
              "note": _gain(row["gain"], row.get("paper") if paper else None)}
             for row in rows if row["definition"] in ROLES and None not in (
                 row["boundary_auc"]["value"], row["global_auc"]["value"])]
    return dot_figure(f"figure-2-{corpus}", known, [("{role} hollow", "global_auc"), ("{role}", "boundary_auc")], (
        "model regime label definition global_auc* boundary_auc* global_control* boundary_control* gain* "
        "control_gain*"),
        under=[("control hollow", "global_control"), ("control", "boundary_control")], joined=True, words="figure-2",
        said={"corpus": corpus}, legend=[("target hollow", "all records"), *LEGEND], notes=220, labels=270,
        note_title="gain" + (" (paper's)" if paper else ""))


def copies(rows: Sequence[Record], *, paper: bool) -> Figure | None:
    """From records off the boundary to those on it, a row per training set; None without a figure."""
    known = [{**row, "line": row["variant"], "note": _gain(row.get("boundary_change"), row.get("paper") if paper
                                                           else None),
              "control_note": _gain(row.get("boundary_control_change"))}
             for row in _by_definition(rows) if row.get("non_boundary_auc") is not None
             and row["boundary_auc"]["value"] is not None]
    return dot_figure("section-8.2", known, [("{role} hollow", "non_boundary_auc"), ("{role}", "boundary_auc")], (
        "model regime variant definition boundary_auc* boundary_control* non_boundary_auc* non_boundary_control* "
        "accuracy*"), under=[("control hollow", "non_boundary_control"), ("control", "boundary_control")], joined=True,
        legend=[("target hollow", "off the boundary"), *LEGEND], notes=260, labels=330,
        note_title="change at the boundary" + (" (paper's)" if paper else ""))


def sizes(rows: Sequence[Record]) -> Figure | None:
    """A row per size of the training set; None without a figure."""
    known = [{**row, "line": row["variant"]} for row in _by_definition(rows)
             if row["attack"] == "reference" and row["auc"]["value"] is not None]
    return dot_figure("size", known, [("control hollow", "control"), ("{role}", "auc")],
                      "model regime variant definition auc* control_auc*=control", legend=LEGEND, labels=330)


def categories(rows: Sequence[Record], model: str, regime: str) -> Figure | None:
    """Two rows a category: the paper's definition and the honest one; None without any."""
    held: dict[str, list[Record]] = {}
    for row in rows:
        if (row["model"], row["regime"]) == (model, regime) and row["category"] is not None \
                and row["definition"] in ROLES:
            held.setdefault(row["category"], []).append(row)
    most = {name: max(row["auc"]["value"] or 0.0 for row in of) for name, of in held.items()}
    if not any(row["auc"]["value"] is not None for of in held.values() for row in of):
        return None
    return dot_figure(f"figure-3-categories-{name_of(model)}", [
        {**row, "role": ROLES[row["definition"]], "space": place == 0,
         "line": "" if place else _cut(category.replace("_", " ").replace(",", ", "))}
        for category in sorted(held, key=lambda name: (-most[name], name)) for place, row in enumerate(held[category])],
        [("control hollow", "control"), ("{role}", "auc")],
        "category definition auc* control_auc*=control reason=auc.reason", words="categories",
        said={"model": model, "regime": regime}, legend=[*LEGEND[:2], ("control hollow", "its control")])


def _cut(said: str) -> str:
    return said if len(said) <= 38 else f"{said[:37]}…"


def _by_definition(rows: Iterable[Record]) -> list[Record]:
    """The rows of both definitions, under the model and definition that they are of."""
    return sorted(({**row, "role": ROLES[row["definition"]],
                    "heading": f"{row['model']}, {row['regime']}: {NAMES[row['definition']]}"}
                   for row in rows if row["definition"] in ROLES), key=lambda row: (
                       row["model"], row["regime"], row["definition"] != "paper"))


def _gain(found: Record | None, paper: Record | None = None) -> str:
    """"+.025 (+.12 to +.16)", the paper's in brackets."""
    if found is None or found["value"] is None:
        return ""
    ends = list(dict.fromkeys(number(paper[end], 2, sign=True) for end in ("low", "high")
                              if paper[end] is not None)) if paper else []
    said = " to ".join(ends) if paper and paper["low"] is not None else "".join(f"up to {one}" for one in ends)
    return number(found["value"], sign=True) + (f" ({said})" if said else "")


def tenths(rows: Sequence[Record]) -> Figure | None:
    """AUC by tenths of confidence, two panels a model and regime; None where no tenth has a figure."""
    known = [row for row in rows if row["decile"] is not None and row["definition"] in ROLES
             and row["auc"]["value"] is not None]
    if not known:
        return None
    ends = charts.reach(one for row in known for one in (row["auc"]["value"], row["control"]["value"], row.get("least"),
                                                  row.get("most")))
    shown = [charts.Panel(title=f"{model}, {regime}", under=TENTHS[by], x="tenth", axes={
        "xlim": (-0.6, 9.6), "ylim": ends, "xticks": range(10), "xticklabels": range(1, 11)},
        marks=[charts.across(0.5, "soft"), *(mark for definition, shift in (("paper", -0.14), ("honest, logit", 0.14))
                                      for mark in _tenth_line(sorted((
                                          row for row in known if (row["model"], row["regime"], row["definition"], row[
                                              "decile_by"]) == (model, regime, definition, by)),
                                          key=lambda row: row["decile"]), shift, ROLES[definition]))])
        for model, regime in dict.fromkeys((row["model"], row["regime"]) for row in known) for by in TENTHS]
    return drawn("figure-3-tenths", partial(
        charts.panels, shown, side=180, legend=[*LEGEND[:2], ("control hollow", "their controls")]),
        [datum(row, "definition auc* control_auc*=control least most", model=row["model"], regime=row["regime"],
               by=row["decile_by"], tenth=row["decile"] + 1) for row in known])


def _tenth_line(rows: Sequence[Record], shift: float, role: str) -> list[charts.Mark]:
    control, alpha = ("oracle", 0.55) if shift < 0 else ("control", 1.0)
    ours, beside = ([(row["decile"] + shift, row[name]["value"]) for row in rows] for name in ("auc", "control"))
    if not rows:
        return []
    return [charts.curve(beside, control, alpha=alpha),
            *(charts.dot(x, y, f"{control} hollow", 5, alpha) for x, y in beside),
            *(charts.whisker([row["decile"] + shift] * 2, [row["least"], row["most"]], role) for row in rows
              if row.get("least") is not None),
            charts.curve(ours, role), *(charts.dot(x, y, role, 7) for x, y in ours)]


def tradeoff(rows: Sequence[Record]) -> Figure | None:
    """Accuracy against the boundary attack as noise grows, two panels a model and regime; None without a figure."""
    most = max((point["queries"] for row in rows for point in row["frontier"]["points"]), default=1)
    shown = [panel for row in rows if (curves := {name: _curves(row, name, most) for name in DEFINED})
             and any(curves.values()) for panel in _tradeoff(row, curves)]
    data = [datum({**point, **figure}, "auc* control_auc* accuracy*=utility.accuracy", model=row["model"],
                  regime=row["regime"], definition=name, mechanism=point["mechanism"], sigma=point["strength"] or 0.0,
                  queries=point["queries"])
            for row in rows for point in row["frontier"]["points"] if point["queried"] == "same"
            for name in DEFINED if (figure := at_boundary(point, name)) is not None]
    return drawn("figure-4-noise", partial(charts.panels, shown, side=200, legend=[
        ("target", "fresh noise, one query: the paper's"), ("second", f"fresh, {most} queries"),
        ("oracle", f"keyed, {most} queries"), ("control hollow", "control, one query")]), data) if data else None


def _curves(row: Record, definition: str, most: int) -> dict[str, list[tuple[float, float, float, float | None]]]:
    """Points (strength, accuracy, AUC, control's AUC) by role: one query, many, and keyed noise."""
    found = {}
    for role, mechanism, queries in (("target", "laplace", 1), ("second", "laplace", most), ("oracle", "keyed", most)):
        points = []
        for point in row["frontier"]["points"]:
            figure, accuracy = at_boundary(point, definition), point["utility"]["accuracy"]["value"]
            if point["queried"] == "same" and point["mechanism"] in ("none", mechanism) \
                    and point["queries"] == queries and figure is not None \
                    and figure["auc"]["value"] is not None and accuracy is not None:
                points.append((float(point["strength"] or 0.0), accuracy, figure["auc"]["value"],
                               figure["control_auc"]["value"]))
        if points:
            found[role] = sorted(points)
    return found


def _tradeoff(row: Record, found: Mapping[str, Any]) -> list[charts.Panel]:
    every = [point for curves in found.values() for points in curves.values() for point in points]
    low, high = min(point[1] for point in every), max(point[1] for point in every)
    edge = max(0.005, (high - low) * 0.08)
    ends = {"xlim": (max(0.0, low - edge), min(1.0, high + edge)),
            "ylim": charts.reach((one for point in every for one in point[2:]), high=0.6)}
    shown = []
    for name, said in DEFINED.items():
        marks: list[charts.Mark] = [lambda axes: axes.locator_params(axis="x", nbins=6), charts.across(0.5, "soft")]
        for role, points in found[name].items():
            at, control = ([(point[1], point[place]) for point in points] for place in (2, 3))
            marks += [charts.curve(at, role), *(charts.dot(x, y, role, 6) for x, y in at)]
            if role == "target":
                marks += [charts.curve(control, "control"),
                          *(charts.dot(x, y, "control hollow", 5) for x, y in control),
                          charts.note(*at[0], "σ 0", (-6, 6), "right")]
        shown.append(charts.Panel(title=f"{row['model']}, {row['regime']}", under=said, x="accuracy", axes=ends,
                           percent="x", marks=marks))
    return shown


def embedded(row: Record) -> Figure | None:
    """The two dimensions of one model's representation, under a name of its own."""
    found, where = embedding(row["embedding"]), f"{row['model']}, {row['regime']}"
    kind = row["embedding"]["representation"]
    return found and replace(found, name=f"figure-4-{name_of(f'{where} {kind}')}", title=f"{where}: {kind}")


def over_epsilon(rows: Sequence[Record], corpus: str, *, paper: bool = True) -> Figure | None:
    """Strongest honest attack, oracle and the paper's two attacks over ε, a panel a mechanism; None without any.

    `rows` are those of item "figure 2" of the label inference paper.
    """
    mine = [row if paper else {**row, "paper": None} for row in rows
            if row["corpus"] == corpus and row["strongest"] is not None]
    names = [name for name in MECHANISMS if any(row["mechanism"] == name for row in mine)] or ["rr"]
    slots = list(dict.fromkeys(row["epsilon"] for row in sorted(mine, key=lambda row: -float(row["epsilon"]))))
    shown = [charts.Panel(title=MECHANISMS[name], x="ε", y="right", axes={
        "xlim": (-0.6, len(slots) - 0.4), "xticks": range(len(slots)), "xticklabels": list(map(epsilon, slots))},
        marks=[*(mark for row in mine if row["mechanism"] in ("none", name)
                 for mark in _slot(row, slots.index(row["epsilon"]))),
               lambda axes: axes.set_ylim(max(0.0, min(0.4, axes.get_ylim()[0]) - 0.02), 1.0),
               *(charts.across(row["chance"], "soft") for row in mine[:1])]) for name in names]
    return drawn(f"figure-2-{corpus.replace('_', '-')}", partial(charts.panels, shown, top=96, legend=[
        ("target", "strongest honest attack"), ("null area", "its control, 95%"), ("tolerance dashed", "most ε allows"),
        ("oracle", "LIA-Delta-Margin, shown the label"), ("oracle hollow", "its control"),
        *([("second", "paper's LIA-Delta-Margin"), ("second hollow", "paper's LIA-Threshold")] if paper else [])]), [
            datum(row, (
                "mechanism epsilon attack=strongest.name success*=strongest.success control*=strongest.control ceiling "
                "oracle*=delta_margin.success oracle_control*=delta_margin.control "
                "train_accuracy*=train_accuracy.trained paper_threshold=paper.threshold "
                "paper_delta_margin=paper.delta_margin paper_train_accuracy=paper.train_accuracy"),
                corpus=corpus, panel=name) for name in names for row in mine if row["mechanism"] in ("none", name)],
        "over-epsilon", corpus=corpus) if mine else None


def _slot(row: Record, place: int) -> list[charts.Mark]:
    control, wide = row["strongest"]["control"], (place - 0.42, place + 0.42)
    found = [] if control["low"] is None else [charts.band(wide, control["low"], control["high"], zorder=0)]
    found += [charts.level(wide, row["ceiling"]), charts.upright(place - 0.24, row["strongest"]["success"], "target")]
    if (oracle := row["delta_margin"]) is not None:
        found += [charts.dot(place, oracle[name]["value"], role, size) for name, role, size in (
            ("control", "oracle hollow", 11), ("success", "oracle", 6))]
    return found + [charts.dot(place + 0.24, row["paper"][name], role, 8) for name, role in (
        ("threshold", "second hollow"), ("delta_margin", "second")) if row["paper"]]


def utility_leak(rows: Sequence[Record], corpus: str) -> Figure | None:
    """Test accuracy against the strongest honest attack, a line for each mechanism; None for fewer than two dots."""
    mine = [row for row in rows if row["corpus"] == corpus and row["strongest"] is not None
            and row["test_accuracy"]["value"] is not None]
    if len(mine) < 2:
        return None
    accuracy = [row["test_accuracy"]["value"] for row in mine]
    edge = max(0.01, 0.08 * (max(accuracy) - min(accuracy)))
    low, high = max(0.0, min(accuracy) - edge), min(1.0, max(accuracy) + edge)
    leaks = [row["strongest"][side]["value"] for row in mine for side in ("success", "control")]
    bottom, top = max(0.0, min(0.45, *leaks) - 0.02), min(1.0, max(0.6, *leaks) + 0.04)
    there = {name: CURVES[name] for name in CURVES if any(row["mechanism"] == name for row in mine)}
    marks, said = [charts.across(mine[0]["chance"], "soft")], list[tuple[float, float]]()
    for name, (role, _) in there.items():
        # Without noise all mechanisms are one: each line begins there.
        at = [(row, row["test_accuracy"]["value"], row["strongest"]["success"]["value"]) for row in mine
              if row["mechanism"] in ("none", name)]
        marks.append(charts.curve([(x, y) for _, x, y in at], role))
        for row, x, y in at:
            # In a panel of some 900 by 250 pixels a written ε takes about 40 by 14.
            if all(abs(x - other) > 0.045 * (high - low) or abs(y - above) > 0.056 * (top - bottom)
                   for other, above in said):
                said.append((x, y))
                marks.append(charts.note(x, y, f"ε {epsilon(row['epsilon'])}", (7, 5)))
            marks += [charts.dot(x, row["strongest"]["control"]["value"], f"{role} hollow", 6), charts.dot(x, y, role)]
    panel = charts.Panel(marks=marks, x="test accuracy", y="right", percent="x",
                  axes={"xlim": (low, high), "ylim": (bottom, top)})
    return drawn(f"utility-{corpus.replace('_', '-')}", partial(
        charts.panels, [panel], columns=1, legend=list(there.values())), [datum(row, (
            "corpus mechanism epsilon attack=strongest.name test_accuracy* success*=strongest.success "
            "control*=strongest.control ceiling epsilon_lower=epsilon_lower.value")) for row in mine],
        "utility-leak-rerun", corpus=corpus)
