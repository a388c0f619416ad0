"""The figures of the two papers rerun, from their saved records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.core.numbers import epsilon, number
from discreet.report.charts import Line, Mark, across, curve, dot, dots, panels, reach, titled, upright, whisker
from discreet.report.figure import COLOURS, Figure, Row, ends, name_of
from discreet.report.summary import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

ROLES = {"paper": "oracle", "honest, logit": "target"}
NAMES = {"paper": "paper's definition", "honest, logit": "honest, logit scale"}
LEGEND = [("oracle", "paper's definition"), ("target", "honest"), ("placebo", "its control")]
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
    known = [row for row in rows if row["definition"] in ROLES and None not in (
        row["boundary_auc"]["value"], row["global_auc"]["value"])]
    lines, data, before = list[Line](), list[Row](), None
    for row in known:
        if (where := f"{row['model']}, {row['regime']}") != before:
            lines.append(Line(where, heading=True, space=True))
        before = where
        lines += _pair(f"{row['label']}, {NAMES[row['definition']]}", row, ("global", "boundary"),
                       (_gain(row["gain"], row.get("paper") if paper else None), _gain(row["placebo_gain"])))
        data.append({**{name: row[name] for name in ("model", "regime", "label", "definition")},
                     **_ends(row, "global_auc", "boundary_auc", "global_placebo", "boundary_placebo", "gain",
                             "placebo_gain")})
    if not data:
        return None
    return Figure.of(
        f"figure-2-{corpus}", partial(dots, lines, legend=[("target hollow", "all records"), *LEGEND], notes=220,
                                      labels=270, note_title="gain" + (" (paper's)" if paper else "")),
        tuple(data), words="figure-2", corpus=corpus)


def copies(rows: Sequence[Record], *, paper: bool) -> Figure | None:
    """From records off the boundary to those on it, a row per training set; None without a figure."""
    lines, data, before = list[Line](), list[Row](), None
    for row in sorted(rows, key=lambda row: (row["model"], row["regime"], list(ROLES).index(row["definition"]))):
        if row.get("non_boundary_auc") is None or row["boundary_auc"]["value"] is None:
            continue
        if (where := f"{row['model']}, {row['regime']}: {NAMES[row['definition']]}") != before:
            lines.append(Line(where, heading=True, space=True))
        before = where
        lines += _pair(row["variant"], row, ("non_boundary", "boundary"), (
            _gain(row.get("boundary_change"), row.get("paper") if paper else None),
            _gain(row.get("boundary_placebo_change"))))
        data.append({**{name: row[name] for name in ("model", "regime", "variant", "definition")},
                     **_ends(row, "boundary_auc", "boundary_placebo", "non_boundary_auc", "non_boundary_placebo",
                             "accuracy")})
    if not data:
        return None
    return Figure.of(
        "section-8.2", partial(dots, lines, legend=[("target hollow", "off the boundary"), *LEGEND], notes=260,
                               labels=330, note_title="change at the boundary" + (" (paper's)" if paper else "")),
        tuple(data))


def sizes(rows: Sequence[Record]) -> Figure | None:
    """A row per size of the training set; None without a figure."""
    lines, data, before = list[Line](), list[Row](), None
    for row in sorted(rows, key=lambda row: (row["model"], row["regime"], row["definition"])):
        if row["attack"] != "reference" or row["definition"] not in ROLES or row["auc"]["value"] is None:
            continue
        if (where := f"{row['model']}, {row['regime']}: {NAMES[row['definition']]}") != before:
            lines.append(Line(where, heading=True, space=True))
        before = where
        lines.append(Line(row["variant"], [("placebo hollow", row["placebo"]), (ROLES[row["definition"]], row["auc"])]))
        data.append({**{name: row[name] for name in ("model", "regime", "variant", "definition")},
                     **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo"])})
    return None if not data else Figure.of("size", partial(dots, lines, legend=LEGEND, labels=330), tuple(data))


def categories(rows: Sequence[Record], model: str, regime: str) -> Figure | None:
    """Two rows a category: the paper's definition and the honest one; None without any."""
    held: dict[str, dict[str, Record]] = {}
    for row in rows:
        if (row["model"], row["regime"]) == (model, regime) and row["category"] is not None \
                and row["definition"] in ROLES:
            held.setdefault(row["category"], {})[row["definition"]] = row
    if not any(row["auc"]["value"] is not None for of in held.values() for row in of.values()):
        return None
    lines, data = [], list[Row]()
    most = {name: max(row["auc"]["value"] or 0.0 for row in of.values()) for name, of in held.items()}
    for category, of in sorted(held.items(), key=lambda one: (-most[one[0]], one[0])):
        said = category.replace("_", " ").replace(",", ", ")
        for place, (definition, row) in enumerate(of.items()):
            lines.append(Line("" if place else said if len(said) <= 38 else f"{said[:37]}…", [
                ("placebo hollow", row["placebo"]), (ROLES[definition], row["auc"])], space=place == 0))
            data.append({"category": category, "definition": definition, **ends("auc", row["auc"]),
                         **ends("placebo_auc", row["placebo"]), "reason": row["auc"]["reason"]})
    legend = [*LEGEND[:2], ("placebo hollow", "its control")]
    return Figure.of(f"figure-3-categories-{name_of(model)}", partial(dots, lines, legend=legend), tuple(data),
                     words="categories", model=model, regime=regime)


def _pair(label: str, row: Record, places: tuple[str, str], notes: tuple[str, str]) -> list[Line]:
    """A row from one place to another and its control's under it, where there is one."""
    found = []
    for name, figure, role, note in ((label, "auc", ROLES[row["definition"]], notes[0]),
                                     ("control model", "placebo", "placebo", notes[1])):
        first, last = (row[f"{place}_{figure}"] for place in places)
        # Two intervals on one line would cover each other; the data has both.
        marks: list[Mark] = [(f"{role} hollow", {**first, "low": None, "high": None}), (role, last)]
        if last["value"] is not None:
            found.append(Line(name, marks, joined=True, space=figure == "auc", soft=figure != "auc", note=note))
    return found


def _ends(row: Record, *names: str) -> Row:
    return {key: value for name in names for key, value in ends(name, row.get(name)).items()}


def _gain(found: Record | None, paper: Record | None = None) -> str:
    """"+.025 (+.12 to +.16)", the paper's in brackets."""
    if found is None or found["value"] is None:
        return ""
    said = number(found["value"], sign=True)
    if not paper:
        return said
    if paper["low"] is None:
        return f"{said} (up to {number(paper['high'], 2, sign=True)})"
    return f"{said} ({' to '.join(dict.fromkeys(number(paper[end], 2, sign=True) for end in ('low', 'high')))})"


def tenths(rows: Sequence[Record]) -> Figure | None:
    """AUC by tenths of confidence, two panels a model and regime; None where no tenth has a figure."""
    known = [row for row in rows if row["decile"] is not None and row["definition"] in ROLES
             and row["auc"]["value"] is not None]
    return None if not known else Figure.of("figure-3-tenths", partial(_tenths, known), tuple(
            {"model": row["model"], "regime": row["regime"], "by": row["decile_by"], "tenth": row["decile"] + 1,
             "definition": row["definition"], **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo"]),
             "least": row.get("least"), "most": row.get("most")} for row in known))


def _tenths(known: Sequence[Record]) -> Canvas:
    groups = list(dict.fromkeys((row["model"], row["regime"]) for row in known))
    found = [one for row in known for one in (row["auc"]["value"], row["placebo"]["value"], row.get("least"),
                                              row.get("most")) if one is not None]
    canvas, axes = panels(2, side=180, rows=len(groups), legend=[*LEGEND[:2], ("placebo hollow", "their controls")])
    for place, panel in enumerate(axes):
        (model, regime), by = groups[place // 2], list(TENTHS)[place % 2]
        panel.set(xlim=(-0.6, 9.6), ylim=reach(found), xticks=range(10), xticklabels=range(1, 11))
        titled(panel, f"{model}, {regime}", beside=TENTHS[by], x="tenth")
        across(panel, 0.5, "soft")
        for definition, shift in (("paper", -0.14), ("honest, logit", 0.14)):
            _tenth_line(panel, sorted((row for row in known if (row["model"], row["regime"], row["definition"], row[
                "decile_by"]) == (model, regime, definition, by)), key=lambda row: row["decile"]), shift)
    return canvas


def _tenth_line(panel: Axes, rows: Sequence[Record], shift: float) -> None:
    if not rows:
        return
    role = ROLES[rows[0]["definition"]]
    control, alpha = ("oracle", 0.55) if shift < 0 else ("placebo", 1.0)
    beside = [(row["decile"] + shift, row["placebo"]["value"]) for row in rows if row["placebo"]["value"] is not None]
    curve(panel, beside, control, alpha=alpha)
    for x, y in beside:
        dot(panel, x, y, f"{control} hollow", 5, alpha)
    for row in rows:
        if row.get("least") is not None:
            whisker(panel, [row["decile"] + shift] * 2, [row["least"], row["most"]], role)
    curve(panel, [(row["decile"] + shift, row["auc"]["value"]) for row in rows], role)
    for row in rows:
        dot(panel, row["decile"] + shift, row["auc"]["value"], role, 7)


def tradeoff(rows: Sequence[Record]) -> Figure | None:
    """Accuracy against the boundary attack as noise grows, two panels a model and regime; None without a figure."""
    most = max((point["queries"] for row in rows for point in row["frontier"]["points"]), default=1)
    known = [(row, found) for row in rows
             if any((found := {name: _curves(row, name, most) for name in DEFINED}).values())]
    data: list[Row] = [
        {"model": row["model"], "regime": row["regime"], "definition": name, "mechanism": point["mechanism"],
         "sigma": point["strength"] or 0.0, "queries": point["queries"], **ends("auc", figure["auc"]),
         **ends("placebo_auc", figure["placebo_auc"]), **ends("accuracy", point["utility"]["accuracy"])}
        for row, _ in known for point in row["frontier"]["points"] if point["queried"] == "same"
        for name in DEFINED if (figure := at_boundary(point, name)) is not None]
    return None if not data else Figure.of("figure-4-noise", partial(_tradeoff, known, most), tuple(data))


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
                               figure["placebo_auc"]["value"]))
        if points:
            found[role] = sorted(points)
    return found


def _tradeoff(known: Sequence[tuple[Record, Mapping[str, Any]]], most: int) -> Canvas:
    canvas, axes = panels(2, side=200, rows=len(known), legend=[
        ("target", "fresh noise, one query: the paper's"), ("second", f"fresh, {most} queries"),
        ("oracle", f"keyed, {most} queries"), ("placebo hollow", "control, one query")])
    for place, panel in enumerate(axes):
        row, found = known[place // 2]
        name = list(DEFINED)[place % 2]
        every = [point for curves in found.values() for points in curves.values() for point in points]
        low, high = min(point[1] for point in every), max(point[1] for point in every)
        edge = max(0.005, (high - low) * 0.08)
        panel.set(xlim=(max(0.0, low - edge), min(1.0, high + edge)),
                  ylim=reach([one for point in every for one in point[2:] if one is not None], high=0.6))
        panel.locator_params(axis="x", nbins=6)
        panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
        titled(panel, f"{row['model']}, {row['regime']}", beside=DEFINED[name], x="accuracy")
        across(panel, 0.5, "soft")
        for role, points in found[name].items():
            at = [(accuracy, auc) for _, accuracy, auc, _ in points]
            curve(panel, at, role)
            for x, y in at:
                dot(panel, x, y, role, 6)
            if role == "target":
                control = [(accuracy, value) for _, accuracy, _, value in points if value is not None]
                curve(panel, control, "placebo")
                for x, y in control:
                    dot(panel, x, y, "placebo hollow", 5)
                panel.annotate("σ 0", at[0], (-6, 6), textcoords="offset points", ha="right", fontsize=12,
                               color=COLOURS["soft"])
    return canvas


def over_epsilon(rows: Sequence[Record], corpus: str, *, paper: bool = True) -> Figure | None:
    """Strongest honest attack, oracle and the paper's two attacks over ε, a panel a mechanism; None without any.

    `rows` are those of item "figure 2" of the label inference paper.
    """
    mine = [row for row in rows if row["corpus"] == corpus and row["strongest"] is not None]
    shown = [name for name in MECHANISMS if any(row["mechanism"] == name for row in mine)] or ["rr"]
    data: list[Row] = []
    for name in shown:
        for row in (row for row in mine if row["mechanism"] in ("none", name)):
            oracle, said = row["delta_margin"] or {}, (row["paper"] or {}) if paper else {}
            data.append({
                "corpus": corpus, "panel": name, "mechanism": row["mechanism"], "epsilon": row["epsilon"],
                "attack": row["strongest"]["name"], **ends("success", row["strongest"]["success"]),
                **ends("placebo", row["strongest"]["placebo"]), "ceiling": row["ceiling"],
                **ends("oracle", oracle.get("success")), **ends("oracle_placebo", oracle.get("placebo")),
                **ends("train_accuracy", row["train_accuracy"]["trained"]), "paper_threshold": said.get("threshold"),
                "paper_delta_margin": said.get("delta_margin"), "paper_train_accuracy": said.get("train_accuracy")})
    return None if not mine else Figure.of(
        f"figure-2-{corpus.replace('_', '-')}", partial(_over_epsilon, mine, shown, paper), tuple(data),
        words="over-epsilon", corpus=corpus)


def _over_epsilon(mine: Sequence[Record], shown: Sequence[str], paper: bool) -> Canvas:
    slots = list(dict.fromkeys(row["epsilon"] for row in sorted(mine, key=lambda row: -float(row["epsilon"]))))
    canvas, axes = panels(2, top=96, legend=[
        ("target", "strongest honest attack"), ("null area", "its control, 95%"), ("tolerance dashed", "most ε allows"),
        ("oracle", "LIA-Delta-Margin, shown the label"), ("oracle hollow", "its control"),
        *([("second", "paper's LIA-Delta-Margin"), ("second hollow", "paper's LIA-Threshold")] if paper else [])])
    for panel, name in zip(axes, shown, strict=False):
        panel.set(xlim=(-0.6, len(slots) - 0.4), xticks=range(len(slots)), xticklabels=list(map(epsilon, slots)))
        titled(panel, MECHANISMS[name], x="ε", y="right")
        for row in (row for row in mine if row["mechanism"] in ("none", name)):
            place, control = slots.index(row["epsilon"]), row["strongest"]["placebo"]
            if control["low"] is not None:
                panel.fill_between([place - 0.42, place + 0.42], control["low"], control["high"], color=COLOURS["null"],
                                   lw=0, zorder=0)
            panel.plot([place - 0.42, place + 0.42], [row["ceiling"]] * 2, color=COLOURS["tolerance"], lw=1.2,
                       ls=(0, (5, 4)))
            upright(panel, place - 0.24, row["strongest"]["success"], "target")
            if row["delta_margin"] is not None:
                for side, role, size in (("placebo", "oracle hollow", 11), ("success", "oracle", 6)):
                    if row["delta_margin"][side]["value"] is not None:
                        dot(panel, place, row["delta_margin"][side]["value"], role, size)
            if paper and row["paper"]:
                dot(panel, place + 0.24, row["paper"]["threshold"], "second hollow", 8)
                dot(panel, place + 0.24, row["paper"]["delta_margin"], "second", 8)
        panel.set_ylim(max(0.0, min(0.4, panel.get_ylim()[0]) - 0.02), 1.0)
        across(panel, mine[0]["chance"], "soft")
    for panel in axes[len(shown):]:
        panel.remove()
    return canvas


def utility_leak(rows: Sequence[Record], corpus: str) -> Figure | None:
    """Test accuracy against the strongest honest attack, a line for each mechanism; None for fewer than two dots."""
    mine = [row for row in rows if row["corpus"] == corpus and row["strongest"] is not None
            and row["test_accuracy"]["value"] is not None]
    data: list[Row] = [
        {"corpus": corpus, "mechanism": row["mechanism"], "epsilon": row["epsilon"],
         "attack": row["strongest"]["name"], **ends("test_accuracy", row["test_accuracy"]),
         **ends("success", row["strongest"]["success"]), **ends("placebo", row["strongest"]["placebo"]),
         "ceiling": row["ceiling"], "epsilon_lower": row["epsilon_lower"]["value"]} for row in mine]
    return None if len(mine) < 2 else Figure.of(
        f"utility-{corpus.replace('_', '-')}", partial(_utility_leak, mine), tuple(data), words="utility-leak-rerun",
        corpus=corpus)


def _utility_leak(mine: Sequence[Record]) -> Canvas:
    there = [name for name in CURVES if any(row["mechanism"] == name for row in mine)]
    canvas, (panel,) = panels(1, legend=[CURVES[name] for name in there])
    accuracy = [row["test_accuracy"]["value"] for row in mine]
    edge = max(0.01, 0.08 * (max(accuracy) - min(accuracy)))
    low, high = max(0.0, min(accuracy) - edge), min(1.0, max(accuracy) + edge)
    leaks = [row["strongest"][side]["value"] for row in mine for side in ("success", "placebo")]
    bottom, top = max(0.0, min(0.45, *leaks) - 0.02), min(1.0, max(0.6, *leaks) + 0.04)
    panel.set(xlim=(low, high), ylim=(bottom, top))
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    titled(panel, "", x="test accuracy", y="right")
    across(panel, mine[0]["chance"], "soft")
    said: list[tuple[float, float]] = []
    for name in there:
        role = CURVES[name][0]
        # Without noise all mechanisms are one: each line begins there.
        rows = [row for row in mine if row["mechanism"] in ("none", name)]
        at = [(row["test_accuracy"]["value"], row["strongest"]["success"]["value"]) for row in rows]
        curve(panel, at, role)
        for row, (x, y) in zip(rows, at, strict=True):
            # In a panel of some 900 by 250 pixels a written ε takes about 40 by 14.
            if all(abs(x - other) > 0.045 * (high - low) or abs(y - above) > 0.056 * (top - bottom)
                   for other, above in said):
                said.append((x, y))
                panel.annotate(f"ε {epsilon(row['epsilon'])}", (x, y), (7, 5), textcoords="offset points", fontsize=12,
                               color=COLOURS["soft"])
            dot(panel, x, row["strongest"]["placebo"]["value"], f"{role} hollow", 6)
            dot(panel, x, y, role)
    return canvas
