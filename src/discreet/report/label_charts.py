"""The figures of a label audit, from its saved record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from discreet.core.numbers import epsilon, label_attack_name
from discreet.report.audited import published, rows_of, strongest
from discreet.report.charts import across, curve, dot, panels, titled, upright
from discreet.report.figure import COLOURS, Figure, Row, ends
from discreet.report.summary import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

TITLES = {"secret": "the canary label, before the mechanism", "trained": "the label that was trained on"}
LEGEND = [("target", "strongest attack on outputs"), ("null area", "its control, 95%"),
          ("tolerance dashed", "most that ε allows"), ("oracle", "oracle, shown the label"),
          ("oracle hollow", "oracle's control")]
MOST_HISTOGRAMS = 4
JITTER = 0.13
Found = tuple[str, Record, Record]
"""A label, a target and its row."""


def success(record: Record) -> Figure | None:
    """The strongest attack on outputs and the published oracle at every ε, a panel for each label; None without any."""
    targets = _ordered(record)
    decided = {row["target"] for row in record["attacks"] if row["decides"]} | {"secret"}
    known = [(label, one, row) for label in TITLES if label in decided for one in targets
             if (row := strongest(rows_of(record, one), label)) is not None]
    if not known:
        return None
    data: list[Row] = []
    for label, one, row in known:
        oracle = (published(rows_of(record, one)) if label == "secret" else None) or {}
        data.append({"label": label, "model": one["target"], "mechanism": one["mechanism"], "epsilon": one["epsilon"],
                     "seed": one["seed"], "attack": label_attack_name(row), **ends("success", row["success"]),
                     **ends("placebo", row["placebo"]), "ceiling": row["ceiling"], "holm_p": row["holm_p"],
                     **ends("oracle", oracle.get("success")), **ends("oracle_placebo", oracle.get("placebo"))})
    return Figure.of("success", partial(_success, known, record), tuple(data))


def _success(known: Sequence[Found], record: Record) -> Canvas:
    slots = list(dict.fromkeys(_slot(one) for one in _ordered(record)))
    labels = list(dict.fromkeys(label for label, _, _ in known))
    # A panel of a few slots looks empty over the whole width.
    count = max(len(labels), 2 if len(slots) <= 5 else 1)
    canvas, axes = panels(count, legend=LEGEND)
    chance = known[0][2]["chance"]
    low = max(0.0, min([chance - 0.1, *(row[name][end] for _, _, row in known for name in ("success", "placebo")
                                        for end in ("value", "low") if row[name][end] is not None)]) - 0.02)
    for panel, label in zip(axes, labels, strict=False):
        panel.set(xlim=(-0.6, len(slots) - 0.4), ylim=(low, 1.0), xticks=range(len(slots)), xticklabels=slots)
        titled(panel, TITLES[label], x="ε", y="right")
        across(panel, chance, "soft")
        for place, slot in enumerate(slots):
            _slotted(panel, place, [(one, row) for of, one, row in known if of == label and _slot(one) == slot], record)
    for panel in axes[len(labels):]:
        panel.remove()
    return canvas


def _slotted(panel: Axes, place: int, here: Sequence[tuple[Record, Record]], record: Record) -> None:
    spans = [row["placebo"] for _, row in here if row["placebo"]["low"] is not None]
    if spans:
        panel.fill_between([place - 0.4, place + 0.4], min(one["low"] for one in spans),
                           max(one["high"] for one in spans), color=COLOURS["null"], lw=0, zorder=0)
    if here and here[0][1]["ceiling"] is not None:
        panel.plot([place - 0.4, place + 0.4], [here[0][1]["ceiling"]] * 2, color=COLOURS["tolerance"], lw=1.2,
                   ls=(0, (5, 4)))
    for number, (one, row) in enumerate(here):
        x = place + JITTER * (number - (len(here) - 1) / 2) - 0.1
        upright(panel, x, row["success"], "target")
        oracle = published(rows_of(record, one)) if row["target"] == "secret" else None
        if oracle is not None:
            if oracle["placebo"]["value"] is not None:
                dot(panel, x + 0.2, oracle["placebo"]["value"], "oracle hollow", 11)
            dot(panel, x + 0.2, oracle["success"]["value"], "oracle", 6)


def confidence(record: Record) -> Figure | None:
    """How sure models are of canary labels, canaries and held-out ones, for one model of up to four conditions."""
    first: dict[str, Record] = {}
    for one in _ordered(record):
        first.setdefault(_slot(one), one)
    chosen = list(first.items())[:MOST_HISTOGRAMS]
    if not any(_shares(one["histogram"][part]) for _, one in chosen for part in ("canary", "placebo")):
        return None
    data = tuple({"model": one["target"], "from": edges[place], "to": edges[place + 1],
                  **{part: None if one["histogram"][part] is None else one["histogram"][part][place]
                     for part in ("canary", "placebo")}}
                 for _, one in chosen for edges in [one["histogram"]["edges"]] for place in range(len(edges) - 1))
    return Figure.of("confidence", partial(_confidence, chosen), data)


def _confidence(chosen: Sequence[tuple[str, Record]]) -> Canvas:
    canvas, axes = panels(max(2, len(chosen)), legend=[("target line", "canaries"),
                                                       ("placebo dashed", "held-out canaries")])
    for place, (panel, (slot, one)) in enumerate(zip(axes, chosen, strict=False)):
        panel.set(xlim=(0, 1), xticks=[0, 0.5, 1], xticklabels=["0", ".5", "1"])
        titled(panel, slot, x="probability of the canary label", y="" if place else "share")
        for part, role in (("placebo", "placebo"), ("canary", "target")):
            shares, edges = _shares(one["histogram"][part]), one["histogram"]["edges"]
            if shares:
                curve(panel, [*zip(edges, [*shares, shares[-1]], strict=True)], role, drawstyle="steps-post")
        panel.set_ylim(0, max(0.1, panel.get_ylim()[1]))
    for panel in axes[len(chosen):]:
        panel.remove()
    return canvas


def utility(record: Record) -> Figure | None:
    """Test accuracy against success at the canary label, a dot for each model; None for fewer than two with both."""
    found = [(one, row) for one in _ordered(record) if one["utility"]["test_accuracy"]["value"] is not None
             and (row := strongest(rows_of(record, one), "secret")) is not None]
    if len(found) < 2:
        return None
    return Figure.of("utility-leak", partial(_utility, found), tuple(
            {"model": one["target"], "mechanism": one["mechanism"], "epsilon": one["epsilon"], "seed": one["seed"],
             **ends("test_accuracy", one["utility"]["test_accuracy"]), **ends("success", row["success"]),
             **ends("placebo", row["placebo"])} for one, row in found))


def _utility(found: Sequence[tuple[Record, Record]]) -> Canvas:
    canvas, (panel,) = panels(1, legend=[("target", "strongest attack on outputs"), ("placebo hollow", "its control")])
    accuracy, named = [one["utility"]["test_accuracy"]["value"] for one, _ in found], set[str]()
    least = min(row[name]["value"] for _, row in found for name in ("success", "placebo")
                if row[name]["value"] is not None)
    panel.set(xlim=(max(0.0, min(accuracy) - 0.05), min(1.0, max(accuracy) + 0.05)), ylim=(max(0.0, least - 0.12), 1.0))
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    titled(panel, "", x="test accuracy", y="right")
    across(panel, found[0][1]["chance"], "soft")
    for one, row in found:
        x = one["utility"]["test_accuracy"]["value"]
        upright(panel, x, row["success"], "target")
        if row["placebo"]["value"] is not None:
            dot(panel, x, row["placebo"]["value"], "placebo hollow", 7)
        if _slot(one) not in named:
            panel.annotate(_slot(one), (x, row["success"]["value"]), (8, 5), textcoords="offset points", fontsize=12,
                           color=COLOURS["soft"])
        named.add(_slot(one))
    return canvas


DRAWN = (success, confidence, utility)


def _ordered(record: Record) -> list[Record]:
    """Targets by mechanism, least noise first."""
    return sorted(record["targets"], key=lambda one: (
        one["mechanism"] != "none", one["mechanism"], -(inf if one["epsilon"] == "inf" else one["epsilon"]),
        one["seed"] or ""))


def _slot(one: Record) -> str:
    """"no noise", "rr 2"."""
    noise = epsilon(one["epsilon"])
    return "no noise" if one["mechanism"] == "none" and noise == "∞" else f"{one['mechanism']} {noise}"


def _shares(counts: Sequence[int] | None) -> list[float]:
    total = sum(counts or ())
    return [count / total for count in counts] if counts and total else []
