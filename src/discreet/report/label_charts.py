"""The rows of a label audit, and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

from discreet.core.numbers import epsilon, label_attack_name
from discreet.report import charts
from discreet.report.charts import Mark, Panel, across, band, curve, datum, dot, drawn, level, note, panels, upright
from discreet.report.figure import Figure
from discreet.report.summary import Record

TITLES = {"canary": "the canary label, before the mechanism", "trained": "the label that was trained on"}
LEGEND = [("target", "strongest attack on outputs"), ("null area", "its control, 95%"),
          ("tolerance dashed", "most that ε allows"), ("oracle", "oracle, shown the label"),
          ("oracle hollow", "oracle's control")]
MOST_HISTOGRAMS = 4
JITTER = 0.13
MODEL = "model=one.target mechanism=one.mechanism epsilon=one.epsilon seed=one.seed"


def rows_of(record: Record, target: Record) -> list[Record]:
    """The rows of one target."""
    return [row for row in record["attacks"] if row["model"] == target["target"]]


def resolved(rows: Sequence[Record]) -> list[Record]:
    """Those with a figure."""
    return [row for row in rows if row["success"]["value"] is not None]


def nearness(row: Record) -> tuple[float, float, float]:
    """Smaller where a row is nearer to a finding."""
    alone = row["difference_p"] if row["null_p"] is None else row["null_p"]
    excess = 0.0 if row["control"]["value"] is None else float(row["success"]["value"] - row["control"]["value"])
    return 1.0 if row["adjusted_p"] is None else row["adjusted_p"], 1.0 if alone is None else alone, -excess


def strongest(rows: Sequence[Record], label: str | None = None) -> Record | None:
    """Of the attacks on outputs alone the one that comes nearest to a finding; about one label, or about either."""
    honest = [row for row in resolved(rows) if row["access"] == "outputs" and label in (None, row["target"])]
    deciding = [row for row in honest if row["decides"]]
    controlled = [row for row in honest if row["control"]["value"] is not None and not row["vetoed"]]
    return min(deciding or controlled or honest, default=None, key=nearness)


def published(rows: Sequence[Record]) -> Record | None:
    """LIA-Delta-Margin with the loss at the canary label, α = β, as the paper's figures have it."""
    return next((row for row in resolved(rows) if row["loss_labels"] == "canary" and row["target"] == "canary"
                 and not row["tuned"] and row["alpha"] == row["beta"] and row["margin"] == "p1-second"), None)


def success(record: Record) -> Figure | None:
    """The strongest attack on outputs and the published oracle at every ε, a panel for each label; None without any."""
    targets = _ordered(record)
    noisy = {one["target"] for one in targets if one["mechanism"] != "none"}
    asked = {row["target"] for row in record["attacks"] if row["model"] in noisy} | {"canary"}
    known: list[Record] = [{"label": label, "one": one, "row": row, "oracle": published(rows_of(record, one))
              if label == "canary" else None} for label in TITLES if label in asked for one in targets
             if (row := strongest(rows_of(record, one), label)) is not None]
    if not known:
        return None
    slots, labels = list(dict.fromkeys(map(_slot, targets))), list(dict.fromkeys(of["label"] for of in known))
    chance = known[0]["row"]["chance"]
    low, _ = charts.reach([of["row"][name][end] for of in known for name in ("success", "control")
                    for end in ("value", "low")], chance - 0.1)
    shown = [Panel(title=TITLES[label], x="ε", y="right", axes={
        "xlim": (-0.6, len(slots) - 0.4), "ylim": (low, 1.0), "xticks": range(len(slots)), "xticklabels": slots},
        marks=[across(chance, "soft"), *(mark for place, slot in enumerate(slots) for mark in _slotted(
            place, [of for of in known if of["label"] == label and _slot(of["one"]) == slot]))]) for label in labels]
    # A panel of a few slots looks empty over the whole width.
    return drawn("success", partial(panels, shown, columns=max(len(labels), 2 if len(slots) <= 5 else 1),
                                    legend=LEGEND), [datum({**of, "attack": label_attack_name(of["row"])}, (
                                        f"label {MODEL} attack success*=row.success control*=row.control "
                                        "ceiling=row.ceiling adjusted_p=row.adjusted_p oracle*=oracle.success "
                                        "oracle_control*=oracle.control")) for of in known])


def _slotted(place: int, here: Sequence[Record]) -> list[Mark]:
    wide = [place - 0.4, place + 0.4]
    spans = [of["row"]["control"] for of in here if of["row"]["control"]["low"] is not None]
    marks = [band(wide, min(one["low"] for one in spans), max(one["high"] for one in spans), zorder=0)] if spans else []
    marks += [level(wide, of["row"]["ceiling"]) for of in here[:1]]
    for number, of in enumerate(here):
        x, oracle = place + JITTER * (number - (len(here) - 1) / 2) - 0.1, of["oracle"]
        marks.append(upright(x, of["row"]["success"], "target"))
        if oracle is not None:
            marks += [dot(x + 0.2, oracle["control"]["value"], "oracle hollow", 11),
                      dot(x + 0.2, oracle["success"]["value"], "oracle", 6)]
    return marks


def confidence(record: Record) -> Figure | None:
    """How sure models are of canary labels, canaries and held-out ones, for one model of up to four conditions."""
    first: dict[str, Record] = {}
    for one in _ordered(record):
        first.setdefault(_slot(one), one)
    chosen = list(first.items())[:MOST_HISTOGRAMS]
    if not any(sum(one["histogram"][part] or ()) for _, one in chosen for part in ("canary", "control")):
        return None
    shown = list[Panel]()
    for slot, one in chosen:
        edges, marks = one["histogram"]["edges"], []
        for part, role in (("control", "control"), ("canary", "target")):
            if total := sum(counts := one["histogram"][part] or ()):
                shares = [count / total for count in counts]
                marks.append(curve(zip(edges, [*shares, shares[-1]], strict=True), role, drawstyle="steps-post"))
        shown.append(Panel(title=slot, x="probability of the canary label", y="" if shown else "share", marks=[
            *marks, lambda axes: axes.set_ylim(0, max(0.1, axes.get_ylim()[1]))],
            axes={"xlim": (0, 1), "xticks": [0, 0.5, 1], "xticklabels": ["0", ".5", "1"]}))
    return drawn("confidence", partial(panels, shown, columns=max(2, len(chosen)), legend=[
        ("target line", "canaries"), ("control dashed", "held-out canaries")]), [
            datum(one["histogram"], f"from=edges.{place} to=edges.{place + 1} canary=canary.{place} "
                                    f"control=control.{place}", model=one["target"])
            for _, one in chosen for place in range(len(one["histogram"]["edges"]) - 1)])


def utility(record: Record) -> Figure | None:
    """Test accuracy against success at the canary label, a dot for each model; None for fewer than two with both."""
    found = [(one, one["utility"]["test_accuracy"]["value"], row) for one in _ordered(record)
             if one["utility"]["test_accuracy"]["value"] is not None
             and (row := strongest(rows_of(record, one), "canary")) is not None]
    if len(found) < 2:
        return None
    least = min(row[name]["value"] for _, _, row in found for name in ("success", "control")
                if row[name]["value"] is not None)
    marks, named = [across(found[0][2]["chance"], "soft")], set[str]()
    for one, x, row in found:
        marks += [upright(x, row["success"], "target"), dot(x, row["control"]["value"], "control hollow", 7)]
        marks += [] if _slot(one) in named else [note(x, row["success"]["value"], _slot(one), (8, 5))]
        named.add(_slot(one))
    accuracy = [x for _, x, _ in found]
    panel = Panel(marks=marks, x="test accuracy", y="right", percent="x", axes={
        "xlim": (max(0.0, min(accuracy) - 0.05), min(1.0, max(accuracy) + 0.05)), "ylim": (max(0.0, least - 0.12), 1)})
    return drawn("utility-leak", partial(panels, [panel], columns=1, legend=[
        ("target", "strongest attack on outputs"), ("control hollow", "its control")]), [
            datum({"one": one, "row": row}, f"{MODEL} test_accuracy*=one.utility.test_accuracy success*=row.success "
                                            "control*=row.control") for one, _, row in found])


def _ordered(record: Record) -> list[Record]:
    """Targets by mechanism, least noise first."""
    return sorted(record["targets"], key=lambda one: (
        one["mechanism"] != "none", one["mechanism"], -(inf if one["epsilon"] == "inf" else one["epsilon"]),
        one["seed"] or ""))


def _slot(one: Record) -> str:
    """"no noise", "rr 2"."""
    noise = epsilon(one["epsilon"])
    return "no noise" if one["mechanism"] == "none" and noise == "∞" else f"{one['mechanism']} {noise}"
