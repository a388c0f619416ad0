"""The figures of a membership audit, from its saved record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.core.numbers import attack_name, interval, number, times
from discreet.report.audited import BOUNDARY_N, ROW_OF, Audited
from discreet.report.charts import Line, across, curve, dot, dots, panels, reach, titled, upright
from discreet.report.figure import COLOURS, Cell, Figure, Row, ends
from discreet.report.summary import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

MODEL = [("target", "your model"), ("placebo hollow", "control model")]
CLOSED = {"low": None, "high": None}
DECILES = {"target": "by your model's own confidence", "selector": "by another model's (the selector's)"}


def standing(one: Audited) -> Figure | None:
    """The primary endpoint with what it must be read against; None where it has no figure."""
    primary = one.primary
    if primary is None or primary["auc"]["value"] is None:
        return None
    planted = one.facts["controls"]["planted"]
    rows = [("your model", "target", primary["auc"], primary["n_members"]),
            ("control model, trained on neither set", "placebo", primary["placebo_auc"], None)]
    for part in planted:
        said = f"on records planted {times(part['repetitions'])}"
        rows.append((f"your model, {said}", "second", part["auc"], part["auc"]["n_pos"]))
        if part["placebo_auc"]["value"] is not None:
            rows.append((f"control model, {said}", "placebo", part["placebo_auc"], None))
    lines = [Line(label, [(role, estimate)], note=number(estimate["value"], missing=""), space=role == "second",
                  soft=role == "placebo") for label, role, estimate, _ in rows]
    levels = {part["auc"]["level"] for part in planted} - {0.95}
    wider = "".join(f", those of planted records {100 * level:.3g}%" for level in sorted(levels))
    seen = (" Records that were planted on purpose should lie to the right of it, and the control model there at "
            "chance: then the audit can see a leak." if planted else "")
    draw = partial(dots, lines, tolerance=one.tolerance, labels=320, notes=60)
    return Figure.of(
        "standing", partial(draw, axis="chance that a random member outranks a random non-member (AUC)"),
        tuple({"what": label, "members": n, **ends("auc", estimate)} for label, _, estimate, n in rows),
        narrow=partial(draw, narrow=True), seen=seen, wider=wider)


def protocols(one: Audited) -> Figure | None:
    """The published protocol and this audit on the model and its control; None where one of the figures is missing."""
    paper, primary = one.paper, one.primary
    if paper is None or primary is None or None in (paper["auc"]["value"], paper["placebo_auc"]["value"]):
        return None
    lines, data = [], list[Row]()
    for title, row, role in (("published protocol", paper, "oracle"), ("this audit", primary, "target")):
        lines.append(Line(title, heading=True, space=True))
        for who, estimate, mark in (("your model", row["auc"], role),
                                    ("control model, trained on neither set", row["placebo_auc"], "placebo hollow")):
            lines.append(Line(who, [(mark, estimate)], note=number(estimate["value"], 2)))
            data.append({"protocol": title, "model": who, **ends("auc", estimate)})
    return Figure.of("protocols", partial(dots, lines, tolerance=one.tolerance, notes=60), tuple(data),
                     ours=interval(paper["auc"], 2), control=interval(paper["placebo_auc"], 2))


def attacks(one: Audited) -> Figure | None:
    """All honest attacks on all judged records, a row each; None where nothing has a figure."""
    rows = [row for row in one.whole(selection="global", oracle=False) if row["auc"]["value"] is not None]
    if not rows:
        return None
    lines, data = [], list[Row]()
    for row in rows:
        low, high = row["null_band"] or (None, None)
        lines.append(Line(attack_name(row), [("placebo hollow", row["placebo_auc"]), ("target", row["auc"])],
                          band=None if low is None or high is None else (low, high)))
        data.append({"attack": row["attack"], "scale": row["scale"], "reference_kind": row["reference_kind"],
                     **ends("auc", row["auc"]), **ends("placebo_auc", row["placebo_auc"]), "null_low": low,
                     "null_high": high, "p": row["null_p"]["value"]})
    legend = [*MODEL, ("null area", "95% of permutations of the membership labels")]
    return Figure.of("attacks", partial(dots, lines, tolerance=one.tolerance, legend=legend), tuple(data))


def boundary(one: Audited) -> Figure | None:
    """From all records to those at the decision boundary, a label a row; None where no boundary has a figure."""
    lines, data = [], list[Row]()
    for title, row, role in (("this audit", one.primary, "target"), ("published protocol", one.paper, "oracle")):
        if row is None:
            continue
        lines.append(Line(f"{title}: {attack_name(row)}", heading=True, space=True))
        for label in [None, *sorted({r["label"] for r in one.like(row) if r["label"] is not None})]:
            whole, edge = (_picked(one, row, label, selection, n) for selection, n in (("global", None),
                                                                                      ("boundary", BOUNDARY_N)))
            if whole is None or edge is None or edge["auc"]["value"] is None:
                continue
            for who, figure, mark in (("your model", "auc", role), ("control model", "placebo_auc", "placebo")):
                mine = who == "your model"
                # The interval of all records would lie over that of the boundary; the data has it.
                lines.append(Line(one.label(label) if mine else who, [
                    (f"{mark} hollow", {**whole[figure], **CLOSED}), (mark, edge[figure])], soft=not mine, joined=True,
                    space=mine))
                data.append({"protocol": title, "label": label, "model": who if mine else "placebo",
                             **ends("global_auc", whole[figure]), **ends("boundary_auc", edge[figure]),
                             "members_at_boundary": edge["n_members"], "nonmembers_at_boundary": edge["n_nonmembers"]})
    if not data:
        return None
    legend = [("target hollow", "all records"), ("target", f"the {BOUNDARY_N} least likely per label and set"),
              ("placebo", "the same, control model")]
    return Figure.of("boundary", partial(dots, lines, tolerance=one.tolerance, legend=legend, labels=352), tuple(data))


def _picked(one: Audited, row: Record, label: int | None, selection: str, n: int | None) -> Record | None:
    if label is None:
        return one.first(**{name: row[name] for name in ROW_OF}, selection=selection, n=n)
    return next(iter(one.like(row, label=label, selection=selection, n=n)), None)


def strata(one: Audited) -> Figure | None:
    """The deciding attack in each category and structure; None where there are no two of either."""
    if one.primary is None:
        return None
    base = [row for row in one.like(one.primary, selection="global") if row["decile"] is None]
    lines, data = [], list[Row]()
    for title, rows in (
            ("categories", [(row["category"], row) for row in base if row["category"] is not None]),
            ("input structures", [(row["structure"], row) for row in base
                                  if row["structure"] in one.structures and row["label"] is None])):
        if len(rows) < 2:
            continue
        lines.append(Line(title, heading=True, space=True))
        for name, row in sorted(rows, key=lambda pair: (-(pair[1]["auc"]["value"] or 0.0), pair[0])):
            lines.append(Line(name if len(name) <= 36 else name[:35] + "…", [
                ("placebo hollow", row["placebo_auc"]), ("target", row["auc"])],
                note=f"{row['n_members']:,} / {row['n_nonmembers']:,}"))
            data.append({"kind": title, "name": name, **ends("auc", row["auc"]),
                         **ends("placebo_auc", row["placebo_auc"]), "members": row["n_members"],
                         "nonmembers": row["n_nonmembers"], "reason": row["auc"]["reason"]})
    if not data:
        return None
    return Figure.of("strata", partial(dots, lines, tolerance=one.tolerance, notes=120, note_title="members / others",
                                       legend=MODEL), tuple(data))


def deciles(one: Audited) -> Figure | None:
    """The primary endpoint by tenths of the target's and the selector's confidence; None without any figure."""
    if one.primary is None:
        return None
    rows = sorted((row for row in one.like(one.primary, selection="global")
                   if row["decile"] is not None and row["auc"]["value"] is not None), key=lambda row: row["decile"])
    if not rows:
        return None
    parts = {name: [(row, _spread(one, row)) for row in rows if row["decile_by"] == name] for name in DECILES}
    data = tuple({"by": by, "tenth": row["decile"] + 1, **ends("auc", row["auc"]),
                  **ends("placebo_auc", row["placebo_auc"]), "members": row["n_members"],
                  "nonmembers": row["n_nonmembers"], "least_of_all_models": low, "most_of_all_models": high}
                 for by, part in parts.items() for row, (low, high) in part)
    return Figure.of("deciles", partial(_deciles, one, {name: part for name, part in parts.items() if part}), data)


def _spread(one: Audited, row: Record) -> tuple[float, float]:
    """The least and the greatest AUC of all targets in this tenth."""
    wanted = {name: row[name] for name in (*ROW_OF, "selection", "decile", "decile_by")}
    values = [row["auc"]["value"], *(other["auc"]["value"] for other in one.peers if all(
        other[name] == value for name, value in wanted.items()) and other["auc"]["value"] is not None)]
    return min(values), max(values)


def _deciles(one: Audited, parts: Mapping[str, Sequence[tuple[Record, tuple[float, float]]]]) -> Canvas:
    known = [row[which][end] for part in parts.values() for row, _ in part for which in ("auc", "placebo_auc")
             for end in ("low", "high", "value") if row[which][end] is not None]
    legend = [*MODEL, ("tolerance dashed", "tolerance")]
    if one.peers:
        legend.append(("target area", "least to most over all models audited"))
    canvas, axes = panels(2, side=210, legend=legend)
    for panel, (name, part) in zip(axes, parts.items(), strict=False):
        panel.set(xlim=(-0.6, 9.6), ylim=reach(known, 0.3), xticks=range(10), xticklabels=range(1, 11))
        titled(panel, DECILES[name], x="tenth", y="AUC")
        across(panel, 0.5, "soft")
        across(panel, one.tolerance, "tolerance")
        for row, (low, high) in part:
            if high > low:
                panel.fill_between([row["decile"] - 0.32, row["decile"] - 0.02], low, high, color=COLOURS["target"],
                                   alpha=0.16, lw=0)
            upright(panel, row["decile"] + 0.17, row["placebo_auc"], "placebo hollow", 8)
            upright(panel, row["decile"] - 0.17, row["auc"], "target", 8)
    for panel in axes[len(parts):]:
        panel.remove()
    return canvas


def sizes(one: Audited) -> Figure | None:
    """AUC over n, the least likely records per label and set; None where fewer than two sizes have a figure."""
    found = []
    for title, row, role in (("deciding attack", one.primary, "target"), ("published protocol", one.paper, "oracle")):
        rows = [] if row is None else [r for r in one.whole(**{name: row[name] for name in ROW_OF})
                                       if r["selection"] == "boundary" and r["auc"]["value"] is not None]
        if len(rows) > 1:
            found.append((title, sorted(rows, key=lambda r: r["n"]), role))
    if not found:
        return None
    data = list[Row]()
    for title, rows, _ in found:
        for row in rows:
            low, high = row["null_band"] or (None, None)
            data.append({"panel": title, "n": row["n"], **ends("auc", row["auc"]),
                         **ends("placebo_auc", row["placebo_auc"]), "null_low": low, "null_high": high,
                         "members": row["n_members"], "nonmembers": row["n_nonmembers"]})
    return Figure.of("sizes", partial(_sizes, found, one.tolerance), tuple(data))


def _sizes(found: Sequence[tuple[str, Sequence[Record], str]], tolerance: float) -> Canvas:
    canvas, axes = panels(2, side=240, legend=[
        ("target line", "your model, with its 95% interval"), ("placebo dashed", "control model"),
        ("null area", "95% of permutations"), ("tolerance dashed", "tolerance")])
    values = [row["auc"][end] for _, rows, _ in found for row in rows for end in ("low", "high")
              if row["auc"][end] is not None]
    for panel, (title, rows, role) in zip(axes, found, strict=False):
        _log_sizes(panel, [row["n"] for row in rows])
        panel.set_ylim(reach(values))
        titled(panel, title, x="n per label and set", y="AUC")
        across(panel, 0.5, "soft")
        across(panel, tolerance, "tolerance")
        for name, key, alpha in (("null", "null_band", 1.0), (role, "auc", 0.16)):
            ends_ = [(row["n"], *(row[key] if name == "null" else (row[key]["low"], row[key]["high"])))
                     for row in rows if (row[key] if name == "null" else row[key]["low"]) is not None]
            ns, lows, highs = ([end[place] for end in ends_] for place in range(3))
            panel.fill_between(ns, lows, highs, color=COLOURS[name], alpha=alpha, lw=0,
                               zorder=0 if name == "null" else 1)
        curve(panel, [(row["n"], row["placebo_auc"]["value"]) for row in rows
                      if row["placebo_auc"]["value"] is not None], "placebo")
        curve(panel, [(row["n"], row["auc"]["value"]) for row in rows], role)
        for row in rows:
            dot(panel, row["n"], row["auc"]["value"], role, 8)
    for panel in axes[len(found):]:
        panel.remove()
    return canvas


def _log_sizes(panel: Axes, ns: Sequence[int]) -> None:
    panel.set_xscale("log")
    panel.set_xlim(ns[0] / 1.15, ns[-1] * 1.15)
    # The words of the last tick take a fifth of the panel.
    kept = [n for n in ns[:-1] if n < ns[-1] / (ns[-1] / ns[0]) ** 0.2]
    panel.set_xticks([*kept, ns[-1]], [*(f"{n:,}" for n in kept), f"{ns[-1]:,} (all)"])
    panel.set_xticks([], minor=True)


def roc(one: Audited) -> Figure | None:
    """Primary endpoint, strongest other honest attack, loss and published figure; None without curves."""
    chosen = _chosen(one)
    if not chosen:
        return None
    data = tuple({"panel": title, "model": who, "fpr": x, "tpr": y} for title, _, both, _ in chosen
                 for who, key in (("placebo", "placebo"), ("your model", "curve")) if both[key] is not None
                 for x, y in zip(both[key]["fpr"], both[key]["tpr"], strict=True))
    table: list[dict[str, Cell]] = [
        {"panel": title, "attack": attack_name(row), "TPR at 1% FPR": interval(row["tpr_at_1pct_fpr"]),
         "TPR at 5% FPR": interval(row["tpr_at_5pct_fpr"]), "AUC": interval(row["auc"]),
         "control's AUC": interval(row["placebo_auc"])} for title, row, _, _ in chosen]
    return Figure.of("roc", partial(_roc, chosen), data, tuple(table))


def _chosen(one: Audited) -> list[tuple[str, Record, Record, str]]:
    curves = {tuple(curve[name] for name in ROW_OF): curve for curve in one.facts["curves"]}
    rows = [row for row in one.whole(selection="global") if tuple(row[name] for name in ROW_OF) in curves]
    primary = one.primary
    honest = [row for row in rows if not row["oracle"] and row["auc"]["value"] is not None
              and (primary is None or row["attack"] != primary["attack"]) and row["attack"] != "loss"]
    wanted: list[tuple[str, Record | None, str]] = [
        ("deciding attack", primary, "target"),
        ("strongest other", max(honest, key=lambda row: row["auc"]["value"], default=None), "target")]
    if primary is None or primary["attack"] != "loss":
        wanted.append(("loss alone", one.first(attack="loss", selection="global", nonmembers="clean"), "target"))
    wanted.append(("published protocol", one.paper, "oracle"))
    return [(title, row, curves[tuple(row[name] for name in ROW_OF)], role)
            for title, row, role in wanted if row is not None and tuple(row[name] for name in ROW_OF) in curves]


def _roc(chosen: Sequence[tuple[str, Record, Record, str]]) -> Canvas:
    from matplotlib.ticker import NullLocator

    # Half a person is where the axes begin: no rate but zero lies below.
    left, low = (0.5 / max(row[side] for _, row, _, _ in chosen) for side in ("n_nonmembers", "n_members"))
    there = {role for *_, role in chosen} | {"placebo" for _, _, both, _ in chosen if both["placebo"] is not None}
    legend = [("target line", "your model"), ("placebo dashed", "the same attack on the control model"),
              ("oracle line", "published protocol")]
    canvas, axes = panels(4, side=218, top=84, legend=[
        *(entry for entry in legend if entry[0].split()[0] in there), ("soft dashed", "chance")])
    for panel, (title, row, both, role) in zip(axes, chosen, strict=False):
        panel.set(xscale="log", yscale="log", xlim=(left, 1), ylim=(low, 1))
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
            axis.set_minor_locator(NullLocator())
        titled(panel, title, beside=attack_name(row, scale=False), x="FPR", y="TPR" if title == chosen[0][0] else "")
        panel.plot([max(left, low), 1], [max(left, low), 1], color=COLOURS["soft"], lw=1, ls=(0, (2, 3)))
        for points, mark in ((both["placebo"], "placebo"), (both["curve"], role)):
            if points is not None:
                curve(panel, [(max(x, left), y) for x, y in zip(points["fpr"], points["tpr"], strict=True) if y > 0],
                      mark, drawstyle="steps-post")
    for panel in axes[len(chosen):]:
        panel.remove()
    return canvas


def embedding(record: Record | None) -> Figure | None:
    """`{representation, points: [{set, x, y}]}` as a scatter plot; None where there is none.

    With `method` and `explained` the caption says how it was made, and both axes of a PCA have one scale.
    """
    if not record or not record["points"]:
        return None
    made = " (t-SNE; distances are not to scale)" if record.get("method") == "tsne" else ""
    if record.get("method") == "pca" and record.get("explained"):
        first, second = record["explained"][:2]
        made = f" (the two directions of most variance, {first:.0%} and {second:.0%} of it)"
    return Figure.of(
        "embedding", partial(_scatter, record),
        tuple({"set": point["set"], "x": point["x"], "y": point["y"]} for point in record["points"]),
        representation=record["representation"], made=made)


def _scatter(record: Mapping[str, Any]) -> Canvas:
    kinds = {"random": ("placebo", 6.0, 0.55), "boundary non-members": ("oracle hollow", 9.0, 1.0),
             "boundary members": ("target", 9.0, 1.0)}
    canvas, (panel,) = panels(1, side=420, top=30, legend=[(role, name) for name, (role, _, _) in kinds.items()])
    panel.set(xticks=[], yticks=[])
    panel.margins(0.02)
    if record.get("method") == "pca":
        panel.set_aspect("equal", adjustable="datalim")
    for name, (role, size, alpha) in kinds.items():
        points = [point for point in record["points"] if point["set"] == name]
        hollow = "hollow" in role
        colour = COLOURS[role.split()[0]]
        panel.plot([point["x"] for point in points], [point["y"] for point in points], "o", ms=size, alpha=alpha,
                   mfc=COLOURS["ground"] if hollow else colour, mec=colour if hollow else COLOURS["ground"],
                   mew=2 if hollow else 1)
    return canvas
