"""Figures of the label inference paper rerun: success over ε, and accuracy against leak, mechanism by mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core.numbers import epsilon as epsilon_words
from discreet.report.figures.figure import Cell, Figure, Row, ends
from discreet.report.figures.panels import WIDTH, Panel, places
from discreet.report.figures.svg import Scale, box, dot, key, line, path, text

Record = Mapping[str, Any]

TOP, SIDE = 84.0, 250.0
PANELS: Mapping[str, str] = {"rr": "randomised response as it is meant",
                             "rr_halved": "randomised response that flips half as often"}
KINDS: Mapping[str, tuple[str, str]] = {"rr": ("dot-target", "randomised response"), "alibi": ("dot-oracle", "ALIBI"),
                                        "rr_with_prior": ("dot-second", "RRWithPrior in two stages")}
LABEL = (40.0, 14.0)
"""What a written ε takes, across and down; nearer to one that stands already, none is written."""
SHIFTS = {"strongest": -0.24, "oracle": 0.0, "paper": 0.24}


def over_epsilon(rows: Sequence[Record], corpus: str, *, paper: bool = True) -> Figure | None:
    """Figure 2 of one corpus: strongest honest attack, oracle and the paper's two attacks over ε, a panel a mechanism.

    `rows` are those of item "figure 2". None where no row has an honest attack.
    """
    mine = [row for row in rows if row["corpus"] == corpus and row["strongest"] is not None]
    panels = [name for name in PANELS if any(row["mechanism"] == name for row in mine)] or ["rr"]
    slots = list(dict.fromkeys(row["epsilon"] for row in sorted(mine, key=lambda row: -float(row["epsilon"]))))
    if not mine:
        return None
    low = max(0.0, min([0.4, *(end for row in mine for end in _values(row, paper))]) - 0.02)
    drawn, data = list[str](), list[Row]()
    for name, (left, right) in zip(panels, places(2), strict=False):
        panel = Panel(Scale(-0.6, len(slots) - 0.4, left, right), Scale(low, 1.0, TOP + SIDE, TOP))
        here = [row for row in mine if row["mechanism"] in ("none", name)]
        drawn += [*_bands(panel, slots, here), panel.frame(
            PANELS[name], x_ticks=[(place, epsilon_words(slot)) for place, slot in enumerate(slots)], x_title="ε",
            y_title="right"), panel.across(mine[0]["chance"], "chance")]
        for row in here:
            drawn += _marks(panel, slots.index(row["epsilon"]), row, paper=paper)
            data.append(_facts(corpus, name, row, paper=paper))
    first, second = [("dot-target", "strongest honest attack"), ("area-null", "its placebos, 95%"),
                     ("tolerance", "most that ε allows")], [("dot-oracle", "LIA-Delta-Margin, shown the secret"),
                                                            ("hollow dot-oracle", "on placebos")]
    if paper:
        second += [("dot-second", "paper: LIA-Delta-Margin"), ("hollow dot-second", "paper: LIA-Threshold")]
    caption = ("Share of secrets (canaries' labels before the mechanism) guessed right, canaries of all seeds "
               "together; the honest attack is chosen on one half of them and judged on the other. What the grey band "
               "covers, placebos show too, and is no memory. The dashed line is the most "
               "that ε allows anyone. The paper's second attack is shown the secret: where its hollow dot is as high "
               "as its filled one, it says nothing of the model.")
    return Figure(f"figure-2-{corpus.replace('_', '-')}", f"Success over ε: {corpus}", caption,
                  key(44, 14, first) + key(44, 34, second) + "".join(drawn), WIDTH, TOP + SIDE + 44, tuple(data))


def utility_leak(rows: Sequence[Record], corpus: str) -> Figure | None:
    """Test accuracy against the strongest honest attack, a line for each mechanism; None for fewer than two dots.

    `rows` are those of item "section utility".
    """
    mine = [row for row in rows if row["corpus"] == corpus and row["strongest"] is not None
            and row["test_accuracy"]["value"] is not None]
    if len(mine) < 2:
        return None
    accuracy = [row["test_accuracy"]["value"] for row in mine]
    leaks = [row["strongest"][side]["value"] for row in mine for side in ("success", "placebo")]
    left, right = places(1)[0]
    edge = max(0.01, 0.08 * (max(accuracy) - min(accuracy)))
    panel = Panel(Scale(max(0.0, min(accuracy) - edge), min(1.0, max(accuracy) + edge), left, right),
                  Scale(max(0.0, min(0.45, *leaks) - 0.02), min(1.0, max(0.6, *leaks) + 0.04), TOP + SIDE, TOP))
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if (panel.x.high - panel.x.low) / step <= 10)
    drawn = [panel.frame("", x_ticks=[(tick, f"{100 * tick:.4g}%") for tick in panel.x.ticks(step)],
                         x_title="test accuracy", y_title="right"), panel.across(mine[0]["chance"], "chance")]
    said = list[tuple[float, float]]()
    there = [name for name in KINDS if any(row["mechanism"] == name for row in mine)]
    for name in there:
        kind = KINDS[name][0]
        # Without noise all mechanisms are one: each line begins there.
        line_ = [row for row in mine if row["mechanism"] in ("none", name)]
        at = [panel.at(row["test_accuracy"]["value"], row["strongest"]["success"]["value"]) for row in line_]
        drawn.append(path(at, kind.replace("dot", "line")))
        for row, (x, y) in zip(line_, at, strict=True):
            if all(abs(x - other) > LABEL[0] or abs(y - above) > LABEL[1] for other, above in said):
                said.append((x, y))
                drawn.append(text(x + 7, y - 6, f"ε {epsilon_words(row['epsilon'])}", "soft"))
            placebo = panel.y(row["strongest"]["placebo"]["value"])
            drawn += [dot(x, placebo, f"hollow {kind}", 3), dot(x, y, kind)]
    caption = ("What noise costs, to the left, and what it buys, down: the strongest attack on outputs at the secret, "
               "chosen on one half of the canaries and judged on the other, and the same on placebos (small, hollow). "
               "Each line goes from no noise to the least ε, which is written where there is room.")
    data = [{"corpus": corpus, "mechanism": row["mechanism"], "epsilon": row["epsilon"],
             "attack": row["strongest"]["name"], **ends("test_accuracy", row["test_accuracy"]),
             **ends("success", row["strongest"]["success"]), **ends("placebo", row["strongest"]["placebo"]),
             "ceiling": row["ceiling"], "epsilon_lower": row["epsilon_lower"]["value"]} for row in mine]
    legend = [KINDS[name] for name in there]
    return Figure(f"utility-{corpus.replace('_', '-')}", f"Accuracy against leak: {corpus}", caption,
                  key(44, 14, legend) + "".join(drawn), WIDTH, TOP + SIDE + 44, tuple(data))


def _bands(panel: Panel, slots: Sequence[Any], rows: Sequence[Record]) -> list[str]:
    drawn = []
    for row in rows:
        place, placebo = slots.index(row["epsilon"]), row["strongest"]["placebo"]
        left, right = panel.x(place - 0.42), panel.x(place + 0.42)
        if placebo["low"] is not None:
            top, bottom = panel.y(placebo["high"]), panel.y(placebo["low"])
            drawn.append(box(left, top, right - left, bottom - top, "area-null"))
        y = panel.y(row["ceiling"])
        drawn.append(line(left, y, right, y, "tolerance"))
    return drawn


def _marks(panel: Panel, place: int, row: Record, *, paper: bool) -> list[str]:
    drawn = []
    x = {name: panel.x(place + shift) for name, shift in SHIFTS.items()}
    success, oracle = row["strongest"]["success"], row["delta_margin"]
    if success["low"] is not None:
        drawn.append(line(x["strongest"], panel.y(success["low"]), x["strongest"], panel.y(success["high"]),
                          "whisker line-target"))
    drawn.append(dot(x["strongest"], panel.y(success["value"]), "dot-target"))
    if oracle is not None and oracle["success"]["value"] is not None:
        if oracle["placebo"]["value"] is not None:
            drawn.append(dot(x["oracle"], panel.y(oracle["placebo"]["value"]), "hollow dot-oracle", 5.5))
        drawn.append(dot(x["oracle"], panel.y(oracle["success"]["value"]), "dot-oracle", 3))
    if paper and row["paper"]:
        drawn += [dot(x["paper"], panel.y(row["paper"]["threshold"]), "hollow dot-second", 4),
                  dot(x["paper"], panel.y(row["paper"]["delta_margin"]), "dot-second", 4)]
    return drawn


def _values(row: Record, paper: bool) -> list[float]:
    found = [row["strongest"][side][end] for side in ("success", "placebo") for end in ("low", "value", "high")]
    if row["delta_margin"] is not None:
        found += [row["delta_margin"][side]["value"] for side in ("success", "placebo")]
    if paper and row["paper"]:
        found += [row["paper"]["threshold"], row["paper"]["delta_margin"]]
    return [one for one in found if one is not None]


def _facts(corpus: str, panel: str, row: Record, *, paper: bool) -> dict[str, Cell]:
    oracle, said = row["delta_margin"] or {}, (row["paper"] or {}) if paper else {}
    return {"corpus": corpus, "panel": panel, "mechanism": row["mechanism"], "epsilon": row["epsilon"],
            "attack": row["strongest"]["name"], **ends("success", row["strongest"]["success"]),
            **ends("placebo", row["strongest"]["placebo"]), "ceiling": row["ceiling"],
            **ends("oracle", oracle.get("success")), **ends("oracle_placebo", oracle.get("placebo")),
            **ends("train_accuracy", row["train_accuracy"]["trained"]),
            "paper_threshold": said.get("threshold"), "paper_delta_margin": said.get("delta_margin"),
            "paper_train_accuracy": said.get("train_accuracy")}
